"""A design in which the tilt assumption holds: decisions tilt the odds of every class by a fixed factor."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.special import expit, softmax

from selective_labels._errors import InputError
from selective_labels.datasets.decision_makers import N_FEATURES, DecisionMakerDesign, population
from selective_labels.datasets.oracle import (
    Limits,
    Oracle,
    RandomState,
    SelectiveSample,
    check_count,
    draw_classes,
    draw_decisions,
    hide_labels,
    limits_of_rules,
    spawn_streams,
)


@dataclass(frozen=True, eq=False)
class TiltedDesign:
    """Distributions of outcome and decision. Only the outcome itself is unobserved."""

    coefficients: np.ndarray
    leniency: np.ndarray
    tilt: np.ndarray

    def outcome(self, X: np.ndarray) -> np.ndarray:
        """P(Y*=k | x), shape (n, K)."""
        return softmax(X @ self.coefficients, axis=1)

    def decision(self, first_feature: np.ndarray, leniency: np.ndarray, tilt: np.ndarray) -> np.ndarray:
        """P(D=1 | x, z, Y*=k) for arrays that broadcast."""
        return expit(leniency + 0.8 * first_feature + tilt)


class TiltedOracle(Oracle):
    """Exact conditional probabilities of `make_tilted`.

    p_kz(x) = eta_k(x) expit(a_z + .8 x_1 + γ_k)
    """

    n_features = N_FEATURES

    def __init__(self, design: TiltedDesign) -> None:
        self.design = design
        self.n_decision_makers = len(design.leniency)
        self.n_classes = len(design.tilt)

    def _probabilities(self, X: np.ndarray) -> np.ndarray:
        return self.design.outcome(X)

    def _joint(self, X: np.ndarray) -> np.ndarray:
        design = self.design
        decision = design.decision(X[:, 0, None, None], design.leniency[:, None], design.tilt)
        labeled = design.outcome(X)[:, None] * decision
        return np.concatenate([1.0 - labeled.sum(axis=2, keepdims=True), labeled], axis=2)

    def _compute_limits(self) -> Limits:
        return limits_of_rules(self, population())


def make_tilted(
    n_samples: int = 15000,
    n_classes: int = 3,
    n_decision_makers: int = 8,
    tilt: Sequence[float] | None = None,
    random_state: RandomState = None,
    *,
    leniency_spread: float = 1.0,
) -> SelectiveSample:
    """Draw cases whose refusal tilts the odds of every class by one common factor, with the oracle.

    Four standard normal features x, z uniform, a_z a random permutation of an even grid from -2 s to 2 s,
    s = `leniency_spread`:

        logit P(D=1 | x, z, Y*=k) = a_z + .8 x_1 + γ_k,   P(Y*=k | x) = softmax_k(x B),

    B as in `make_decision_makers`. Among cases with the same features and decision-maker, the odds of class k
    against class j among the refused are thus e^{γ_j - γ_k} times those among the accepted: the tilt is
    constant, and an instrument identifies it.

    Parameters
    ----------
    n_samples, n_classes, n_decision_makers : int
    tilt : sequence of n_classes numbers, optional
        γ. Default: evenly spaced from -.6 to .6.
    random_state : int, SeedSequence, Generator, RandomState or None
    leniency_spread : float
        s, non-negative: the strength of the instrument.

    Returns
    -------
    SelectiveSample
        The oracle is a `TiltedOracle`; `oracle.design.tilt` is γ.

    Examples
    --------
    >>> from selective_labels.datasets import make_tilted
    >>> sample = make_tilted(1000, 2, tilt=[0.0, 1.0], random_state=0)
    >>> sample.oracle.joint(sample.X).shape
    (1000, 8, 3)
    """
    check_count("n_samples", n_samples, 1)
    check_count("n_classes", n_classes, 2)
    check_count("n_decision_makers", n_decision_makers, 1)
    if not 0.0 <= leniency_spread < np.inf:
        raise InputError.about("leniency_spread", f"must be 0 or larger and finite, got {leniency_spread!r}.")
    gamma = np.linspace(-0.6, 0.6, n_classes) if tilt is None else np.asarray(tilt, dtype=float)
    if gamma.shape != (n_classes,) or not np.isfinite(gamma).all():
        raise InputError.about("tilt", f"must be {n_classes} finite numbers, one for each class.")

    streams = spawn_streams(random_state)
    grid = np.linspace(-2.0, 2.0, n_decision_makers) if n_decision_makers > 1 else np.zeros(1)
    leniency = leniency_spread * streams.design.permutation(grid)
    same = np.ones(n_decision_makers)
    coefficients = DecisionMakerDesign(n_classes, leniency, False, False, same).coefficients
    design = TiltedDesign(coefficients, leniency, gamma)
    X = streams.features.standard_normal((n_samples, N_FEATURES))
    decision_maker = streams.assignment.integers(n_decision_makers, size=n_samples)
    y_true = draw_classes(design.outcome(X), streams.outcome)
    probability = design.decision(X[:, 0], leniency[decision_maker], gamma[y_true])
    decision = draw_decisions(probability, streams.decision)
    y = hide_labels(y_true, decision)
    return SelectiveSample(X, y, decision, decision_maker, y_true, TiltedOracle(design))
