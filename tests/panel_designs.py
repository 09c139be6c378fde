"""Cases that several decision-makers saw, with everybody's label."""

from typing import NamedTuple

import numpy as np

N_PEOPLE = 12


class PanelSample(NamedTuple):
    """Rows of cases; `y` has the label of every row, seen or not."""

    X: np.ndarray
    y: np.ndarray
    decision: np.ndarray
    decision_maker: np.ndarray
    case: np.ndarray

    @property
    def roles(self):
        """As `from_arrays` takes them."""
        return {
            "decision": self.decision,
            "decision_maker": self.decision_maker,
            "groups": self.case,
            "share_labels": True,
        }


def make_panels(n_cases, seed, *, edge=False, sizes=(1, 2, 3)):
    """Draw cases, each before a random panel, with a confounder u that decisions and labels share.

    With `edge` a case above a threshold of u has label 1, and everybody refuses by a threshold of their own
    below it: all that is unseen is of one class, so the truth lies on the end of what is identified.
    """
    rng = np.random.default_rng(seed)
    x, u = rng.normal(size=n_cases), rng.normal(size=n_cases)
    strictness = np.linspace(-1.5, 1.5, N_PEOPLE)
    label = (u > 0.2) if edge else (rng.random(n_cases) < 1 / (1 + np.exp(-(x + 1.5 * u))))
    size = rng.choice(sizes, n_cases)
    case = np.repeat(np.arange(n_cases), size)
    maker = np.concatenate([rng.choice(N_PEOPLE, each, replace=False) for each in size])
    if edge:
        # The most lenient still refuses above 0.7, where all labels are 1.
        decision = u[case] < 0.7 - (strictness[maker] + 1.5) / 2 + 0.2 * np.minimum(x[case], 0)
    else:
        index = -strictness[maker] - 0.5 * x[case] - 1.5 * u[case] - 0.5
        decision = rng.random(len(case)) < 1 / (1 + np.exp(-index))
    return PanelSample(x[case, None], label[case].astype(int), decision.astype(int), maker, case)


def truth(rule, edge=False):
    """Accuracy of a rule of x in the population (half a million cases, error .0007)."""
    sample = make_panels(500_000, 12345, edge=edge, sizes=(1,))
    return float(np.mean(rule(sample.X) == sample.y))
