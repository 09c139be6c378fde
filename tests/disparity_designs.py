"""Cases of two groups, with all labels known: the outcome test points the wrong way.

Group B has more risky cases and faces a higher bar. Even so its released cases fail more often.
"""

from dataclasses import dataclass

import numpy as np
from scipy.special import expit

import selective_labels as sl


@dataclass(frozen=True)
class Groups:
    """Features, group, decision-maker, decision and label of every case."""

    X: np.ndarray
    group: np.ndarray
    maker: np.ndarray
    decision: np.ndarray
    label: np.ndarray

    def data(self, **roles):
        seen = np.where(self.decision == 1, self.label, -1)
        return sl.SelectiveLabels.from_arrays(
            self.X, seen, decision=self.decision, decision_maker=self.maker, **roles
        )


def draw(n, n_makers, generator, bar=0.5):
    """Draw cases; `bar` is how much higher the bar of group B is, in log-odds of a yes."""
    second = generator.integers(0, 2, n)
    x, hidden = generator.normal(size=n), generator.choice([-1.0, 1.0], n)
    maker = generator.integers(0, n_makers, n)
    leniency = np.linspace(-1.5, 1.5, n_makers)[maker]
    label = (generator.random(n) < expit(-1.0 + 0.8 * x + 0.5 * second + 0.8 * hidden)).astype(int)
    yes = expit(1.0 - 0.8 * x - 0.8 * hidden + leniency - bar * second)
    decision = (generator.random(n) < yes).astype(int)
    return Groups(np.column_stack([x, second]), np.array(["A", "B"])[second], maker, decision, label)


def truth(cases, yes):
    """Gaps of B minus A for a way to decide, from the labels of all cases."""
    yes, label = np.asarray(yes, dtype=float), cases.label
    groups = [cases.group == "B", cases.group == "A"]
    found = {
        "rate": [yes[each].mean() for each in groups],
        "given_event": [yes[each & (label == 1)].mean() for each in groups],
        "given_no_event": [yes[each & (label == 0)].mean() for each in groups],
        "event_among_yes": [np.average(label[each], weights=yes[each]) for each in groups],
    }
    gaps = {name: first - second for name, (first, second) in found.items()}
    share = label.mean()
    gaps["outcome_weighted"] = share * gaps["given_event"] + (1 - share) * gaps["given_no_event"]
    return gaps
