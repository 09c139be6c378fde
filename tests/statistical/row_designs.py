"""Designs with known bounds of every row: what the study of rows draws."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from scipy.special import expit

import selective_labels as sl
from selective_labels import assumptions as a
from selective_labels.datasets.decision_makers import DecisionMakerDesign, DecisionMakerOracle

N_TEST = 4_000
NODES, NODE_WEIGHTS = np.polynomial.hermite_e.hermegauss(60)
NODE_WEIGHTS = NODE_WEIGHTS / NODE_WEIGHTS.sum()


@dataclass(frozen=True, eq=False)
class Truth:
    """P(Y=k | x) and sharp lower bounds of new rows, and what `predict_bounds` is given for them."""

    X: np.ndarray
    probabilities: np.ndarray
    lower: np.ndarray
    strata: np.ndarray | None = None

    @property
    def regrets(self) -> "np.ndarray":
        """1 - Σ l, the width of every class."""
        return 1.0 - self.lower.sum(axis=1)


@dataclass(frozen=True, eq=False)
class Drawn:
    """A training sample, its settings of the classifier, and new rows."""

    X: np.ndarray
    y: np.ndarray
    roles: dict[str, Any]
    truth: Truth
    settings: dict[str, Any] = field(default_factory=dict)


def decision_makers(n: int, seed: int, J: int = 8, K: int = 3, edge: int | None = None, **more: Any) -> Drawn:
    """`make_decision_makers`; with `edge` the truth is on an end of what is identified."""
    both = sl.datasets.make_decision_makers(n + N_TEST, K, J, slack_class=edge, random_state=seed, **more)
    new = both.X[n:]
    truth = Truth(new, both.oracle.probabilities(new), both.oracle.lower(new))
    return Drawn(both.X[:n], both.y[:n], {"decision_maker": both.decision_maker[:n]}, truth)


def mirrored(n: int, seed: int, informed: bool = True, J: int = 8) -> Drawn:
    """Two classes whose refused cases are worse at every x, so that `Informed` holds."""
    drawn = decision_makers(n, seed, J, 2, mirrored=True)
    if not informed:
        return drawn
    oracle = sl.datasets.make_decision_makers(1, 2, J, mirrored=True, random_state=seed).oracle
    return _informed(drawn, oracle.joint(drawn.truth.X))


def _informed(drawn: Drawn, joint: np.ndarray, present: np.ndarray | None = None) -> Drawn:
    """Add `Informed` of the last class to a design with two classes."""
    share = joint[:, :, 2] / np.maximum(1.0 - joint[:, :, 0], 1e-12)
    lower = np.array(drawn.truth.lower)
    best = share if present is None else np.where(present, share, 0.0)
    lower[:, 1] = np.maximum(lower[:, 1], best.max(axis=1))
    assumed = a.Instrument() & a.Informed(1, direction_known=True)
    truth = Truth(drawn.truth.X, drawn.truth.probabilities, lower, drawn.truth.strata)
    return Drawn(drawn.X, drawn.y, drawn.roles, truth, {**drawn.settings, "assumption": assumed})


def paper(n: int, seed: int, alpha: float = 0.5) -> Drawn:
    """The paper's design without unmeasured-confounding restrictions."""
    sample = sl.datasets.make_paper_synthetic(
        n, selection="uc", alpha_y=alpha, alpha_d=alpha, random_state=seed
    )
    new = sl.datasets.make_paper_synthetic(N_TEST, selection="uc", random_state=10_000 + seed).X
    truth = Truth(new, sample.oracle.probabilities(new), sample.oracle.lower(new))
    return Drawn(sample.X, sample.y, {"decision_maker": sample.decision_maker}, truth)


def insurer(n: int, seed: int, informed: bool = False, known: bool = True, costly: bool = False) -> Drawn:
    """35 adjusters in seven offices; a claim goes to the adjusters of its office by lot.

    An adjuster pays without inspection (the label is unseen) where signs u speak for an honest claim.
    """
    rng = np.random.default_rng([seed, 35])
    n_offices, n_each = 7, 5
    leniency = rng.permuted(np.linspace(-1.5, 1.5, n_each)[None].repeat(n_offices, 0), axis=1)
    leniency = (leniency + rng.normal(scale=0.6, size=(n_offices, 1))).ravel()
    number = n + N_TEST
    office = rng.integers(n_offices, size=number)
    X, u = rng.normal(size=(number, 4)), rng.normal(size=number)
    X[:, 1] += (office - 3) / 4
    maker = office * n_each + rng.integers(n_each, size=number)

    def outcome(x: np.ndarray, hidden: np.ndarray) -> np.ndarray:
        return expit(-0.7 + x[:, [0]] + 0.5 * x[:, [1]] + 1.2 * hidden)

    def seen(x: np.ndarray, hidden: np.ndarray, strict: Any) -> np.ndarray:
        return expit(0.3 + strict + 0.5 * x[:, [0]] - 1.2 * hidden)

    event = rng.random(number) < outcome(X, u[:, None])[:, 0]
    label = rng.random(number) < seen(X, u[:, None], leniency[maker][:, None])[:, 0]
    y = np.where(label, event.astype(int), -1)
    new, own = X[n:], office[n:]
    by_node = outcome(new, NODES[None])
    joint = np.empty((N_TEST, len(leniency), 3))
    for z, strict in enumerate(leniency):
        labeled = seen(new, NODES[None], strict) * NODE_WEIGHTS
        joint[:, z, 2], joint[:, z, 1] = (labeled * by_node).sum(1), (labeled * (1 - by_node)).sum(1)
    joint[:, :, 0] = 1.0 - joint[:, :, 1:].sum(axis=2)
    present = np.arange(len(leniency)) // n_each == own[:, None]
    share = (by_node * NODE_WEIGHTS).sum(axis=1)
    lower = np.where(present[:, :, None], joint[:, :, 1:], 0.0).max(axis=1)
    truth = Truth(new, np.column_stack([1.0 - share, share]), lower, own if known else None)
    roles = {"decision_maker": maker[:n], "strata": office[:n]}
    settings = {"cost": np.array([[0.0, 400.0], [3000.0, 400.0]])} if costly else {}
    drawn = Drawn(X[:n], y[:n], roles, truth, settings)
    return _informed(drawn, joint, present) if informed else drawn


def weighted(n: int, seed: int) -> Drawn:
    """Refused cases are kept one time in three, and weigh three times as much."""
    drawn = decision_makers(3 * n, seed)
    rng = np.random.default_rng([seed, 7])
    kept = np.flatnonzero((drawn.y != -1) | (rng.random(3 * n) < 1 / 3))[:n]
    weight = np.where(drawn.y[kept] == -1, 3.0, 1.0)
    roles = {"decision_maker": drawn.roles["decision_maker"][kept], "sample_weight": weight}
    return Drawn(drawn.X[kept], drawn.y[kept], roles, drawn.truth)


def clustered(n: int, seed: int) -> Drawn:
    """Persons with four rows each: the same features and hidden reasons, a decision-maker for each row."""
    rng = np.random.default_rng([seed, 4])
    design = DecisionMakerDesign(3, rng.permutation(np.linspace(-2, 2, 8)), True, False, np.ones(8))
    oracle = DecisionMakerOracle(design)
    person = np.repeat(np.arange(n // 4), 4)
    X, u = rng.normal(size=(n // 4, 4))[person], rng.normal(size=n // 4)[person]
    maker = rng.integers(8, size=len(X))
    label = (rng.random((len(X), 1)) > np.cumsum(design.outcome(X, u), axis=1)).sum(axis=1).clip(max=2)
    seen = rng.random(len(X)) < design.decision(X[:, 0], u, maker)
    new = rng.normal(size=(N_TEST, 4))
    truth = Truth(new, oracle.probabilities(new), oracle.lower(new))
    return Drawn(X, np.where(seen, label, -1), {"decision_maker": maker, "groups": person}, truth)


def leaning(n: int, seed: int) -> Drawn:
    """Who decides depends on the first feature, and no stratum says so."""
    rng = np.random.default_rng([seed, 5])
    design = DecisionMakerDesign(3, rng.permutation(np.linspace(-2, 2, 8)), True, False, np.ones(8))
    oracle = DecisionMakerOracle(design)
    X, u = rng.normal(size=(n + N_TEST, 4)), rng.normal(size=n + N_TEST)
    chances = np.exp(0.7 * X[:, [0]] * np.linspace(-1, 1, 8))
    chances = (chances / chances.sum(axis=1, keepdims=True)).cumsum(axis=1)
    maker = (rng.random((len(X), 1)) > chances).sum(axis=1).clip(max=7)
    label = (rng.random((len(X), 1)) > np.cumsum(design.outcome(X, u), axis=1)).sum(axis=1).clip(max=2)
    seen = rng.random(len(X)) < design.decision(X[:, 0], u, maker)
    truth = Truth(X[n:], oracle.probabilities(X[n:]), oracle.lower(X[n:]))
    return Drawn(X[:n], np.where(seen, label, -1)[:n], {"decision_maker": maker[:n]}, truth)


DESIGNS: dict[str, Callable[[int, int], Drawn]] = {
    "J=8, K=3": decision_makers,
    "J=8, K=2": lambda n, seed: decision_makers(n, seed, 8, 2),
    "J=30, K=3": lambda n, seed: decision_makers(n, seed, 30, 3),
    "J=30, K=2": lambda n, seed: decision_makers(n, seed, 30, 2),
    "J=8, K=3, edge": lambda n, seed: decision_makers(n, seed, 8, 3, 1),
    "J=8, K=2, edge": lambda n, seed: decision_makers(n, seed, 8, 2, 1),
    "J=30, K=3, edge": lambda n, seed: decision_makers(n, seed, 30, 3, 1),
    "J=8, K=2, informed": mirrored,
    "paper, .5": paper,
    "paper, .7": lambda n, seed: paper(n, seed, 0.7),
    "insurer": insurer,
    "insurer, costs": lambda n, seed: insurer(n, seed, costly=True),
    "insurer, office unknown": lambda n, seed: insurer(n, seed, known=False),
    "insurer, informed": lambda n, seed: insurer(n, seed, informed=True),
    "insurer, informed, costs": lambda n, seed: insurer(n, seed, informed=True, costly=True),
    "weights": weighted,
    "clusters": clustered,
    "assignment on X": leaning,
}
