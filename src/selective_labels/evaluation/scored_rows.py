"""The sample that evaluation and comparison share: data checked once, nuisances fitted once, scores kept."""

import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, NamedTuple, Protocol

import numpy as np

from selective_labels._errors import InputError, UndefinedError
from selective_labels.assumptions.base import Assumption
from selective_labels.assumptions.combination import Combination
from selective_labels.assumptions.instrument import EventTilt, Nucem
from selective_labels.assumptions.parse import known, named
from selective_labels.data.roles import HOLE, require_two_classes
from selective_labels.data.selective_labels import SelectiveLabels
from selective_labels.diagnostics.diagnose import nucem_warning
from selective_labels.diagnostics.relevance import leniency_spread
from selective_labels.identification.bounds import Array, as_label_range
from selective_labels.inference.bound_estimators import FindEnds, Functional
from selective_labels.inference.confidence_intervals import FALSE_CONTRADICTION, Basis
from selective_labels.inference.evidence import Ends, Evidence, covariance
from selective_labels.inference.known_prevalence import ContradictedError, NoiseOf, contradiction
from selective_labels.inference.standard_errors import (
    BoundStandardErrors,
    bound_standard_errors,
    choose_clusters,
    cluster_codes,
)
from selective_labels.inference.weak_instrument import UNAVAILABLE, TiltRows, tilt_basis
from selective_labels.nuisance.cross_fit import CrossFit
from selective_labels.nuisance.score_formulas import LabelRange, Scores
from selective_labels.nuisance.scores import cross_fit_scores, selector_bands
from selective_labels.nuisance.settings import FittingSettings

ALL = "all"
NO_RANGE = (0.0, 1.0)
# One assumption, or several: names, or objects of `selective_labels.assumptions`.
Assumed = str | Assumption | Sequence[str | Assumption]
PANELS = (
    "Labels are shared within groups: the decision is whether anyone accepted the case, the instrument is "
    "the panel that saw it, so who is on the panel, and how many, must have nothing to do with the label."
)


class Scored(Protocol):
    """Scores of rows, or of cells of rows, from which every metric is computed."""

    @property
    def assumptions(self) -> list[str]:
        """The assumptions scored."""

    @property
    def classes(self) -> np.ndarray:
        """Sorted classes."""

    @property
    def size(self) -> int:
        """Length of masks and weights: the number of rows or cells."""

    @property
    def weights(self) -> Array:
        """Weights of rows, or of cells."""

    @property
    def cluster(self) -> str | None:
        """What standard errors take as independent units."""

    def has_scores(self, assumption: str) -> bool:
        """Whether all classes have scores; not under the event tilt, which is of one event."""

    def assumed(self, assumption: str) -> Assumption:
        """The assumption with this name."""

    def require_possible(self, assumption: str) -> None:
        """Refuse to estimate anything under an assumption that the data contradict."""

    def ends(self, functional: Functional, assumption: str, rows: np.ndarray) -> list[Ends]:
        """Bounds of a functional among some rows, once for each repetition."""

    def ends_by(self, find: FindEnds, assumption: str, rows: np.ndarray) -> list[Ends]:
        """Bounds by any function of evidence and weights."""

    def repeated(self, assumption: str) -> list[tuple[Evidence, Array, NoiseOf]]:
        """Evidence, weights, and covariances from influences, once for each repetition."""

    def basis(
        self, functional: Functional, assumption: str, rows: np.ndarray, limits: tuple[float, float]
    ) -> Basis:
        """What an interval of a functional among some rows is made from."""

    def spread(self, ends: list[Ends], rows: np.ndarray, assumption: str) -> BoundStandardErrors:
        """Standard errors of bounds among some rows."""

    def summary_of(self, assumption: str) -> dict[str, Any]:
        """What results say of the sample."""

    def n_cases(self, rows: np.ndarray) -> int:
        """Number of cases."""

    def n_labeled(self, rows: np.ndarray) -> int:
        """Number of labeled cases."""

    def count_units(self, rows: np.ndarray) -> int:
        """Number of independent units."""

    def observed(self, assumption: str) -> "Observed":
        """Outcomes and evidence from which plans are made."""

    def worth_of_labels(self, assumption: str, coefficients: Array) -> Array | None:
        """How much of the width each refused case accounts for; None where cases are not at hand."""


class Observed(NamedTuple):
    """What plans are made from.

    Attributes
    ----------
    outcome : (n,) int array
        0 is refused, k + 1 accepted with label k.
    evidence : Evidence
    weights : array
    leniency : pair of float
        Mean and standard deviation of the acceptance rates of decision-makers.
    n_decision_makers : int
    """

    outcome: np.ndarray
    evidence: Evidence
    weights: Array
    leniency: tuple[float, float]
    n_decision_makers: int


@dataclass(frozen=True, eq=False)
class ScoredSample:
    """Rows with scores under every assumption asked for.

    Attributes
    ----------
    data : SelectiveLabels
        With numeric features.
    repeats : list of dict of Evidence
        By assumption, one dict for each repetition of cross-fitting.
    clipped : dict of float
        By assumption, the share of rows whose scores had a denominator held at its floor.
    bounded : dict of float
        By assumption, the share of rows that enter by bounds although it identifies a value.
    lost : dict of float
        By assumption, by how much bounds are wider than sharp because decision-makers were pooled.
    refused : dict of str
        By assumption, what a check found that speaks against its use here.
    cluster : "groups", "decision_maker" or None
        What standard errors take as independent units; None: every row is one.
    assignment : str
        What is to be said of how cases reach decision-makers; empty if they are taken as dealt out by lot.
    objects : dict of Assumption
        By name; those without are known by it.
    impossible : dict of str
        By assumption, what contradicts it beyond noise.
    tilted : list of TiltRows
        Under the event tilt, one for each repetition; its bounds are those of the instrument.
    """

    data: SelectiveLabels
    repeats: list[dict[str, Evidence]]
    clipped: dict[str, float]
    bounded: dict[str, float]
    lost: dict[str, float]
    refused: dict[str, str]
    cluster: str | None
    assignment: str = ""
    objects: dict[str, Assumption] = field(default_factory=dict)
    impossible: dict[str, str] = field(default_factory=dict)
    tilted: list[TiltRows] = field(default_factory=list)

    @property
    def assumptions(self) -> list[str]:
        """The assumptions scored."""
        return list(self.clipped)

    def under(self, assumptions: Sequence[str]) -> "ScoredSample":
        """The same rows, with some of the assumptions."""
        return replace(self, clipped={name: self.clipped[name] for name in assumptions})

    @property
    def weights(self) -> Array:
        """Sample weights, ones if none were given."""
        return self.data.weights

    @property
    def classes(self) -> np.ndarray:
        """Sorted classes."""
        return self.data.classes

    def has_scores(self, assumption: str) -> bool:
        """Whether all classes have scores; not under the event tilt, which is of one event."""
        return assumption in self.repeats[0]

    def observed(self, assumption: str) -> Observed:
        """Outcomes and evidence from which plans are made."""
        data = self.data
        outcome = np.where(data.decision == 1, data.y + 1, 0)
        moments, number = leniency_moments(data), data.n_decision_makers
        return Observed(outcome, self.repeats[0][assumption], self.weights, moments, number)

    def worth_of_labels(self, assumption: str, coefficients: Array) -> Array:
        """δ(x) (max_k c_k(x) - min_k c_k(x)) of refused cases, zero for the others, (n_samples,).

        Slack times disagreement: how much of the width a case accounts for. Accept at random those for which
        it is largest.
        """
        slack = np.maximum(self.repeats[0][assumption].bounds.slack, 0.0)
        return np.where(self.data.decision == 1, 0.0, slack * np.ptp(coefficients, axis=1))

    def assumed(self, assumption: str) -> Assumption:
        """The assumption with this name."""
        return self.objects.get(assumption) or named(assumption)

    def require_possible(self, assumption: str) -> None:
        """Refuse to estimate anything under what is contradicted."""
        if assumption in self.impossible:
            raise ContradictedError(self.impossible[assumption], "assumption")

    def ends(self, functional: Functional, assumption: str, rows: np.ndarray) -> list[Ends]:
        """Estimate the ends of a functional among some rows, once for each repeat."""
        return self.ends_by(functional.ends, assumption, rows)

    def ends_by(self, find: FindEnds, assumption: str, rows: np.ndarray) -> list[Ends]:
        """Estimate ends by any function of evidence and weights."""
        self.require_possible(assumption)
        weights = self.weights * rows
        if not weights.any():
            raise UndefinedError("no case has a positive weight.", "sample_weight")
        return [find(self.evidence(repeat, assumption), weights) for repeat in self.repeats]

    def repeated(self, assumption: str) -> list[tuple[Evidence, Array, NoiseOf]]:
        """Evidence, weights, and covariances from influences, once for each repeat."""
        noise = partial(covariance, clusters=cluster_codes(self.cluster, self.data))
        return [(self.evidence(repeat, assumption), self.weights, noise) for repeat in self.repeats]

    def evidence(self, repeat: dict[str, Evidence], assumption: str) -> Evidence:
        """Scores of one repeat; none under the event tilt, which is of one event and not of all classes."""
        if assumption not in repeat:
            raise UndefinedError(f"{UNAVAILABLE}.", "metric")
        return repeat[assumption]

    def basis(
        self, functional: Functional, assumption: str, rows: np.ndarray, limits: tuple[float, float]
    ) -> Basis:
        """What an interval of a functional among some rows is made from.

        Under the event tilt that is not two bounds with standard errors: see
        :mod:`selective_labels.inference.weak_instrument`.
        """
        if assumption in self.repeats[0]:
            return Basis(self.spread(self.ends(functional, assumption, rows), rows, assumption), limits)
        weights = self.weights * rows
        if not weights.any():
            raise UndefinedError("no case has a positive weight.", "sample_weight")
        ends = [functional.ends(each.instrument, weights) for each in self.tilted]
        bounds = Basis(self.spread(ends, rows, assumption), limits)
        clusters = cluster_codes(self.cluster, self.data)
        return tilt_basis(self.tilted, functional, weights, clusters, bounds)

    def spread(self, ends: list[Ends], rows: np.ndarray, assumption: str) -> BoundStandardErrors:
        """Add standard errors to ends (one pair for each repeat) among some rows; the median over repeats."""
        return bound_standard_errors(ends, rows, cluster_codes(self.cluster, self.data), self.weights)

    @property
    def size(self) -> int:
        """Rows that masks are about."""
        return len(self.data)

    def n_cases(self, rows: np.ndarray) -> int:
        """How many rows some rows are."""
        return int(rows.sum())

    def n_labeled(self, rows: np.ndarray) -> int:
        """How many of some rows have a label."""
        return int(self.data.decision[rows].sum())

    def summary_of(self, assumption: str) -> dict[str, Any]:
        """What results say of the sample, whichever rows they are about."""
        data = self.data
        return {
            "n_decision_makers": data.n_decision_makers if data.panels is None else len(data.panels.people),
            "clipped_share": self.clipped[assumption],
            "bounded_share": self.bounded[assumption],
            "sharpness_lost": self.lost[assumption],
            "refusal": self.refused.get(assumption),
            "numeric": data.numeric,
            "n_panels": None if data.panels is None else data.panels.n_panels,
            "assignment": self.assignment if self.assumed(assumption).needs_decision_makers else "",
        }

    def count_units(self, rows: np.ndarray) -> int:
        """How many independent units some rows are."""
        clusters = cluster_codes(self.cluster, self.data)
        return int(rows.sum()) if clusters is None else len(np.unique(clusters[rows]))


def leniency_moments(data: SelectiveLabels) -> tuple[float, float]:
    """Mean acceptance rate of decision-makers, and its standard deviation without sampling error."""
    number = np.bincount(data.decision_maker_codes, minlength=data.n_decision_makers)
    accepted = np.bincount(data.decision_maker_codes, data.decision, minlength=data.n_decision_makers)
    return leniency_spread(number, accepted)


def score_sample(
    data: SelectiveLabels,
    assumption: Assumed,
    cluster: str | None,
    fits: Callable[[SelectiveLabels, bool], Sequence[CrossFit]],
    seeds: Sequence[int],
    label_range: Any = NO_RANGE,
) -> ScoredSample:
    """Score every row under every assumption, once for each repetition of cross-fitting.

    If every label is seen, the labels are the scores: nothing is fitted, and every assumption gives the
    value in the sample.

    Parameters
    ----------
    data : SelectiveLabels
    assumption : name or Assumption, or a list of these
    cluster : "groups", "decision_maker", "none" or None
        See :func:`selective_labels.inference.standard_errors.choose_clusters`.
    fits : callable of (data, in_halves)
        The models, one fit for each seed.
    seeds : sequence of int
    label_range : pair
        See :func:`selective_labels.identification.bounds.as_label_range`.
    """
    known = read_label_range(label_range, data)
    chosen = chosen_assumptions(assumption, data.decision_makers_given and data.n_decision_makers > 1)
    ranges = _label_ranges(chosen, label_range, known, data)
    names = [each.name for each in chosen]
    objects = {each.name: each for each in chosen}
    cluster = choose_clusters(cluster, data)
    require_two_classes(data.classes)
    if data.decision.all():
        evidence = Evidence.from_labels(data.y, len(data.classes))
        none = dict.fromkeys(names, 0.0)
        return ScoredSample(
            data, [dict.fromkeys(names, evidence)], none, none, none, {}, cluster, objects=objects
        )
    check_instrument(chosen, data)
    repeats: list[dict[str, Evidence]] = []
    tilted: list[TiltRows] = []
    plain = [each for each in chosen if each != EventTilt()]
    clipped, bounded, lost, refused, assignment = [], [], [], {}, ""
    made = fits(data, any(each.needs_halves for each in chosen))
    for seed, fit in zip(seeds, made, strict=True):
        if Nucem() in chosen and fit.in_halves and not repeats:  # once, whatever the number of repeats
            refusal = nucem_warning(data, fit, random_state=seed)
            if refusal is not None:
                warnings.warn(refusal, stacklevel=3)
                refused[Nucem().name] = str(refusal)
        if not repeats and any(each.needs_decision_makers for each in chosen):
            assignment = describe_assignment(fit)
            if data.panels is not None:
                assignment = f"{PANELS} {assignment}".strip()
        scores: dict[str, Scores] = {}
        for some, range_of_labels in ranges:
            scores |= cross_fit_scores(fit, data, some, label_range=range_of_labels)
        repeats.append({each.name: _evidence(each, scores[each.name], data, cluster) for each in plain})
        if EventTilt() in chosen:
            bounds = Evidence.from_scores(scores[EventTilt().name], point=False)
            tilted.append(TiltRows.read(fit, data, bounds))
        weights = data.weights
        clipped.append([np.average(scores[name].clipped, weights=weights) for name in names])
        bounded.append([np.average(scores[name].by_bounds, weights=weights) for name in names])
        lost.append([np.average(scores[name].sharpness_lost, weights=weights) for name in names])
    means = [
        dict(zip(names, np.mean(each, axis=0).tolist(), strict=True)) for each in (clipped, bounded, lost)
    ]
    return ScoredSample(
        data,
        repeats,
        means[0],
        means[1],
        means[2],
        refused,
        cluster,
        assignment,
        objects,
        impossible_in(repeats),
        tilted,
    )


def cross_fits(data: SelectiveLabels, fitting: FittingSettings, in_halves: bool) -> Iterator[CrossFit]:
    """The models behind a scored sample, one fit for each repetition."""
    n_bands = selector_bands(data)
    return (
        fitting.cross_fit(data, seed=seed, in_halves=in_halves, n_bands=n_bands)
        for seed in fitting.repeated_seeds
    )


def _evidence(assumption: Assumption, scores: Scores, data: SelectiveLabels, cluster: str | None) -> Evidence:
    found = Evidence.from_scores(scores, assumption.identifies_value)
    if isinstance(assumption, Combination):
        return found.with_shares(assumption.shares(data), data.weights, cluster_codes(cluster, data))
    return found


def impossible_in(repeats: Sequence[Mapping[str, Evidence]]) -> dict[str, str]:
    """What contradicts an assumption in every repeat, as the first says it."""
    found = {}
    for name, evidence in repeats[0].items():
        if evidence.shares:
            reasons = [contradiction(repeat[name], FALSE_CONTRADICTION) for repeat in repeats]
            if all(reasons):
                found[name] = reasons[0]
    return found


def _label_ranges(
    chosen: list[Assumption], label_range: Any, known: LabelRange | None, data: SelectiveLabels
) -> list[tuple[list[Assumption], LabelRange | None]]:
    """Assumptions with the range of labels that each goes with."""
    own = [each for each in chosen if isinstance(each, Combination) and each.label_range is not None]
    if own and label_range is not NO_RANGE and known is not None:
        twice = "label_range= and LabelRange(...) say the same thing twice; give one of them."
        raise InputError(twice, "label_range")
    for each in chosen:
        if isinstance(each, Combination):
            each.check(data.classes)
            each.shares(data)
    found: list[tuple[list[Assumption], LabelRange | None]] = []
    if len(own) < len(chosen):
        found.append(([each for each in chosen if each not in own], known))
    for each in own:
        stated = each.label_range
        assert stated is not None
        found.append(([each], read_label_range((stated.lowest, stated.highest), data)))
    return found


def describe_assignment(fit: CrossFit) -> str:
    """What results say of it; where they are not to be trusted, a warning too."""
    report = fit.report.assignment
    if report is None:
        return ""
    if not report.settled:
        warnings.warn(report.sentence, UserWarning, stacklevel=4)
    return report.sentence


def read_label_range(label_range: Any, data: SelectiveLabels) -> LabelRange | None:
    """Range of every row and class; None if it says nothing."""
    lowest, highest = as_label_range(label_range, data.features, len(data.classes))
    if not lowest.any() and (highest == 1.0).all():
        return None
    shape = len(data), len(data.classes)
    return LabelRange(np.broadcast_to(lowest, shape), np.broadcast_to(highest, shape))


def with_classes_of(data: SelectiveLabels, classifiers: list[Any]) -> SelectiveLabels:
    """Add classes that a fitted classifier knows and that happen not to be among the labels seen here."""
    here = set(data.classes.tolist())
    others = [label for each in classifiers for label in np.asarray(getattr(each, "classes_", [])).tolist()]
    new = [label for label in others if label not in here and (data.decision_given or label != HOLE)]
    if not new:
        return data
    try:
        classes = np.unique(np.concatenate([data.classes, np.asarray(new, dtype=data.classes.dtype)]))
    except (TypeError, ValueError):
        raise InputError(
            f"the classifier knows the class {new[0]!r}, which is of another type than the labels in y.",
            "classifier",
        ) from None
    return data.with_classes(classes)


def chosen_assumptions(assumption: Assumed, has_instrument: bool) -> list[Assumption]:
    """List the assumptions asked for; "all" means all that the input allows."""
    if isinstance(assumption, str) and assumption == ALL:
        return [each for each in known() if has_instrument or not each.needs_decision_makers]
    wanted: list[object] = [assumption] if isinstance(assumption, str | Assumption) else [*assumption]
    # An empty list is refused as a whole.
    return [named(each, besides=(ALL,)) for each in wanted or [wanted]]


def check_instrument(chosen: list[Assumption], data: SelectiveLabels) -> None:
    """Refuse or warn where decision-makers cannot serve as an instrument."""
    needing = [each for each in chosen if each.needs_decision_makers]
    if not needing:
        return
    if not data.decision_makers_given:
        others = [repr(each.name) for each in known() if not each.needs_decision_makers]
        raise InputError(
            f"decision_maker is missing: y has holes and assumption {needing[0].name!r} uses who decided; "
            f"{' and '.join(others)} do without.",
            "decision_maker",
        )
    if data.n_decision_makers == 1:
        points = [each.name for each in needing if each.identifies_value]
        if points:
            raise InputError.about(
                "decision_maker", f"has one value only; assumption {points[0]!r} needs two or more."
            )
        who = "decision_maker has one value only" if data.panels is None else "one panel saw all cases"
        warnings.warn(
            f"{who}: there is no instrument, and the bounds are those of 'none'.",
            UserWarning,
            stacklevel=4,
        )
    elif data.strata is not None and data.stratum_labels is not None:
        pairs = np.unique(np.stack([data.strata, data.decision_maker_codes]), axis=1)
        alone = np.bincount(pairs[0]) == 1
        if alone.any():
            rows = np.flatnonzero(alone[data.strata])
            who = "decision-maker" if data.panels is None else "panel"
            raise InputError(
                f"strata: {alone.sum()} of {len(alone)} strata have one {who} only (one is "
                f"{data.stratum_labels.tolist()[data.strata[rows[0]]]!r}), {len(rows)} rows in all, with "
                "nobody to compare with; merge strata or leave these rows out.",
                "strata",
            )
