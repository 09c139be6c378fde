"""Laws of cases whose labels are all known to us: who decides, what they see, what is hidden."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import numpy as np
from scipy.special import expit, softmax

from selective_labels.datasets import make_decision_makers, make_tilted

METRICS = ("accuracy", "cost", "share", "tpr", "fpr", "ppv", "f1", "auc", "log_loss", "brier")
CALLS = ("evaluate", "by", "compare", "threshold")
REPEATS = 6


@dataclass(frozen=True)
class Cases:
    """Drawn cases.

    Attributes
    ----------
    X : (n_samples, n_features) array
    y_true : (n_samples,) int array
    decision : (n_samples,) bool array
    decision_maker : (n_samples,) array
    roles : dict
        Further keywords of `evaluate`: weights, groups, strata.
    """

    X: np.ndarray
    y_true: np.ndarray
    decision: np.ndarray
    decision_maker: np.ndarray
    roles: Mapping[str, Any] = field(default_factory=dict)

    @property
    def y(self) -> np.ndarray:
        """Labels with holes."""
        return np.where(self.decision, self.y_true, -1)


@dataclass(frozen=True)
class Design:
    """A law of cases and what is asked of them.

    Attributes
    ----------
    name : str
    draw : callable (n_samples, generator) -> Cases
    n_samples : int
    assumptions : tuple of str
        Those that hold in it; no promise is made under others.
    n_classes : int
    nuisance : str or None
    n_replications : int
    asked : tuple of str
        Metrics; default all.
    calls : tuple of str
        Which of the public functions are called; default all.
    propensity : str
        How probabilities of decision-makers are found; "shares" where assignment is known to be random.
    """

    name: str
    draw: Callable[[int, np.random.Generator], Cases]
    n_samples: int = 2000
    assumptions: tuple[str, ...] = ("none", "instrument")
    n_classes: int = 3
    nuisance: str | None = "logistic"
    n_replications: int = 500
    asked: tuple[str, ...] = ()
    calls: tuple[str, ...] = CALLS
    propensity: str = "auto"

    @property
    def metrics(self) -> list[str]:
        """What is asked of `evaluate`."""
        if self.asked:
            return list(self.asked)
        return [*METRICS, "balanced_accuracy"] if self.n_classes == 2 else list(METRICS)

    def predictions(self, X: np.ndarray) -> np.ndarray:
        """Probabilities by the fixed classifier; the predicted class where a tilt is asked for."""
        found = classifier(X, self.n_classes)
        return found.argmax(axis=1) if "tilt" in self.assumptions else found


def classifier(X: np.ndarray, n_classes: int) -> np.ndarray:
    """Probabilities by a fixed and imperfect model, (n_samples, n_classes)."""
    angle = 2.0 * np.pi * np.arange(n_classes) / n_classes + 0.4
    return softmax(X[:, :2] @ np.stack([np.cos(angle), np.sin(angle)]), axis=1)


def of_decision_makers(n: int, rng: np.random.Generator, **law: Any) -> Cases:
    """Cases of :func:`selective_labels.datasets.decision_makers.make_decision_makers`."""
    sample = make_decision_makers(n, random_state=rng, **law)
    return Cases(sample.X, sample.y_true, sample.decision.astype(bool), sample.decision_maker)


def repeated(n: int, rng: np.random.Generator, **law: Any) -> Cases:
    """Cases that come back six times, with the same features and label, to other decision-makers."""
    once = of_decision_makers(n // REPEATS, rng, **law)
    case = np.repeat(np.arange(len(once.y_true)), REPEATS)
    n_makers = int(once.decision_maker.max()) + 1
    maker = rng.integers(n_makers, size=len(case))
    hidden = np.linspace(-1.5, 1.5, n_makers)[maker] + 0.8 * (once.y_true[case] - 1)
    decision = rng.random(len(case)) < expit(hidden)
    return Cases(once.X[case], once.y_true[case], decision, maker, {"groups": case})


def assigned(n: int, rng: np.random.Generator, by: Callable[[np.ndarray], np.ndarray]) -> Cases:
    """Eight decision-makers who get cases by a score of the features; hidden u in both laws."""
    X = rng.normal(size=(n, 4))
    score, hidden = by(X), rng.normal(size=n)
    chance = softmax(1.5 * score[:, None] * np.linspace(-1.0, 1.0, 8), axis=1)
    maker = (rng.random(n)[:, None] > chance.cumsum(axis=1)).sum(axis=1).clip(max=7)
    truth = (rng.random(n) < expit(-2.4 * score + 1.6 * hidden)).astype(int)
    decision = rng.random(n) < expit(np.linspace(-1.5, 1.5, 8)[maker] + 1.2 * score + hidden)
    return Cases(X, truth, decision, maker)


def linear(X: np.ndarray) -> np.ndarray:
    """First feature."""
    return X[:, 0]


def product(X: np.ndarray) -> np.ndarray:
    """Product of the first two features."""
    return X[:, 0] * X[:, 1]


def step(X: np.ndarray) -> np.ndarray:
    """One or minus one, by steps in the first two features."""
    return np.where(np.sin(2.5 * X[:, 0]) > 0, 1.0, -1.0) * np.where(X[:, 1] > 0, 1.0, -1.0)


def weighted(n: int, rng: np.random.Generator) -> Cases:
    """Decision-makers sampled at different rates, with the inverse rates as weights."""
    rate = np.array([1.0, 1.0, 0.5, 0.125])
    X, hidden = rng.normal(size=(n, 4)), rng.normal(size=n)
    maker = rng.choice(4, n, p=rate / rate.sum())
    score = product(X)
    truth = (rng.random(n) < expit(-2.4 * score + 1.6 * hidden)).astype(int)
    decision = rng.random(n) < expit(np.linspace(-1.5, 1.5, 4)[maker] + 1.2 * score + hidden)
    return Cases(X, truth, decision, maker, {"sample_weight": 1.0 / rate[maker]})


def rare(n: int, rng: np.random.Generator) -> Cases:
    """The second of two classes has three per cent."""
    X, hidden = rng.normal(size=(n, 4)), rng.normal(size=n)
    maker = rng.integers(8, size=n)
    truth = (rng.random(n) < expit(-4.4 + X[:, 0] + hidden)).astype(int)
    decision = rng.random(n) < expit(np.linspace(-1.5, 1.5, 8)[maker] - 0.5 * X[:, 0] - hidden)
    return Cases(X, truth, decision, maker)


def unconfounded(n: int, rng: np.random.Generator) -> Cases:
    """Decisions depend on features and on who decides, on nothing hidden."""
    drawn = of_decision_makers(n, rng)
    lenient = np.linspace(-1.0, 1.0, 8)[drawn.decision_maker]
    decision = rng.random(n) < expit(lenient + 0.8 * drawn.X[:, 0])
    return Cases(drawn.X, drawn.y_true, decision, drawn.decision_maker)


def in_strata(n: int, rng: np.random.Generator) -> Cases:
    """Two courts with shares of decision-makers and of outcomes of their own."""
    drawn = of_decision_makers(n, rng, additive=False)
    court = rng.integers(2, size=n)
    first, second = np.arange(1.0, 9.0), np.arange(8.0, 0.0, -1.0)
    maker = np.where(court == 0, rng.choice(8, n, p=first / 36.0), rng.choice(8, n, p=second / 36.0))
    truth = np.where((court == 1) & (rng.random(n) < 0.3), 2, drawn.y_true)
    decision = rng.random(n) < expit(np.linspace(-1.5, 1.5, 8)[maker] + 0.8 * (truth - 1))
    return Cases(drawn.X, truth, decision, maker, {"strata": court})


def tilted(n: int, rng: np.random.Generator, spread: float) -> Cases:
    """Refusal tilts the odds of the two classes by one factor for all: the event tilt holds."""
    sample = make_tilted(n, 2, leniency_spread=spread, random_state=rng)
    return Cases(sample.X, sample.y_true, sample.decision.astype(bool), sample.decision_maker)


def right_or_wrong(n: int, rng: np.random.Generator, spread: float) -> Cases:
    """Whoever the classifier is right about is accepted more often: the tilt of accuracy holds, no other."""
    X, maker = rng.normal(size=(n, 4)), rng.integers(8, size=n)
    truth = (rng.random((n, 1)) > softmax(X[:, :3], axis=1).cumsum(axis=1)).sum(axis=1).clip(max=2)
    right = classifier(X, 3).argmax(axis=1) == truth
    lenient = spread * np.linspace(-2.0, 2.0, 8)[maker]
    return Cases(X, truth, rng.random(n) < expit(lenient - 0.6 + 1.2 * right), maker)


def of_a_tilt(name: str, draw: Callable[..., Cases], spread: float, n_classes: int) -> Design:
    """A design for the interval under the event tilt, with the instrument's beside it."""
    return Design(
        name,
        partial(draw, spread=spread),
        assumptions=("instrument", "tilt"),
        n_classes=n_classes,
        asked=("accuracy", "share"),
        calls=("evaluate",),
        propensity="shares",
    )


# Spreads of leniency that make the concentration of n = 2,000 rows about 3, 15, 60 and 200.
SPREADS = {3: 0.1, 15: 0.19, 60: 0.34, 200: 0.6}
NUCEM = ("none", "instrument", "nucem")
EDGE = partial(of_decision_makers, slack_class=2)
DESIGNS = {
    each.name: each
    for each in (
        Design("J=8, NUCEM holds", of_decision_makers, assumptions=NUCEM),
        Design("J=8, truth on the edge", EDGE),
        Design("J=8, not additive", partial(of_decision_makers, additive=False)),
        Design("J=8, n=500, truth on the edge", EDGE, n_samples=500),
        Design("J=8, all alike, truth on the edge", partial(EDGE, leniency_spread=0.0)),
        Design("J=8, weak, NUCEM holds", partial(of_decision_makers, leniency_spread=0.1), assumptions=NUCEM),
        Design("J=40, truth on the edge", partial(EDGE, n_decision_makers=40)),
        Design("J=200, truth on the edge", partial(EDGE, n_decision_makers=200)),
        Design(
            "five classes, truth on the edge",
            partial(of_decision_makers, n_classes=5, slack_class=2),
            n_classes=5,
        ),
        Design("rare class", rare, n_classes=2),
        Design("weights", weighted, n_classes=2),
        Design("repeated cases", repeated),
        Design("strata", in_strata),
        Design("assignment linear in X", partial(assigned, by=linear), n_classes=2),
        Design("assignment by a product", partial(assigned, by=product), n_classes=2),
        Design(
            "assignment by a step, n=5,000", partial(assigned, by=step), 5000, n_classes=2, n_replications=200
        ),
        Design("unconfounded", unconfounded, assumptions=("none", "instrument", "unconfounded")),
        Design("J=8, truth on the edge, defaults", EDGE, nuisance=None, n_replications=200),
        Design(
            "J=8, weak, NUCEM holds, defaults",
            partial(of_decision_makers, leniency_spread=0.1),
            assumptions=NUCEM,
            nuisance=None,
            n_replications=200,
        ),
        Design("weights, defaults", weighted, n_classes=2, nuisance=None, n_replications=200),
        Design("repeated cases, defaults", repeated, nuisance=None, n_replications=200),
        Design(
            "assignment by a product, defaults",
            partial(assigned, by=product),
            n_classes=2,
            nuisance=None,
            n_replications=200,
        ),
        Design(
            "assignment by a step, n=5,000, defaults",
            partial(assigned, by=step),
            5000,
            n_classes=2,
            nuisance=None,
            n_replications=200,
        ),
        *(
            of_a_tilt(f"{words}, concentration {number}", draw, spread, n_classes)
            for words, draw, n_classes in (
                ("the tilt holds", tilted, 2),
                ("refused where the classifier errs", right_or_wrong, 3),
            )
            for number, spread in SPREADS.items()
        ),
    )
}
