"""Sensitivity curves: bounds on a metric as an assumption is relaxed, and where a conclusion breaks down."""

import re
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import pandas as pd

from selective_labels._display import digits
from selective_labels._errors import InputError
from selective_labels._validation import read_values, require_choice, the_only
from selective_labels.assumptions.base import Assumption
from selective_labels.assumptions.combination import Combination, combined
from selective_labels.assumptions.instrument import LARGEST, EventTilt, Instrument, NearNucem, NoAssumption
from selective_labels.assumptions.parse import named
from selective_labels.assumptions.refused import Prevalence, Refused, SimilarBias
from selective_labels.data.partition_sources import ROWS_AT_ONCE
from selective_labels.data.reading import Table
from selective_labels.data.selective_labels import SelectiveLabels, class_code
from selective_labels.evaluation.compare import compare_sample, paired_difference
from selective_labels.evaluation.display import Curve, units_text
from selective_labels.evaluation.fitted_table import FittedRows, FittedTable, Judged, JudgedRows
from selective_labels.evaluation.metrics import AnyMetric, read_metrics
from selective_labels.evaluation.predictions import (
    UNNAMED,
    ArrayPredictions,
    EvaluationRequest,
    Predictions,
    read_predictions,
)
from selective_labels.evaluation.results import judged
from selective_labels.evaluation.scored_rows import (
    Scored,
    ScoredSample,
    read_label_range,
    with_classes_of,
)
from selective_labels.inference.standard_errors import cluster_codes
from selective_labels.inference.weak_instrument import supported_odds


@dataclass(frozen=True, eq=False, kw_only=True)
class SensitivityCurve(Curve):
    """Bounds on a metric as an assumption is relaxed, and where the conclusion changes.

    Attributes
    ----------
    limit : "none" or "instrument"
        The assumption that remains at the far end of the curve.
    limit_lower, limit_upper : float
        Estimated bounds under this assumption.
    crossed : (n_points,) array
        Share of cases for which no class probabilities in the models satisfy the assumption.
    ends_crossed : (n_points,) bool array
        Whether the estimated bounds crossed. They are then set to one value, or to NaN (see
        :func:`selective_labels.inference.confidence_intervals.uncross`).
    units : str
        Independent units for the standard errors, in words; empty if they are rows.
    conclusion : str or None
        The conclusion about the threshold at `concluded_at`.
    concluded_at : float or None
        The first value with an estimate. For odds and ratios it is 1, where refused cases are like accepted
        ones.
    break_even : float or None
        The value up to which the estimate supports the conclusion; infinite if it always does.
    break_even_ci : float or None
        The value up to which the confidence interval supports the conclusion; None if it never does.
    break_even_below, break_even_below_ci : float or None
        The same towards smaller values, for a curve that extends to both sides; infinite if it always does.
    supported : list of pairs, or None
        For a curve over odds, the odds ratios that the instrument does not reject: infinite where the set is
        unbounded, empty if all are rejected. None without an instrument, and for other curves.
    cautions : tuple of str
        Why points of the curve, or its limit, are doubtful on these rows.
    """

    limit: str
    limit_lower: float
    limit_upper: float
    crossed: np.ndarray
    ends_crossed: np.ndarray
    units: str = ""
    threshold: float | None = None
    conclusion: str | None = None
    concluded_at: float | None = None
    break_even: float | None = None
    break_even_ci: float | None = None
    break_even_below: float | None = None
    break_even_below_ci: float | None = None
    supported: list[tuple[float, float]] | None = None
    cautions: tuple[str, ...] = ()

    def at(self, x: Any) -> Curve:
        """Read the curve at other values: between two points, the bounds and intervals of both together.

        Bounds bend between points, so a straight line between them would be too narrow. For gamma, kappa and
        rho, whose sets grow, these are the bounds at the larger value, which hold at the smaller one.
        """
        between = super().at(x)
        after = np.searchsorted(self.x, between.x).clip(max=len(self.x) - 1)
        before = np.where(self.x[after] == between.x, after, after - 1)
        widest = {"lower": np.minimum, "upper": np.maximum, "ci_lower": np.minimum, "ci_upper": np.maximum}
        ends = {
            end: of_both(getattr(self, end)[before], getattr(self, end)[after])
            for end, of_both in widest.items()
        }
        return replace(between, **ends)

    def to_frame(self) -> pd.DataFrame:
        """Return a frame with one row per value, and the share of contradictions if there are any."""
        frame = super().to_frame()
        return frame.assign(crossed=self.crossed) if self.crossed.any() else frame

    def sentences(self) -> list[str]:
        """Describe the assumption, the quantity, the sample, and where the conclusion changes."""
        sentences = [*(f"Caution: {each}" for each in self.cautions), *super().sentences()]
        if self.units:
            sentences.append(f"Units: {self.units}.")
        if self.ends_crossed.any():
            sentences.append(
                f"The ends crossed at {self.ends_crossed.sum()} of {len(self)} points: they are set to where "
                f"they meet, or left out ({np.isnan(self.lower).sum()}) where noise does not explain it."
            )
        name = "the instrument alone" if self.limit == "instrument" else "no assumption at all"
        sentences.append(f"With {name}: [{digits(self.limit_lower)}, {digits(self.limit_upper)}].")
        if self.crossed.any():
            sentences.append(
                f"In {self.crossed[0]:.0%} of the cases at the start, and {self.crossed[-1]:.0%} at the end, "
                "the models find no value that satisfies all assumptions: by noise or by contradiction."
            )
        if self.supported is not None:
            sentences.append(self.supported_sentence())
        if self.conclusion is not None:
            sentences.append(f"Conclusion: {self.conclusion}. {self._break_even_sentence()}")
        return sentences

    def supported_sentence(self) -> str:
        """Describe the odds ratios that the instrument supports."""
        if not self.supported:
            return (
                "The instrument rejects every odds ratio that is the same for all cases, even if it changes "
                "with leniency within the usual skill range."
            )
        pieces = " or ".join(f"{low:.3g} to {high:.3g}" for low, high in self.supported)
        return (
            "If the odds ratio is the same for all cases, and changes with leniency within the usual skill "
            f"range only, the instrument supports {pieces} ({self.confidence_level:.0%} confidence set). No "
            "test is known to notice if it is not the same."
        )

    def plot(self, ax: Any = None, label: str | None = None) -> Any:
        """Draw the curve, its limit, the threshold, the break-even value and the supported odds."""
        ax = super().plot(ax, label)
        if self.x_name in ("gamma", "odds", "ratio"):
            ax.set_xscale("log")
        for low, high in self.supported or ():
            ends = np.clip([low, high], self.x[0], self.x[-1])
            ax.axvspan(*ends, color="C2", alpha=0.15, linewidth=0)
        for end in (self.limit_lower, self.limit_upper):
            ax.axhline(end, linestyle=":", color="gray")
        if self.threshold is not None:
            ax.axhline(self.threshold, color="black", linewidth=0.8)
        for value in (self.break_even, self.break_even_below):
            if value is not None and self.x[0] <= value <= self.x[-1]:
                ax.axvline(value, linestyle="--", color="black", linewidth=0.8)
        return ax

    def _break_even_sentence(self) -> str:
        said = self._side(self.break_even, self.break_even_ci, "up to")
        if self.break_even_below is None and self.break_even_below_ci is None:
            return said
        return f"{said} {self._side(self.break_even_below, self.break_even_below_ci, 'down to')}"

    def _side(self, estimate: float | None, interval: float | None, word: str) -> str:
        way = "upwards" if word == "up to" else "downwards"
        if estimate is None:
            return f"The estimate supports no conclusion at {self.x_name} = {self.concluded_at:.4g}."
        if np.isinf(estimate):
            said = f"The estimate supports it at every value {way}"
        else:
            said = f"The estimate supports it {word} {self.x_name} = {estimate:.4g}"
        if interval is None:
            return f"{said}; the confidence interval does not support it at all."
        if np.isinf(interval):
            return f"{said}, the confidence interval too."
        return f"{said}, the confidence interval {word} {interval:.4g}."


# A larger gamma does not change the bounds.
LARGEST_GAMMA = 1e9
N_POINTS = 25
# Values beyond the plotted range in which the break-even value is searched.
FAR_RHO = (0.025, 0.05, 0.1, 0.15, 0.2, LARGEST)
FAR_SKILL = (4.0, 6.0)
FAR_GAMMA = (15.0, 25.0, 50.0, 100.0, 1e3, 1e4, 1e6, LARGEST_GAMMA)
INSTRUMENT = "; cases are assigned to decision-makers as if at random given the features"
RHO = (
    "what decision-makers see besides the features moves all of them alike, up to a difference of {} in the "
    "covariance of their decisions with a class; {} = 0 is NUCEM"
)


@dataclass(frozen=True)
class Family:
    """An assumption as a function of one parameter.

    Attributes
    ----------
    name : str
        Name of the parameter.
    words : str
        The assumption in words, for all values.
    values : (n_points,) array
        Default values of the curve.
    reference : float or None
        The value at which the conclusion is drawn; None: the first value with an estimate.
    range : pair of float
        Possible values.
    beyond : tuple of float
        Values outside the curve at which the conclusion may still change.
    has_odds : bool
        Whether the parameter is an odds ratio, so that an instrument supports some values.
    """

    name: str
    make: Callable[[float], Assumption]
    words: str
    values: np.ndarray = field(default_factory=lambda: np.empty(0))
    reference: float | None = None
    range: tuple[float, float] = (-np.inf, np.inf)
    beyond: tuple[float, ...] = ()
    has_odds: bool = False

    def read(self, values: Any) -> np.ndarray:
        """Return the sorted values of a curve; six digits count, as in the names of assumptions."""
        if values is None:
            if not len(self.values):
                raise InputError.about("values", "are missing: say where to evaluate the assumption.")
            return self.values
        grid = np.unique(read_values("values", values))
        low, high = self.range
        if not ((grid >= low) & (grid <= high)).all():
            raise InputError.about("values", f"of {self.name} must lie between {low:g} and {high:g}.")
        return grid

    def at(self, value: float) -> Assumption:
        """Return the complete assumption at a value."""
        found = self.make(float(f"{value:.6g}"))
        if not isinstance(found, Assumption):
            raise InputError(
                f"assumption gave {found!r} for {value:g}: an assumption is needed.", "assumption"
            )
        return named(found)


def _even(low: float, high: float) -> np.ndarray:
    return np.array([float(f"{each:.6g}") for each in np.linspace(low, high, N_POINTS)])


def _ratios(low: float, high: float) -> np.ndarray:
    return np.array([float(f"{each:.6g}") for each in np.geomspace(low, high, N_POINTS)])


def read_family(parameter: Any, assumption: Any, event: Any, classes: np.ndarray, limit: str) -> Family:
    """Return the family for a parameter name, or for a function given by the user.

    Parameters
    ----------
    parameter : str
        One of `PARAMETERS`; the name of the axis if `assumption` is given.
    assumption : callable or None
        Maps a value to an assumption.
    event : class label
        The class to which the assumption applies.
    classes : array
    limit : "none" or "instrument"
        The assumption that is maintained in addition.
    """
    base: Assumption = Instrument() if limit == "instrument" else NoAssumption()
    if assumption is not None:
        if not callable(assumption):
            raise InputError("assumption must be a function from a value to an assumption.", "assumption")
        return Family(str(parameter or "value"), assumption, "what the function given says at each value")
    if parameter not in PARAMETERS:
        words = ", ".join(map(repr, PARAMETERS))
        raise InputError(f"parameter={parameter!r} is not one of {words}.", "parameter")
    return PARAMETERS[parameter](base, event, classes)


def _gamma(base: Assumption, _: Any, classes: np.ndarray) -> Family:
    labels = classes.tolist()

    def make(value: float) -> Assumption:
        each = [Refused(label, 1.0 / value, value, given="features") for label in labels]
        return combined(base, *each)

    words = (
        "given the features, each class is at most gamma times more, and at most gamma times less, frequent "
        "among unlabeled than among labeled cases; gamma = 1 is no unobserved confounding"
    )
    return Family(
        "gamma",
        make,
        words + (INSTRUMENT if base == Instrument() else ""),
        _ratios(1.0, 10.0),
        None,
        (1.0, LARGEST_GAMMA),
        FAR_GAMMA,
    )


def _kappa(base: Assumption, _: Any, __: np.ndarray) -> Family:
    _require_instrument(base, "kappa")
    words = RHO.format("kappa", "kappa") + INSTRUMENT
    return Family("kappa", NearNucem, words, _even(0.0, LARGEST), None, (0.0, LARGEST), FAR_RHO)


def _rho(base: Assumption, _: Any, __: np.ndarray) -> Family:
    _require_instrument(base, "rho")
    words = RHO.format("rho", "rho") + INSTRUMENT
    make = lambda value: base & SimilarBias(value)  # noqa: E731
    return Family("rho", make, words, _even(0.0, LARGEST), None, (0.0, np.inf), FAR_RHO)


def _skill_range(base: Assumption, _: Any, __: np.ndarray) -> Family:
    _require_instrument(base, "skill_range")
    words = (
        "within a predicted class the refused have one multiple of the odds that comparable accepted cases "
        "have, whose log changes by at most skill_range per unit of leniency; at 0 strict and lenient "
        "decision-makers sort cases equally well" + INSTRUMENT
    )
    values = np.array([0.0, 0.5, 1.0, 1.5, 2.0, 3.0])
    return Family("skill_range", EventTilt, words, values, None, (0.0, np.inf), FAR_SKILL)


def _prevalence(base: Assumption, event: Any, _: np.ndarray) -> Family:
    words = f"of all cases, the share that are {event} is the value"
    words += INSTRUMENT if base == Instrument() else ""
    make = lambda value: combined(base, Prevalence(event, value))  # noqa: E731
    return Family("prevalence", make, words, _even(0.0, 1.0), None, (0.0, 1.0))


def _refused(scale: str) -> Callable[[Assumption, Any, np.ndarray], Family]:
    values = {"odds": _ratios(0.125, 8.0), "ratio": _ratios(0.25, 4.0), "share": _even(0.0, 1.0)}[scale]

    def family(_: Assumption, event: Any, __: np.ndarray) -> Family:
        # The instrument is not assumed in addition: the curve reports which values it supports.
        words = {
            "odds": f"among comparable cases of one decision-maker, the refused have x times the odds "
            f"of {event} that the accepted have; 1 is no unobserved confounding",
            "ratio": f"among comparable cases of one decision-maker, the refused are {event} x times as "
            "often as the accepted; 1 is no unobserved confounding",
            "share": f"of the refused, whatever their features, the share x is {event}",
        }[scale]
        return Family(
            scale,
            lambda value: Combination((Refused(event, value, value, scale),)),
            words,
            values,
            None if scale == "share" else 1.0,
            (0.0, 1.0 if scale == "share" else np.inf),
            has_odds=scale == "odds",
        )

    return family


PARAMETERS: dict[str, Callable[[Assumption, Any, np.ndarray], Family]] = {
    "gamma": _gamma,
    "kappa": _kappa,
    "odds": _refused("odds"),
    "ratio": _refused("ratio"),
    "share": _refused("share"),
    "rho": _rho,
    "prevalence": _prevalence,
    "skill_range": _skill_range,
}


def _require_instrument(base: Assumption, parameter: str) -> None:
    if base != Instrument():
        raise InputError(
            f"parameter={parameter!r} is about decision-makers: it needs limit='instrument'.", "limit"
        )


# Number of values per round, and number of rounds, in the search for the break-even value between the last
# value at which a conclusion holds and the first at which it does not.
N_BETWEEN, N_ROUNDS = 16, 2


@dataclass(frozen=True)
class Point:
    """Estimates at one value; NaN where the data contradict the assumption.

    Attributes
    ----------
    crossed : bool
        Whether the estimated bounds crossed.
    contradicted : float
        Share of cases for which no class probabilities in the models satisfy the assumption.
    """

    lower: float
    upper: float
    ci_lower: float
    ci_upper: float
    crossed: bool = False
    contradicted: float = 0.0


Solve = Callable[[Sequence[float]], list[Point]]


def conclude(
    solve: Solve,
    values: Sequence[float],
    points: Sequence[Point],
    reference: float | None,
    threshold: float | None,
    name: str,
) -> dict[str, Any]:
    """Draw the conclusion at the reference value, and find how far it holds on either side.

    Parameters
    ----------
    solve : callable
        Maps values to points.
    values, points : sequences
        Ascending values, and the estimates there.
    reference : float or None
        The conclusion is drawn at the point nearest to it; None: at the first point with an estimate.
    """
    if threshold is None:
        return {}
    defined = [place for place, point in enumerate(points) if not np.isnan(point.lower)]
    if not defined:  # there is no estimate to conclude from
        return {"threshold": threshold}
    start = defined[0]
    if reference is not None:
        start = min(
            defined, key=lambda place: abs(np.log(values[place] / reference)) if values[place] else np.inf
        )
    above = (points[start].lower + points[start].upper) / 2.0 >= threshold
    found: dict[str, Any] = {
        "threshold": threshold,
        "conclusion": f"{name} is {'at least' if above else 'below'} {threshold:g}",
        "concluded_at": float(values[start]),
    }

    upwards = [(values[place], points[place]) for place in defined if place >= start]
    downwards = [(values[place], points[place]) for place in reversed(defined) if place <= start]
    for suffix, ends in (("", ("lower", "upper")), ("_ci", ("ci_lower", "ci_upper"))):

        def margins(some: Sequence[Point], ends: tuple[str, str] = ends) -> list[float]:
            if above:
                return [getattr(each, ends[0]) - threshold for each in some]
            return [threshold - getattr(each, ends[1]) for each in some]

        def further(at: Sequence[float], margins: Callable[..., list[float]] = margins) -> list[float]:
            return margins(solve(at))

        for side, path in (("", upwards), ("_below", downwards)):
            if side and len(path) < 2:
                continue
            tried = list(zip([value for value, _ in path], margins([each for _, each in path]), strict=True))
            found[f"break_even{side}{suffix}"] = first_failure(tried, further)
    return found


def first_failure(
    tried: Sequence[tuple[float, float]], margins: Callable[[Sequence[float]], list[float]]
) -> float | None:
    """Return the value at which a margin becomes negative.

    Parameters
    ----------
    tried : sequence of pairs of value and margin
        Ordered outwards from the value at which the conclusion is drawn; the conclusion holds as long as the
        margin is not negative.
    margins : callable
        Returns the margins at further values.

    Returns
    -------
    float or None
        Infinite if the margin never becomes negative, None if it is negative from the start.

    Examples
    --------
    >>> margin = lambda value: 2.0 - value
    >>> tried = [(value, margin(value)) for value in (1.0, 3.0, 9.0)]
    >>> round(first_failure(tried, lambda values: [margin(each) for each in values]), 6)
    2.0
    >>> first_failure(tried[:1], lambda values: []), first_failure(tried[1:], lambda values: [])
    (inf, None)
    """
    if tried[0][1] < 0.0:
        return None
    for _ in range(N_ROUNDS + 1):
        fails = next((place for place, (_, margin) in enumerate(tried) if margin < 0.0), None)
        if fails is None:
            return float("inf")
        (good, left), (bad, right) = tried[fails - 1], tried[fails]
        if _ == N_ROUNDS:
            break
        between = _between(good, bad)
        found = [pair for pair in zip(between, margins(between), strict=True) if not np.isnan(pair[1])]
        tried = [(good, left), *found, (bad, right)]
    return float(good + (bad - good) * left / (left - right))


def _between(good: float, bad: float) -> list[float]:
    """Return values between the two, evenly spaced in the logarithm if both are positive."""
    spaced = np.geomspace if min(good, bad) > 0.0 else np.linspace
    return [float(f"{each:.6g}") for each in spaced(good, bad, N_BETWEEN + 2)[1:-1]]


LIMITS = (NoAssumption().name, Instrument().name)
# Largest number of scores in memory; beyond it, the models score the values in several passes.
MOST_NUMBERS = 5e7


ONE_METRIC = "a sensitivity curve is of one metric."
NOT_SUPPORTED = (
    "which odds ratios the instrument supports is found from rows in memory alone: data.sample(n)."
)


def sensitivity_request(
    fitted: FittedTable,
    request: EvaluationRequest,
    parameter: str = "gamma",
    assumption: Callable[[float], Assumption] | None = None,
    values: Any = None,
    limit: str | None = None,
    threshold: float | None = None,
    confidence_level: float = 0.95,
) -> SensitivityCurve:
    """Compute the sensitivity curve of a request for one classifier, or for the difference of two."""
    compared = len(request.given) == 2
    limit = ("instrument" if fitted.has_instrument else "none") if limit is None else limit
    _check_options(limit, fitted.table)
    classes = fitted.classes_with(request.given)
    event = classes.tolist()[class_code(request.pos_label, classes)]
    family = read_family(parameter, assumption, event, classes, limit)
    grid = family.read(values)
    if isinstance(request.metric, list | tuple):
        the_only(request.metric, "metric", ONE_METRIC)
    if request.metric == "share" and compared:
        raise InputError(
            "metric='share' is the same for every classifier; leave compare_to out.", "compare_to"
        )
    judge = _Rows(fitted, request) if isinstance(fitted, FittedRows) else _Cells(fitted, request)
    machine = _Machine(judge.judge, family, judge.n_at_once * len(classes), confidence_level, compared)
    if compared:
        threshold = 0.0 if threshold is None else threshold
    everywhere = sorted({*grid.tolist(), *(each for each in family.beyond if threshold is not None)})
    solved = dict(zip(everywhere, machine.solve(everywhere), strict=True))
    points = [solved[each] for each in grid.tolist()]
    doubts = judge.doubts([named(limit), *(family.at(each) for each in grid.tolist())])
    worst = machine.points([named(limit)])[limit]
    with_odds = family.has_odds and limit != "none"
    supported = judge.supported(classes == event, confidence_level) if with_odds else None
    if with_odds and isinstance(judge, _Cells):
        doubts.append(NOT_SUPPORTED)
    sample, name = machine.sample, machine.metric.name
    name = f"Difference of {name}" if compared else name
    everybody = np.ones(sample.size, dtype=bool)
    return SensitivityCurve(
        title=name[:1].upper() + name[1:],
        x_name=family.name,
        x=grid,
        lower=np.array([each.lower for each in points]),
        upper=np.array([each.upper for each in points]),
        ci_lower=np.array([each.ci_lower for each in points]),
        ci_upper=np.array([each.ci_upper for each in points]),
        assumption=f"{family.words}.",
        identifies=f"the smallest and the largest {name.lower()} that the data and the assumption allow.",
        n_samples=sample.n_cases(everybody),
        confidence_level=confidence_level,
        limit=limit,
        limit_lower=worst.lower,
        limit_upper=worst.upper,
        crossed=np.array([each.contradicted for each in points]),
        ends_crossed=np.array([each.crossed for each in points]),
        units=units_text(sample.cluster, sample.count_units(everybody)),
        supported=supported,
        **conclude(
            machine.solve, everywhere, list(solved.values()), family.reference, threshold, name.lower()
        ),
        cautions=tuple(dict.fromkeys([*machine.cautions, *doubts])),
    )


@dataclass(eq=False)
class _Rows:
    """Rows in memory, judged under one list of assumptions after another; no scores are kept."""

    fitted: FittedRows
    request: EvaluationRequest

    def __post_init__(self) -> None:
        request, given = self.request, self.request.given
        self.data = data = with_classes_of(self.fitted.table, list(given))
        self.subjects = tuple(_subject(each, data, request.metric, request.pos_label) for each in given)
        how = request.pos_label, request.cost, request.with_human, data.decision_means
        self.metrics = read_metrics(request.metric, self.subjects[0], *how)
        the_only(self.metrics, "metric", ONE_METRIC)
        read_label_range(request.label_range, data)

    @property
    def n_at_once(self) -> int:
        """Number of rows whose scores are in memory at the same time."""
        return len(self.data)

    def judge(self, assumptions: Sequence[Assumption]) -> JudgedRows:
        """Score all rows."""
        return JudgedRows(self._scored(assumptions), self.subjects, self.metrics, None)

    def _scored(self, assumptions: Sequence[Assumption]) -> ScoredSample:
        return self.fitted.score(self.data, assumptions, self.request.cluster, self.request.label_range)

    def doubts(self, assumptions: Sequence[Assumption]) -> list[str]:
        """Return why the curve is doubtful for these predictions."""
        subjects = list(zip([UNNAMED, "compare_to"], self.subjects, strict=False))
        return self.fitted.doubts(self.data, assumptions, subjects)

    def supported(self, event: np.ndarray, confidence_level: float) -> list[tuple[float, float]] | None:
        """Return the odds ratios that the instrument supports."""
        if self.data.labeled.all():
            return None
        sample = self._scored([EventTilt()])
        clusters = cluster_codes(sample.cluster, sample.data)
        how = sample.weights, clusters, confidence_level, EventTilt().skill_range
        return supported_odds(sample.tilted[0], event, *how)


@dataclass(eq=False)
class _Cells:
    """A table in partitions: one pass for every list of assumptions."""

    fitted: FittedTable
    request: EvaluationRequest
    n_at_once: int = ROWS_AT_ONCE

    def judge(self, assumptions: Sequence[Assumption]) -> Judged:
        """Pass over all rows; doubts about the predictions are among the cautions."""
        request = replace(self.request, assumption=assumptions)
        if request.given == (None,) and request.metric == "share":  # the same for all predictions
            request = replace(request, given=(self.fitted.table.classes.tolist()[0],))
        return self.fitted.judge(request)

    def doubts(self, assumptions: Sequence[Assumption]) -> list[str]:
        """Return nothing: the passes have added the doubts to their cautions."""
        return []

    def supported(self, event: np.ndarray, confidence_level: float) -> None:
        """Return None: under a tilt every row has a curve of its own."""


OF_A_VALUE = re.compile(r"^The direction of .+? is doubtful \(SL1006\)")
OF_A_SIDE = "Where refused cases are said to have the event more often, that is doubtful (SL1006)"


@dataclass(eq=False)
class _Machine:
    """Computes bounds and intervals at given values of the parameter; models are fitted once.

    Attributes
    ----------
    numbers : int
        Numbers that the scores of one value take at a time.
    """

    judge: Callable[[Sequence[Assumption]], Judged]
    family: Family
    numbers: int
    confidence_level: float
    paired: bool
    judged: Judged = field(init=False)
    warned: bool = field(default=False, init=False)
    # In order, without repetition.
    cautions: dict[str, None] = field(default_factory=dict, init=False)

    def solve(self, values: Sequence[float]) -> list[Point]:
        """Return the estimates at each value."""
        assumed = {value: self.family.at(value) for value in values}
        by_name: dict[str, Assumption] = {}
        for each in assumed.values():
            if by_name.setdefault(each.name, each) != each:
                raise InputError(
                    f"two values give different assumptions of one name, {each.name!r}: name them apart, or "
                    "space the values wider.",
                    "assumption",
                )
        names = list(by_name)
        found: dict[str, Point] = {}
        size = max(int(MOST_NUMBERS // (6 * self.numbers)), 1)
        for start in range(0, len(names), size):
            found |= self.points([by_name[name] for name in names[start : start + size]])
        return [found[assumed[value].name] for value in values]

    def points(self, assumptions: Sequence[Assumption]) -> dict[str, Point]:
        """Return the estimates under some assumptions, by name."""
        with warnings.catch_warnings():
            if self.warned:  # the models are those of the first values, which raised the same warnings
                warnings.simplefilter("ignore", UserWarning)
            self.warned = True
            self.judged = self.judge(assumptions)
        for sentences in self.sample.cautions.values():
            # The doubt about a direction is the same at every value: it is said once.
            self.cautions |= dict.fromkeys(OF_A_VALUE.sub(OF_A_SIDE, each) for each in sentences)
        return {each.name: self._point(each.name) for each in assumptions}

    @property
    def metric(self) -> AnyMetric:
        """The metric."""
        return the_only(self.judged.metrics, "metric", ONE_METRIC)

    @property
    def sample(self) -> Scored:
        """The rows or cells that were scored last."""
        return self.judged.sample(self.metric)

    def _point(self, name: str) -> Point:
        metric, sample, level = self.metric, self.sample, self.confidence_level
        subject = self.judged.subject(metric)
        if self.paired:
            contest = paired_difference(subject, self.judged.subject(metric, 1), metric)
            found: Any = compare_sample(sample, contest, name, confidence_level=level)
        else:
            functional, limits = metric.functional(subject), metric.range(subject.classes)
            found = judged(sample, functional, metric.name, name, limits, level)
        ends = found.lower, found.upper, found.ci_lower, found.ci_upper
        return Point(*ends, bool(found.crossed), sample.empty_share(name))


def _subject(choice: Any, data: SelectiveLabels, metric: Any, pos_label: Any) -> Predictions:
    """Return the predictions; the share of a class needs no classifier."""
    if choice is None and metric == "share":
        return ArrayPredictions(np.repeat(data.classes[:1], len(data)), data.classes, "nobody")
    return read_predictions(choice, data, pos_label=pos_label)


def _check_options(limit: str, data: Table) -> None:
    require_choice("limit", limit, LIMITS)
    if len(data.classes) < 2:
        raise InputError.about("y", f"shows only one class ({data.classes.tolist()[0]!r}); two are needed.")
    if limit == "instrument" and not data.decision_makers_given:
        raise InputError(
            "decision_maker is missing: limit='instrument' needs to know who decided.", "decision_maker"
        )
