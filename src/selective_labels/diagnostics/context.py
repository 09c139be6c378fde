"""Shared inputs of the checks, computed on first use: sample, cross-fitted models, predictions, bounds."""

import warnings
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.random import Generator, SeedSequence, default_rng

from selective_labels._errors import InputError
from selective_labels.assumptions.instrument import Instrument, Nucem
from selective_labels.data.pending import AT_RANDOM
from selective_labels.data.selective_labels import SelectiveLabels
from selective_labels.diagnostics.assignment_model import AssignmentModel, assignment_model
from selective_labels.diagnostics.hypothesis_tests import (
    AddedVariable,
    Units,
    added_variable_test,
    assignment_units,
    centred,
    decision_makers_per_cell,
)
from selective_labels.diagnostics.results import Check, CheckResult, NotApplicableError, need
from selective_labels.identification.bounds import (
    Bounds,
    as_label_range,
    jackknife_noise,
    raw_bounds,
    repair,
    shrink_across_decision_makers,
)
from selective_labels.identification.event_bounds import AnyFloor, LaminarBounds, best_floor, identified_set
from selective_labels.identification.point import slope, two_fold_moments
from selective_labels.nuisance.bands import arms_off_fold
from selective_labels.nuisance.cross_fit import CrossFit, FittingSettings, arm_propensity, new_propensity
from selective_labels.nuisance.models.encoders import standardised
from selective_labels.nuisance.score_formulas import OVERLAP, WEAKEST_STRENGTH, Scores, average_over_arms
from selective_labels.nuisance.scores import cross_fit_scores, selector_bands

# Decision-makers with less leniency than this, and pairs that differ by less, give no floor.
LEAST_LENIENCY = 0.05
# Rows used to estimate the mean noise of held-out predictions; the models of all folds predict them.
NOISE_ROWS = 512


def identified_bounds(
    fit: CrossFit,
    X: np.ndarray,
    n_classes: int,
    label_range: Any = (0.0, 1.0),
    *,
    held_out: bool = False,
    floors: Sequence[AnyFloor] = (),
) -> tuple[Bounds, np.ndarray]:
    """Bounds on the class probabilities of each row: shrinkage across decision-makers, then the maximum.

    At new rows, predictions are averaged over the models of all folds and shrunk according to the
    disagreement of these models. With ``held_out=True`` (the training rows, in their order), each row is
    predicted by the model fitted without it, and shrunk according to the mean disagreement over a sample of
    rows. Rows whose bounds cross are repaired and returned as a mask.

    Parameters
    ----------
    X : (n_samples, n_features) array
    label_range : pair
        See :func:`selective_labels.identification.bounds.as_label_range`.
    floors : sequence of Floor and Chord
        Floors from assumptions other than the instrument.

    Returns
    -------
    Bounds, (n_samples,) bool array
        The cost is n_arms predictions of n rows, times n_folds at new rows.
    """
    lowest, highest = as_label_range(label_range, X, n_classes)
    lower, upper = np.empty((len(X), n_classes)), np.empty((len(X), n_classes))
    limits: dict[tuple[int, ...], np.ndarray] = {}
    chunks = _held_out(fit, X, n_classes + 1) if held_out else _averaged(fit, X, n_classes + 1)
    for rows, joint, noise in chunks:
        shrunk = shrink_across_decision_makers(joint, noise)
        here = raw_bounds(shrunk, _rows_of(lowest, rows), _rows_of(highest, rows))
        lower[rows], upper[rows] = here.lower, here.upper
        for floor in floors:
            kept = limits.setdefault(tuple(sorted(floor.event)), np.zeros(len(X)))
            found = best_floor(floor, shrunk, np.tile(fit.shares, (len(rows), 1)), least=LEAST_LENIENCY)
            kept[rows] = np.maximum(kept[rows], found)
    if not limits:
        return repair(Bounds(lower, upper), lowest, highest)
    known = identified_set(repair(Bounds(lower, upper), lowest, highest)[0].lower, limits)
    return known.repaired() if isinstance(known, LaminarBounds) else repair(known)


Chunk = tuple[np.ndarray, np.ndarray, np.ndarray]  # row numbers, joint (n_arms, n, n_outcomes), noise (n,)


def _averaged(fit: CrossFit, X: np.ndarray, n_outcomes: int) -> Iterator[Chunk]:
    """Predictions averaged over the models of all folds, with their noise from the jackknife."""
    for rows in fit.chunks(np.arange(len(X)), n_outcomes):
        # Keep outcomes before rows in memory, as the models do: the next steps are several times faster.
        by_fold = np.stack([np.swapaxes(fold.joint(X[rows]), 1, 2) for fold in fit.folds]).swapaxes(2, 3)
        noise = jackknife_noise(by_fold)
        yield rows, _within_overlap(fit, range(len(fit.folds)), X[rows], by_fold.mean(axis=0)), noise


def _held_out(fit: CrossFit, X: np.ndarray, n_outcomes: int) -> Iterator[Chunk]:
    """Held-out predictions, with the mean noise over a sample of rows."""
    sample = np.linspace(0, len(X) - 1, min(len(X), NOISE_ROWS)).astype(int)
    noise = np.concatenate([each for _, _, each in _averaged(fit, X[sample], n_outcomes)]).mean()
    for number, fold in enumerate(fit.folds):
        for rows in fit.chunks(np.flatnonzero(fit.held_out == number), n_outcomes):
            joint = _within_overlap(fit, [number], X[rows], fold.joint(X[rows]))
            yield rows, joint, np.full(len(rows), noise)


def _within_overlap(fit: CrossFit, folds: Iterable[int], X: np.ndarray, joint: np.ndarray) -> np.ndarray:
    """Exclude values of a numeric instrument without overlap, where a smooth model would extrapolate.

    The prediction at the most probable value replaces theirs, which leaves the maximum unchanged.
    """
    if not (fit.report.numeric and fit.assignment.models):
        return joint
    chances = np.mean([new_propensity(fit, fold, X) for fold in folds], axis=0)
    usual = joint[chances.argmax(axis=1), np.arange(len(X))]
    return np.where((chances.T >= OVERLAP)[:, :, None], joint, usual)


def _rows_of(values: np.ndarray, rows: np.ndarray) -> np.ndarray:
    return values[rows] if values.ndim == 2 else values


@dataclass(frozen=True, eq=False)
class CaseModel:
    """Predictions from features alone, by models that have not seen the row.

    Attributes
    ----------
    decision : (n_rows,) array
        P(D=1 | x) under the average decision-maker.
    label : (n_rows, n_classes) array
        P(Y=k | x, D=1).
    """

    decision: np.ndarray
    label: np.ndarray


def case_model(fit: CrossFit, X: np.ndarray, model_rows: np.ndarray, rows: np.ndarray) -> CaseModel:
    """Predict decision and label, averaged over decision-makers with the same weights for every row.

    The fold that held out a row of `model_rows` predicts it. The first fold predicts all other rows.
    """
    fold_of_row = np.zeros(len(X), dtype=int)
    fold_of_row[model_rows] = fit.held_out
    labeled: np.ndarray | None = None
    position = np.empty(len(X), dtype=int)
    position[rows] = np.arange(len(rows))
    for number, fold in enumerate(fit.folds):
        own = rows[fold_of_row[rows] == number]
        for here in fit.chunks(own, 8):
            part = np.einsum("a,ank->nk", fit.shares, fold.joint(X[here])[:, :, 1:])
            if labeled is None:
                labeled = np.empty((len(rows), part.shape[1]))
            labeled[position[here]] = part
    if labeled is None:  # an error of the caller, not of the data
        raise ValueError("there is no row to predict.")
    decision = labeled.sum(axis=1)
    return CaseModel(decision, labeled / np.maximum(decision, np.finfo(float).tiny)[:, None])


@dataclass(frozen=True, eq=False)
class RowModel:
    """Held-out predictions of rows under every arm (decision-maker, or group of them).

    Attributes
    ----------
    arm : (n_samples,) int array
    propensity : (n_samples, n_arms) array
    strength : (n_samples,) array
        Variance of leniency over arms, V(x) = Σ_z e_z d_z^A d_z^B with models of two halves. The noise
        averages to zero, so values may be negative.
    leniency_range : (n_samples,) array
        Leniency of the most minus the least lenient arm, which one half selects and the other measures.
    labeled : (n_samples, n_classes) array
        Σ_z e_z P(D=1, Y=k | x, z).
    posterior : (n_samples, n_classes) array
        Slope of observed labels on leniency: the class probabilities under NUCEM.
    deviation : (n_samples,) array
        Leniency of the row's own arm minus the average.
    parabola : (n_samples,) array
        Square of the deviation minus its average over arms.
    """

    arm: np.ndarray
    propensity: np.ndarray
    strength: np.ndarray
    leniency_range: np.ndarray
    labeled: np.ndarray
    posterior: np.ndarray
    deviation: np.ndarray
    parabola: np.ndarray


def row_model(fit: CrossFit, data: SelectiveLabels) -> RowModel:
    """Predict all rows under all arms in chunks, and keep what the checks need."""
    n_samples, n_classes = len(data), len(data.classes)
    result = RowModel(
        np.empty(n_samples, dtype=int),
        np.empty((n_samples, fit.n_arms)),
        np.empty(n_samples),
        np.empty(n_samples),
        np.empty((n_samples, n_classes)),
        np.empty((n_samples, n_classes)),
        np.empty(n_samples),
        np.empty(n_samples),
    )
    for number, fold in enumerate(fit.folds):
        propensity = arm_propensity(fit, number, data)
        for here in fit.chunks(np.flatnonzero(fit.held_out == number), n_classes + 1):
            pair = [model.joint(data.features[here]) for model in fold.models]
            first, second = pair[0], pair[-1]
            share = propensity(here)
            moments = two_fold_moments(first, second, share.T)
            joint = (first + second) / 2.0
            arm = fold.lookup[data.decision_maker_codes[here]]
            labeled = average_over_arms(joint, share)
            result.arm[here] = arm
            result.propensity[here] = share
            result.strength[here] = moments.strength
            result.leniency_range[here] = _honest_range(1.0 - first[:, :, 0], 1.0 - second[:, :, 0], share)
            result.labeled[here] = labeled
            result.posterior[here] = slope(
                moments.covariance, moments.strength, moments.selected, WEAKEST_STRENGTH
            )
            deviation = 1.0 - joint[:, :, 0] - labeled.sum(axis=1)
            own = deviation[arm, np.arange(len(here))]
            result.deviation[here] = own
            result.parabola[here] = own**2 - np.sum(share.T * deviation**2, axis=0)
    return result


def _honest_range(first: np.ndarray, second: np.ndarray, share: np.ndarray) -> np.ndarray:
    """Range over the arms that a row can reach; one half selects the extremes, the other measures them."""
    absent = share.T == 0.0

    def measured(finder: np.ndarray, measure: np.ndarray) -> np.ndarray:
        high = np.where(absent, -np.inf, finder).argmax(axis=0)
        low = np.where(absent, np.inf, finder).argmin(axis=0)
        rows = np.arange(finder.shape[1])
        return measure[high, rows] - measure[low, rows]

    return (measured(first, second) + measured(second, first)) / 2.0


def panel_cases(data: SelectiveLabels, seed: int | None) -> SelectiveLabels:
    """One row for each case with a shared label, with its panel, or band of panels, as the decision-maker.

    A case was assigned to its panel once, however many rows it has. It therefore counts once, by its first
    row, with the sum of its weights if there are any.
    """
    n_bands = selector_bands(data)
    arms = arms_off_fold(data, np.arange(len(data)), n_bands, seed)
    if n_bands is None:
        return _cases(data, arms, data.decision_makers)
    names = [f"band {number} of {n_bands} of panels" for number in range(1, n_bands + 1)]
    return _cases(data, arms, np.array(names, dtype=object))


def panel_cases_of_fit(data: SelectiveLabels, fit: CrossFit) -> tuple[SelectiveLabels, CrossFit]:
    """Same as :func:`panel_cases` for fitted models; arms are those of the model that held out the case."""
    lookups = np.stack([fold.lookup for fold in fit.folds])
    arms = lookups[fit.held_out, data.decision_maker_codes]
    names = np.arange(fit.n_arms)
    first = _first_rows(data)
    assignment = fit.assignment
    if len(assignment.held_out):
        assignment = replace(assignment, held_out=assignment.held_out[first])
    folds = tuple(replace(fold, lookup=names) for fold in fit.folds)
    cases = replace(fit, folds=folds, held_out=fit.held_out[first], assignment=assignment)
    return _cases(data, arms, names), cases


def describe_panels(data: SelectiveLabels) -> str:
    """Describe what the checks compare if labels are shared within groups."""
    assert data.panels is not None
    n_bands = selector_bands(data)
    bands = "" if n_bands is None else f", in {n_bands} bands by leniency"
    return (
        "Labels are shared within groups: every case counts once, and is accepted if anyone accepted it; "
        f"where decision-makers are named, panels are meant ({data.n_decision_makers:,} panels of "
        f"{len(data.panels.people):,} people{bands})."
    )


def _first_rows(data: SelectiveLabels) -> np.ndarray:
    assert data.groups is not None
    return np.sort(np.unique(data.groups, return_index=True)[1])


def _cases(data: SelectiveLabels, arms: np.ndarray, names: np.ndarray) -> SelectiveLabels:
    first = _first_rows(data)
    weight = None
    if data.sample_weight is not None and data.groups is not None:
        total = np.bincount(data.groups, data.sample_weight)[data.groups[first]]
        weight = total / total.mean()
    return replace(
        data.take(first),
        complete=True,
        decision_maker=names[arms[first]],
        decision_maker_codes=arms[first],
        decision_makers=names,
        sample_weight=weight,
        given_weight=weight,
        groups=None,
        panels=None,
        own_decision=None,
        own_decision_maker_codes=None,
    )


# Models are fitted on at most this many rows; counts and permutations use all rows.
MODEL_ROWS = 50_000
# With up to this many strata, models get an indicator of each stratum.
FEW_STRATA = 20
FAST_MODEL = FittingSettings("logistic")


class Context:
    """The sample, and what the checks compute from it.

    Parameters
    ----------
    data : SelectiveLabels
        With a float array of features, which may have no column.
    fitting : FittingSettings
        Its seed is also used for permutations.
    level : float
        Level of every test.
    fit : CrossFit, optional
        Models fitted in halves on all rows of `data`, used instead of new ones.
    scores : dict of Scores, optional
        Scores of the rows, by assumption, used instead of new ones; models need no halves then.

    Notes
    -----
    An attribute that cannot be computed raises `NotApplicableError` with the reason.
    """

    def __init__(
        self,
        data: SelectiveLabels,
        fitting: FittingSettings = FAST_MODEL,
        *,
        level: float = 0.05,
        n_permutations: int = 199,
        fit: CrossFit | None = None,
        scores: Mapping[str, Scores] | None = None,
    ) -> None:
        self.level = level
        self.n_permutations = n_permutations
        self._fitting = fitting
        self._seeds = SeedSequence(fitting.seed).generate_state(4)
        self._given_fit = fit
        self._given_scores = scores
        self._results: dict[str, CheckResult] = {}
        self.given = data
        self.data = data if fit is not None else _varying(data)
        self.n_classes = len(data.classes)
        self.n_decision_makers = data.n_decision_makers

    def result_of(self, check: Check) -> CheckResult:
        """Run a check once and keep its result for later checks."""
        if check.code not in self._results:
            self._results[check.code] = check(self)
        return self._results[check.code]

    def generator(self, stream: int) -> Generator:
        """Random generator with a separate stream for each check."""
        return default_rng(SeedSequence(int(self._seeds[0]), spawn_key=(stream,)))

    @property
    def decision_maker(self) -> np.ndarray:
        """Decision-maker codes of all rows."""
        return self.data.decision_maker_codes

    @property
    def has_features(self) -> bool:
        """Whether any feature varies."""
        return bool(self.data.features.shape[1])

    @cached_property
    def cell(self) -> np.ndarray:
        """Stratum of each row; zeros without strata."""
        return self.data.cells

    @property
    def place(self) -> str:
        """Where decision-makers are compared, in words."""
        return "within strata" if self.data.strata is not None else "in the sample"

    @cached_property
    def compared(self) -> np.ndarray:
        """Rows whose stratum has at least two decision-makers."""
        need(self.n_decision_makers > 1, "there is only one decision-maker.")
        several = decision_makers_per_cell(self.cell, self.decision_maker) > 1
        rows = np.flatnonzero(several[self.cell])
        need(len(rows), "every stratum has one decision-maker only, so there is nobody to compare with.")
        return rows

    def need_rejected(self) -> None:
        """Raise `NotApplicableError` unless some case was refused."""
        need(not self.data.labeled.all(), "no case was decided against: every label is seen.")

    @cached_property
    def units(self) -> Units:
        """Units of assignment among the compared rows."""
        rows = self.compared
        groups = None if self.data.groups is None else self.data.groups[rows]
        return assignment_units(self.decision_maker[rows], self.cell[rows], groups)

    def need_outcomes(self) -> None:
        """Raise `NotApplicableError` if nothing is known of some outcomes, because they are pending."""
        need(not self.data.worst_case, "some outcomes are pending, and nothing is assumed of them.")

    @cached_property
    def seen_labels(self) -> np.ndarray:
        """D Y_k of all rows, (n_samples, n_classes), or what takes its place with pending outcomes."""
        if self.data.pending != AT_RANDOM or not self.data.has_pending:
            return self.data.label_indicators
        need(len(self.model_rows) == len(self.data), "outcomes are pending, and the table is too large.")
        weights = self.fit.label_weights
        assert weights is not None
        return weights

    @cached_property
    def adjusted_outcomes(self) -> np.ndarray:
        """D and D Y_k of the compared rows, centred within strata, plus the overall mean."""
        columns = np.column_stack([self.data.decision, self.data.label_indicators])[self.compared]
        return centred(columns, self.cell[self.compared]) + columns.mean(axis=0)

    @cached_property
    def model_features(self) -> np.ndarray:
        """Features that models use: those of the data and, with up to 20 strata, stratum indicators."""
        X = self.data.features
        n_strata = int(self.cell.max()) + 1
        if self._given_fit is None and 1 < n_strata <= FEW_STRATA:
            X = np.column_stack([X, self.cell[:, None] == np.arange(1, n_strata)])
        return X if X.shape[1] else np.zeros((len(X), 1))

    @cached_property
    def model_rows(self) -> np.ndarray:
        """Rows that models are fitted on."""
        n_rows = len(self.data)
        if self._given_fit is not None or n_rows <= MODEL_ROWS:
            return np.arange(n_rows)
        return np.sort(self.generator(0).choice(n_rows, MODEL_ROWS, replace=False))

    @cached_property
    def model_data(self) -> SelectiveLabels:
        """Rows that models are fitted on, with the features that models use."""
        whole = replace(self.data.bare(), features=self.model_features, coding=None)
        return whole if len(self.model_rows) == len(whole) else whole.take(self.model_rows)

    @cached_property
    def fit(self) -> CrossFit:
        """Models of decision and label, cross-fitted, each on two halves."""
        need(len(self.compared), "there is nobody to compare with.")
        self.need_rejected()
        if self._given_fit is not None:
            return self._given_fit
        self._fitting.warn_of_runtime(self.model_data)
        with warnings.catch_warnings():
            # The user did not choose these folds, and the checks show the effect of a rare class.
            warnings.simplefilter("ignore", UserWarning)
            try:
                return self._fitting.cross_fit(self.model_data, seed=int(self._seeds[1]), in_halves=True)
            except InputError as error:
                raise NotApplicableError(f"the models could not be fitted ({error})") from None

    @cached_property
    def case_model(self) -> CaseModel:
        """Held-out predictions of decision and label from features alone, for all compared rows."""
        return case_model(self.fit, self.model_features, self.model_rows, self.compared)

    @cached_property
    def row_model(self) -> RowModel:
        """Held-out predictions of the model rows under every decision-maker."""
        return row_model(self.fit, self.model_data)

    @cached_property
    def assignment_model(self) -> AssignmentModel:
        """Model of the decision-maker given features, fitted on half of the rows."""
        rows = self.compared
        if self.units.of_row is not None:  # use one row of each group that was assigned as a whole
            rows = rows[np.unique(self.units.of_row, return_index=True)[1]]
        generator = self.generator(1)
        most = len(self.model_rows)
        chosen = rows if len(rows) <= most else np.sort(generator.choice(rows, most, replace=False))
        return assignment_model(self.data, chosen, self.cell, generator)

    @cached_property
    def scores(self) -> Mapping[str, Scores]:
        """Scores of the model rows under the instrument and NUCEM, by name of the assumption."""
        if self._given_scores is not None:
            return self._given_scores
        return cross_fit_scores(self.fit, self.model_data, [Instrument(), Nucem()])

    @cached_property
    def bounds(self) -> tuple[Bounds, np.ndarray]:
        """Bounds of the model rows, and a mask of the rows whose bounds cross."""
        return identified_bounds(self.fit, self.model_data.features, self.n_classes, held_out=True)


def _varying(data: SelectiveLabels) -> SelectiveLabels:
    """Keep the columns with more than one value; missing counts as a value."""
    kept = [number for number, column in enumerate(data.features.T) if _varies(column)]
    if len(kept) == data.features.shape[1]:
        return data
    categorical = tuple(place for place, number in enumerate(kept) if number in data.categorical)
    return replace(data.bare(), features=data.features[:, kept], categorical=categorical, coding=None)


def _varies(column: np.ndarray) -> bool:
    holes = np.isnan(column)
    if holes.all():
        return False
    seen = column[~holes]
    return bool(holes.any() or seen.min() < seen.max())


def excess(context: Context) -> np.ndarray:
    """Score of Σ_k max_z P(Y=k, D=1 | x, z) - 1 for the model rows, (n_model_rows,).

    Its mean does not exceed the true excess, whichever decision-makers the selector picks. A positive mean
    therefore contradicts random assignment or exclusion.
    """
    need(context.n_classes > 1, "one class only was seen, so the inequality always holds.")
    return -context.scores["instrument"].slack


def labels_on_leniency(context: Context) -> AddedVariable:
    """Test whether labels of comparable cases depend on the leniency of whoever decided (SL901)."""
    context.need_outcomes()
    need(context.n_classes > 1, "one class only was seen.")
    # If decision-makers hardly differ, the test keeps its level and the stated power is low.
    model, data = context.row_model, context.model_data
    labeled = np.flatnonzero(data.labeled)
    n_free = context.n_classes - 1
    decided = model.labeled[labeled].sum(axis=1)
    expected = model.labeled[labeled, :n_free] / np.maximum(decided, np.finfo(float).tiny)[:, None]
    seen = data.y[labeled, None] == np.arange(n_free)
    basis = np.column_stack([np.ones(len(labeled)), decided, expected])
    unit = None if data.groups is None else np.unique(data.groups[labeled], return_inverse=True)[1]
    return added_variable_test(seen - expected, model.deviation[labeled], basis, unit)


# A prediction that varies less than this does not distinguish cases.
SMALLEST_VARIANCE = 1e-12


@dataclass(frozen=True, eq=False)
class CaseIndices:
    """Predictions from features for the compared rows, centred within strata, with unit variance."""

    values: np.ndarray
    names: list[str]


def case_indices(context: Context) -> CaseIndices:
    """Predicted decision and predicted class probabilities, without the redundant last class."""
    need(context.has_features, "there is no feature that varies.")
    rows = context.compared
    model = context.case_model
    columns = np.column_stack([model.decision, model.label[:, :-1]])
    classes = context.data.classes[:-1].tolist()
    names = ["predicted decision", *(f"predicted probability of {label!r}" for label in classes)]
    values = centred(columns, context.cell[rows])
    variance = values.var(axis=0)
    kept = variance > SMALLEST_VARIANCE
    need(kept.any(), f"features predict the same for all cases {context.place}.")
    return CaseIndices(
        values[:, kept] / np.sqrt(variance[kept]),
        [name for name, keep in zip(names, kept, strict=True) if keep],
    )


# Largest number of feature directions along which leniency may differ, in addition to its average.
MOST_DIRECTIONS = 20


def directions(
    X: np.ndarray, categorical: tuple[int, ...] = (), cell: np.ndarray | None = None
) -> np.ndarray:
    """A constant and at most 20 uncorrelated unit-variance combinations of the features, (n, q + 1).

    Columns of codes (`categorical`) enter as indicators. Every combination has mean zero, within each cell if
    cells are given, so that average leniency counts once, with the constant. Otherwise the average leniency
    of a decision-maker who works in one cell only would count again along the features that separate cells.

    Examples
    --------
    >>> along = directions(np.repeat([[0.0], [1.0]], [10, 30], axis=0), categorical=(0,))
    >>> (along.T @ along / 40).round(1) + 0.0
    array([[1., 0.],
           [0., 1.]])
    """
    constant = np.ones((len(X), 1))
    if not X.shape[1]:
        return constant
    values = standardised(categorical).fit_transform(X)
    # The encoder does not centre indicators: "all other categories" is one for nearly every row.
    values = centred(values, np.zeros(len(X), dtype=int) if cell is None else cell)
    variances, axes = np.linalg.eigh(np.atleast_2d(np.cov(values, rowvar=False)))
    kept = np.flatnonzero(variances > 1e-8 * variances[-1])[-MOST_DIRECTIONS:]
    return np.column_stack([constant, values @ (axes[:, kept] / np.sqrt(variances[kept]))])
