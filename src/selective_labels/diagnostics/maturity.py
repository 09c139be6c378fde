"""SL1101 to SL1103: pending outcomes, and whether maturity depends on the label where that can be seen.

They run where outcomes are pending. A variable v (a label came before its date; the date) and the label are
compared among cases with a label, net of features, by the generalised covariance measure::

    T_k = Σ_i r_i / √Σ_i r_i²,   r_i = (v_i - E[v | x_i]) (1{Y_i=k} - P(Y=k | x_i))

T_k is standard normal if label and variable are independent given x. Both expectations are boosted trees,
fitted to the other half of the rows.
"""

from typing import NamedTuple

import numpy as np
from scipy.stats import norm
from sklearn.ensemble import HistGradientBoostingRegressor

from selective_labels.assumptions.base import OK, WARNING
from selective_labels.data.features import DATE
from selective_labels.data.pending import AT_RANDOM
from selective_labels.data.roles import HOLE
from selective_labels.data.selective_labels import SelectiveLabels
from selective_labels.diagnostics.context import Context
from selective_labels.diagnostics.overlap import (
    MANY_ONE_SIDED,
    MOST_ROWS,
    MOST_TREES,
    RARELY,
    chance_by_trees,
)
from selective_labels.diagnostics.results import MATURITY, Check, Finding, need
from selective_labels.nuisance.models.boosting import BOOSTING, FEW_LEAVES
from selective_labels.nuisance.models.encoders import boosting, fit_weighted

# With fewer rows on either side, nothing is tested.
FEWEST = 20
TREES = 60
WORSE = "pending='at-random' would be wrong for the fact that a label is there"


class Dependence(NamedTuple):
    """The class whose frequency depends most on a variable: p-value over all classes, code and sign."""

    p_value: float
    code: int
    more: bool


def dependence(
    data: SelectiveLabels, rows: np.ndarray, variable: np.ndarray, label: np.ndarray, seed: int
) -> Dependence:
    """Compare a variable with the labels of some rows, net of features; see the module.

    Parameters
    ----------
    rows : (n_rows,) int array
    variable : (n_rows,) array
    label : (n_rows,) int array
        Codes.
    """
    kept = np.setdiff1d(np.arange(data.features.shape[1]), _calendar(data))
    categorical = tuple(place for place, column in enumerate(kept.tolist()) if column in data.categorical)
    X, weight = data.features[np.ix_(rows, kept)], data.weights[rows]
    unit = rows if data.groups is None else data.groups[rows]
    half = np.random.default_rng(seed).permutation(int(unit.max()) + 1)[unit] % 2
    codes = np.unique(label)
    targets = np.column_stack([variable, label[:, None] == codes]).astype(float)
    left = targets - np.average(targets, axis=0, weights=weight)
    for number in range(2):
        fitted, predicted = half != number, half == number
        for place, target in enumerate(targets.T):
            if X.shape[1] and fitted.any() and np.ptp(target[fitted]) > 0.0:
                trees = HistGradientBoostingRegressor(
                    **BOOSTING,
                    max_leaf_nodes=FEW_LEAVES,
                    max_iter=TREES,
                    early_stopping=False,
                    random_state=0,
                )
                model = fit_weighted(boosting(trees, categorical), X[fitted], target[fitted], weight[fitted])
                left[predicted, place] = target[predicted] - model.predict(X[predicted])
    parts = weight[:, None] * left[:, :1] * left[:, 1:]
    if data.groups is not None:
        parts = np.stack([np.bincount(data.groups[rows], each) for each in parts.T], axis=1)
    size = np.sqrt(np.sum(parts**2, axis=0))
    found = parts.sum(axis=0) / np.maximum(size, np.finfo(float).tiny)
    best = int(np.abs(found).argmax())
    n_tests = 1 if len(codes) == 2 else len(codes)
    return Dependence(
        min(1.0, n_tests * 2.0 * float(norm.sf(abs(found[best])))), int(codes[best]), bool(found[best] > 0.0)
    )


def _calendar(data: SelectiveLabels) -> list[int]:
    """Columns with dates, or parts of dates: they say when a case was decided, and not what it is like."""
    dates = [place for place, kind in enumerate(data.kinds) if kind == DATE]
    n_parts = data.features.shape[1] - data.columns_given.shape[1]
    return [*dates, *range(data.features.shape[1] - n_parts, data.features.shape[1])]


def _some(context: Context, rows: np.ndarray, stream: int) -> np.ndarray:
    """The rows, or some of them drawn at random."""
    if len(rows) <= MOST_ROWS:
        return rows
    return np.sort(context.generator(stream).choice(rows, MOST_ROWS, replace=False))


def _find_early(context: Context) -> Finding:
    data = context.given
    need(data.due is not None, "no column says when outcomes are due; give matured=.")
    early = data.early != HOLE
    if not early.any():
        return Finding(OK, "No label came before its outcome was due.")
    due = data.labeled & ~early
    need(
        min(early.sum(), due.sum()) >= FEWEST,
        f"fewer than {FEWEST} labels came before their date, or after it.",
    )
    rows = _some(context, np.flatnonzero(early | due), 1101)
    label = np.where(early, data.early, data.y)[rows]
    found = dependence(data, rows, early[rows].astype(float), label, 1101)
    told = f"{int(early.sum()):,} labels came before their outcome was due"
    if found.p_value > context.level:
        return Finding(OK, f"{told}; they are like those that came on time.", p_value=found.p_value)
    often = "more" if found.more else "less"
    used = "The date decides, so these labels are not used" if data.pending == AT_RANDOM else "They count"
    return Finding(
        WARNING,
        f"{told}, {often} often {data.classes.tolist()[found.code]!r} than comparable cases whose outcome "
        f"was due: whether a label is there depends on the outcome. {used}.",
        p_value=found.p_value,
        advice=f"Keep matured=: {WORSE}.",
    )


EARLY_CHECK = Check("SL1101", "early labels", MATURITY, _find_early)


def _find_trend(context: Context) -> Finding:
    data = context.given
    dates = [place for place, kind in enumerate(data.kinds) if kind == DATE]
    by_due = data.due is not None and len(np.unique(data.due[data.labeled])) > 2
    need(
        by_due or dates,
        "no date is known; give matured=, or keep the date of the decision among the features.",
    )
    labeled = data.labeled & (data.early == HOLE)
    columns = [data.due] if by_due and data.due is not None else [data.features[:, place] for place in dates]
    tests = []
    for number, values in enumerate(columns):
        rows = np.flatnonzero(labeled & ~np.isnan(values))
        if len(rows) >= 2 * FEWEST and np.ptp(values[rows]) > 0.0:
            some = _some(context, rows, 1102)
            tests.append(dependence(data, some, values[some], data.y[some], 1102 + number))
    need(tests, f"fewer than {2 * FEWEST} labels have a date.")
    found = min(tests)
    p_value = min(1.0, len(tests) * found.p_value)
    if p_value > context.level:
        return Finding(
            OK,
            "Labels of comparable cases do not change with time, as far as outcomes have matured.",
            p_value=p_value,
        )
    often = "more" if found.more else "less"
    return Finding(
        WARNING,
        f"The later the date, the {often} often is the label of comparable cases "
        f"{data.classes.tolist()[found.code]!r}: either outcomes of one class are known earlier, or cases "
        "change with time. Pending cases are late ones.",
        p_value=p_value,
        advice="Give matured= with the date at which outcomes are due, or use pending='worst-case'."
        if data.due is None
        else "Keep the date of the decision among the features, or use pending='worst-case'.",
    )


TREND_CHECK = Check("SL1102", "outcomes over time", MATURITY, _find_trend)


def _find_overlap(context: Context) -> Finding:
    data = context.given
    need(data.pending == AT_RANDOM, "nothing is assumed of pending outcomes.")
    rows = _some(context, np.flatnonzero(data.decision == 1), 1103)
    matured = data.labeled[rows].astype(int)
    chance = chance_by_trees(context, rows, matured, MOST_TREES, context.generator(1103))
    rare = chance < RARELY
    share = float(np.average(rare, weights=data.weights[rows]))
    if share <= MANY_ONE_SIDED or matured[rare].mean() > RARELY:
        return Finding(
            OK, f"At least {RARELY:.0%} of nearly every kind of accepted case have matured.", share
        )
    return Finding(
        WARNING,
        f"{share:.0%} of the accepted cases are of a kind of which fewer than {RARELY:.0%} have matured: "
        "results for them are extrapolated from other cases.",
        share,
        advice="Leave out the latest periods, or use pending='worst-case'.",
    )


OVERLAP_CHECK = Check("SL1103", "overlap of maturity", MATURITY, _find_overlap)

CHECKS = (EARLY_CHECK, TREND_CHECK, OVERLAP_CHECK)
