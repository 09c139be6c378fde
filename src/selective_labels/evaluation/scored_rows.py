"""Scored samples: rows are checked once, models fitted once, and scores kept for every analysis."""

import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import product
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import ArrayLike

from selective_labels._errors import InputError, UndefinedError
from selective_labels.assumptions.base import Assumption
from selective_labels.assumptions.combination import Combination
from selective_labels.assumptions.instrument import EventTilt, Instrument, Nucem
from selective_labels.assumptions.parse import known, named
from selective_labels.data.pending import WORST_CASE
from selective_labels.data.reading import refuse_pending
from selective_labels.data.roles import HOLE
from selective_labels.data.selective_labels import SelectiveLabels, require_two_classes
from selective_labels.diagnostics.cautions import cautions_of, repeated_rows_caution
from selective_labels.diagnostics.diagnose import nucem_warning
from selective_labels.identification.bounds import Array, as_label_range
from selective_labels.inference.bound_estimators import FindEnds, Functional
from selective_labels.inference.confidence_intervals import FALSE_CONTRADICTION, Basis
from selective_labels.inference.evidence import Ends, Evidence, NoiseOf, covariance
from selective_labels.inference.known_prevalence import ContradictedError, contradiction
from selective_labels.inference.standard_errors import (
    ROWS,
    BoundStandardErrors,
    bound_standard_errors,
    choose_clusters,
    cluster_codes,
)
from selective_labels.inference.weak_instrument import UNAVAILABLE, TiltRows, tilt_basis
from selective_labels.nuisance.cross_fit import CrossFit, FittingSettings
from selective_labels.nuisance.score_formulas import LabelRange, Scores
from selective_labels.nuisance.scores import cross_fit_scores, selector_bands

ALL = "all"
NO_RANGE = (0.0, 1.0)
# One assumption or several, as names or objects of `selective_labels.assumptions`.
Assumed = str | Assumption | Sequence[str | Assumption]
PANELS = (
    "Labels are shared within groups: the decision is whether anyone accepted the case, the instrument is "
    "the panel that saw it, so who is on the panel, and how many, must be independent of the label."
)


class Scored(Protocol):
    """Scores of rows, or of cells of rows, from which every metric is computed."""

    @property
    def assumptions(self) -> list[str]:
        """Names of the scored assumptions."""

    @property
    def classes(self) -> np.ndarray:
        """Sorted classes."""

    @property
    def size(self) -> int:
        """Length of masks and weights: the number of rows or cells."""

    @property
    def weights(self) -> Array:
        """Weights of rows or cells."""

    @property
    def cluster(self) -> str | None:
        """Independent units for the standard errors."""

    def has_scores(self, assumption: str) -> bool:
        """Whether all classes have scores; False under the event tilt, which concerns one event."""

    def assumed(self, assumption: str) -> Assumption:
        """Return the assumption with this name."""

    def require_possible(self, assumption: str) -> None:
        """Raise an error if the data contradict an assumption."""

    def ends(self, functional: Functional, assumption: str, rows: np.ndarray) -> list[Ends]:
        """Return bounds on a functional among some rows, one pair for each repetition."""

    def ends_by(self, find: FindEnds, assumption: str, rows: np.ndarray) -> list[Ends]:
        """Return bounds computed by any function of evidence and weights."""

    def repeated(self, assumption: str) -> list[tuple[Evidence, Array, NoiseOf]]:
        """Return evidence, weights, and a covariance function of influences for each repetition."""

    def basis(
        self, functional: Functional, assumption: str, rows: np.ndarray, limits: tuple[float, float]
    ) -> Basis:
        """Return the basis of an interval for a functional among some rows."""

    def spread(self, ends: list[Ends], rows: np.ndarray, assumption: str) -> BoundStandardErrors:
        """Return standard errors of bounds among some rows."""

    def summary_of(self, assumption: str) -> dict[str, Any]:
        """Return the description of the sample for results."""

    @property
    def cautions(self) -> Mapping[str, tuple[str, ...]]:
        """Why results are doubtful, by assumption."""

    def empty_share(self, assumption: str) -> float:
        """Return the share of rows in which the model's identified set is empty."""

    def n_cases(self, rows: np.ndarray) -> int:
        """Return the number of cases."""

    def n_labeled(self, rows: np.ndarray) -> int:
        """Return the number of labeled cases."""

    def count_units(self, rows: np.ndarray) -> int:
        """Return the number of independent units."""

    def observed(self, assumption: str) -> "Observed":
        """Return the outcomes and evidence that `plan` needs."""

    def worth_of_labels(self, assumption: str, coefficients: Array) -> Array | None:
        """Return each refused case's contribution to the width; None where cases are not available."""


class Observed(NamedTuple):
    """Outcomes and evidence that `plan` needs.

    Attributes
    ----------
    outcome : (n,) int array
        0 if refused, k + 1 if accepted with label k.
    weights : array
    leniency : pair of float
        Mean and standard deviation of the acceptance rates of decision-makers.
    """

    outcome: np.ndarray
    evidence: Evidence
    weights: Array
    leniency: tuple[float, float]
    n_decision_makers: int


@dataclass(frozen=True, eq=False)
class ScoredSample:
    """Rows with scores under every requested assumption.

    Attributes
    ----------
    data : SelectiveLabels
        With numeric features.
    repeats : list of dict of Evidence
        By assumption, one dict for each repetition of cross-fitting.
    clipped : dict of float
        By assumption, the share of rows in whose scores a denominator was clipped.
    bounded : dict of float
        By assumption, the share of rows that contribute bounds although it identifies a value.
    lost : dict of float
        By assumption, the excess width over sharp bounds, because decision-makers were pooled.
    refused : dict of str
        By assumption, the finding of a check that speaks against using it here.
    cluster : "groups", "decision_maker" or None
        Independent units for the standard errors; None: every row is one.
    assignment : str
        Note on how cases are assigned to decision-makers; empty under random assignment.
    objects : dict of Assumption
        By name; a name without an entry is looked up among the known assumptions.
    impossible : dict of str
        By assumption, the contradiction in the data that exceeds sampling error.
    tilted : list of TiltRows
        For the event tilt, one per repetition; its bounds are those of the instrument.
    cautions : dict of tuple of str
        By assumption, why its numbers are doubtful on these rows, whatever is evaluated.
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
    cautions: dict[str, tuple[str, ...]] = field(default_factory=dict)

    @property
    def assumptions(self) -> list[str]:
        """Names of the scored assumptions."""
        return list(self.clipped)

    def under(self, assumptions: Sequence[str]) -> "ScoredSample":
        """Return the same rows with some of the assumptions."""
        return replace(self, clipped={name: self.clipped[name] for name in assumptions})

    def with_cautions(self, sentences: Sequence[str]) -> "ScoredSample":
        """Return the same rows with further cautions under every assumption."""
        if not sentences:
            return self
        cautions = {
            name: tuple(dict.fromkeys([*self.cautions.get(name, ()), *sentences]))
            for name in self.assumptions
        }
        return replace(self, cautions=cautions)

    @property
    def weights(self) -> Array:
        """Sample weights, ones if none were given."""
        return self.data.weights

    @property
    def classes(self) -> np.ndarray:
        """Sorted classes."""
        return self.data.classes

    def has_scores(self, assumption: str) -> bool:
        """Whether all classes have scores; False under the event tilt, which concerns one event."""
        return assumption in self.repeats[0]

    def observed(self, assumption: str) -> Observed:
        """Return the outcomes and evidence that `plan` needs."""
        data = self.data
        outcome = data.y + 1
        moments, number = leniency_moments(data), data.n_decision_makers
        return Observed(outcome, self.repeats[0][assumption], self.weights, moments, number)

    def worth_of_labels(self, assumption: str, coefficients: Array) -> Array:
        """δ(x) (max_k c_k(x) - min_k c_k(x)) for refused cases, zero for the others, (n_samples,).

        Slack times disagreement is the contribution of a case to the width. Labels are worth most where it is
        largest: accept those cases at random.
        """
        slack = np.maximum(self.repeats[0][assumption].bounds.slack, 0.0)
        return np.where(self.data.decision == 1, 0.0, slack * np.ptp(coefficients, axis=1))

    def assumed(self, assumption: str) -> Assumption:
        """Return the assumption with this name."""
        return self.objects.get(assumption) or named(assumption)

    def require_possible(self, assumption: str) -> None:
        """Raise an error if the data contradict the assumption."""
        if assumption in self.impossible:
            raise ContradictedError(self.impossible[assumption], "assumption")

    def ends(self, functional: Functional, assumption: str, rows: np.ndarray) -> list[Ends]:
        """Estimate bounds on a functional among some rows, one pair for each repetition."""
        return self.ends_by(functional.ends, assumption, rows)

    def ends_by(self, find: FindEnds, assumption: str, rows: np.ndarray) -> list[Ends]:
        """Estimate bounds by any function of evidence and weights."""
        self.require_possible(assumption)
        weights = self.weights * rows
        if not weights.any():
            raise UndefinedError("no case has a positive weight.", "sample_weight")
        return [find(self.evidence(repeat, assumption), weights) for repeat in self.repeats]

    def repeated(self, assumption: str) -> list[tuple[Evidence, Array, NoiseOf]]:
        """Return evidence, weights, and a covariance function of influences for each repetition."""
        noise = partial(covariance, clusters=cluster_codes(self.cluster, self.data))
        return [(self.evidence(repeat, assumption), self.weights, noise) for repeat in self.repeats]

    def evidence(self, repeat: dict[str, Evidence], assumption: str) -> Evidence:
        """Return the scores of one repetition; undefined under the event tilt, which concerns one event."""
        if assumption not in repeat:
            raise UndefinedError(f"{UNAVAILABLE}.", "metric")
        return repeat[assumption]

    def basis(
        self, functional: Functional, assumption: str, rows: np.ndarray, limits: tuple[float, float]
    ) -> Basis:
        """Return the basis of an interval for a functional among some rows.

        The event tilt does not use two bounds with standard errors: see
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
        tilt = self.assumed(assumption)
        assert isinstance(tilt, EventTilt)
        return tilt_basis(self.tilted, functional, weights, clusters, bounds, tilt.skill_range)

    def spread(self, ends: list[Ends], rows: np.ndarray, assumption: str) -> BoundStandardErrors:
        """Add standard errors to the bounds of all repetitions, and return the median over repetitions."""
        return bound_standard_errors(ends, rows, cluster_codes(self.cluster, self.data), self.weights)

    @property
    def size(self) -> int:
        """Number of rows, which is the length of masks."""
        return len(self.data)

    def empty_share(self, assumption: str) -> float:
        """Return the share of rows in which the model's identified set is empty."""
        if not self.has_scores(assumption):
            return 0.0
        return float(np.average(self.repeats[0][assumption].empty, weights=self.weights))

    def n_cases(self, rows: np.ndarray) -> int:
        """Return the number of rows in a mask."""
        return int(rows.sum())

    def n_labeled(self, rows: np.ndarray) -> int:
        """Return the number of labeled rows in a mask."""
        return int(np.count_nonzero(self.data.labeled & rows))

    def summary_of(self, assumption: str) -> dict[str, Any]:
        """Return the description of the sample, which does not depend on the rows of a result."""
        data = self.data
        who = self.assignment if self.assumed(assumption).needs_decision_makers else ""
        notes = [who, pending_note(data)]
        return {
            "n_decision_makers": data.n_decision_makers if data.panels is None else len(data.panels.people),
            "clipped_share": self.clipped[assumption],
            "bounded_share": self.bounded[assumption],
            "sharpness_lost": self.lost[assumption],
            "refusal": self.refused.get(assumption),
            "numeric": data.numeric,
            "n_panels": None if data.panels is None else data.panels.n_panels,
            "assignment": " ".join(filter(None, notes)),
            "cautions": self.cautions.get(assumption, ()),
        }

    def count_units(self, rows: np.ndarray) -> int:
        """Return the number of independent units in a mask of rows."""
        clusters = cluster_codes(self.cluster, self.data)
        return int(rows.sum()) if clusters is None else len(np.unique(clusters[rows]))


def leniency_moments(data: SelectiveLabels) -> tuple[float, float]:
    """Mean and standard deviation of acceptance rates of decision-makers, net of sampling error."""
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

    If every label is observed, the labels are the scores: nothing is fitted, and every assumption gives the
    sample value.

    Parameters
    ----------
    assumption : name or Assumption, or a list of these
    cluster : "groups", "decision_maker", "none" or None
        See :func:`selective_labels.inference.standard_errors.choose_clusters`.
    fits : callable of (data, in_halves)
        Returns the models, one fit for each seed; those of halves are for assumptions that need them.
    label_range : pair
        See :func:`selective_labels.identification.bounds.as_label_range`.
    """
    known = read_label_range(label_range, data)
    has_instrument = data.decision_makers_given and data.n_decision_makers > 1
    chosen = chosen_assumptions(assumption, has_instrument, worst_case=data.worst_case)
    if data.worst_case:
        check_worst_case(chosen, known, data)
    ranges = _label_ranges(chosen, label_range, known, data)
    names = [each.name for each in chosen]
    objects = {each.name: each for each in chosen}
    repeated = None if cluster == ROWS else repeated_rows_caution(data)
    cautions: dict[str, tuple[str, ...]] = dict.fromkeys(names, () if repeated is None else (repeated,))
    cluster = choose_clusters(cluster, data)
    require_two_classes(data.classes)
    if data.labeled.all():
        evidence = Evidence.from_labels(data.y, len(data.classes))
        none = dict.fromkeys(names, 0.0)
        return ScoredSample(
            data,
            [dict.fromkeys(names, evidence)],
            none,
            none,
            none,
            {},
            cluster,
            objects=objects,
            cautions=cautions,
        )
    check_instrument(chosen, data)
    repeats: list[dict[str, Evidence]] = []
    tilted: list[TiltRows] = []
    plain = [each for each in chosen if not isinstance(each, EventTilt)]
    clipped, bounded, lost, refused, assignment = [], [], [], {}, ""
    label_weights: list[Array] = []
    models = fits_by_kind(data, chosen, fits)
    for seed, fitted in zip(seeds, models, strict=True):
        whole = next(iter(fitted.values()))
        if Nucem() in chosen and fitted[True].in_halves and not repeats:  # once, not in every repetition
            refusal = nucem_warning(data, fitted[True], random_state=seed)
            if refusal is not None:
                warnings.warn(refusal, stacklevel=3)
                refused[Nucem().name] = str(refusal)
        if not repeats and any(each.needs_decision_makers for each in chosen):
            assignment = describe_assignment(whole)
            if data.panels is not None:
                assignment = f"{PANELS} {assignment}".strip()
        scores: dict[str, Scores] = {}
        for (in_halves, fit), (listed, range_of_labels) in product(fitted.items(), ranges):
            some = [each for each in listed if each.needs_halves == in_halves]
            # The checks of the instrument need its scores, which cost little beside those of others.
            uses = range_of_labels is None and any(each.needs_decision_makers for each in some)
            watched = [Instrument()] if uses and not repeats else []
            if not some:
                continue
            found = cross_fit_scores(fit, data, [*some, *watched], label_range=range_of_labels)
            scores |= {each.name: found[each.name] for each in some}
            if not repeats:
                at_hand = found if uses else None
                for name, sentences in cautions_of(data, fit, some, at_hand, seed=seed).items():
                    cautions[name] = (*cautions.get(name, ()), *sentences)
        repeats.append({each.name: _evidence(each, scores[each.name], data, cluster) for each in plain})
        if len(plain) < len(chosen):  # all tilts have the bounds of the instrument
            tilt = next(each for each in chosen if isinstance(each, EventTilt))
            bounds = Evidence.from_scores(scores[tilt.name], point=False)
            tilted.append(TiltRows.read(whole, data, bounds))
        weights = data.weights
        clipped.append([np.average(scores[name].clipped, weights=weights) for name in names])
        bounded.append([np.average(scores[name].by_bounds, weights=weights) for name in names])
        lost.append([np.average(scores[name].sharpness_lost, weights=weights) for name in names])
        if whole.label_weights is not None:
            label_weights.append(whole.label_weights)
    means = [
        dict(zip(names, np.mean(each, axis=0).tolist(), strict=True)) for each in (clipped, bounded, lost)
    ]
    if label_weights:
        data = replace(data, label_weights=np.mean(label_weights, axis=0))
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
        cautions,
    )


def cross_fits(
    data: SelectiveLabels,
    fitting: FittingSettings,
    in_halves: bool,
    wholes: Sequence[CrossFit | None] | None = None,
) -> Iterator[CrossFit]:
    """Fit the models of a scored sample, one fit for each repetition; `wholes` are those not in halves."""
    n_bands, seeds = selector_bands(data), fitting.repeated_seeds
    return (
        fitting.cross_fit(data, seed=seed, in_halves=in_halves, n_bands=n_bands, whole=whole)
        for seed, whole in zip(seeds, wholes or [None] * len(seeds), strict=True)
    )


def fits_by_kind(
    data: SelectiveLabels,
    chosen: Sequence[Assumption],
    fits: Callable[[SelectiveLabels, bool], Sequence[CrossFit]],
) -> list[dict[bool, CrossFit]]:
    """Fits of each repetition: to whole training parts (False), and in halves (True) where these are needed.

    So the scores of an assumption are the same whatever else is scored. Weights of pending labels come from
    whole training parts.
    """
    weighted = data.has_pending and not data.worst_case
    kinds = {each.needs_halves for each in chosen} | ({False} if weighted else set())
    found = [
        dict(zip(sorted(kinds), each, strict=True))
        for each in zip(*(fits(data, kind) for kind in sorted(kinds)), strict=True)
    ]
    if weighted and True in kinds:
        for each in found:
            each[True] = replace(each[True], label_weights=each[False].label_weights)
    return found


def _evidence(assumption: Assumption, scores: Scores, data: SelectiveLabels, cluster: str | None) -> Evidence:
    found = Evidence.from_scores(scores, assumption.identifies_value)
    if isinstance(assumption, Combination):
        return found.with_shares(assumption.shares(data), data.weights, cluster_codes(cluster, data))
    return found


def impossible_in(repeats: Sequence[Mapping[str, Evidence]]) -> dict[str, str]:
    """Return the assumptions contradicted in every repetition, with the message of the first."""
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
    """Pair assumptions with the label range that applies to each."""
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
    """Return the note on assignment for results; warn if the assignment model needs more rows."""
    report = fit.report.assignment
    if report is None:
        return ""
    if not report.settled:
        warnings.warn(report.sentence, UserWarning, stacklevel=4)
    return report.sentence


def read_label_range(label_range: Any, data: SelectiveLabels) -> LabelRange | None:
    """Return the label range of every row and class; None if it is not restrictive."""
    lowest, highest = as_label_range(label_range, data.features, len(data.classes))
    if not lowest.any() and (highest == 1.0).all():
        return None
    shape = len(data), len(data.classes)
    return LabelRange(np.broadcast_to(lowest, shape), np.broadcast_to(highest, shape))


def with_classes_of(data: SelectiveLabels, classifiers: list[Any]) -> SelectiveLabels:
    """Add classes that a fitted classifier knows but that are not among the observed labels."""
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
    assumption: Assumed, has_instrument: bool, *, worst_case: bool = False
) -> list[Assumption]:
    """List the requested assumptions; "all" means every assumption that the input allows.

    `worst_case` says that nothing is assumed of outcomes that are pending.
    """
    if isinstance(assumption, str) and assumption == ALL:
        return [
            each
            for each in known()
            if (has_instrument or not each.needs_decision_makers)
            and (each.takes_worst_case or not worst_case)
        ]
    wanted: list[object] = [assumption] if isinstance(assumption, str | type | Assumption) else [*assumption]
    # Pass an empty list on as a whole, so that the error message shows it.
    return [named(each, besides=(ALL,)) for each in wanted or [wanted]]


def check_worst_case(
    chosen: Sequence[Assumption], known_range: LabelRange | None, data: SelectiveLabels
) -> None:
    """Raise an error for what needs the label of every accepted case, if nothing is known of pending ones."""
    for each in chosen:
        if not each.takes_worst_case:
            refuse_pending(data, f"assumption {each.name!r}", (WORST_CASE,))
    if known_range is not None:
        refuse_pending(data, "a label range", (WORST_CASE,))


def check_instrument(chosen: list[Assumption], data: SelectiveLabels) -> None:
    """Raise an error or warn if decision-makers cannot serve as an instrument."""
    needing = [each for each in chosen if each.needs_decision_makers]
    if not needing:
        return
    if not data.decision_makers_given:
        others = [repr(each.name) for each in known() if not each.needs_decision_makers]
        raise InputError(
            f"decision_maker is missing: y has missing labels, and assumption {needing[0].name!r} uses "
            f"who decided; {' and '.join(others)} do without.",
            "decision_maker",
        )
    if data.n_decision_makers == 1:
        points = [each.name for each in needing if each.identifies_value or isinstance(each, EventTilt)]
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
    elif data.n_decision_makers == len(data) and not _may_measure(data) and data.panels is None:
        raise InputError.about(
            "decision_maker",
            "has another value in every row, so that there is nobody to compare: give the column that says "
            "who decided, or assume 'none'.",
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


def _may_measure(data: SelectiveLabels) -> bool:
    """Whether decision-makers are numbers, which may differ in every row; SL304 warns of them as names."""
    return data.numeric or data.decision_makers.dtype.kind in "iuf"


def leniency_spread(cases: ArrayLike, accepted: ArrayLike) -> tuple[float, float]:
    """Mean acceptance rate of decision-makers, and its standard deviation net of sampling error.

    spread² = Var_z(rate_z) - mean_z rate_z (1 - rate_z) / (n_z - 1)

    Parameters
    ----------
    cases, accepted : (n_decision_makers,) arrays
        Number of cases that each decided, and number that each accepted.

    Examples
    --------
    >>> [round(each, 3) for each in leniency_spread([101, 101, 101], [20, 50, 80])]
    [0.495, 0.294]
    """
    number, taken = np.asarray(cases, dtype=float), np.asarray(accepted, dtype=float)
    several = number > 1
    if several.sum() < 2:
        return float(taken.sum() / number.sum()), 0.0
    rate = taken[several] / number[several]
    noise = np.mean(rate * (1.0 - rate) / (number[several] - 1.0))
    return float(rate.mean()), float(np.sqrt(max(rate.var(ddof=1) - noise, 0.0)))


def pending_note(data: Any) -> str:
    """What is assumed of pending outcomes, as printed beside every number; empty if there are none."""
    if not data.has_pending:
        return ""
    number = f"{int(data.is_pending.sum()):,} outcomes are pending"
    if data.pending == WORST_CASE:
        return f"{number}, and nothing is assumed of their labels."
    return (
        f"{number}: whether an outcome has matured is assumed to be independent of the label, given "
        "features and decision-maker (SL1101 to SL1103)."
    )
