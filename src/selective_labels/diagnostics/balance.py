"""SL201 to SL204: tests of random assignment within strata, by balance of cases and by prediction."""

from dataclasses import dataclass

import numpy as np
from scipy.stats import f as f_distribution

from selective_labels.assumptions.base import OK
from selective_labels.data.selective_labels import SelectiveLabels
from selective_labels.diagnostics.assignment_model import HeldOut, RandomAssignment, arms_of, held_out_score
from selective_labels.diagnostics.context import Context, case_indices, directions
from selective_labels.diagnostics.hypothesis_tests import (
    blocks_of,
    centred,
    detectable_between,
    permutation_draws,
    permutation_p_value,
    shuffles,
    sums_by,
)
from selective_labels.diagnostics.results import (
    ASSIGNMENT_LOOKS,
    Check,
    CheckResult,
    Finding,
    need,
    status_of_test,
)
from selective_labels.nuisance.cross_fit import FittingSettings
from selective_labels.nuisance.models.encoders import standardised


def between(sums: np.ndarray) -> np.ndarray:
    """Between-decision-maker sum of squares over all predictions, Σ_c Σ_z (Σ_{i in z} g_ic)² / n_z.

    Parameters
    ----------
    sums : (n_decision_makers, n_predictions + 1) array
        Sums of the centred, scaled predictions, then the number of rows.

    Returns
    -------
    (n_predictions + 1,) array
        The total, then the part of each prediction.

    Examples
    --------
    >>> between(np.array([[2.0, 0.0, 4.0], [-2.0, 0.0, 4.0]]))
    array([2., 2., 0.])
    """
    rows = np.maximum(sums[:, -1:], 1.0)
    parts = np.sum(sums[:, :-1] ** 2 / rows, axis=0)
    return np.append(parts.sum(), parts)


def _find_balance(context: Context) -> Finding:
    indices, units = case_indices(context), context.units
    columns = np.column_stack([units.total(indices.values), units.size])
    observed, drawn = permutation_draws(
        units, columns, between, context.n_permutations, context.generator(201)
    )
    p_value = permutation_p_value(observed[0], drawn[:, 0])
    ratio = float(observed[0] / max(drawn[:, 0].mean(), np.finfo(float).tiny))
    surplus = (observed - drawn.mean(axis=0))[1:] / np.maximum(drawn.std(axis=0)[1:], np.finfo(float).tiny)
    status = status_of_test(p_value, context.level, ASSIGNMENT_LOOKS)
    detects = _detects(drawn[:, 1], len(indices.values), context.level, indices.names[0])
    if status != OK:
        return Finding(
            status,
            f"Cases are not assigned at random {context.place}: decision-makers' cases differ {ratio:.1f} "
            f"times as much as chance explains, most in the {indices.names[int(surplus.argmax())]}.",
            ratio,
            p_value,
            f"{finer_strata(context)}, or make sure that everything that drives assignment is among the "
            "features and rely on it given the features only.",
            detects,
        )
    return Finding(
        status,
        f"Cases look alike across decision-makers {context.place}: they differ {ratio:.2f} times as much as "
        "chance explains.",
        ratio,
        p_value,
        detects=detects,
    )


# A column with more values than this, or fewer rows in each, makes no strata.
MOST_STRATA, ROWS_OF_STRATUM = 200, 20
# Association with who decides, in multiples of what chance makes of it, from which a column is named.
REMARKABLE = 2.0


def finer_strata(context: Context) -> str:
    """Advice that names the column whose values say most of who decides.

    Among columns of few values, it is the one with the largest ratio of χ² (values by decision-makers, within
    strata) to its degrees of freedom, Σ (n_vz - n_v n_z / n)² / (n_v n_z / n) / ((V - 1) (J - 1)).
    """
    data, rows = context.data, context.compared
    makers, found = context.decision_maker[rows], {}
    for place, name in enumerate(data.feature_names):
        values = np.unique(data.features[rows, place], return_inverse=True)[1]
        n_values = int(values.max(initial=-1)) + 1
        if 2 <= n_values <= min(MOST_STRATA, len(rows) / ROWS_OF_STRATUM):
            found[name] = _association(values, makers, context.cell[rows])
    best = max(found, key=lambda name: found[name], default=None)
    if best is None or found[best] < REMARKABLE:
        return "Give finer strata"
    return f"Give finer strata, such as {best!r}, which says most of who decides"


def _association(values: np.ndarray, makers: np.ndarray, cell: np.ndarray) -> float:
    """χ² of two codes over its degrees of freedom, summed over cells."""
    statistic = free = 0.0
    for each in np.unique(cell):
        rows = cell == each
        first, second = (np.unique(codes[rows], return_inverse=True)[1] for codes in (values, makers))
        shape = int(first.max()) + 1, int(second.max()) + 1
        counts = np.bincount(first * shape[1] + second, minlength=shape[0] * shape[1]).reshape(shape)
        expected = counts.sum(axis=1, keepdims=True) * counts.sum(axis=0) / counts.sum()
        statistic += float(np.sum((counts - expected) ** 2 / expected))
        free += (shape[0] - 1) * (shape[1] - 1)
    return statistic / max(free, 1.0)


def _detects(drawn: np.ndarray, n_rows: int, level: float, name: str) -> str:
    """Spread of the first prediction over decision-makers that the test detects with 80% power."""
    spread = np.sqrt(detectable_between(drawn, level / ASSIGNMENT_LOOKS) / n_rows)
    if not np.isfinite(spread):
        return ""
    return f"cases whose {name} differs between decision-makers by {spread:.2f} standard deviations"


def balance_by_decision_maker(context: Context) -> tuple[np.ndarray, np.ndarray]:
    """Mean predicted decision of each decision-maker's cases, in standard deviations, and standard error."""
    values = case_indices(context).values[:, :1]
    codes = context.decision_maker[context.compared]
    total = sums_by(codes, np.column_stack([values, np.ones(len(values))]), context.n_decision_makers)
    rows = np.maximum(total[:, 1], 1.0)
    return total[:, 0] / rows, 1.0 / np.sqrt(rows)


BALANCE_CHECK = Check("SL201", "balance of cases", "assignment", _find_balance)


def _find_classifier(context: Context) -> Finding:
    model = context.assignment_model
    position = np.arange(len(model.arm))

    def log_likelihood(arm: np.ndarray) -> float:
        return float(model.log_probabilities[position, arm].mean())

    observed = log_likelihood(model.arm)
    drawn = np.array(
        [
            log_likelihood(arm)
            for arm in shuffles(model.arm, model.cell, context.n_permutations, context.generator(202))
        ]
    )
    p_value = permutation_p_value(observed, drawn)
    gain = observed - float(drawn.mean())
    status = status_of_test(p_value, context.level, ASSIGNMENT_LOOKS)
    who = "the leniency band of the decision-maker" if model.banded else "the decision-maker"
    if status != OK:
        return Finding(
            status,
            f"Features predict {who} {context.place}: {gain:.3f} nats per case better than chance.",
            gain,
            p_value,
            f"{finer_strata(context)}, or rely on the instrument given the features only.",
        )
    return Finding(status, f"Features do not tell {who} {context.place}.", gain, p_value)


CLASSIFIER_CHECK = Check("SL202", "classifier of decision-makers", "assignment", _find_classifier)


def leave_out_means(units_total: np.ndarray, size: np.ndarray, codes: np.ndarray, n_codes: int) -> np.ndarray:
    """Mean over all other units with the same code, (n_units,); NaN if there is no other unit.

    Examples
    --------
    >>> leave_out_means(np.array([1.0, 0.0, 1.0]), np.ones(3), np.array([0, 0, 0]), 1)
    array([0.5, 1. , 0.5])
    """
    total, rows = sums_by(codes, np.column_stack([units_total, size]), n_codes).T
    others = rows[codes] - size
    left = total[codes] - units_total
    return np.divide(left, others, out=np.full(len(codes), np.nan), where=others > 0)


def joint_f(y: np.ndarray, X: np.ndarray, lost: int) -> tuple[float, float]:
    """F statistic and p-value of all columns of X in a regression of y that has `lost` further parameters.

    Examples
    --------
    >>> X = np.array([[-1.0], [1.0], [-1.0], [1.0]])
    >>> [round(value, 3) for value in joint_f(np.array([0.0, 1.0, -1.0, 0.0]), X, 1)]
    [2.0, 0.293]
    """
    coefficients, _, rank, _ = np.linalg.lstsq(X, y, rcond=None)
    fitted = X @ coefficients
    free = len(y) - rank - lost
    residual = np.sum((y - fitted) ** 2)
    if free <= 0 or residual <= 0.0 or rank == 0:
        return 0.0, 1.0
    statistic = float(np.sum(fitted**2) / rank / (residual / free))
    return statistic, float(f_distribution.sf(statistic, rank, free))


def _find_leniency_regression(context: Context) -> Finding:
    need(context.has_features, "there is no feature that varies.")
    rows, units = context.compared, context.units
    # Subtract what features predict: a leave-one-out mean falls with the case's own decision, and would
    # therefore correlate with the features of that case.
    surplus = centred(context.data.decision[rows] - context.case_model.decision, context.cell[rows])
    leniency = leave_out_means(
        units.total(surplus[:, None])[:, 0], units.size, units.decision_maker, context.n_decision_makers
    )
    along = directions(context.data.features[rows], context.data.categorical)[:, 1:]
    features = units.total(along) / units.size[:, None]
    known = ~np.isnan(leniency)
    n_cells = len(np.unique(units.cell))
    need(known.sum() > n_cells + features.shape[1] + 1, "too few decision-makers have more than one case.")
    cell = units.cell[known]
    response, regressors = centred(leniency[known], cell), centred(features[known], cell)
    need(np.var(response) > 0.0, "all decision-makers are equally lenient.")
    statistic, p_value = joint_f(response, regressors, n_cells)
    status = status_of_test(p_value, context.level, ASSIGNMENT_LOOKS)
    if status != OK:
        return Finding(
            status,
            f"Some kinds of cases go to more lenient decision-makers {context.place} (F = {statistic:.1f}).",
            statistic,
            p_value,
            f"{finer_strata(context)}, or rely on the instrument given the features only.",
        )
    return Finding(
        status,
        f"The features of a case do not tell how lenient its decision-maker is {context.place} "
        f"(F = {statistic:.1f}).",
        statistic,
        p_value,
    )


LENIENCY_REGRESSION_CHECK = Check(
    "SL203", "leave-one-out leniency on features", "assignment", _find_leniency_regression
)


@dataclass(frozen=True)
class Effort:
    """Size of the flexible model.

    Attributes
    ----------
    n_rows : int
        Maximum number of rows; a random sample is drawn from larger data.
    n_blocks, n_trees : int
        See :func:`held_out_score`.
    """

    n_rows: int
    n_blocks: int
    n_trees: int


FEWEST_UNITS = 40
THOROUGH = Effort(10_000, 4, 50)
QUICK = Effort(4_000, 1, 15)


def assignment_score(context: Context, effort: Effort = THOROUGH) -> tuple[HeldOut, bool]:
    """Score of the flexible model, and whether it predicts leniency bands instead of decision-makers."""
    need(context.has_features, "there is no feature that varies.")
    generator = context.generator(204)
    rows = context.compared
    if len(rows) > effort.n_rows:
        rows = np.sort(generator.choice(rows, effort.n_rows, replace=False))
    data = context.data
    # Groups are independent even if several decision-makers share one; without groups, rows are independent.
    groups = np.arange(len(rows)) if data.groups is None else data.groups[rows]
    unit = np.unique(groups, return_inverse=True)[1]
    need(unit.max() >= FEWEST_UNITS, f"fewer than {FEWEST_UNITS} cases can be compared.")
    block = blocks_of(unit, effort.n_blocks, generator)
    # Bands depend on decisions, and decisions on features, so the tested rows must not define the bands.
    lookup, banded = arms_of(data, rows[block == 0], int(generator.integers(2**31)))
    present, arm = np.unique(lookup[data.decision_maker_codes[rows]], return_inverse=True)
    need(len(present) > 1, "there is one band of decision-makers only.")
    X = standardised(data.categorical).fit_transform(context.model_features[rows])
    weight = data.weights[rows] / data.weights[rows].mean()
    dealt = RandomAssignment(X, arm, len(present), context.cell[rows], unit, weight)
    seed = int(generator.integers(2**31 - effort.n_blocks - 1))
    score = held_out_score(dealt, block, n_trees=effort.n_trees, seed=seed)
    return score, banded


def _finding(context: Context, effort: Effort, n_looks: int) -> Finding:
    score, banded = assignment_score(context, effort)
    status = status_of_test(score.p_value, context.level, n_looks)
    who = "the leniency band of the decision-maker" if banded else "the decision-maker"
    if status != OK:
        return Finding(
            status,
            f"A flexible model predicts {who} from features {context.place}: it gives the right one "
            f"{100 * score.gain:.1f} points more probability than overall shares do.",
            score.statistic,
            score.p_value,
            f"{finer_strata(context)}, or rely on the instrument given the features only.",
        )
    return Finding(
        status,
        f"A flexible model (steps, products) does not tell {who} from features {context.place}.",
        score.statistic,
        score.p_value,
    )


def quick_assignment(data: SelectiveLabels, seed: int | None = None, *, level: float = 0.01) -> CheckResult:
    """Run SL204 on at most 4,000 rows with few trees; its message is one line, fit for other results.

    Parameters
    ----------
    data : SelectiveLabels
        With decision-makers.
    level : float
        Lower than in `diagnose`: the check runs unasked within an evaluation, so it should raise a false
        alarm only once in a hundred times.

    Returns
    -------
    CheckResult
        Result of SL204; "not applicable" with the reason if nothing can be compared. The level is not
        corrected for other checks: "violated" means that the p-value does not exceed it.

    Examples
    --------
    >>> from selective_labels.datasets import make_decision_makers
    >>> sample = make_decision_makers(800, random_state=0)
    >>> data = SelectiveLabels.from_arrays(sample.X, sample.y, decision_maker=sample.decision_maker)
    >>> quick_assignment(data, seed=0).message
    'A flexible model (steps, products) does not tell the decision-maker from features in the sample.'
    """
    context = Context(data, FittingSettings(seed=seed), level=level)
    return Check(
        FLEXIBLE_CHECK.code,
        FLEXIBLE_CHECK.name,
        FLEXIBLE_CHECK.family,
        lambda given: _finding(given, QUICK, 1),
    )(context)


FLEXIBLE_CHECK = Check(
    "SL204",
    "flexible model of decision-makers",
    "assignment",
    lambda context: _finding(context, THOROUGH, ASSIGNMENT_LOOKS),
)
