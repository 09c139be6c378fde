"""Intervals of class probabilities row by row, and the worst-case regret of a rule with its limit."""

from dataclasses import dataclass, replace
from functools import cache

import numpy as np
from scipy.special import ndtr, ndtri
from scipy.stats import t as student

from selective_labels._errors import UndefinedError
from selective_labels.identification.bounds import Array, Bounds
from selective_labels.identification.costs import decided
from selective_labels.identification.prevalence import Share
from selective_labels.inference.confidence_intervals import FALSE_CONTRADICTION
from selective_labels.inference.evidence import Evidence, covariance, mean_estimate
from selective_labels.inference.known_prevalence import contradiction
from selective_labels.nuisance.calibrated_bounds import RowScores

# Relative widths above this leave one end to err on: the one-sided constant is exact to 1e-9.
WIDE = 6.0
N_WIDTHS = 400
GRID = np.linspace(0.0, WIDE, N_WIDTHS)
NEWTON_STEPS = 30
# Error rates, in decreasing order, at which the share of decided rows is counted.
TAILS = np.geomspace(0.5, 1e-6, 31)
# Level of the one-sided limit of the worst-case regret.
LIMIT_LEVEL = 0.95


def widened(bounds: Bounds, errors: Bounds, confidence_level: float) -> Bounds:
    """Intervals of Imbens and Manski for each class probability, within [0, 1].

    [l - c se_l, u + c se_u],   Φ(c + (u - l) / max(se_l, se_u)) - Φ(-c) = confidence level

    Each interval contains its class probability with this confidence, on average over rows. Where c would be
    negative (levels below one half), it is zero: a margin never narrows.

    Parameters
    ----------
    bounds : Bounds
    errors : Bounds
        Standard errors of lower and upper bounds.
    confidence_level : float

    Examples
    --------
    >>> known, error = Bounds(np.array([[0.2, 0.3]]), np.array([[0.7, 0.8]])), np.full((1, 2), 0.01)
    >>> widened(known, Bounds(error, error), 0.9).lower.round(3)
    array([[0.187, 0.287]])
    """
    largest = np.maximum(errors.lower, errors.upper)
    relative = np.divide(bounds.width, largest, out=np.full_like(largest, WIDE), where=largest > 0.0)
    constants = np.maximum(np.interp(relative, GRID, _constants(confidence_level)), 0.0)
    return Bounds(
        np.maximum(bounds.lower - constants * errors.lower, 0.0),
        np.minimum(bounds.upper + constants * errors.upper, 1.0),
    )


@cache
def _constants(confidence_level: float) -> Array:
    """Solve Φ(c + width) - Φ(-c) = level on `GRID` by Newton's method, from the right of the convex side."""
    found = np.full(N_WIDTHS, ndtri((1.0 + confidence_level) / 2.0))
    for _ in range(NEWTON_STEPS):
        excess = ndtr(found + GRID) - ndtr(-found) - confidence_level
        slope = (np.exp(-((found + GRID) ** 2) / 2) + np.exp(-(found**2) / 2)) / np.sqrt(2 * np.pi)
        found = found - excess / slope
    return found


def decided_shares(rows: RowScores, weights: Array, cost: Array | None) -> Array:
    """Share of the training rows that are decided by intervals with each of the error rates `TAILS`."""
    bounds, errors, weight = rows.estimated, rows.errors, weights[rows.compared]
    total, found = max(float(weight.sum()), np.finfo(float).tiny), np.zeros(len(TAILS))
    for place, tail in enumerate(TAILS):
        # What is not decided at one error rate is not at a smaller one.
        kept = decided(widened(bounds, errors, 1.0 - tail), cost)
        if not kept.any():
            break
        bounds, errors = (Bounds(each.lower[kept], each.upper[kept]) for each in (bounds, errors))
        weight = weight[kept]
        found[place] = weight.sum() / total
    return found


def decision_level(shares: Array, confidence_level: float) -> float:
    """Confidence level of the intervals by which rows are decided; 1 if no row can be.

    α = max {α : α <= q share(α)},   q = 1 - confidence level

    This is Benjamini and Hochberg's rule with the shares of the training rows: α times all rows is an upper
    limit of the expected number of rows decided by mistake, so among those decided the expected share of
    mistakes is at most q. It holds as well where errors of rows are positively dependent, and so do errors of
    the same models. Fewer decided rows need stronger evidence each.

    Parameters
    ----------
    shares : (n_tails,) array
        See :func:`decided_shares`.
    confidence_level : float

    Examples
    --------
    With half of the rows decided at any error rate, the largest of `TAILS` up to 5 % is allowed; with one
    row in a hundred, up to .1 %:

    >>> [round(1 - decision_level(np.full(len(TAILS), share), 0.9), 4) for share in (0.5, 0.01)]
    [0.0362, 0.0007]
    """
    allowed = TAILS[(1.0 - confidence_level) * shares >= TAILS]
    return 1.0 - float(allowed[0]) if len(allowed) else 1.0


@dataclass(frozen=True)
class WorstCaseRegret:
    """Estimated worst-case regret of a rule, its standard error and one-sided 95 % limit."""

    value: float
    error: float

    @property
    def upper(self) -> float:
        """Upper limit of a one-sided confidence interval, 95 %."""
        return max(self.value + float(ndtri(LIMIT_LEVEL)) * self.error, 0.0)


def worst_case_regret(
    rows: RowScores,
    chosen: np.ndarray,
    weights: Array,
    *,
    cost: Array | None = None,
    tilt: Array | None = None,
    clusters: np.ndarray | None = None,
) -> WorstCaseRegret:
    """Mean of the largest regret of a rule over the identified sets of the rows, from scores.

    W_i(θ) = max_j max_{η in S(θ_i)} Σ_k (C[k, t_i] - C[k, j] - ν_k) η_k,   debiased by ∂W/∂θ (φ_i - p_i)

    W is convex in the bounds, so W at estimated bounds p ignores what their noise hides: which rival is the
    strongest. It is therefore averaged over bounds θ = p ± √(L-1) (l_f - l), one for each of the L folds and
    each sign, which spread like the estimation error.

    Parameters
    ----------
    rows : RowScores
    chosen : (n_samples,) int array
        Codes of the predicted classes.
    weights : (n_samples,) array
    cost : (n_classes, n_classes) array, optional
        C[true, predicted]; zero-one by default.
    tilt : (n_classes,) array, optional
        ν_k, the multiplier of a known share for its classes.
    clusters : (n_samples,) array, optional

    Returns
    -------
    WorstCaseRegret
    """
    n_samples, n_classes = len(chosen), rows.form.n_classes
    matrix = 1.0 - np.eye(n_classes) if cost is None else np.asarray(cost, dtype=float)
    rivals = matrix.T + (0.0 if tilt is None else tilt)
    plain = _regrets(rows, matrix.T[chosen], rivals, rows.values, rows.models)
    estimate = mean_estimate(plain, weights)
    value, influence = estimate.value, np.array(estimate.influence)
    some, n_folds = rows.compared, len(rows.deviations)
    if n_folds > 1 and rows.deviations.any() and weights[some].any():
        spread, own = np.sqrt(n_folds - 1.0) * rows.deviations, matrix.T[chosen[some]]
        several = [
            _regrets(rows, own, rivals, rows.values[some] + step, rows.models[some] + step)
            for step in (*spread, *-spread)
        ]
        more = mean_estimate(np.mean(several, axis=0) - plain[some], weights[some])
        value += more.value
        influence[some] += more.influence * n_samples / len(some)
    try:
        error = float(np.sqrt(covariance([influence], clusters)[0, 0]))
    except UndefinedError:  # one cluster
        error = float("nan")
    return WorstCaseRegret(value, error)


def contradicted(
    rows: RowScores,
    shares: tuple[Share, ...],
    weights: Array,
    clusters: np.ndarray | None = None,
    *,
    tail: float = FALSE_CONTRADICTION,
) -> str:
    """Describe how the scores contradict the assumptions beyond sampling error; empty if they do not.

    E[1 - Σ_k l_k - Σ_S δ_S] >= 0,   and a known share must lie between its bounds

    The worst-case regret over no probabilities at all would be zero. `tail` is the probability of a false
    alarm where the assumptions leave one value.
    """
    found = _evidence(rows, rows.values, rows.models).with_shares(shares, weights, clusters)
    if shares and (words := contradiction(found, tail)):
        return words
    slack = mean_estimate(found.slack, weights)
    try:
        error = float(np.sqrt(covariance([slack.influence], clusters)[0, 0]))
    except UndefinedError:  # one cluster
        return ""
    units = max(replace(found, clusters=clusters).count_units(weights), 2)
    if -slack.value <= float(student.isf(tail, units - 1)) * error:
        return ""
    return (
        f"contradicted: the lower bounds that it implies sum to {1.0 - slack.value:.3f} on average (standard "
        f"error {error:.3f}), and probabilities sum to one."
    )


def _regrets(rows: RowScores, own: Array, rivals: Array, values: Array, models: Array) -> Array:
    """Scores of the largest regret; the models choose the strongest rival and where slack goes."""
    score, model = (_evidence(rows, each, models) for each in (values, models))
    best, found = np.full(len(own), -np.inf), np.empty(len(own))
    for rival in rivals:
        gain = own - rival
        by_model = np.einsum("nk,nk->n", gain, model.extreme(gain))
        found = np.where(by_model > best, np.einsum("nk,nk->n", gain, score.extreme(gain)), found)
        best = np.maximum(best, by_model)
    return found


def _evidence(rows: RowScores, values: Array, models: Array) -> Evidence:
    lower, further = rows.form.scores(values, models)
    slack = 1.0 - lower.sum(axis=1)
    if further is not None:
        slack = slack - further.values.sum(axis=1)
    return Evidence(lower, slack, models[:, : rows.form.n_classes], further)
