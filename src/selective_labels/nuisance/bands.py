"""Groups of decision-makers by leniency, for when there are many with few rows each."""

from dataclasses import dataclass

import numpy as np
from sklearn.linear_model import Ridge

from selective_labels.models.features import standardised
from selective_labels.support.errors import InputError
from selective_labels.support.weighting import require_weight

# Up to this many decision-makers each is an arm of its own; ridge and shrinkage pool them.
MANY_DECISION_MAKERS = 64
N_BANDS = 20
INNER_FOLDS = 5


@dataclass(frozen=True)
class Arms:
    """The values of the instrument: decision-makers, or bands of decision-makers.

    Attributes
    ----------
    rows : (n_train,) int array
        The arm of each training row.
    lookup : (n_decision_makers,) int array
        The arm of each decision-maker, for rows outside the training sample.
    n_arms : int
    """

    rows: np.ndarray
    lookup: np.ndarray
    n_arms: int


def one_arm_each(decision_maker: np.ndarray, n_decision_makers: int) -> Arms:
    """Every decision-maker is an arm."""
    return Arms(decision_maker, np.arange(n_decision_makers), n_decision_makers)


def leniency_bands(
    X: np.ndarray,
    decision: np.ndarray,
    decision_maker: np.ndarray,
    n_decision_makers: int,
    *,
    strata: np.ndarray | None = None,
    cases: np.ndarray | None = None,
    categorical: tuple[int, ...] = (),
    sample_weight: np.ndarray | None = None,
    n_bands: int = N_BANDS,
    random_state: int | None = None,
) -> Arms:
    """Put decision-makers into bands by leniency, without letting a row choose its own band.

    Any function of the decision-maker that does not depend on the row at hand is a valid instrument;
    bands of in-sample leniency is not, because a lenient decision pulls its own row into the lenient
    band. So the rows are cut into inner folds, and the band of a row comes from the shrunken, adjusted
    leniency that its decision-maker shows in the other inner folds.

    Parameters
    ----------
    X, decision, decision_maker : training rows
    n_decision_makers : int
    strata : (n_train,) int array, optional
        Cells within which assignment is random; leniency is measured against the cell.
        Without strata it is measured against a linear prediction from the features.
    cases : (n_train,) int array, optional
        Codes of repeated cases; rows of one case stay in one inner fold.
    categorical : tuple of int
        Columns of X that hold codes of categories.
    sample_weight : (n_train,) array, optional
    n_bands : int
    random_state : int, optional

    Returns
    -------
    Arms
        Numbered from the least to the most lenient band.
    """
    weight = np.ones(len(decision)) if sample_weight is None else sample_weight
    surplus = surplus_of(decision, X, strata, categorical, sample_weight)
    inner = inner_folds(np.arange(len(decision)) if cases is None else cases, random_state)
    rows = np.empty(len(decision), dtype=int)
    for fold in np.unique(inner):
        others = inner != fold
        lookup = _cut(surplus[others], decision_maker[others], n_decision_makers, n_bands, weight[others])
        rows[~others] = lookup[decision_maker[~others]]
    return Arms(rows, _cut(surplus, decision_maker, n_decision_makers, n_bands, weight), n_bands)


def shrunken_means(
    values: np.ndarray, code: np.ndarray, n_codes: int, weight: np.ndarray | None = None
) -> np.ndarray:
    """Empirical-Bayes means by code: m + v / (v + s²/n_z) (mean_z - m), with codes never seen at m.

    With weights n_z is Kish's number of rows.

    Examples
    --------
    >>> shrunken_means(np.array([0.0, 0.0, 1.0, 1.0]), np.array([0, 0, 1, 1]), 3).round(2)
    array([0. , 1. , 0.5])
    """
    weight = np.ones(len(values)) if weight is None else weight
    tiny = np.finfo(float).tiny
    mass = np.bincount(code, weight, n_codes)
    means = np.bincount(code, weight * values, n_codes) / np.maximum(mass, tiny)
    grand = np.average(values, weights=weight)
    within = np.average((values - means[code]) ** 2, weights=weight)
    seen = mass > 0.0
    number = np.where(seen, mass**2 / np.maximum(np.bincount(code, weight**2, n_codes), tiny), 1.0)
    return shrink(means, mass, within / number, grand)


def shrink(means: np.ndarray, mass: np.ndarray, noise: np.ndarray, grand: float | None = None) -> np.ndarray:
    """Empirical-Bayes means of what has a noise: m + v / (v + noise_z) (mean_z - m), without mass at m.

    Examples
    --------
    >>> shrink(np.array([0.0, 1.0, 9.0]), np.array([1.0, 1.0, 0.0]), np.array([0.1, 0.1, 0.1])).round(2)
    array([0.2, 0.8, 0.5])
    """
    seen = mass > 0.0
    grand = float(np.average(means[seen], weights=mass[seen])) if grand is None else grand
    between = max(float(np.average((means[seen] - grand) ** 2 - noise[seen], weights=mass[seen])), 0.0)
    factor = between / np.maximum(between + noise, np.finfo(float).tiny)
    return np.where(seen, grand + factor * (means - grand), grand)


def inner_folds(cases: np.ndarray, random_state: int | None) -> np.ndarray:
    """Fold of each row, rows of one case together, (n_samples,)."""
    # Few cases among codes that have gaps may all meet in one fold; without gaps, two cannot.
    for codes in (cases, np.unique(cases, return_inverse=True)[1]):
        folds = (np.random.default_rng(random_state).permutation(codes.max() + 1) % INNER_FOLDS)[codes]
        if folds.min() < folds.max():
            return folds
    raise InputError.about("groups", "has one value only in a training part; use finer groups.")


def surplus_of(
    decision: np.ndarray,
    X: np.ndarray,
    strata: np.ndarray | None,
    categorical: tuple[int, ...],
    sample_weight: np.ndarray | None,
) -> np.ndarray:
    """Decision minus what the case alone would lead one to expect."""
    if strata is not None:
        mass = np.maximum(np.bincount(strata, sample_weight), np.finfo(float).tiny)
        favourable = decision if sample_weight is None else sample_weight * decision
        return decision - (np.bincount(strata, favourable) / mass)[strata]
    require_weight(sample_weight)
    features = standardised(categorical).fit_transform(X)
    return decision - Ridge().fit(features, decision, sample_weight).predict(features)


def _cut(surplus: np.ndarray, code: np.ndarray, n_codes: int, n_bands: int, weight: np.ndarray) -> np.ndarray:
    """Leniency ranks cut so that bands hold about equal weight, or rows where these weigh nothing."""
    weight = weight if weight.any() else np.ones_like(weight)
    leniency = shrunken_means(surplus, code, n_codes, weight)
    return cut_evenly(leniency, np.bincount(code, weight, n_codes), n_bands)


def cut_evenly(values: np.ndarray, mass: np.ndarray, n_bands: int) -> np.ndarray:
    """Cut the order of some values so that bands hold about equal mass.

    Examples
    --------
    >>> cut_evenly(np.array([0.3, 0.1, 0.2, 0.9]), np.array([1.0, 1.0, 0.0, 1.0]), 3)
    array([1, 0, 1, 2])
    """
    order = np.argsort(values, kind="stable")
    sorted_mass = mass[order]
    middle = np.cumsum(sorted_mass) - sorted_mass / 2
    bands = np.empty(len(values), dtype=int)
    bands[order] = np.minimum((middle / sorted_mass.sum() * n_bands).astype(int), n_bands - 1)
    return bands
