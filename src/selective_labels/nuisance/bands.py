"""Arms of the instrument: single decision-makers, or leniency bands of many decision-makers or panels.

Bands are formed so that a row never influences its own band. The empirical Bayes shrinkage of leniencies is
here as well.
"""

from dataclasses import dataclass

import numpy as np
from sklearn.linear_model import Ridge

from selective_labels._errors import InputError
from selective_labels._validation import require_weight
from selective_labels.data.panels import Panels
from selective_labels.data.selective_labels import SelectiveLabels
from selective_labels.nuisance.models.encoders import standardised

# Up to this many decision-makers each is its own arm; the ridge penalty and shrinkage then pool them.
MANY_DECISION_MAKERS = 64
N_BANDS = 20
INNER_FOLDS = 5


@dataclass(frozen=True)
class Arms:
    """Values of the instrument: decision-makers, or bands of decision-makers.

    Attributes
    ----------
    rows : (n_train,) int array
        The arm of each training row.
    lookup : (n_decision_makers,) int array
        The arm of each decision-maker, for rows outside the training sample.
    """

    rows: np.ndarray
    lookup: np.ndarray
    n_arms: int


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
    """Group decision-makers into leniency bands; the band of a row does not depend on its own decision.

    Any function of the decision-maker that does not depend on the row itself is a valid instrument. Bands of
    in-sample leniency are not valid, because a lenient decision moves its own row into a more lenient band.
    The rows are therefore split into inner folds, and the band of a row is based on the shrunken, adjusted
    leniency of its decision-maker in the other inner folds.

    Parameters
    ----------
    X, decision, decision_maker : training rows
    strata : (n_train,) int array, optional
        Cells within which assignment is random; leniency is relative to the mean of the cell.
        Without strata it is relative to a linear prediction from the features.
    cases : (n_train,) int array, optional
        Codes of repeated cases; all rows of a case are in one inner fold.
    categorical : tuple of int
        Columns of X with category codes.
    sample_weight : (n_train,) array, optional

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
    """Empirical Bayes means by code: m + v / (v + s²/n_z) (mean_z - m); m for a code without rows.

    With weights, n_z is Kish's effective number of rows.

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
    """Empirical Bayes shrinkage of means with known noise: m + v / (v + noise_z) (mean_z - m).

    A mean without mass is set to m.

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
    """Inner fold of each row, (n_samples,); all rows of a case are in one fold."""
    # If the codes have gaps, a few cases may all fall into one fold. Consecutive codes rule this out for two
    # or more cases.
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
    """Decision minus its expectation given the case: the stratum mean, or a ridge prediction."""
    if strata is not None:
        mass = np.maximum(np.bincount(strata, sample_weight), np.finfo(float).tiny)
        favourable = decision if sample_weight is None else sample_weight * decision
        return decision - (np.bincount(strata, favourable) / mass)[strata]
    require_weight(sample_weight)
    features = standardised(categorical).fit_transform(X)
    return decision - Ridge().fit(features, decision, sample_weight).predict(features)


def _cut(surplus: np.ndarray, code: np.ndarray, n_codes: int, n_bands: int, weight: np.ndarray) -> np.ndarray:
    """Cut the ranking by leniency into bands of about equal weight, or equal rows if all weights are zero."""
    weight = weight if weight.any() else np.ones_like(weight)
    leniency = shrunken_means(surplus, code, n_codes, weight)
    return cut_evenly(leniency, np.bincount(code, weight, n_codes), n_bands)


def cut_evenly(values: np.ndarray, mass: np.ndarray, n_bands: int) -> np.ndarray:
    """Cut sorted values into bands of about equal mass.

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


# Members' acceptance rates are clipped to this range, so that log(1 - p) is finite.
LEAST_CHANCE, MOST_CHANCE = 0.02, 0.98


def panel_bands(data: SelectiveLabels, rows: np.ndarray, n_bands: int, random_state: int | None) -> Arms:
    """Group panels into bands by the probability that any member accepts, predicted from members and size.

    s = -Σ_members log(1 - p_j),   P(any accepts) = a + b s + c log(size),   bands of equal mass

    Here p_j is the shrunken, adjusted leniency of a member. If members were independent given the case, the
    probability would be 1 - exp(-s). They are not, so a regression estimates the effects of leniency and
    size. The regression serves only to order the panels.

    If the panel is a valid instrument, so is any function of its members that does not depend on the case
    itself. Leniencies and regression therefore use other cases: those of the other inner folds for training
    rows, and all training cases for other rows. A new panel can be placed because its members are known.

    Panel size is part of the instrument, so it must be unrelated to the label. With strata, panels are
    compared within their stratum.

    Parameters
    ----------
    data : SelectiveLabels
        Must have panels.
    rows : (n_train,) int array
        Training rows; only their decisions are used.

    Returns
    -------
    Arms
        Numbered from the least to the most lenient band; `lookup` is by panel.
    """
    assert data.groups is not None
    chances = _Chances(data, rows)
    inner = inner_folds(data.groups[rows], random_state)
    arms = np.empty(len(rows), dtype=int)
    for fold in np.unique(inner):
        lookup = chances.bands(inner != fold, n_bands)
        arms[inner == fold] = lookup[data.decision_maker_codes[rows[inner == fold]]]
    return Arms(arms, chances.bands(np.ones(len(rows), dtype=bool), n_bands), n_bands)


class _Chances:
    """Decisions of training rows minus their expectation given the case."""

    def __init__(self, data: SelectiveLabels, rows: np.ndarray) -> None:
        assert data.panels is not None
        assert data.own_decision_maker_codes is not None
        strata = None if data.strata is None else data.strata[rows]
        weight = None if data.sample_weight is None else data.sample_weight[rows]
        known = data.features[rows], strata, data.categorical, weight
        self.data, self.panels, self.rows = data, data.panels, rows
        self.weight = data.weights[rows]
        self.decision = data.row_decision[rows]
        self.member = data.own_decision_maker_codes[rows]
        self.panel = data.decision_maker_codes[rows]
        self.own = surplus_of(self.decision, *known)
        self.anyone = surplus_of(data.decision[rows], *known)

    def bands(self, used: np.ndarray, n_bands: int) -> np.ndarray:
        """Band of every panel, from the decisions of the rows in `used` only, (n_panels,)."""
        weight, panel = self.weight[used], self.panel[used]
        leniency = shrunken_means(self.own[used], self.member[used], len(self.panels.people), weight)
        accepted = leniency + np.average(self.decision[used], weights=weight)
        columns = panel_columns(self.panels, accepted)
        columns = columns - _of_strata(self.data, columns)
        value = columns @ _slopes(columns[panel], self.anyone[used], weight)
        return cut_evenly(value, np.bincount(panel, weight, self.panels.n_panels), n_bands)


def panel_columns(panels: Panels, accepted: np.ndarray) -> np.ndarray:
    """Regressors of a panel: -Σ log(1 - p_j) over its members, and log size, (n_panels, 2).

    Examples
    --------
    >>> panels = Panels(np.array([0, 0, 1]), np.array([0, 1, 1]), np.array(["a", "b"]), 2)
    >>> panel_columns(panels, np.array([0.5, 0.75])).round(3)
    array([[2.079, 0.693],
           [1.386, 0.   ]])
    """
    refused = np.log1p(-np.clip(accepted, LEAST_CHANCE, MOST_CHANCE))
    return np.column_stack([-panels.total(refused), np.log(panels.size)])


def _slopes(columns: np.ndarray, values: np.ndarray, weight: np.ndarray) -> np.ndarray:
    """Weighted least squares with an intercept; a constant column has slope zero."""
    share = weight / weight.sum()
    centred = columns - share @ columns
    root = np.sqrt(share)[:, None]
    return np.linalg.lstsq(root * centred, root[:, 0] * values, rcond=1e-8)[0]


def _of_strata(data: SelectiveLabels, columns: np.ndarray) -> np.ndarray:
    """Stratum means of the columns, averaged over the rows of each panel; uses no decisions."""
    if data.strata is None:
        return np.zeros_like(columns)
    panel, n_panels = data.decision_maker_codes, len(columns)
    cases = np.bincount(data.strata)
    rows = np.maximum(np.bincount(panel, minlength=n_panels), 1)
    means = np.empty_like(columns)
    for number, column in enumerate(columns.T):
        by_stratum = np.bincount(data.strata, column[panel]) / np.maximum(cases, 1)
        means[:, number] = np.bincount(panel, by_stratum[data.strata], n_panels) / rows
    return means


def arms_off_fold(
    data: SelectiveLabels, rows: np.ndarray, n_bands: int | None, random_state: int | None = 0
) -> np.ndarray:
    """Arm of each row (its panel or the panel's band), formed without the row's own case, (n_rows,)."""
    if n_bands is None:
        return data.decision_maker_codes[rows]
    return panel_bands(data, rows, n_bands, random_state).rows


def by_case(groups: np.ndarray | None, used: np.ndarray, values: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """First row of every case among the rows in `used`, and the case means of the columns.

    Several rows of one case would otherwise count as agreement between cases.

    Examples
    --------
    >>> by_case(np.array([7, 5, 3, 7]), np.array([True, False, True, True]), np.array([[1.0], [5.0], [2.0]]))
    (array([1, 0]), array([[5. ],
           [1.5]]))
    """
    assert groups is not None
    _, first, code = np.unique(groups[used], return_index=True, return_inverse=True)
    rows = np.bincount(code)
    return first, np.stack([np.bincount(code, column) / rows for column in values.T], axis=1)
