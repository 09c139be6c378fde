"""Scores: per-row quantities whose means are bounds or values of the whole population."""

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from selective_labels.data import SelectiveLabels
from selective_labels.identification.point import slope, two_fold_moments
from selective_labels.nuisance.cross_fit import CrossFit
from selective_labels.nuisance.propensity import arm_propensity

ASSUMPTIONS = ("none", "instrument", "nucem", "unconfounded")
# Weights are inverse probabilities; none exceeds 1 / OVERLAP.
OVERLAP = 0.01
# Up to this many decision-makers are arms of their own: as few as groups would be.
FEW_DECISION_MAKERS = 4
MOST_GROUPS = 20
ROWS_PER_GROUP = 50
# Variance of leniency (a standard deviation of three points) below which a slope is not trusted.
WEAKEST_STRENGTH = 1e-3


@dataclass(frozen=True, eq=False)
class Scores:
    """Scores of the classes, row by row.

    Attributes
    ----------
    values : (n_samples, n_classes) array
        Noisy but (nearly) unbiased: the mean of c(X) values_k estimates E[c(X) lower_k(X)] for any function
        c, or E[c(X) η_k(X)] under a point assumption. Single values leave [0, 1].
    plug_in : (n_samples, n_classes) array
        What the model says that has not seen the row: a probability, to choose with (which class, which
        cut-off) but not to average, since the choice then does not depend on the score's noise.
    clipped : (n_samples,) bool array
        Rows in which a denominator was too small: an arm was left out of the maximum, or the denominator was
        held at its floor.
    """

    values: np.ndarray
    plug_in: np.ndarray
    clipped: np.ndarray

    @property
    def slack(self) -> np.ndarray:
        """1 - Σ_k values_k, shape (n_samples,): zero (up to rounding) under a point assumption."""
        return 1.0 - self.values.sum(axis=1)


def selector_groups(data: SelectiveLabels) -> int | None:
    """How many leniency groups to evaluate with: the `n_groups` of :func:`cross_fit`.

    Q = 1.3 √J rounded, from 2 to 20 and with fifty rows or more each; None (no groups) for J <= 4

    with J the decision-makers a case can go to: all, or those of its stratum (the median over rows). With
    an arm for each decision-maker, near ties make the selector of the envelope score unstable: the standard
    error is then up to a fifth too small, and the variance grows with the number of arms. Groups give up a
    little sharpness for a standard error that is right. Four groups at J = 8 and eight at J = 40.

    Examples
    --------
    >>> X, y, case = np.zeros((800, 1)), [0, 1] * 400, np.arange(800)
    >>> many = SelectiveLabels.from_arrays(X, y, decision_maker=case % 40)
    >>> few = SelectiveLabels.from_arrays(X, y, decision_maker=case % 3)
    >>> selector_groups(many), selector_groups(few)
    (8, None)
    """
    if data.n_decision_makers <= FEW_DECISION_MAKERS:
        return None
    cells = np.zeros(len(data), dtype=int) if data.strata is None else data.strata
    pairs = np.unique(np.stack([cells, data.decision_maker_codes]), axis=1)
    available = np.median(np.bincount(pairs[0])[cells])
    n_groups = min(round(1.3 * np.sqrt(available)), MOST_GROUPS, len(data) // ROWS_PER_GROUP)
    return max(n_groups, 2)


def manski_scores(y: np.ndarray, labeled: np.ndarray) -> Scores:
    """Score of the lower bound without an instrument.

    φ_k = D Y_k,   E[φ_k | x] = P(D=1, Y=k | x) <= η_k(x)

    Manski's worst case: assumes nothing, uses no model. Only the choice (`plug_in`) comes from one.

    Parameters
    ----------
    y : (n_samples,) int array
        Label codes, -1 where none was seen.
    labeled : (n_samples, n_classes) array
        Estimates of P(D=1, Y=k | x).

    Examples
    --------
    >>> manski_scores(np.array([1, -1]), np.array([[0.2, 0.4], [0.3, 0.3]])).values
    array([[0., 1.],
           [0., 0.]])
    """
    return Scores(_seen(y, labeled.shape[1]), labeled, np.zeros(len(y), dtype=bool))


def envelope_scores(
    joint: np.ndarray, arm: np.ndarray, y: np.ndarray, propensity: np.ndarray, overlap: float = OVERLAP
) -> Scores:
    """Score of the lower bound with an instrument.

    φ_k = p̂_kẑ(x) + 1{Z=ẑ} / e_ẑ(x) · (D Y_k - p̂_kẑ(x)),   ẑ = ẑ_k(x) = argmax_z p̂_kz(x)

    The envelope score. Given the selector ẑ, E[φ_k | x] = p_kẑ(x) <= max_z p_kz(x) if e is right, whatever
    p̂ is, or if p̂ is right, whatever e is: a wrong selector makes the averaged bound wider, never wrong. It
    is exact to first order where the best arm is separated from the next. Where arms tie, the selector never
    settles and standard errors are too small; few arms (leniency groups) keep this harmless.

    Arms are selected only where e_z(x) >= `overlap` (or where e_z(x) is the largest there is): leaving an
    arm out of the maximum keeps the bound valid, a tiny propensity would ruin its precision.

    Parameters
    ----------
    joint : (n_arms, n_samples, n_classes + 1) array
        The unlabeled class first, by a model that has not seen the rows.
    arm : (n_samples,) int array
    y : (n_samples,) int array
        Label codes, -1 where none was seen.
    propensity : (n_samples, n_arms) array
    overlap : float
        In (0, 1).

    Examples
    --------
    >>> joint = np.array([[[0.6, 0.1, 0.3]], [[0.2, 0.3, 0.5]]])
    >>> propensity = np.array([[0.5, 0.5]])
    >>> envelope_scores(joint, np.array([1]), np.array([1]), propensity).values
    array([[-0.3,  1.5]])
    >>> envelope_scores(joint, np.array([0]), np.array([1]), propensity).values
    array([[0.3, 0.5]])
    """
    largest = propensity.max(axis=1, keepdims=True)
    allowed = propensity >= np.minimum(overlap, largest)
    labeled = np.where(allowed.T[:, :, None], joint[:, :, 1:], -1.0)
    best = labeled.argmax(axis=0)
    plug_in = np.take_along_axis(labeled, best[None], axis=0)[0]
    weight = (arm[:, None] == best) / np.take_along_axis(propensity, best, axis=1)
    values = plug_in + weight * (_seen(y, plug_in.shape[1]) - plug_in)
    return Scores(values, plug_in, ~allowed.all(axis=1))


def aipw_scores(labeled: np.ndarray, y: np.ndarray, overlap: float = OVERLAP) -> Scores:
    """Score of the class probabilities if decisions are unconfounded given the features.

    φ_k = μ_k(x) + D / π(x) · (1{Y=k} - μ_k(x)),   π = Σ_k P(D=1, Y=k | x),   μ_k = P(D=1, Y=k | x) / π

    Augmented inverse probability weighting: E[φ_k | x] = η_k(x) under D ⟂ Y* | X if π is right, whatever
    μ is, or if μ is right, whatever π is. Scores sum to one over the classes. π is held at `overlap` or more.

    Parameters
    ----------
    labeled : (n_samples, n_classes) array
        Estimates of P(D=1, Y=k | x), by a model that has not seen the rows.
    y : (n_samples,) int array
        Label codes, -1 where none was seen.
    overlap : float
        In (0, 1).

    Examples
    --------
    >>> aipw_scores(np.array([[0.1, 0.4], [0.1, 0.4]]), np.array([1, -1])).values
    array([[-0.2,  1.2],
           [ 0.2,  0.8]])
    """
    decided = labeled.sum(axis=1, keepdims=True)
    uniform = np.full_like(labeled, 1.0 / labeled.shape[1])
    posterior = np.divide(labeled, decided, out=uniform, where=decided > 0.0)
    weight = (y >= 0)[:, None] / np.maximum(decided, overlap)
    values = posterior + weight * (_seen(y, labeled.shape[1]) - posterior)
    return Scores(values, posterior, decided[:, 0] < overlap)


def slope_scores(
    first: np.ndarray,
    second: np.ndarray,
    arm: np.ndarray,
    y: np.ndarray,
    propensity: np.ndarray,
    weakest: float = WEAKEST_STRENGTH,
) -> Scores:
    """Score of the class probabilities if there is no unmeasured common effect modifier (NUCEM).

    ψ_k = η̃_k + f / V · (D Y_k - m_k - η̃_k (D - m_D)),
    f = λ_Z - Σ_z e_z λ_z,   V = Σ_z e_z f_z λ_z,   m_k = Σ_z e_z p_kz,   m_D = Σ_k m_k

    Multiply robust: under p_kz = κ_k + η_k λ_z (Proposition A.1, E4b), E[ψ_k | x] = η_k(x) if e and V are
    right, whatever η̃ and m are, or if η̃_k and m_k - η̃_k m_D are right, whatever f and V are. Scores
    sum to one over the classes. V and η̃ are two-fold moments of models on disjoint halves, so that noise
    does not pass for strength; where V < `weakest` it is held there, which draws the score to η̃.

    Parameters
    ----------
    first, second : (n_arms, n_samples, n_classes + 1) arrays
        Joint probabilities by two models fitted to disjoint rows, neither of which has seen these rows.
    arm : (n_samples,) int array
    y : (n_samples,) int array
        Label codes, -1 where none was seen.
    propensity : (n_samples, n_arms) array
    weakest : float
        Positive.

    Examples
    --------
    >>> joint = np.array([[[0.6, 0.1, 0.3]], [[0.2, 0.3, 0.5]]])
    >>> slope_scores(joint, joint, np.array([1]), np.array([1]), np.array([[0.5, 0.5]])).values.round(1)
    array([[-1.5,  2.5]])
    """
    moments = two_fold_moments(first, second, propensity.T)
    posterior = slope(moments.covariance, moments.strength, moments.selected, shrinkage=weakest)
    joint = (first + second) / 2.0
    mean = average_over_arms(joint, propensity)
    decision, mean_decision = (y >= 0)[:, None], mean.sum(axis=1, keepdims=True)
    contrast = 1.0 - joint[arm, np.arange(len(y)), :1] - mean_decision
    strength = np.maximum(moments.strength, weakest)[:, None]
    residual = _seen(y, mean.shape[1]) - mean - posterior * (decision - mean_decision)
    return Scores(posterior + contrast / strength * residual, posterior, moments.strength < weakest)


def average_over_arms(joint: np.ndarray, propensity: np.ndarray) -> np.ndarray:
    """P(D=1, Y=k | x) = Σ_z e_z(x) p_kz(x), shape (n_samples, n_classes).

    Examples
    --------
    >>> joint = np.array([[[0.6, 0.1, 0.3]], [[0.2, 0.3, 0.5]]])
    >>> average_over_arms(joint, np.array([[0.5, 0.5]]))
    array([[0.2, 0.4]])
    """
    return np.einsum("na,ank->nk", propensity, joint[:, :, 1:])


def cross_fit_scores(
    fit: CrossFit,
    data: SelectiveLabels,
    assumptions: Iterable[str] = ASSUMPTIONS,
    *,
    propensity: str = "shares",
    overlap: float = OVERLAP,
    held_out: bool = True,
) -> dict[str, Scores]:
    """Scores of every row under several assumptions, from models fitted once.

    Costs one prediction of every row under every arm (per half), whatever the number of assumptions, and no
    further fit (unless ``propensity="model"``).

    Parameters
    ----------
    fit : CrossFit
    data : SelectiveLabels
        The rows that `fit` was made from, or, with ``held_out=False``, other rows with the same
        decision-makers and classes.
    assumptions : iterable of "none", "instrument", "nucem", "unconfounded"
        "nucem" needs ``cross_fit(in_halves=True)``.
    propensity : "shares" or "model"
        See :func:`selective_labels.nuisance.propensity.arm_propensity`.
    overlap : float
        Arms are selected, and decisions inverted, only where their probability is at least this.
    held_out : bool
        True: each row is scored by the model that has not seen it. False: new rows; the scores by the
        models of all folds are averaged.

    Returns
    -------
    dict of Scores
        By assumption. See :func:`manski_scores`, :func:`envelope_scores`, :func:`slope_scores`,
        :func:`aipw_scores`.
    """
    names = list(assumptions)
    _check(fit, data, names, overlap, held_out)
    n_classes = len(data.classes)
    totals = {name: _empty_scores(len(data), n_classes) for name in names}
    for number, fold in enumerate(fit.folds):
        rows = np.flatnonzero(fit.held_out == number) if held_out else np.arange(len(data))
        probability = arm_propensity(data, fold.lookup, fit.n_arms, propensity)
        for part in fit.chunks(len(rows), n_classes + 1):
            here = rows[part]
            pair = [model.joint(data.X[here]) for model in fold.models]
            arm = fold.lookup[data.decision_maker_codes[here]]
            chunk = _Chunk(pair[0], pair[-1], arm, data.y[here], probability(here))
            for name in names:
                _add(totals[name], here, chunk.score(name, overlap))
    if held_out:
        return totals
    n_folds = len(fit.folds)
    return {
        name: Scores(each.values / n_folds, each.plug_in / n_folds, each.clipped)
        for name, each in totals.items()
    }


@dataclass(frozen=True, eq=False)
class _Chunk:
    """Some rows with all that scores need."""

    first: np.ndarray
    second: np.ndarray
    arm: np.ndarray
    y: np.ndarray
    propensity: np.ndarray

    @cached_property
    def joint(self) -> np.ndarray:
        return self.first if self.first is self.second else (self.first + self.second) / 2.0

    @cached_property
    def labeled(self) -> np.ndarray:
        return average_over_arms(self.joint, self.propensity)

    def score(self, assumption: str, overlap: float) -> Scores:
        if assumption == "none":
            return manski_scores(self.y, self.labeled)
        if assumption == "unconfounded":
            return aipw_scores(self.labeled, self.y, overlap)
        if assumption == "nucem":
            return slope_scores(self.first, self.second, self.arm, self.y, self.propensity)
        return envelope_scores(self.joint, self.arm, self.y, self.propensity, overlap)


def _check(fit: CrossFit, data: SelectiveLabels, names: list[str], overlap: float, held_out: bool) -> None:
    unknown = [name for name in names if name not in ASSUMPTIONS]
    if unknown:
        raise ValueError(f"assumption {unknown[0]!r} is not one of {', '.join(map(repr, ASSUMPTIONS))}.")
    if not 0.0 < overlap < 1.0:
        raise ValueError(f"overlap={overlap} must lie between 0 and 1, both excluded.")
    if held_out and len(fit.held_out) != len(data):
        raise ValueError(
            f"the nuisance model was fitted on {len(fit.held_out)} rows and data has {len(data)}; "
            "rows that it has not seen need held_out=False."
        )
    single = len(fit.folds[0].models) == 1 and fit.report.chosen != "injected"
    if "nucem" in names and single:
        raise ValueError(
            "assumption 'nucem' needs models on two halves of the rows: cross_fit(in_halves=True)."
        )


def _seen(y: np.ndarray, n_classes: int) -> np.ndarray:
    """D Y_k: indicators of the labels that were seen, (n_samples, n_classes)."""
    return (y[:, None] == np.arange(n_classes)).astype(float)


def _empty_scores(n_samples: int, n_classes: int) -> Scores:
    shape = (n_samples, n_classes)
    return Scores(np.zeros(shape), np.zeros(shape), np.zeros(n_samples, dtype=bool))


def _add(total: Scores, rows: np.ndarray, part: Scores) -> None:
    total.values[rows] += part.values
    total.plug_in[rows] += part.plug_in
    total.clipped[rows] |= part.clipped
