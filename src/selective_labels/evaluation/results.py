"""Results of evaluations and comparisons, and the functions that build them from estimates."""

import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass, field, fields, replace
from typing import Any, Self

import numpy as np
import pandas as pd

from selective_labels._display import Display
from selective_labels._errors import InputError, UndefinedError
from selective_labels._vocabulary import Vocabulary
from selective_labels.assumptions.base import Assumption
from selective_labels.assumptions.instrument import NoAssumption
from selective_labels.evaluation import display
from selective_labels.evaluation.scored_rows import Scored
from selective_labels.identification.bounds import Array
from selective_labels.inference.bound_estimators import Functional, PendingRatio, Ratio
from selective_labels.inference.confidence_intervals import NAN, NOTHING, Basis, Reported, check_interval
from selective_labels.inference.evidence import Evidence, by_row, of_rows
from selective_labels.inference.known_prevalence import ContradictedError
from selective_labels.inference.standard_errors import BoundStandardErrors


@dataclass(frozen=True)
class Design:
    """Moments of a case's contribution c(Y*) to a mean E[c(Y*)], and the leniency of decision-makers.

    Attributes
    ----------
    accepted_mean, accepted_square : float
        Means of c and c² among accepted cases, whose labels are observed.
    refused_mean, refused_square : float
        The same among refused cases, at the midpoint of their bounds.
    relevant : float
        Share of refused cases whose label affects the mean.
    leniency_mean, leniency_spread : float
        Mean and standard deviation of decision-makers' acceptance rates, the latter net of sampling error.
    """

    n: int
    acceptance: float
    accepted_mean: float
    accepted_square: float
    refused_mean: float
    refused_square: float
    relevant: float
    leniency_mean: float
    leniency_spread: float
    n_decision_makers: int


def coefficients_of(functional: Functional | None) -> Array | None:
    """Return the coefficients of a functional that is a population mean; None for any other functional."""
    if not isinstance(functional, Ratio) or isinstance(functional, PendingRatio):
        return None
    return functional.numerator if (functional.denominator == 1.0).all() else None


def design_of(sample: Scored, assumption: str, coefficients: Array, seen: Array | float = 0.0) -> Design:
    """Moments of c_k(x) plus the observed contribution `seen`.

    Cells must have the outcome as their last key, so that all rows of a cell have the same decision.
    """
    outcome, evidence, weights, (mean, spread), number = sample.observed(assumption)
    taken = outcome > 0
    share = np.asarray(by_row(weights)) / weights.sum()
    acceptance = float(share[taken].sum())
    own = np.zeros(len(taken))
    own[taken] = coefficients[taken, outcome[taken] - 1]
    value = (own + seen)[taken]
    inside = share[taken] / max(acceptance, 1e-12)
    refused = [
        _refused(evidence, coefficients**power, own**power * taken, weights, 1.0 - acceptance)
        for power in (1, 2)
    ]
    matters = np.ptp(coefficients, axis=1) > 0.0
    return Design(
        n=sample.n_cases(np.ones(sample.size, dtype=bool)),
        acceptance=acceptance,
        accepted_mean=float(inside @ value),
        accepted_square=float(inside @ value**2),
        refused_mean=refused[0],
        refused_square=max(refused[1], refused[0] ** 2),
        relevant=float(share[~taken & matters].sum() / max(1.0 - acceptance, 1e-12)),
        leniency_mean=mean,
        leniency_spread=spread,
        n_decision_makers=number,
    )


def _refused(evidence: Evidence, values: Array, seen: Array, weights: Array, size: float) -> float:
    """Mean over refused cases at the midpoint of its bounds, clipped to the possible values."""
    if size <= 1e-12:
        return 0.0
    ends = []
    for side in (-1.0, 1.0):
        scores = np.einsum("nk,nk...->n...", values, evidence.extreme(side * values))
        ends.append(float(np.vdot(weights, scores - of_rows(seen, scores)) / weights.sum()) / size)
    return float(np.clip(np.mean(ends), values.min(), values.max()))


# Fields that are not serialized by `to_dict`.
KEPT = ("basis", "design", "sentence", "worth")


@dataclass(frozen=True)
class Sample:
    """Description of the sample behind an estimate.

    Attributes
    ----------
    n : int
        Number of cases.
    n_labeled : int
        Number of cases with an observed label.
    cluster : "groups", "decision_maker" or None
    n_clusters : int
        Number of independent units for the standard errors; the number of cases without `cluster`.
    clipped_share : float
        Share of rows with too little overlap, whose weight was clipped.
    n_effective : float
        Effective number of units behind the standard error; a small number widens the interval. NaN if there
        is no interval.
    assignment : str
        Note on how cases are assigned to decision-makers; empty under random assignment.
    bounded_share : float
        Share of rows that contribute instrument bounds although the assumption identifies a value, because
        decision-makers differ too little for such cases.
    sharpness_lost : float
        Estimated excess of the slack, and so of the width for accuracy, over the sharp one, because
        decision-makers with statistically indistinguishable rates are pooled.
    refusal : str or None
        Finding of a check that speaks against using the assumption here, with its code.
    numeric : bool
        Whether decision-makers are values of a number (``instrument="numeric"``).
    n_panels : int or None
        Number of panels if labels are shared within cases; `n` then counts rows.
    sentence : str
        The assumption in words.
    n_fitted : int or None
        Number of rows used to fit the models, if they are a sample of a partitioned table; all are scored.
    rank_error : float
        Amount by which the bounds were moved outwards because scores were binned; zero for rows in memory.
    cautions : tuple of str
        Sentences that say why the number is doubtful or not to be trusted, and what to do. Empty if no check
        found a reason.
    """

    n: int
    n_labeled: int
    n_decision_makers: int
    cluster: str | None
    n_clusters: int
    clipped_share: float
    n_effective: float = NAN
    assignment: str = ""
    bounded_share: float = 0.0
    sharpness_lost: float = 0.0
    refusal: str | None = None
    numeric: bool = False
    n_panels: int | None = None
    sentence: str = ""
    n_fitted: int | None = None
    rank_error: float = 0.0
    cautions: tuple[str, ...] = ()


@dataclass(frozen=True, repr=False)
class Estimated(Display):
    """Bounds, interval, assumption and sample: the fields that evaluations and comparisons share."""

    metric: str
    assumption: str
    lower: float
    upper: float
    ci_lower: float
    ci_upper: float
    interval: str
    confidence_level: float
    sample: Sample
    standard_errors: tuple[float, float] = field(repr=False)
    correlation: float = field(repr=False)
    limits: tuple[float, float] = field(repr=False)
    crossed: bool = False
    exact: bool = False
    reason: str | None = None
    basis: Basis | None = field(default=None, repr=False, compare=False, kw_only=True)
    design: Design | None = field(default=None, repr=False, compare=False, kw_only=True)

    @property
    def title(self) -> str:
        """Name of the estimated quantity."""
        return self.metric

    @property
    def remarks(self) -> list[str]:
        """Remarks to print before the interval."""
        return []

    @property
    def n(self) -> int:
        """Number of cases."""
        return self.sample.n

    @property
    def n_labeled(self) -> int:
        """Number of cases with an observed label."""
        return self.sample.n_labeled

    @property
    def width(self) -> float:
        """Width of the estimated identified set."""
        return self.upper - self.lower

    @property
    def empty(self) -> bool:
        """Whether the identified set is empty: the bounds cross by more than sampling error."""
        return self.crossed and bool(np.isnan(self.lower))

    @property
    def defined(self) -> bool:
        """Whether there are bounds, even if there is no interval."""
        return not np.isnan(self.lower)

    def with_cautions(self, sentences: Sequence[str]) -> Self:
        """Return the same result with further cautions; a sentence that it has already is not repeated."""
        cautions = tuple(dict.fromkeys([*self.sample.cautions, *sentences]))
        return replace(self, sample=replace(self.sample, cautions=cautions))

    def to_dict(self) -> dict[str, Any]:
        """Return all fields, including those of the sample, as plain values."""
        kept = {each.name: getattr(self, each.name) for each in fields(self) if each.name not in KEPT}
        values = kept | asdict(kept.pop("sample"))
        return {name: plain(value) for name, value in values.items() if name not in KEPT}

    def to_frame(self) -> pd.DataFrame:
        """Return a frame with one row."""
        return pd.DataFrame([_scalars(self.to_dict())])

    def to_json(self) -> str:
        """Return :meth:`to_dict` as a JSON object; infinite limits become null."""
        return json.dumps(self.to_dict(), allow_nan=False)

    def plot(self, ax: Any = None) -> Any:
        """Draw the interval; return the matplotlib axes."""
        return display.plot_intervals([self], ax)

    def pasted(self) -> list[pd.DataFrame]:
        """Return the bounds and the interval as a table with one row."""
        return [display.short_table([self])]

    def notes(self) -> list[str]:
        """Return what the interval covers, cautions, the assumption and the sample."""
        return display.below(self)

    @property
    def __maketables_coef_table__(self) -> pd.DataFrame:
        return display.coefficients([self])

    @property
    def __maketables_depvar__(self) -> str:
        return self.assumption

    @property
    def __maketables_default_stat_keys__(self) -> list[str]:
        return ["N"]

    def __maketables_stat__(self, key: str) -> int | None:
        return self.n if key == "N" else None

    def text(self) -> str:
        """Return the result as a few lines of text."""
        return display.one_text(self)

    def html(self) -> str:
        """Return the same as HTML for a notebook."""
        return display.one_html(self)


@dataclass(frozen=True, repr=False)
class Evaluation(Estimated):
    """A metric of one classifier on all cases, under one assumption.

    Attributes
    ----------
    metric, assumption : str
    lower, upper : float
        Estimated bounds, in order. They are equal if the assumption identifies the value, unless some rows
        contribute bounds (`sample.bounded_share`). NaN if the metric is not defined for these cases, or if
        the identified set is empty.
    ci_lower, ci_upper : float
        Confidence interval, within the metric's possible values; NaN if there is none.
    interval : "parameter" or "set"
        Target of the interval: the value, or the whole identified set.
    confidence_level : float
    sample : Sample
    standard_errors : pair of float
        Standard errors of the two bounds.
    correlation : float
        Correlation of the two estimated bounds.
    limits : pair of float
        Possible values of the metric.
    crossed : bool
        Whether the estimated bounds crossed. They were then put in order by
        :func:`selective_labels.inference.confidence_intervals.uncross`.
    exact : bool
        Whether the interval is exact, from counts of labels.
    reason : str or None
        Why a number is NaN.
    subgroup : label, optional
        Value of ``by=`` that defines the cases.
    reference : label, optional
        For a gap: the subgroup whose metric is subtracted.

    Examples
    --------
    >>> import selective_labels as sl
    >>> sample = sl.datasets.make_decision_makers(600, n_classes=2, random_state=0)
    >>> data = sl.SelectiveLabels.from_arrays(sample.X, sample.y, decision_maker=sample.decision_maker)
    >>> rule = (sample.X[:, 0] < 0).astype(int)
    >>> found = sl.evaluate(rule, data, nuisance="logistic", random_state=0)
    >>> found.metric, found.assumption, found.ci_lower < found.lower < found.upper < found.ci_upper
    ('accuracy', 'instrument', True)
    """

    subgroup: Any = None
    reference: Any = None

    @property
    def title(self) -> str:
        """Metric and subgroup in words."""
        if self.reference is not None:
            return f"{self.metric}, {self.subgroup} minus {self.reference}"
        return self.metric if self.subgroup is None else f"{self.metric}, {self.subgroup}"

    def with_interval(self, interval: str, confidence_level: float | None = None) -> "Evaluation":
        """Return the same estimate with another interval, without refitting."""
        level = self.confidence_level if confidence_level is None else confidence_level
        if self.basis is None:
            return replace(self, interval=interval, confidence_level=level)
        found = self.basis.report(interval, level)
        return replace(self, interval=interval, confidence_level=level, **printed(found))


@dataclass(frozen=True, repr=False)
class Comparison(Estimated):
    """metric(a) - metric(b) on all cases, under one assumption.

    Attributes
    ----------
    verdict : "a", "b" or "undecided"
        Which is better, if the confidence interval excludes zero.
    a, b : str
        Names of the two.
    greater_is_better : bool
        Whether a larger value of the metric is better.
    disagreement : float
        Share of cases on which the two differ; only these affect the difference.
    sharp : bool
        False if the bounds on the difference are valid but not sharp.
    worth : (n_samples,) array or None
        Slack times disagreement of every refused case: its contribution to the width.
    The other attributes are those of :class:`Evaluation`.

    Examples
    --------
    >>> import selective_labels as sl
    >>> sample = sl.datasets.make_decision_makers(600, n_classes=2, random_state=0)
    >>> data = sl.SelectiveLabels.from_arrays(sample.X, sample.y, decision_maker=sample.decision_maker)
    >>> rule = (sample.X[:, 0] < 0).astype(int)
    >>> found = sl.compare(rule, 1 - rule, data, nuisance="logistic", random_state=0)
    >>> found.disagreement, found.verdict, found.ci_lower <= found.lower <= found.upper <= found.ci_upper
    (1.0, 'undecided', True)
    """

    verdict: str = "undecided"
    a: str = "a"
    b: str = "b"
    greater_is_better: bool = True
    disagreement: float = float("nan")
    sharp: bool = True
    worth: np.ndarray | None = field(default=None, repr=False, compare=False, kw_only=True)

    @property
    def title(self) -> str:
        """Name of the difference."""
        return f"{self.metric} of a ({self.a}) minus that of b ({self.b})"

    @property
    def remarks(self) -> list[str]:
        """The verdict in words."""
        better = "higher" if self.greater_is_better else "lower"
        verdict = "undecided" if self.verdict == "undecided" else f"{self.verdict} is better"
        remarks = [f"Verdict: {verdict} ({better} is better)."]
        if not np.isnan(self.disagreement):
            remarks.append(f"The two differ on {self.disagreement:.1%} of the cases.")
        if not self.sharp:
            remarks.append("The bounds on the difference are not sharp: the identified set may be smaller.")
        return remarks


@dataclass(frozen=True, repr=False)
class Evaluations(Display):
    """Several evaluations of one classifier, by metric, subgroup and assumption.

    Iteration, indexing and `len` apply to the evaluations. `gaps` holds the differences between the
    subgroups of ``by=``.

    Examples
    --------
    >>> import selective_labels as sl
    >>> sample = sl.datasets.make_decision_makers(600, n_classes=2, random_state=0)
    >>> data = sl.SelectiveLabels.from_arrays(sample.X, sample.y, decision_maker=sample.decision_maker)
    >>> rule = (sample.X[:, 0] < 0).astype(int)
    >>> both = sl.evaluate(rule, data, assumption=["none", "instrument"], nuisance="logistic", random_state=0)
    >>> len(both), both[1].assumption, both.to_frame()["assumption"].tolist()
    (2, 'instrument', ['none', 'instrument'])
    """

    items: tuple[Evaluation, ...]
    gaps: "Evaluations | None" = None

    def in_words(self, vocabulary: Vocabulary) -> Self:
        """The same results, each of them shown in the words of a domain."""
        gaps = None if self.gaps is None else self.gaps.in_words(vocabulary)
        items = tuple(each.in_words(vocabulary) for each in self.items)
        return Display.in_words(replace(self, items=items, gaps=gaps), vocabulary)

    def __iter__(self) -> Iterator[Evaluation]:
        return iter(self.items)

    def __len__(self) -> int:
        return len(self.items)

    def __getitem__(self, position: int) -> Evaluation:
        return self.items[position]

    def select(self, **wanted: Any) -> "Evaluations":
        """Return evaluations with the given attributes: ``select(metric="tpr", assumption="none")``."""
        unknown = set(wanted) - {each.name for each in fields(Evaluation)}
        if unknown:
            first = sorted(unknown)[0]
            raise InputError(f"{first!r} is not an attribute of an evaluation.", first)

        values = {
            name: value.name if isinstance(value, Assumption) else value for name, value in wanted.items()
        }

        def chosen(item: Evaluation) -> bool:
            return all(getattr(item, name) == value for name, value in values.items())

        gaps = None if self.gaps is None else Evaluations(tuple(filter(chosen, self.gaps)))
        return Evaluations(tuple(filter(chosen, self.items)), gaps)

    def one(self, **wanted: Any) -> Evaluation:
        """Return the only evaluation with the given attributes."""
        found = self.select(**wanted).items
        if len(found) != 1:
            raise InputError(f"{len(found)} evaluations match {wanted}; one is wanted.")
        return found[0]

    def contradicts(self, item: Evaluation) -> bool:
        """Whether an interval is disjoint from that of the same metric and subgroup without assumptions."""
        alike = self.select(metric=item.metric, subgroup=item.subgroup, assumption=NoAssumption().name).items
        return any(item.ci_lower > free.ci_upper or item.ci_upper < free.ci_lower for free in alike)

    def with_cautions(self, sentences: Sequence[str]) -> "Evaluations":
        """Return the same evaluations, each with further cautions."""
        items = tuple(item.with_cautions(sentences) for item in self.items)
        return Evaluations(items, None if self.gaps is None else self.gaps.with_cautions(sentences))

    def to_frame(self) -> pd.DataFrame:
        """Return a frame with one row per evaluation."""
        return pd.DataFrame([_scalars(item.to_dict()) for item in self.items])

    def to_json(self) -> str:
        """Return a JSON list of the evaluations."""
        return json.dumps([item.to_dict() for item in self.items], allow_nan=False)

    def plot(self, ax: Any = None) -> Any:
        """Draw all intervals in one figure; return the matplotlib axes."""
        return display.plot_intervals(self.items, ax)

    def pasted(self) -> list[pd.DataFrame]:
        """Return the printed table."""
        return [display.short_table(display.with_gaps(self))]

    def notes(self) -> list[str]:
        """Return the lines that stand below the printed table."""
        return display.below_many(self)

    def text(self) -> str:
        """Return a table with the assumptions below it."""
        return display.many_text(self)

    def html(self) -> str:
        """Return the same as HTML for a notebook."""
        return display.many_html(self)


def printed(found: Reported) -> dict[str, Any]:
    """Return the fields of a result that depend on its interval."""
    return {
        "lower": found.lower,
        "upper": found.upper,
        "ci_lower": found.interval.lower,
        "ci_upper": found.interval.upper,
        "standard_errors": found.errors,
        "crossed": found.crossed,
        "exact": found.exact,
        "reason": found.reason,
    }


def plain(value: Any) -> Any:
    """Convert to a plain value for JSON: numpy numbers to Python, infinite ones to None, others to text."""
    if isinstance(value, tuple | list):
        return [plain(each) for each in value]
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, float) and not np.isfinite(value):
        return None
    return value if value is None or isinstance(value, bool | int | float | str) else str(value)


def _scalars(values: dict[str, Any]) -> dict[str, Any]:
    """Split pairs into columns "_lower" and "_upper" for a frame, and join cautions to one text."""
    columns: dict[str, Any] = {}
    for name, value in values.items():
        if name == "cautions":
            columns[name] = " ".join(value)
        elif isinstance(value, list):
            columns |= {f"{name}_lower": value[0], f"{name}_upper": value[1]}
        else:
            columns[name] = value
    return columns


def estimated(
    sample: Scored,
    basis: Basis,
    assumption: str,
    rows: np.ndarray,
    interval: str,
    confidence_level: float,
) -> dict[str, Any]:
    """Return the fields that evaluations and comparisons share, without the name of the metric."""
    found = basis.report(interval, confidence_level)
    spread = basis.spread
    number = min(spread.effective) if np.isfinite(found.interval.lower) else NAN
    return {
        "assumption": assumption,
        **printed(found),
        "interval": interval,
        "confidence_level": confidence_level,
        "correlation": spread.correlation,
        "limits": basis.limits,
        "basis": basis,
        "sample": _sample(sample, assumption, rows, spread, number),
    }


def undefined(
    sample: Scored,
    reason: str,
    assumption: str,
    rows: np.ndarray,
    interval: str,
    confidence_level: float,
    limits: tuple[float, float],
    *,
    contradicted: bool = False,
) -> dict[str, Any]:
    """Return the same fields for a metric without a value: NaN, and the reason."""
    spread = BoundStandardErrors(NAN, NAN, (NAN, NAN), NAN, sample.count_units(rows))
    nothing = Reported(NAN, NAN, NOTHING, (NAN, NAN), crossed=contradicted, reason=reason)
    return {
        "assumption": assumption,
        **printed(nothing),
        "interval": interval,
        "confidence_level": confidence_level,
        "correlation": NAN,
        "limits": limits,
        "sample": _sample(sample, assumption, rows, spread, NAN),
    }


def found_on_rows(
    sample: Scored,
    basis: Callable[[np.ndarray], Basis],
    metric: str,
    assumption: str,
    limits: tuple[float, float],
    interval: str,
    confidence_level: float,
    rows: np.ndarray | None = None,
) -> dict[str, Any]:
    """Return the fields of :func:`estimated` on some rows, or of :func:`undefined` if `basis` raises."""
    cases = np.ones(sample.size, dtype=bool) if rows is None else rows
    how = assumption, cases, interval, confidence_level
    check_interval(interval, confidence_level)
    try:
        sample.require_possible(assumption)
        found = basis(cases)
    except ContradictedError as error:
        return undefined(sample, str(error), *how, limits, contradicted=True)
    except UndefinedError as error:
        reason = f"metric {metric!r} is not defined under assumption {assumption!r}: {error}"
        return undefined(sample, reason, *how, limits)
    return estimated(sample, found, *how)


def _sample(
    sample: Scored, assumption: str, rows: np.ndarray, spread: BoundStandardErrors, n_effective: float
) -> Sample:
    return Sample(
        n=sample.n_cases(rows),
        n_labeled=sample.n_labeled(rows),
        cluster=sample.cluster,
        n_clusters=spread.n_clusters,
        n_effective=n_effective,
        rank_error=spread.coarse,
        sentence=sample.assumed(assumption).caption,
        **sample.summary_of(assumption),
    )


def judged(
    sample: Scored,
    functional: Functional,
    metric: str,
    assumption: str,
    limits: tuple[float, float],
    confidence_level: float = 0.95,
    interval: str = "parameter",
    rows: np.ndarray | None = None,
    subgroup: Any = None,
) -> Evaluation:
    """Evaluate one functional on some or all rows; if it has no value, the result holds the reason."""

    def basis(rows: np.ndarray) -> Basis:
        return sample.basis(functional, assumption, rows, limits)

    found = found_on_rows(sample, basis, metric, assumption, limits, interval, confidence_level, rows)
    return Evaluation(metric=metric, subgroup=subgroup, **found)
