"""The sample that evaluation and comparison share: data checked once, nuisances fitted once, scores kept."""

import warnings
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

import numpy as np

from selective_labels._errors import InputError, UndefinedError
from selective_labels._parallel import with_progress
from selective_labels.assumptions.base import Assumption
from selective_labels.assumptions.combination import Combination
from selective_labels.assumptions.instrument import EventTilt, Nucem
from selective_labels.assumptions.parse import known, named
from selective_labels.data.roles import HOLE, require_two_classes
from selective_labels.data.selective_labels import SelectiveLabels
from selective_labels.diagnostics.diagnose import nucem_warning
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
DEFAULT_SETTINGS = FittingSettings()
PANELS = (
    "Labels are shared within groups: the decision is whether anyone accepted the case, the instrument is "
    "the panel that saw it, so who is on the panel, and how many, must have nothing to do with the label."
)


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


def score_sample(
    data: SelectiveLabels,
    classifiers: list[Any],
    assumption: str | Assumption | Sequence[str | Assumption],
    cluster: str | None = None,
    fitting: FittingSettings = DEFAULT_SETTINGS,
    label_range: Any = NO_RANGE,
    fits: Sequence[CrossFit] | None = None,
) -> ScoredSample:
    """Fit the nuisances (once a repeat) and score every row under every assumption.

    If every label is seen, the labels are the scores: nothing is fitted, and every assumption gives the
    value in the sample.

    Parameters
    ----------
    data : SelectiveLabels
    classifiers : list
        What will be evaluated: classes that a fitted one knows count as classes.
    assumption : name or Assumption, or a list of these
    cluster : "groups", "decision_maker", "none" or None
        See :func:`selective_labels.inference.standard_errors.choose_clusters`.
    fitting : FittingSettings
    label_range : pair
        See :func:`selective_labels.identification.bounds.as_label_range`.
    fits : sequence of CrossFit, optional
        Of :func:`cross_fits` for these data and settings: then nothing is fitted.
    """
    data = with_classes_of(data, classifiers)
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
    seeds = fitting.repeated_seeds
    made = cross_fits(data, fitting, any(each.needs_halves for each in chosen)) if fits is None else fits
    for seed, fit in zip(seeds, with_progress(made, "repeating cross-fitting", len(seeds)), strict=True):
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
    """The models behind a scored sample, one fit for each repeat."""
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


def chosen_assumptions(
    assumption: str | Assumption | Sequence[str | Assumption], has_instrument: bool
) -> list[Assumption]:
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
