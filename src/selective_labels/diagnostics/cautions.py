"""Doubts about assumptions, and about rows that repeat, for results that nobody asked to check.

`diagnose` runs all checks at their own level. What runs unasked has to be quick, and silent where nothing is
wrong: each test is at 1 %, and those of an instrument are corrected for the eight that there are.
"""

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from typing import Any, TypeVar
from weakref import WeakKeyDictionary

import numpy as np
import pandas as pd
from scipy.stats import chi2

from selective_labels._errors import DiagnosticWarning
from selective_labels.assumptions.base import (
    OK,
    VIOLATED,
    WARNING,
    Assumption,
)
from selective_labels.assumptions.combination import DIRECTION_LEVEL, Combination
from selective_labels.assumptions.instrument import DOUBT_LEVEL, Instrument
from selective_labels.assumptions.refused import Informed, Refused, Restriction
from selective_labels.data.selective_labels import SelectiveLabels
from selective_labels.diagnostics.assignment_residuals import doubt
from selective_labels.diagnostics.balance import quick_assignment
from selective_labels.diagnostics.combinations import direction_doubt, direction_p_value, says_worse
from selective_labels.diagnostics.context import Context, labels_on_leniency, panel_cases_of_fit
from selective_labels.diagnostics.exclusion import (
    INEQUALITY_CHECK,
    INEQUALITY_LEAVES_CHECK,
    QUICK_MONOTONICITY,
)
from selective_labels.diagnostics.hypothesis_tests import (
    centred,
    mean_above_zero,
    sums_by,
)
from selective_labels.diagnostics.overlap import QUICK_DECISION_OVERLAP
from selective_labels.diagnostics.results import CheckResult, NotApplicableError
from selective_labels.nuisance.assignment import SHARES
from selective_labels.nuisance.cross_fit import CrossFit, FittingSettings
from selective_labels.nuisance.models.encoders import standardised
from selective_labels.nuisance.score_formulas import Scores
from selective_labels.nuisance.scores import cross_fit_scores

Answer = TypeVar("Answer")
# Level of a check that is the only one to bear on an assumption.
SINGLE_LEVEL = 0.01
# Share of cases whose bounds cross that is worth a word.
MANY_CROSSED = 0.05
EITHER = (
    "if cases reach decision-makers at random, either who decides changes the outcome, and then "
    "decision-makers are not an instrument, or decision-makers rank cases differently, which an instrument "
    "allows"
)


def cautions_of(
    data: SelectiveLabels,
    fit: CrossFit,
    assumptions: Iterable[Assumption],
    scores: Mapping[str, Scores] | None = None,
    *,
    doubts: Sequence[CheckResult] | None = None,
    seed: int | None = None,
) -> dict[str, tuple[str, ...]]:
    """Sentences on what makes results under each assumption doubtful; no entry where nothing does.

    SL205, SL401, SL402 and SL501 bear on every assumption that uses who decided. SL303 bears on those that
    say something of cases of a kind that is hardly ever accepted. SL901 bears on unconfoundedness, and SL1006
    on a stated direction.

    Parameters
    ----------
    data : SelectiveLabels
        The rows that `fit` was fitted to.
    assumptions : iterable of Assumption
    scores : dict of Scores, optional
        Scores of the rows under the instrument, and under `assumptions`, if computed without a
        label range.
    doubts : sequence of CheckResult, optional
        Those of :func:`doubts_of_instrument`, if these were asked for.

    Returns
    -------
    dict of tuple of str
        By name of the assumption.

    Examples
    --------
    >>> from selective_labels.datasets import make_decision_makers
    >>> from selective_labels.nuisance.cross_fit import cross_fit
    >>> sample = make_decision_makers(600, random_state=0)
    >>> data = SelectiveLabels.from_arrays(sample.X, sample.y, decision_maker=sample.decision_maker)
    >>> cautions_of(data, cross_fit(data, "logistic", random_state=0), [Instrument()], seed=0)
    {}
    """
    chosen = list(assumptions)
    # A sensitivity curve scores the same rows under many assumptions: each check runs once for a fit.
    known = _found.setdefault(fit, {})

    def once(key: Any, find: Callable[[], Answer]) -> Answer:
        if key not in known:
            known[key] = find()
        answer: Answer = known[key]
        return answer

    def of_instrument() -> list[str]:
        against = doubts_of_instrument(data, fit, scores, seed=seed) if doubts is None else doubts
        return [in_words(each) for each in against]

    found = {}
    for each in chosen:
        sentences: list[str] = []
        if each.needs_decision_makers:
            sentences += once("who decides", lambda: _of_who_decides(data, fit, seed))
            sentences += once("instrument", of_instrument)
        if each.extrapolates:
            sentences += once("overlap", lambda: _of_overlap(data, fit, seed))
        if "unconfounded" in each.spoken_to_by:
            sentences += once("hidden reasons", lambda: _of_hidden_reasons(data, fit, seed))
        for part in stated_directions(each, data):
            # By event: the ratio of a part changes from step to step of a curve, its direction does not.
            p_value = once(("direction", part.adverse), partial(direction_p_value, part.adverse, data, fit))
            if p_value <= DIRECTION_LEVEL:
                sentences.append(direction_doubt(part))
        if isinstance(each, Combination | Restriction) and scores and each.name in scores:
            sentences += _of_crossing(data, scores[each.name])
        if sentences:
            found[each.name] = tuple(sentences)
    return found


# What the checks said of fitted models, as long as these exist.
_found: WeakKeyDictionary[CrossFit, dict[Any, Any]] = WeakKeyDictionary()


def doubts_of_instrument(
    data: SelectiveLabels,
    fit: CrossFit,
    scores: Mapping[str, Scores] | None = None,
    *,
    level: float = DOUBT_LEVEL,
    seed: int | None = None,
) -> list[CheckResult]:
    """Checks among SL401, SL402 and SL501 that reject an instrument at the level.

    SL501 compares decision-makers within strata. It is left out where assignment is modelled or given, and
    where a quick test says that assignment depends on features: decision-makers then show different labels
    because their cases differ.
    """
    if data.n_decision_makers < 2 or data.labeled.all() or not len(fit.held_out):
        return []
    fitting = FittingSettings(seed=seed)
    known = cross_fit_scores(fit, data, [Instrument()]) if scores is None else scores
    whole = Context(data, fitting, level=level, fit=fit, scores=known)
    found = [whole.result_of(each) for each in (INEQUALITY_CHECK, INEQUALITY_LEAVES_CHECK)]
    if fit.report.assignment is None or fit.report.assignment.chosen == SHARES:
        cases = data if data.panels is None else panel_cases_of_fit(data, fit)[0]
        found.append(Context(cases, fitting, level=level, fit=fit).result_of(QUICK_MONOTONICITY))
    rejecting = [each for each in found if each.status in (WARNING, VIOLATED)]
    by_cases = [each for each in rejecting if each.code == QUICK_MONOTONICITY.code]
    if by_cases and quick_assignment(data, seed).status != OK:
        rejecting.remove(by_cases[0])
    return rejecting


def caution_warning(sentence: str) -> DiagnosticWarning:
    """A caution as a warning, for estimators, with the code that the sentence names.

    Examples
    --------
    >>> caution_warning("The propensity scores do not describe who decides well (SL205): ...").code
    'SL205'
    """
    code = re.search(r"\bSL\d+", sentence)
    assert code is not None, sentence
    return DiagnosticWarning(code[0], f"(caution): {sentence}")


def instrument_warning(found: CheckResult, unused: bool = False) -> DiagnosticWarning:
    """The same doubt as a warning, for estimators."""
    then = " The classifier is learned without the instrument." if unused else ""
    return DiagnosticWarning(found.code, f"({found.name}): {in_words(found)}{then}")


def in_words(found: CheckResult) -> str:
    """The doubt that a check raises about the instrument, in one or two sentences."""
    if found.code == QUICK_MONOTONICITY.code:
        return f"The instrument is doubtful here ({found.code}): {EITHER}. The data cannot tell which."
    return f"The instrument is not to be trusted here ({found.code}). {found.message}"


def _of_who_decides(data: SelectiveLabels, fit: CrossFit, seed: int | None) -> list[str]:
    found = doubt(data, fit, seed)
    return [found] if found else []


def _of_hidden_reasons(data: SelectiveLabels, fit: CrossFit, seed: int | None) -> list[str]:
    if data.n_decision_makers < 2 or data.labeled.all() or not len(fit.held_out):
        return []
    try:
        found = labels_on_leniency(Context(data, FittingSettings(seed=seed), fit=fit))
    except NotApplicableError:
        return []
    if not found.p_value <= SINGLE_LEVEL:
        return []
    return [
        "Unconfoundedness is not to be trusted here (SL901). Among comparable cases, labels depend on "
        f"leniency (χ² = {found.statistic:.1f}): decisions know more about the label than the features do. "
        'Bounds do without it: assumption="instrument".'
    ]


def _of_crossing(data: SelectiveLabels, scores: Scores) -> list[str]:
    """Bounds that cross for many cases, also where too few others make up for it on average.

    Which cases is known from predictions of models that have not seen them, so their own scores test it.
    """
    further = scores.laminar_scores
    predicted, excess = (
        lower.sum(axis=1) - 1.0 + (0.0 if more is None else more.sum(axis=1))
        for lower, more in (
            (scores.plug_in, None if further is None else further.plug_in),
            (scores.values, None if further is None else further.values),
        )
    )
    crossed = predicted > 0.0
    share = float(np.average(crossed, weights=data.weights))
    if share < MANY_CROSSED:
        return []
    units = None if data.groups is None else data.groups[crossed]
    _, p_value = mean_above_zero(excess[crossed], data.weights[crossed], units)
    if p_value > DOUBT_LEVEL:
        return []
    return [
        f"What is assumed is doubtful (SL1001): for {share:.0%} of the cases the implied lower bounds sum to "
        "more than one by more than sampling error. Assume less."
    ]


def _of_overlap(data: SelectiveLabels, fit: CrossFit, seed: int | None) -> list[str]:
    cases, models = (data, fit) if data.panels is None else panel_cases_of_fit(data, fit)
    found = Context(cases, FittingSettings(seed=seed), fit=models).result_of(QUICK_DECISION_OVERLAP)
    if found.status != WARNING:
        return []
    return [
        f"What follows for {found.statistic:.0%} of the cases is doubtful ({found.code}): hardly any cases "
        "like these are accepted, so the assumption extrapolates from other cases."
    ]


# Share of rows that must have a copy. With fewer, dependence between copies hardly widens an interval.
LEAST_SHARE = 0.1
# Agreement of rows on some columns, given the others, net of chance.
LEAST_AGREEMENT = 0.6
# With fewer distinct rows, or more copies of each, a table is a cross-classification of a few categories.
FEWEST_DISTINCT = 30
MOST_COPIES = 100
# Columns that are compared one by one: those with the fewest values.
MOST_COLUMNS = 10


def repeated_rows_caution(data: SelectiveLabels) -> str | None:
    """Return a caution if rows seem to belong to the same persons and `groups` is not given; else None.

    Rows alike in all features are common where features are coarse, so copies alone say nothing. If persons
    appear repeatedly, rows that agree on some columns are the same person, and agree on all. If rows are
    independent, they often differ on the others.

    agreement = (A - q) / (1 - q)
    A = mean over rows of (copies of the row) / (other rows that agree on some columns),
    q = share of pairs of distinct rows that agree on the other columns

    The agreement must be high for the two halves of the columns, and for each column given all others but the
    one with the most values. Two features or more are needed, of which one may vary between the rows of a
    person, such as a date. If others vary, too, the repetition cannot be seen.

    Examples
    --------
    >>> person = np.repeat(np.arange(50), 4)
    >>> X = np.random.default_rng(0).normal(size=(50, 2))[person]
    >>> data = SelectiveLabels.from_arrays(X, person % 2, decision_maker=np.zeros(200))
    >>> repeated_rows_caution(data)
    '200 of 200 rows are exactly alike in all features with another row, as if 50 persons appeared
    repeatedly. Rows of one person are not independent, so the interval is not to be trusted: give groups=,
    or cluster="none" if the rows are different cases.'
    """
    if data.groups is not None:
        return None
    hashes = _column_hashes(data.columns_given)
    values = np.array([len(pd.unique(column)) for column in hashes], dtype=int)
    hashes = hashes[np.argsort(-values, kind="stable")]
    found, features = _repeated(hashes), "all features"
    if found is None:  # a visit has a date or number of its own
        found, features = _repeated(hashes[1:]), "all features but one"
    if found is None:
        return None
    n_alike, n_distinct = found
    return (
        f"{n_alike:,} of {len(data):,} rows are exactly alike in {features} with another row, as if "
        f"{n_distinct:,} persons appeared repeatedly. Rows of one person are not independent, so the "
        'interval is not to be trusted: give groups=, or cluster="none" if the rows are different cases.'
    )


def _repeated(hashes: np.ndarray) -> tuple[int, int] | None:
    """Number of rows with a copy, and of distinct rows, if they look like repeated persons; else None."""
    whole = hashes.sum(axis=0, dtype=np.uint64)
    _, first, code, copies = np.unique(whole, return_index=True, return_inverse=True, return_counts=True)
    alike, n_rows = copies[copies > 1], len(whole)
    # Rows without any entry are alike, too; the most frequent row does not count.
    if not len(alike) or alike.sum() - alike.max() < LEAST_SHARE * n_rows:
        return None
    varying = hashes[[len(np.unique(column[first])) > 1 for column in hashes]]
    if len(varying) < 2 or len(first) < max(FEWEST_DISTINCT, n_rows / MOST_COPIES):
        return None
    parts = [varying[1::2].sum(axis=0, dtype=np.uint64), *varying[1:][-MOST_COLUMNS:]]
    if any(_agreement(whole - part, part[first], copies[code]) < LEAST_AGREEMENT for part in parts):
        return None
    return int(alike.sum()), len(first)


def _agreement(rest: np.ndarray, part: np.ndarray, copies: np.ndarray) -> float:
    """Agreement of rows on a part of the columns, given that they agree on the rest, net of chance."""
    _, code, number = np.unique(rest, return_inverse=True, return_counts=True)
    others = number[code] - 1
    shared = others > 0
    pairs = np.unique(part, return_counts=True)[1].astype(float)
    chance = float(np.sum(pairs * (pairs - 1.0)) / (len(part) * (len(part) - 1.0)))
    return (float(np.mean((copies - 1)[shared] / others[shared])) - chance) / (1.0 - chance)


def _column_hashes(X: np.ndarray) -> np.ndarray:
    """Hash of every cell, (n_columns, n_rows); sums over columns identify rows."""
    drawn = np.random.default_rng(0).integers(2**62, size=X.shape[1], dtype=np.uint64)
    odd = np.asarray(2 * drawn + 1)
    cells = [pd.util.hash_array(column + 0.0) for column in X.T]  # -0.0 equals 0.0, and their hashes differ
    return np.stack(cells) * odd[:, None] if cells else np.zeros((0, len(X)), dtype=np.uint64)


def stated_directions(assumption: Assumption, data: SelectiveLabels) -> list[Informed | Refused]:
    """Parts of an assumption whose direction leniency can speak against."""
    parts = assumption.parts if isinstance(assumption, Combination) else (assumption,)
    several = data.n_decision_makers > 1
    return [each for each in parts if isinstance(each, Informed | Refused) and several and says_worse(each)]


# Rows and columns of the quick balance test; with few columns, their squares and products are columns too.
MOST_BALANCED = 20_000

FEW_COLUMNS = 8


def quick_balance(data: SelectiveLabels) -> float:
    """P-value of the hypothesis that decision-makers see cases with the same features, within strata.

    T = Σ_z S_z' Σ⁻¹ S_z / n_z ~ χ²((J - 1) q),   S_z the sum of the q centred columns over the cases of z

    With up to eight columns, squares and products are columns too. The test costs far less than a model of
    who decides, so it tells whether one is worth fitting.

    Examples
    --------
    >>> from selective_labels.datasets import make_decision_makers
    >>> sample = make_decision_makers(800, random_state=0)
    >>> data = SelectiveLabels.from_arrays(sample.X, sample.y, decision_maker=sample.decision_maker)
    >>> leaning = SelectiveLabels.from_arrays(sample.X, sample.y, decision_maker=sample.X[:, 0] > 1)
    >>> quick_balance(data) > 0.01, quick_balance(leaning) < 1e-9
    (True, True)
    """
    rows = np.arange(len(data)) if data.groups is None else np.unique(data.groups, return_index=True)[1]
    rows = rows[np.linspace(0, len(rows) - 1, min(len(rows), MOST_BALANCED)).astype(int)]
    columns = standardised(data.categorical).fit_transform(data.features[rows])
    if columns.shape[1] <= FEW_COLUMNS:
        first, second = np.triu_indices(columns.shape[1])
        columns = np.concatenate([columns, columns[:, first] * columns[:, second]], axis=1)
    values = centred(columns, data.cells[rows])
    present, maker = np.unique(data.decision_maker_codes[rows], return_inverse=True)
    sums = sums_by(maker, values, len(present))
    inverse = np.linalg.pinv(values.T @ values / len(rows), rcond=1e-9, hermitian=True)
    statistic = np.einsum("zq,qr,zr->z", sums, inverse, sums) / np.bincount(maker)
    freedom = (len(present) - 1) * np.linalg.matrix_rank(inverse, hermitian=True)
    return float(chi2.sf(statistic.sum(), freedom)) if freedom else 1.0
