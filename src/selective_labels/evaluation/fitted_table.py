"""Tables with fitted models: the protocol `FittedTable`, rows in memory, and cells between thresholds."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Protocol, TypeVar

import numpy as np
import pandas as pd

from selective_labels._errors import InputError
from selective_labels._parallel import with_progress
from selective_labels.assumptions.base import Assumption
from selective_labels.data.coding import column_names
from selective_labels.data.reading import LENIENCY, Table, with_instrument
from selective_labels.data.roles import as_series, refuse_another_order, refuse_strange_cells
from selective_labels.data.selective_labels import SelectiveLabels, class_code, require_two_classes
from selective_labels.evaluation.metrics import AnyMetric, default_thresholds, read_metrics
from selective_labels.evaluation.partitioned.cell_sample import CellSample, SampleSummary
from selective_labels.evaluation.partitioned.cells import MOST_PARTS, CellMoments, ClusterSums, distinct
from selective_labels.evaluation.periods import read_periods
from selective_labels.evaluation.policy import (
    AnyPolicySample,
    Policy,
    PolicySample,
    checked_policy_actions,
    read_policy_actions,
)
from selective_labels.evaluation.prediction_check import (
    Checked,
    PredictionCheck,
    subject_cautions,
    with_doubts,
)
from selective_labels.evaluation.predictions import (
    UNNAMED,
    EvaluationRequest,
    ObservedOutcomes,
    Predictions,
    read_predictions,
)
from selective_labels.evaluation.scored_rows import (
    Assumed,
    Scored,
    ScoredSample,
    check_instrument,
    chosen_assumptions,
    cross_fits,
    fits_by_kind,
    score_sample,
    with_classes_of,
)
from selective_labels.identification.bounds import Array
from selective_labels.identification.prevalence import Share
from selective_labels.inference.evidence import Evidence
from selective_labels.inference.standard_errors import cluster_codes
from selective_labels.nuisance.cross_fit import CrossFit, FittingSettings

T = TypeVar("T")


@dataclass(frozen=True, eq=False)
class JudgedRows:
    """Predictions on scored rows in memory; `JudgedCells` is the counterpart for partitions.

    Attributes
    ----------
    masks : dict of bool arrays, or None
        Rows of each subgroup.
    """

    scored: ScoredSample
    subjects: tuple[Predictions, ...]
    metrics: Sequence[AnyMetric]
    masks: Mapping[Any, np.ndarray] | None

    def sample(self, metric: AnyMetric) -> ScoredSample:
        """Return the rows from which a metric is computed."""
        return self.scored

    def subject(self, metric: AnyMetric, place: int = 0) -> Predictions:
        """Return the predictions of the classifier at this position."""
        return self.subjects[place]

    def cells(self, metric: AnyMetric) -> Mapping[Any, np.ndarray] | None:
        """Return a mask of rows for each subgroup; None without subgroups."""
        return self.masks

    @property
    def seen(self) -> ObservedOutcomes:
        """Decisions and labels in every subgroup."""
        data = self.scored.data
        return ObservedOutcomes.of_rows(data, self.masks or {}, cluster_codes(self.scored.cluster, data))


class Judged(Protocol):
    """Predictions on scored rows, or on cells of rows, and the metrics to compute."""

    @property
    def metrics(self) -> Sequence[AnyMetric]:
        """Metrics to compute."""

    def sample(self, metric: AnyMetric) -> Scored:
        """Return the rows or cells from which a metric is computed."""

    def subject(self, metric: AnyMetric, place: int = 0) -> Predictions:
        """Return the predictions of the classifier at this position."""

    def cells(self, metric: AnyMetric) -> Mapping[Any, np.ndarray] | None:
        """Return a mask of rows for each subgroup; None without subgroups."""

    @property
    def seen(self) -> ObservedOutcomes:
        """Decisions and labels in every subgroup."""


class FittedTable(Protocol):
    """A table that fits its models once and then answers requests.

    Rows in memory (`FittedRows`) and partitions
    (:class:`selective_labels.evaluation.partitioned.fitted_partitions.FittedPartitions`) have the same
    methods, so the analyses need not distinguish between them.
    """

    @property
    def table(self) -> Table:
        """The table."""

    @property
    def has_instrument(self) -> bool:
        """Whether there are two or more decision-makers."""

    def fit(self, assumption: Assumed) -> None:
        """Fit the models that an assumption needs, unless they are already fitted."""

    def judge(self, request: EvaluationRequest, with_outcomes: bool = False) -> Judged:
        """Score the table for a request; `with_outcomes` also counts decisions and labels."""

    def cut(self, request: EvaluationRequest, thresholds: Array | None) -> tuple[Scored, Array, int, Array]:
        """Return scored rows or cells, their score, the event's code, and the thresholds."""

    def policy_sample(
        self, request: EvaluationRequest, policies: Mapping[str, Policy], thresholds: Sequence[float] = ()
    ) -> AnyPolicySample:
        """Return scored rows or cells on which policies act; `thresholds` adds thresholds of the score."""

    def classes_with(self, classifiers: Sequence[Any]) -> np.ndarray:
        """Return the classes of the table and those that only a fitted classifier knows."""

    def periods(self, period: Any, every: str | None) -> Any:
        """Return subgroups by time, in the form that `by` takes."""

    def rows(self, method: str) -> "FittedRows":
        """Return the rows in memory for methods that need them; raise an error for partitions."""

    def name_of(self, given: Any) -> str:
        """Return the name of a classifier, an array or a policy in results."""


@dataclass(eq=False)
class FittedRows:
    """Rows in memory with their cross-fitted models.

    Models are fitted once per set of classes, and once more in halves if an assumption needs that. Scores are
    computed once per list of assumptions.

    Parameters
    ----------
    instrument : "leniency" or "numeric"
        How to read the decision-makers.
    """

    table: SelectiveLabels
    fitting: FittingSettings
    instrument: str = LENIENCY
    _check: PredictionCheck | None = field(default=None, init=False)
    _fits: dict[tuple[Any, ...], list[CrossFit]] = field(default_factory=dict, init=False)
    _scored: list[tuple[tuple[Any, ...], Any, ScoredSample]] = field(default_factory=list, init=False)
    _kept: dict[str, tuple[Any, Any]] = field(default_factory=dict, init=False)

    def __post_init__(self) -> None:
        self.table = with_instrument(self.table, self.instrument, nuisance=self.fitting.nuisance)
        if self.fitting.seed is None:  # drawn once, so that all analyses use the same repetitions
            self.fitting = replace(self.fitting, seed=int(np.random.SeedSequence().generate_state(1)[0]))

    @property
    def has_instrument(self) -> bool:
        """Whether there are two or more decision-makers."""
        return self.table.decision_makers_given and self.table.n_decision_makers > 1

    def _chosen(self, assumption: Assumed) -> list[Assumption]:
        return chosen_assumptions(assumption, self.has_instrument, worst_case=self.table.worst_case)

    def fit(self, assumption: Assumed) -> None:
        """Fit the models that an assumption needs; later requests reuse them."""
        chosen = self._chosen(assumption)
        if not self.table.labeled.all():
            require_two_classes(self.table.classes)
            check_instrument(chosen, self.table)
            fits_by_kind(self.table, chosen, self.fits)

    def fits(self, data: SelectiveLabels, in_halves: bool) -> list[CrossFit]:
        """Return the models, one fit for each repetition of cross-fitting."""
        classes = tuple(data.classes.tolist())
        key = (*classes, in_halves)
        if key not in self._fits:
            wholes = self._fits.get((*classes, False))
            made = cross_fits(data, self.fitting, in_halves, wholes)
            self._fits[key] = list(with_progress(made, "repeating cross-fitting", self.fitting.n_repeats))
        return self._fits[key]

    def kept(self, question: str, key: Any, fit: Callable[[], T]) -> T:
        """Return what a question fits for itself; the last fit is kept, and used again for an equal key."""
        if question not in self._kept or self._kept[question][0] != key:
            self._kept[question] = key, fit()
        found: T = self._kept[question][1]
        return found

    def scored(self, request: EvaluationRequest) -> ScoredSample:
        """Return scores of all rows for a request; equal assumptions return the same object."""
        data = with_classes_of(self.table, list(request.given))
        chosen = self._chosen(request.assumption)
        key = (*chosen, request.cluster, *data.classes.tolist())
        for known, label_range, sample in self._scored:
            if known == key and label_range is request.label_range:
                return sample
        sample = self.score(data, chosen, request.cluster, request.label_range)
        self._scored.append((key, request.label_range, sample))
        return sample

    def score(
        self,
        data: SelectiveLabels,
        assumptions: Assumed,
        cluster: str | None,
        label_range: Any,
    ) -> ScoredSample:
        """Return scores of all rows under some assumptions, using the fitted models."""
        return score_sample(data, assumptions, cluster, self.fits, self.fitting.repeated_seeds, label_range)

    def _checked(self, request: EvaluationRequest, subjects: Sequence[tuple[str, Checked]]) -> ScoredSample:
        """Return scores of all rows, with the cautions of what is evaluated, by name in messages.

        Raise an error for predictions that depend on who decides; no assumption that compares
        decision-makers bounds them.
        """
        sample = self.scored(request)
        doubts = self.doubts(sample.data, sample.objects.values(), subjects)
        predictions = [each for _, each in subjects if isinstance(each, Predictions)]
        cautions = subject_cautions(sample, predictions, request.pos_label)
        return with_doubts(sample, doubts).with_cautions(cautions)

    def doubts_of(self, request: EvaluationRequest) -> list[str]:
        """Return the doubts about the predictions of a request."""
        data = with_classes_of(self.table, list(request.given))
        subjects = [
            (name, read_predictions(each, data, name, request.pos_label))
            for name, each in zip(request.names, request.given, strict=True)
        ]
        return self.doubts(data, self._chosen(request.assumption), subjects)

    def doubts(
        self,
        data: SelectiveLabels,
        assumptions: Iterable[Assumption],
        subjects: Sequence[tuple[str, Checked]],
    ) -> list[str]:
        """Return the doubts about predictions under assumptions that compare decision-makers."""
        compared = self.has_instrument and any(each.needs_decision_makers for each in assumptions)
        if not compared or data.labeled.all():
            return []
        if self._check is None:
            fit = self.fits(data, all(each.needs_halves for each in assumptions))[0]
            self._check = PredictionCheck(self.table, fit, self.fitting.repeated_seeds[0])
        found = [self._check.doubts(subject, name) for name, subject in subjects]
        return list(dict.fromkeys(doubt for each in found for doubt in each))

    def judge(self, request: EvaluationRequest, with_outcomes: bool = False) -> JudgedRows:
        """Score all rows for a request; input errors are raised before anything is fitted."""
        known = with_classes_of(self.table, list(request.given))
        require_two_classes(known.classes)
        subjects = [
            read_predictions(each, known, name, request.pos_label)
            for each, name in zip(request.given, request.names, strict=True)
        ]
        metrics = read_metrics(
            request.metric,
            subjects[0],
            request.pos_label,
            request.cost,
            request.with_human,
            known.decision_means,
        )
        for metric in metrics:
            if request.labels or len(subjects) == 1 or metric.difference(*subjects) is None:
                for subject in subjects:
                    metric.functional(subject)
        masks = (
            None if request.by is None else read_subgroups(named_column(request.by, "by", known), len(known))
        )
        checked: list[tuple[str, Checked]] = list(zip(request.names, subjects, strict=True))
        sample = self._checked(request, checked if masks is None else [*checked, ("by", masks)])
        return JudgedRows(sample, tuple(each.on(sample.data) for each in subjects), metrics, masks)

    def cut(self, request: EvaluationRequest, thresholds: Array | None) -> tuple[Scored, Array, int, Array]:
        """Return cells between the thresholds (or rows, where cells do not do), and the thresholds."""
        known = with_classes_of(self.table, list(request.given))
        event = class_code(request.pos_label, known.classes)
        subject = read_predictions(request.given[0], known, pos_label=request.pos_label)
        score, sample = subject.score(event), self._checked(request, [(UNNAMED, subject)])
        cuts = default_thresholds(score, weights=sample.weights) if thresholds is None else thresholds
        cells = cells_between(sample, score, cuts)
        if cells is None:
            return sample, score, event, cuts
        return cells, np.append(-np.inf, cuts)[cells.cells.key[:, -1]], event, cuts

    def policy_sample(
        self, request: EvaluationRequest, policies: Mapping[str, Policy], thresholds: Sequence[float] = ()
    ) -> PolicySample:
        """Return scored rows on which policies act; input errors are raised before anything is fitted."""
        scores, names = [each.score for each in policies.values()], tuple(policies)
        known = with_classes_of(self.table, scores)
        require_two_classes(known.classes)
        failure = class_code(request.pos_label, known.classes)
        for name, policy in policies.items():
            # Only policies given by the user are checked for a reversed score. A classifier that is compared
            # with the human has a score of known direction.
            read = (
                checked_policy_actions
                if any(policy is each for each in request.given)
                else read_policy_actions
            )
            read(policy, known, failure, name)
        subjects: list[tuple[str, Predictions | Array]] = []
        for name, policy in policies.items():
            subjects.append((name, read_predictions(policy.score, known, name)))
            if policy.with_human is not None and not isinstance(policy.with_human, str):
                subjects.append(("with_human", np.asarray(policy.with_human, dtype=float)))
        sample = self._checked(replace(request, given=tuple(scores)), subjects)
        return PolicySample(sample, failure, names)

    def classes_with(self, classifiers: Sequence[Any]) -> np.ndarray:
        """Return the classes of the table and those that only a fitted classifier knows."""
        return with_classes_of(self.table, list(classifiers)).classes

    def periods(self, period: Any, every: str | None) -> np.ndarray:
        """Return the period of every row."""
        refuse_another_order(period, "period", self.table.X)
        return read_periods(period, every, len(self.table))

    def rows(self, method: str) -> "FittedRows":
        """Return self: the rows are in memory."""
        return self

    def name_of(self, given: Any) -> str:
        """Return the name of a classifier, an array or a policy in results."""
        if isinstance(given, Policy):
            return repr(given)
        if hasattr(given, "predict"):
            return type(given).__name__
        return "predictions" if np.ndim(given) else repr(given)


# Each pair of subgroups has a gap, so their number grows with the square.
MOST_SUBGROUPS = 100


def named_column(given: Any, name: str, data: SelectiveLabels) -> Any:
    """Look up the column that a string names, a feature or the strata; anything else is returned as given."""
    if not isinstance(given, str):
        refuse_another_order(given, name, data.X)
        return given
    if given in map(str, column_names(data.X) or ()):
        return data.X[given]
    if data.stratum_labels is not None and data.names.get("strata") == given:
        return data.stratum_labels[data.strata]
    raise InputError.about(
        name,
        f"is {given!r}, neither a feature nor the strata, and other columns are not kept; give the values "
        f"themselves, such as {name}=frame[{given!r}], one for each case.",
    )


def read_column(given: Any, name: str, data: SelectiveLabels) -> pd.Series:
    """Read one value for each case: a column of values, or the name of a feature or of the strata."""
    given = named_column(given, name, data)
    column = as_series(given, name, len(data))
    if column.isna().any():
        raise InputError.about(name, f"is missing in {column.isna().sum()} rows; leave these rows out.")
    return column


def read_subgroups(by: Any, n_samples: int) -> dict[Any, np.ndarray]:
    """Return a mask of rows for each value of a column."""
    column = as_series(by, "by", n_samples)
    refuse_strange_cells(column, "by")
    if len({type(value) for value in column}) > 1 and column.dtype == object:
        raise InputError.about("by", "holds subgroups of several types; use one type, such as strings.")
    if column.isna().any():
        raise InputError.about("by", f"is missing in {column.isna().sum()} rows: give every case a subgroup.")
    values = column.to_numpy()
    labels = np.unique(values).tolist()
    if len(labels) > MOST_SUBGROUPS:
        raise InputError.about(
            "by",
            f"has {len(labels):,} different values, and {MOST_SUBGROUPS} are possible; merge them, such as "
            "into ranges by pandas.qcut.",
        )
    return {label: values == label for label in labels}


@dataclass(frozen=True, eq=False, kw_only=True)
class RowCells(CellSample):
    """Cells of rows in memory; results describe the sample as the rows do.

    Attributes
    ----------
    row : (n_cells,) int array
        One row of each cell.
    """

    source: ScoredSample
    row: np.ndarray

    @property
    def impossible(self) -> dict[str, str]:
        """By assumption, the contradiction that the rows show."""
        return self.source.impossible

    def assumed(self, assumption: str) -> Assumption:
        """Return the assumption with this name."""
        return self.source.assumed(assumption)

    def known_shares(self, assumption: str) -> tuple[Share, ...]:
        """Return the known shares; all rows of a cell belong to the same of them."""
        shares = self.source.repeats[0][assumption].shares
        return tuple(replace(each, rows=each.rows[self.row]) for each in shares)

    def summary_of(self, assumption: str) -> dict[str, Any]:
        """Return the description of the sample."""
        return self.source.summary_of(assumption)


def cells_between(sample: ScoredSample, scores: Array, thresholds: Array) -> RowCells | None:
    """Sum scored rows between ascending thresholds of a score; the last key counts those that it reaches.

    Any rule that treats the rows between two thresholds alike has the same bounds, standard errors and
    intervals on the cells, up to rounding, at a cost that does not depend on the number of rows.

    Returns
    -------
    RowCells, or None where sums do not suffice: the event tilt, upper bounds on single classes, and more
    classes than sums of fourth powers are kept for
    """
    if not sample.clipped or not all(
        name in repeat and _summable(repeat[name]) for repeat in sample.repeats for name in sample.assumptions
    ):
        return None
    key = np.column_stack([*_groups(sample), np.searchsorted(thresholds, scores, "right")])
    unique, code = distinct(key)
    row = np.empty(len(unique), dtype=int)
    row[code] = np.arange(len(code))
    labeled, weights = sample.data.labeled.astype(float), sample.weights
    unused = np.zeros((len(code), 4))  # what results say of the sample is known from the rows
    units = cluster_codes(sample.cluster, sample.data)
    repeats, clusters = [], []
    for repeat in sample.repeats:
        scored = {name: repeat[name] for name in sample.assumptions}
        repeats.append(
            {name: CellMoments.of_rows(key, each, labeled, weights, unused) for name, each in scored.items()}
        )
        if units is not None:
            clusters.append(
                {name: ClusterSums.of_rows(units, key, each, weights) for name, each in scored.items()}
            )
    summary = SampleSummary(sample.classes, sample.data.n_decision_makers, 0, len(sample.data))
    return RowCells(repeats, summary, cluster=sample.cluster, clusters=clusters, source=sample, row=row)


def _summable(evidence: Evidence) -> bool:
    laminar = evidence.laminar_scores
    n_parts = evidence.lower.shape[1] + evidence.event_slack.shape[1] + 1
    return n_parts <= MOST_PARTS and (laminar is None or laminar.ceiling is None)


def _groups(sample: ScoredSample) -> Sequence[np.ndarray]:
    """Return one key for each known share: whether it concerns a row."""
    first = [sample.repeats[0][name] for name in sample.assumptions]
    return [share.rows.astype(int) for each in first for share in each.shares if not share.rows.all()]
