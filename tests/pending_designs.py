"""Tables in which a fifth of the accepted cases has no outcome yet, and figures whose truth is known."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.special import expit

import selective_labels as sl

N_TRUTH = 400_000
# How outcomes mature: at random given features and time; by a date at which they are due, with the event
# known at once; by the label.
RANDOM, DATED, BY_LABEL = "random", "dated", "by label"


@dataclass(frozen=True, eq=False)
class Delayed:
    """A table, with all labels of accepted cases and with those that have matured.

    Attributes
    ----------
    X : (n, 5) array
        Four features of `make_decision_makers`, and the time at which the case was decided, from 0 to 1.
    seen, matured : (n,) float arrays
        Labels, NaN where the case was declined, and where it was declined or its outcome is pending.
    due : (n,) array
        Time at which the outcome is due; outcomes due before one have matured.
    """

    X: np.ndarray
    truth: np.ndarray
    decision: np.ndarray
    maker: np.ndarray
    seen: np.ndarray
    matured: np.ndarray
    due: np.ndarray

    def labels(self, pending: str | None, *, dated: bool = False) -> sl.SelectiveLabels:
        """The data; without `pending`, those of a table in which all outcomes have matured."""
        roles: dict[str, Any] = {"decision": self.decision, "decision_maker": self.maker}
        if pending is None:
            return sl.SelectiveLabels.from_arrays(self.X, self.seen, **roles)
        roles |= {"pending": pending, "matured": self.due if dated else None}
        return sl.SelectiveLabels.from_arrays(self.X, self.matured, **roles)

    @property
    def predictions(self) -> np.ndarray:
        """A rule of one feature."""
        return (self.X[:, 0] > 0.0).astype(float)


def delayed(n: int, seed: int, how: str = RANDOM, edge: int | None = None) -> Delayed:
    """Draw a table; with `edge`, the truth lies on an end of what is identified by complete labels."""
    sample = sl.datasets.make_decision_makers(n, 2, 6, slack_class=edge, random_state=seed)
    generator = np.random.default_rng(np.random.SeedSequence(seed, spawn_key=(7,)))
    time = generator.random(n)
    X = np.column_stack([sample.X, time])
    event = sample.y_true == 1
    due = time + np.where(sample.X[:, 1] > 0.0, 0.5, 0.35)
    if how == DATED:
        matured = (due < 1.0) | event
    else:
        chance = np.where(event, 0.97, 0.6) if how == BY_LABEL else expit(2.7 - sample.X[:, 0] - 2.0 * time)
        matured = generator.random(n) < chance
    accepted = sample.decision == 1
    seen = np.where(accepted, sample.y_true, np.nan)
    known = np.where(matured, seen, np.nan)
    return Delayed(X, sample.y_true, sample.decision, sample.decision_maker, seen, known, due)


def truths(edge: int | None = None) -> dict[str, float]:
    """Values of the population: accuracy and true positive rate of the rule and of people, failures."""
    big = delayed(N_TRUTH, 987_654, edge=edge)
    event, rule, no = big.truth == 1, big.predictions == 1.0, big.decision == 0
    return {
        "accuracy": float(np.mean(rule == event)),
        "tpr": float(np.mean(rule[event])),
        "human accuracy": float(np.mean(no == event)),
        "human tpr": float(np.mean(no[event])),
        "share": float(np.mean(event)),
    }


def figures(data: sl.SelectiveLabels, rule: np.ndarray, **settings: Any) -> dict[str, Any]:
    """Evaluations of the figures whose truth is known, by name."""
    ev = sl.Evaluator(data, nuisance="logistic", **settings)
    rule_found = ev.evaluate(rule, metric=["accuracy", "tpr"])
    human_found = ev.evaluate("human", metric=["accuracy", "tpr"])
    share = ev.evaluate(np.ones(len(data)), metric="accuracy")
    names = ["accuracy", "tpr", "human accuracy", "human tpr", "share"]
    return dict(zip(names, [*rule_found, *human_found, share], strict=True))
