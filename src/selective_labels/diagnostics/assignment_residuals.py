"""SL205: whether the propensity scores in use leave who decides unpredictable from the features.

Whatever they are (shares, a model, or given by the user), the leniency of whoever decided minus its
expectation should be unrelated to every column. A balance test cannot say this once a model is used.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from scipy.special import ndtr
from scipy.stats import chi2
from scipy.stats import f as f_distribution
from sklearn.ensemble import ExtraTreesRegressor

from selective_labels.assumptions.base import OK
from selective_labels.data.selective_labels import SelectiveLabels
from selective_labels.diagnostics.assignment_model import MOST_COLUMNS, SMALLEST_LEAF
from selective_labels.diagnostics.context import Context
from selective_labels.diagnostics.hypothesis_tests import (
    ROUNDING,
    assignment_units,
    blocks_of,
    centred,
    decision_makers_per_cell,
    permutation_p_value,
    shuffles,
    within_cells,
)
from selective_labels.diagnostics.results import (
    ASSIGNMENT_LOOKS,
    Check,
    Finding,
    NotApplicableError,
    need,
    status_of_test,
)
from selective_labels.nuisance.assignment import KNOWN, SHARES
from selective_labels.nuisance.cross_fit import CrossFit, arm_propensity
from selective_labels.nuisance.models.categories import FEWEST_ROWS as ROWS_OF_VALUE
from selective_labels.nuisance.models.categories import MOST_INDICATORS
from selective_labels.nuisance.models.encoders import standardised

# Results carry a caution if all tests together reject at this level.
LEVEL = 0.01
MOST_ROWS = 10_000
FEWEST_ROWS = 100
# With more strata than this, whole strata are drawn if there are too many rows.
MANY_CELLS = 200
N_FOLDS = 5
# Expected leniencies that vary less than this are rounding errors.
SMALLEST_VARIANCE = 1e-12


@dataclass(frozen=True, eq=False)
class Residuals:
    """Leniency of whoever decided, minus its expectation given features and stratum.

    ρ_i = w_i (L(z_i) - Σ_z e_z(x_i) L(z))

    where e is the propensity score in use, and L the acceptance rate of an arm among the rows of other folds.
    If e is right, ρ has mean zero given the features, whatever the cases are like.

    Attributes
    ----------
    rows : (n_rows,) int array
        One row of each unit of assignment, at most 10,000.
    value : (n_rows,) array
        ρ, centred within `cell`.
    leniency : (n_rows,) array or None
        w_i L(z_i), centred within strata, if a model is used: what the model has to explain.
    cell : (n_rows,) int array
        Strata if shares are used, within which residuals are exchangeable; else zeros.
    totals : (n_arms,) array
        Weighted number of cases of each arm minus its expectation.
    covariance : (n_arms, n_arms) array
        Covariance of `totals` if the probabilities are right.
    n_controls : int
        Number of columns that residuals are net of.
    """

    rows: np.ndarray
    value: np.ndarray
    leniency: np.ndarray | None
    cell: np.ndarray
    totals: np.ndarray
    covariance: np.ndarray
    n_controls: int = 0


def assignment_residuals(data: SelectiveLabels, fit: CrossFit, generator: np.random.Generator) -> Residuals:
    """Residuals of who decides, from fitted models.

    Parameters
    ----------
    data : SelectiveLabels
        The rows that `fit` was fitted to.
    generator : Generator
        Draws the rows if there are too many.
    """
    need(data.n_decision_makers > 1, "there is only one decision-maker.")
    rows = _units(data, generator)
    need(len(rows) >= FEWEST_ROWS, f"fewer than {FEWEST_ROWS} cases can be compared.")
    # Given models of decision and label were fitted to no rows, so they have no folds.
    crossed = len(fit.folds) > 1
    fold = fit.held_out if crossed else generator.permutation(len(data)) % N_FOLDS
    surplus = within_cells(data.decision[:, None].astype(float), data.cells, data.weights)[:, 0]
    weight = data.weights[rows] / data.weights[rows].mean()
    value, met = np.empty(len(rows)), np.empty(len(rows))
    totals, covariance = np.zeros(fit.n_arms), np.zeros((fit.n_arms, fit.n_arms))
    for number in np.unique(fold[rows]).tolist():
        model = number if crossed else 0
        arm, others = fit.folds[model].lookup[data.decision_maker_codes], fold != number
        mass = np.bincount(arm[others], data.weights[others], fit.n_arms)
        total = np.bincount(arm[others], (data.weights * surplus)[others], fit.n_arms)
        leniency = total / np.maximum(mass, np.finfo(float).tiny)
        here = np.flatnonzero(fold[rows] == number)
        own, chances = arm[rows[here]], arm_propensity(fit, model, data)(rows[here])
        met[here] = weight[here] * leniency[own]
        value[here] = met[here] - weight[here] * (chances @ leniency)
        weighted = chances * weight[here, None]
        totals += np.bincount(own, weight[here], fit.n_arms) - weighted.sum(axis=0)
        covariance += np.diag(weight[here] @ weighted) - weighted.T @ weighted
    need(value.var() > SMALLEST_VARIANCE, "all decision-makers are equally lenient.")
    cell = np.unique(data.cells[rows], return_inverse=True)[1]
    if data.assignment is None and not fit.assignment.models:
        return Residuals(rows, centred(value, cell), None, cell, totals, covariance)
    own_leniency = None if data.assignment is not None else centred(met, cell)
    cell = np.zeros_like(cell)
    return Residuals(rows, centred(value, cell), own_leniency, cell, totals, covariance)


def _units(data: SelectiveLabels, generator: np.random.Generator) -> np.ndarray:
    """One row of each unit of assignment in strata with several decision-makers, or a sample of them."""
    rows = np.flatnonzero(decision_makers_per_cell(data.cells, data.decision_maker_codes)[data.cells] > 1)
    rows = rows[data.weights[rows] > 0.0]
    if data.groups is not None and len(rows):
        units = assignment_units(data.decision_maker_codes[rows], data.cells[rows], data.groups[rows])
        assert units.of_row is not None  # groups are given
        rows = rows[np.unique(units.of_row, return_index=True)[1]]
    if len(rows) <= MOST_ROWS:
        return rows
    n_cells = int(data.cells.max()) + 1
    # Residuals within a stratum sum to zero, so a few rows of a small one would tell little.
    drawn = generator.random(len(data)) if n_cells <= MANY_CELLS else generator.random(n_cells)[data.cells]
    return np.sort(rows[np.argsort(drawn[rows], kind="stable")[:MOST_ROWS]])


COLUMNS, CALENDAR, TOGETHER, TOTALS, RARE = "columns", "calendar", "together", "totals", "rare values"
# Numbers are cut into this many classes of about equal size.
N_CLASSES = 10


@dataclass(frozen=True, eq=False)
class Classes:
    """A column cut into classes; calendar parts and dates belong to the calendar."""

    name: str
    codes: np.ndarray
    calendar: bool
    category: bool


def column_classes(data: SelectiveLabels, rows: np.ndarray) -> list[Classes]:
    """Classes of every column among some rows: categories, and numbers and dates cut into ten.

    A numeric column whose values repeat three times on average, such as a code of a branch, is also taken by
    its values. Single days are not: where somebody else is on duty every day, days are the lottery.
    """
    dates = () if data.coding is None else tuple(date for date, _ in data.coding.calendar)
    first_part = data.columns_given.shape[1]
    found = []
    for number, (name, column) in enumerate(zip(data.feature_names, data.features[rows].T, strict=True)):
        values, codes = np.unique(column, return_inverse=True)  # NaN counts as one value
        if len(values) < 2:
            continue
        calendar = number >= first_part or number in dates
        category = number in data.categorical
        if category or (number not in dates and len(values) <= len(rows) // 3):
            found.append(Classes(name, codes, calendar, category))
        if not category and len(values) > N_CLASSES:
            cuts = np.nanquantile(column, np.linspace(0.0, 1.0, N_CLASSES + 1)[1:-1])
            places = np.where(np.isnan(column), N_CLASSES, np.searchsorted(np.unique(cuts), column))
            found.append(Classes(name, np.unique(places, return_inverse=True)[1], calendar, category))
    return found


@dataclass(frozen=True)
class Misfit:
    """The test that finds the largest deviation of who decides from the propensity scores.

    Attributes
    ----------
    p_value : float
        Corrected for the number of tests.
    kind : "columns", "calendar", "together", "totals" or "rare values"
    leading : Classes or None
        The column that deviates most, if the test is about single columns.
    """

    p_value: float
    statistic: float
    kind: str
    leading: Classes | None = None


@dataclass(frozen=True)
class Effort:
    """Number of blocks and of trees of the flexible model, and the largest number of rows it uses.

    Permutations are drawn only if the F tests, corrected for their number, come as close to rejecting as
    `close`.
    """

    n_rows: int
    n_blocks: int
    n_trees: int
    close: float


THOROUGH = Effort(10_000, 4, 50, 0.1)
QUICK = Effort(4_000, 1, 15, 0.03)


def misfit(data: SelectiveLabels, found: Residuals, effort: Effort, generator: np.random.Generator) -> Misfit:
    """Test the residuals of who decides against the features of the same rows; Bonferroni over the tests.

    Parameters
    ----------
    data : SelectiveLabels
        The table whose rows the residuals are of.
    """
    classes = column_classes(data, found.rows)
    tests = [
        by_columns(found, [each for each in classes if each.calendar == calendar], generator, effort.close)
        for calendar in (False, True)
    ]
    tests.append(by_combinations(data, found, effort, generator))
    if data.assignment is not None:
        tests.append(by_totals(found))
    if found.leniency is not None:
        tests.append(by_rare_values(data, found, classes, generator))
    applied = [each for each in tests if each is not None]
    need(applied, "there is no feature that varies.")
    smallest = min(1.0, len(applied) * min(each.p_value for each in applied))
    # A column that leads says more than a combination, so it is named if it is enough for a rejection.
    clear = [each for each in applied if each.leading and len(applied) * each.p_value <= max(LEVEL, smallest)]
    named = min(clear or applied, key=lambda each: each.p_value)
    return replace(named, p_value=smallest)


N_PERMUTATIONS = 499


def by_columns(
    found: Residuals, classes: Sequence[Classes], generator: np.random.Generator, close: float
) -> Misfit | None:
    """Variance-components F test of every column; the smallest p-value, by permutation within cells if small.

    F = (Σ_l S_l² / n_l / (L - 1)) / (rest / (n - C - L + 1)),   S_l = sum of residuals of class l, C cells

    The F distribution is an approximation where classes have few rows, so permutations, which have the same
    smallest p-value over columns as their statistic, decide unless it is far from rejecting.
    """
    if not classes:
        return None
    n_cells = int(found.cell.max()) + 1 + found.n_controls
    total = float(found.value @ found.value)

    def f_tests(values: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        between, degrees = np.array([_between(values, each.codes) for each in classes]).T
        rest = np.maximum(len(values) - n_cells - degrees, 1.0)
        statistic = between / degrees / (np.maximum(total - between, ROUNDING * total) / rest)
        return statistic, f_distribution.sf(statistic, degrees, rest)

    statistic, p_values = f_tests(found.value)
    leading = int(np.argmin(p_values))
    smallest = float(p_values[leading])
    corrected = min(1.0, len(classes) * smallest)
    kind = CALENDAR if classes[leading].calendar else COLUMNS
    if corrected <= close:
        drawn = np.array(
            [
                f_tests(values)[1].min()
                for values in shuffles(found.value, found.cell, N_PERMUTATIONS, generator)
            ]
        )
        # Where no permutation comes near, the F distribution says how far it is.
        drawn_p = permutation_p_value(-smallest, -drawn)
        corrected = corrected if drawn.min() > smallest and corrected < drawn_p else drawn_p
    return Misfit(corrected, float(statistic[leading]), kind, classes[leading])


def _between(values: np.ndarray, codes: np.ndarray) -> tuple[float, float]:
    """Sum of squares between classes, and its degrees of freedom."""
    rows = np.bincount(codes)
    sums = np.bincount(codes, values)
    present = rows > 0
    return float(np.sum(sums[present] ** 2 / rows[present])), float(max(present.sum() - 1, 1))


# A column is tested if pooling must leave more than this share of the variance of leniency to its values.
MOST_LEFT = 0.03


def by_rare_values(
    data: SelectiveLabels, found: Residuals, classes: Sequence[Classes], generator: np.random.Generator
) -> Misfit | None:
    """Test whether a category drives assignment whose values have too few rows for any model.

    left = ρ (1 - ρ) / (1 + (m - 1) ρ),   m rows of a value in a training part

    Partial pooling makes the residuals of a held-out row and of other rows of its value uncorrelated, however
    much it leaves, so an F test of the residuals of the model sees nothing. Here ρ is the intraclass
    correlation of the leniency itself, net of the other columns and their squares, and `left` is what the
    best pooling leaves of it. Columns of which less than 3 % is left are not tested.
    """
    assert found.leniency is not None
    worst, n_tests = None, 0
    for number in data.categorical:
        rows = np.unique(data.features[:, number], return_counts=True)[1]
        name = data.feature_names[number]
        about = [each for each in classes if each.name == name]
        if not about or not (len(rows) > MOST_INDICATORS or np.sum(rows < ROWS_OF_VALUE) > 1):
            continue
        n_tests += 1
        others = np.delete(data.features[found.rows], number, axis=1)
        categorical = tuple(each - (each > number) for each in data.categorical if each != number)
        net = _net_of(found.leniency, others, categorical, data.cells[found.rows])
        correlation = _intraclass(net.value, about[0].codes)
        size = np.sum(rows**2.0) / len(data) * (1.0 - 1.0 / N_FOLDS)
        left = correlation * (1.0 - correlation) / (1.0 + max(size - 1.0, 0.0) * correlation)
        if left > MOST_LEFT:
            test = by_columns(net, about, generator, THOROUGH.close)
            if test is not None and (worst is None or test.p_value < worst.p_value):
                worst = Misfit(test.p_value, test.statistic, RARE, about[0])
    return None if worst is None else replace(worst, p_value=min(1.0, n_tests * worst.p_value))


def _net_of(leniency: np.ndarray, X: np.ndarray, categorical: tuple[int, ...], cell: np.ndarray) -> Residuals:
    """Residuals of a regression of leniency within strata on columns and the squares of the numeric ones."""
    cell = np.unique(cell, return_inverse=True)[1]
    n_controls = 0
    if X.shape[1]:
        columns = standardised(categorical).fit_transform(X)
        columns = centred(np.column_stack([columns, columns**2]), cell)
        coefficients, _, n_controls, _ = np.linalg.lstsq(columns, leniency, rcond=1e-8)
        leniency = centred(leniency - columns @ coefficients, cell)
    nothing = np.empty(0)
    return Residuals(nothing, leniency, None, cell, nothing, nothing, int(n_controls))


def _intraclass(values: np.ndarray, codes: np.ndarray) -> float:
    """Mean product of pairs of values of one class, relative to the variance; at least zero."""
    rows, sums = np.bincount(codes), np.bincount(codes, values)
    pairs = float(np.sum(rows * (rows - 1.0)))
    products = float(np.sum(sums**2) - values @ values)
    return float(np.clip(products / max(pairs, 1.0) / values.var(), 0.0, 1.0))


def by_combinations(
    data: SelectiveLabels, found: Residuals, effort: Effort, generator: np.random.Generator
) -> Misfit | None:
    """Score of randomised trees that predict the residuals of later blocks of rows from earlier ones.

    T = Σ_i f(x_i) ρ_i / sqrt(Σ_i f(x_i)² ρ_i²),   standard normal for f from other rows if ρ has mean 0

    Given the earlier blocks, scores of blocks are independent, as in SL204; those of cross-fitted models are
    not, because each model shares noise with the other's test rows.
    """
    if not data.features.shape[1]:
        return None
    some = np.sort(generator.permutation(len(found.rows))[: effort.n_rows])
    X = standardised(data.categorical).fit_transform(data.features[found.rows[some]])
    value, cell = found.value[some], np.unique(found.cell[some], return_inverse=True)[1]
    block = blocks_of(np.arange(len(some)), effort.n_blocks, generator)
    seed = int(generator.integers(2**31 - effort.n_blocks - 1))
    scores = []
    for number in range(1, effort.n_blocks + 1):
        past, now = block < number, block == number
        trees = ExtraTreesRegressor(
            effort.n_trees,
            min_samples_leaf=SMALLEST_LEAF,
            max_features=min(X.shape[1], MOST_COLUMNS),
            random_state=seed + number,
        ).fit(X[past], value[past])
        products = centred(trees.predict(X[now]), cell[now]) * value[now]
        size = float(np.sqrt(np.sum(products**2)))
        scores.append(float(products.sum()) / size if size > 0.0 else 0.0)
    statistic = float(np.sum(scores) / np.sqrt(len(scores)))
    return Misfit(float(ndtr(-statistic)), statistic, TOGETHER)


def by_totals(found: Residuals) -> Misfit:
    """χ² test of the number of cases of every arm against known probabilities."""
    kept = np.diag(found.covariance) > SMALLEST_VARIANCE
    inverse = np.linalg.pinv(found.covariance[np.ix_(kept, kept)], hermitian=True, rcond=1e-9)
    statistic = float(found.totals[kept] @ inverse @ found.totals[kept])
    impossible = bool((np.abs(found.totals[~kept]) > 1e-6).any())
    p_value = 0.0 if impossible else float(chi2.sf(statistic, max(int(kept.sum()) - 1, 1)))
    return Misfit(p_value, statistic, TOTALS)


def misfit_sentence(found: Misfit, source: str, strata_given: bool) -> tuple[str, str]:
    """What was found, and what to do about it, in a sentence each.

    Parameters
    ----------
    source : str
        "known", "shares", or the family of the model of who decides.
    """
    used = {
        KNOWN: "the probabilities given as assignment=",
        SHARES: "shares within strata" if strata_given else "shares of all cases",
    }.get(source, f"the model of who decides ({source})")
    p_value = f"p = {found.p_value:.2g}" if found.p_value >= 1e-4 else "p < 0.0001"
    symbol = {TOTALS: "χ²", TOGETHER: "z"}.get(found.kind, "F")
    size = f"({symbol} = {found.statistic:.1f}, {p_value})"
    if found.kind == TOTALS:
        said = f"decision-makers have more or fewer cases than {used} say {size}"
    elif found.leading is None:
        said = f"a combination of features predicts who decides beyond {used} {size}"
    elif found.kind == RARE:
        values = f"its values have too few rows for {used} to describe how"
        said = f"{found.leading.name!r} predicts who decides {size}, and {values}"
    else:
        said = f"{found.leading.name!r} predicts who decides beyond {used} {size}"
    return said, _remedy(found, source, strata_given)


def _remedy(found: Misfit, source: str, strata_given: bool) -> str:
    if source == KNOWN:
        return "Correct assignment=, or leave it out so that who decides is estimated from the data."
    strata = "strata, beside those given" if strata_given else "strata"
    if found.leading is None:
        return f"Give what assignment depends on as {strata}."
    name = found.leading.name
    cut = "" if found.leading.category else ", cut into classes,"
    return f"Give {name!r}{cut} as {strata}."


def doubt(data: SelectiveLabels, fit: CrossFit, seed: int | None, *, level: float = LEVEL) -> str:
    """Caution for results that rest on these propensity scores; empty if no test rejects at the level.

    Parameters
    ----------
    data : SelectiveLabels
        The rows that `fit` was fitted to.
    level : float
        Of all tests together.
    """
    generator = np.random.default_rng(seed)
    try:
        found = misfit(data, assignment_residuals(data, fit, generator), QUICK, generator)
    except NotApplicableError:
        return ""
    if found.p_value > level:
        return ""
    said, remedy = misfit_sentence(found, _source(fit), data.strata is not None)
    return (
        f"The propensity scores do not describe who decides well (SL205): {said}. "
        f"Cases of different decision-makers are then not comparable, and the interval is not to be "
        f"trusted. {remedy}"
    )


def _source(fit: CrossFit) -> str:
    return SHARES if fit.report.assignment is None else str(fit.report.assignment.chosen)


def _find_misfit(context: Context) -> Finding:
    generator = context.generator(205)
    residuals = assignment_residuals(context.model_data, context.fit, generator)
    table = context.given.take(context.model_rows)
    found = misfit(table, residuals, THOROUGH, generator)
    status = status_of_test(found.p_value, context.level, ASSIGNMENT_LOOKS)
    source = _source(context.fit)
    if status == OK:
        used = {KNOWN: "the given probabilities", SHARES: "shares"}.get(source, f"a model ({source})")
        said = f"Beyond {used}, no column predicts who decides {context.place}."
        return Finding(status, said, found.statistic, found.p_value)
    said, remedy = misfit_sentence(found, source, context.data.strata is not None)
    said = f"{said[0].upper()}{said[1:]}."
    return Finding(status, said, found.statistic, found.p_value, remedy)


RESIDUALS_CHECK = Check("SL205", "residuals of who decides", "assignment", _find_misfit)
