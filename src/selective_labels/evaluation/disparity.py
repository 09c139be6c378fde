"""Disparity: differences between groups in decisions, a score, or both together, given the outcome."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd

from selective_labels._display import Described
from selective_labels._errors import InputError, UndefinedError
from selective_labels._validation import the_only
from selective_labels._vocabulary import INSPECT, Vocabulary
from selective_labels.data.reading import refuse_pending
from selective_labels.data.selective_labels import class_code, require_two_classes
from selective_labels.evaluation import display
from selective_labels.evaluation.evaluate import by_subgroup
from selective_labels.evaluation.fitted_table import FittedRows, read_column, read_subgroups
from selective_labels.evaluation.policy import Policy, checked_policy_actions
from selective_labels.evaluation.prediction_check import Checked, with_doubts
from selective_labels.evaluation.predictions import HUMAN, EvaluationRequest, read_predictions
from selective_labels.evaluation.results import Evaluation, judged
from selective_labels.evaluation.scored_rows import ScoredSample, chosen_assumptions
from selective_labels.identification.bounds import Array
from selective_labels.identification.disparity import (
    GroupShares,
    largest_weighted_gap,
    weighted_gap,
    weighted_gap_gradient,
)
from selective_labels.identification.rates import NEGLIGIBLE
from selective_labels.inference.bound_estimators import Ratio, SeenRatio
from selective_labels.inference.evidence import Ends, Estimate, Evidence, mean_estimate, smooth_estimate

# Cases of similar risk are those in the same tenth.
N_TENTHS = 10


@dataclass(frozen=True, eq=False)
class YesRates:
    """Rates of a yes of one way to decide: yes(x) = rule(x) + human(x) D.

    Attributes
    ----------
    rule, human : (n_samples,) arrays
        Probability that the rule says yes, and that the decision taken counts.
    decision : (n_samples,) array
        D.
    label : (n_samples,) int array
        Codes, -1 where not observed.
    event, n_classes : int
    """

    rule: Array
    human: Array
    decision: Array
    label: np.ndarray
    event: int
    n_classes: int

    @property
    def observed(self) -> bool:
        """Whether the labels of all yes's are observed: decisions alone, or both together."""
        return not self.rule.any()

    def rate(self) -> Ratio:
        """P(yes)."""
        return SeenRatio.mean(np.zeros(self._shape), self.rule + self.human * self.decision)

    def given(self, happened: bool) -> Ratio:
        """P(yes | Y = event), or P(yes | Y ≠ event)."""
        which = self._indicator(happened)
        seen = self.human * self._seen(happened)
        below = np.broadcast_to(which, self._shape)
        return SeenRatio.of(self.rule[:, None] * which, seen, below, np.zeros(len(seen)))

    def event_among_yes(self) -> Ratio:
        """P(Y = event | yes)."""
        open_above = self.rule[:, None] * self._indicator(True)
        seen = self.human * self._seen(True)
        below = self.rule + self.human * self.decision
        return SeenRatio.of(open_above, seen, np.zeros(self._shape), below)

    def outcome_weighted(self, first: np.ndarray) -> "OutcomeWeightedGap":
        """Gap between the cases `first` and the others, weighted by outcome; for observed yes's."""
        return OutcomeWeightedGap(self, first)

    def risk_adjusted(self, first: np.ndarray, risk: Array) -> "RiskAdjustedGap":
        """Gap between the cases `first` and the others at similar risk."""
        return RiskAdjustedGap(self.rule + self.human * self.decision, first, risk)

    @property
    def _shape(self) -> tuple[int, int]:
        return len(self.rule), self.n_classes

    def _indicator(self, happened: bool) -> Array:
        found = (np.arange(self.n_classes) == self.event).astype(float)
        return found if happened else 1.0 - found

    def _seen(self, happened: bool) -> Array:
        known = (self.label == self.event) == happened
        return self.decision * (known & (self.label >= 0))


@dataclass(frozen=True, eq=False)
class OutcomeWeightedGap:
    """Δ of :mod:`selective_labels.identification.disparity` between two groups, from scores.

    The ends are attained at shares of the event in the box of both groups' bounds. A share inside its bounds
    has no first-order effect, so the delta method uses the shares at an end only.

    Attributes
    ----------
    rates : YesRates
    first : (n_samples,) bool array
        The group whose rate counts positive; the other is the rest of the cases with a positive weight.
    """

    rates: YesRates
    first: np.ndarray

    def ends(self, evidence: Evidence, weights: Array | None) -> Ends:
        """Lower and upper bound."""
        mass = np.ones(len(self.first)) if weights is None else np.asarray(weights)
        masks = [mass * self.first, mass * ~self.first]
        if not all(each.any() for each in masks):
            raise UndefinedError("one of the groups has no case.", "by")
        rates = self.rates
        which = np.broadcast_to(np.eye(rates.n_classes)[rates.event], (len(mass), rates.n_classes))
        share = Ratio(which, np.ones_like(which))
        limits = [share.ends(evidence, each) for each in masks]
        seen = [
            [mean_estimate(rates.human * rates._seen(happened), each) for each in masks]
            for happened in (True, False)
        ]
        size = [mean_estimate(self.first, mass), mean_estimate(~self.first & (mass > 0.0), mass)]
        smallest = self._end([limits[1], limits[0]], [each[::-1] for each in seen], size[::-1])
        largest = self._end(limits, seen, size)
        return smooth_estimate(lambda value: -value, [-1.0], [smallest]), largest

    @staticmethod
    def _end(limits: list[Ends], seen: list[list[Estimate]], size: list[Estimate]) -> Estimate:
        groups = GroupShares(*(np.array([each.value for each in pair]) for pair in (*seen, size)))
        box = [np.array([each[end].value for each in limits]) for end in (0, 1)]
        # Sampling error must not make a rate exceed one.
        lower = np.maximum(box[0], groups.seen_event)
        upper = np.maximum(np.minimum(box[1], 1.0 - groups.seen_other), lower)
        if not (lower.min() > NEGLIGIBLE and upper.max() < 1.0 - NEGLIGIBLE):
            raise UndefinedError("the event, or its complement, may have no probability in a group.", "by")
        event = largest_weighted_gap(groups, lower, upper)
        by_event_seen, by_other_seen, by_event, by_size = weighted_gap_gradient(groups, event)
        parts, slopes = [*seen[0], *seen[1], *size], [*by_event_seen, *by_other_seen, *by_size]
        for place, ends in enumerate(limits):
            for end, reached in zip(ends, (lower[place], upper[place]), strict=True):
                if event[place] == reached:
                    parts.append(end)
                    slopes.append(by_event[place])
                    break
        value = weighted_gap(groups, event)
        influence = sum(slope * part.influence for slope, part in zip(slopes, parts, strict=True))
        return Estimate(value, np.asarray(influence))


@dataclass(frozen=True, eq=False)
class RiskAdjustedGap:
    """Gap in the rate of a yes between two groups at similar risk.

    β of the regression yes = β 1{first} + one constant for each tenth of the risk, that is the mean over
    tenths of the gaps, with weights n_1 n_2 / (n_1 + n_2).
    """

    yes: Array
    first: np.ndarray
    risk: Array

    def ends(self, evidence: Evidence, weights: Array | None) -> Ends:
        """The gap, twice: it is a point."""
        mass = np.ones(len(self.first)) if weights is None else np.asarray(weights)
        _, level = np.unique(self.risk, return_inverse=True)
        by_level = np.bincount(level, mass)
        rank = (np.cumsum(by_level) - by_level / 2.0) / mass.sum()
        tenth = np.floor(np.clip(rank, 0.0, 1.0 - NEGLIGIBLE) * N_TENTHS).astype(int)[level]
        size = np.maximum(np.bincount(tenth, mass), np.finfo(float).tiny)

        def net(values: Array) -> Array:
            return values - (np.bincount(tenth, mass * values) / size)[tenth]

        group, yes = net(self.first.astype(float)), net(self.yes)
        spread = float(np.sum(mass * group**2))
        if not spread > NEGLIGIBLE * mass.sum():
            raise UndefinedError("no tenth of the risk has cases of both groups.", "by")
        gap = float(np.sum(mass * group * yes)) / spread
        found = Estimate(gap, len(mass) * mass * group * (yes - gap * group) / spread)
        return found, found


SCORE, BOTH = "score", "both"
RATE, GIVEN_EVENT, GIVEN_OTHER, EVENT_AMONG_YES = "rate", "given_event", "given_no_event", "event_among_yes"
WEIGHTED, AT_RISK = "outcome_weighted", "risk_adjusted"
LEVELS = (RATE, GIVEN_EVENT, GIVEN_OTHER, EVENT_AMONG_YES)
# A group with fewer cases is named: its interval is wide, and rough.
FEW_CASES = 30
MOST_NAMED = 10


@dataclass(frozen=True, eq=False, kw_only=True)
class DisparityQuestion:
    """The arguments of :func:`selective_labels.disparity`, as the user gave them."""

    by: Any
    score: Any = None
    threshold: float | None = None
    reference: Any = None


@dataclass(frozen=True)
class DisparityEstimate:
    """One number about one way to decide, in one group or between two.

    Attributes
    ----------
    who : "human", "score" or "both"
    measure : str
        "rate", "given_event", "given_no_event", "event_among_yes", "outcome_weighted" or "risk_adjusted".
    evaluation : Evaluation
        `subgroup` is the group; for a gap, `reference` is the group whose value is subtracted.
    """

    who: str
    measure: str
    evaluation: Evaluation


@dataclass(frozen=True, eq=False, kw_only=True)
class Disparity(Described):
    """Rates of a yes by group, alone and given the outcome, their gaps, and the outcome test.

    Attributes
    ----------
    estimates : tuple of DisparityEstimate
    groups : tuple
        The groups; `reference` is the one that the others are compared with.
    reference : label
    pos_label : class label
        The outcome.
    vocabulary : Vocabulary
        The words of the table, and what a yes means.
    few : tuple of str
        Sentences about groups with few cases.

    Examples
    --------
    >>> import numpy as np
    >>> import selective_labels as sl
    >>> sample = sl.datasets.make_decision_makers(1200, n_classes=2, random_state=0)
    >>> data = sl.SelectiveLabels.from_arrays(sample.X, sample.y, decision_maker=sample.decision_maker)
    >>> town = np.where(sample.X[:, 1] > 0, "a", "b")
    >>> found = sl.disparity(data, by=town, nuisance="logistic", random_state=0)
    >>> gap = found.get("human", "given_event", "a", reference="b")
    >>> found.reference, bool(gap.ci_lower <= gap.lower <= gap.upper <= gap.ci_upper)
    ('b', True)
    """

    title = "Disparity between groups"
    lines_each = 2

    estimates: tuple[DisparityEstimate, ...]
    groups: tuple[Any, ...]
    reference: Any
    pos_label: Any
    vocabulary: Vocabulary
    few: tuple[str, ...] = ()

    def __len__(self) -> int:
        return len(self.estimates)

    def get(self, who: str, measure: str, subgroup: Any, reference: Any = None) -> Evaluation:
        """Return one number: of a group, or of a gap if a reference is given."""
        for each in self.estimates:
            found = each.evaluation
            if (each.who, each.measure, found.subgroup, found.reference) == (
                who,
                measure,
                subgroup,
                reference,
            ):
                return found
        known = ", ".join(dict.fromkeys(f"{each.who} {each.measure}" for each in self.estimates))
        raise InputError(
            f"there is no {measure!r} of {who!r} (subgroup {subgroup!r}, reference {reference!r}); there "
            f"are: {known}.",
            "measure",
        )

    @property
    def gaps(self) -> tuple[Evaluation, ...]:
        """All gaps between a group and the reference."""
        return tuple(each.evaluation for each in self.estimates if each.evaluation.reference is not None)

    def to_frame(self) -> pd.DataFrame:
        """Return a frame with one row per number."""
        rows = [
            {
                "who": each.who,
                "measure": each.measure,
                "subgroup": each.evaluation.subgroup,
                "reference": each.evaluation.reference,
                **{end: getattr(each.evaluation, end) for end in display.ENDS},
                "standard_error_lower": each.evaluation.standard_errors[0],
                "standard_error_upper": each.evaluation.standard_errors[1],
                "n": each.evaluation.n,
                "reason": each.evaluation.reason,
            }
            for each in self.estimates
        ]
        return pd.DataFrame(rows)

    def printed_frame(self) -> pd.DataFrame:
        """Return the first printed table."""
        return self.printed_parts()[0]

    def printed_parts(self) -> list[pd.DataFrame]:
        """Return two tables for each way to decide: the groups, and the gaps."""
        parts: dict[tuple[str, bool], dict[str, dict[str, Evaluation]]] = {}
        for each in self.estimates:
            found = each.evaluation
            is_gap = found.reference is not None
            row = f"{found.subgroup} minus {found.reference}" if is_gap else str(found.subgroup)
            parts.setdefault((each.who, is_gap), {}).setdefault(row, {})[each.measure] = found
        return [self._table(*key, rows) for key, rows in parts.items()]

    def _table(self, who: str, is_gap: bool, rows: Mapping[str, Mapping[str, Evaluation]]) -> pd.DataFrame:
        heading = f"{who}: {'gap' if is_gap else 'group'}"
        columns: dict[str, list[str]] = {heading: [text for row in rows for text in (row, "")]}
        for measure in dict.fromkeys(name for row in rows.values() for name in row):
            cells = [row.get(measure) for row in rows.values()]
            columns[self.words(measure)] = [text for each in cells for text in display.cell_texts(each)]
        return pd.DataFrame(columns)

    def words(self, measure: str) -> str:
        """Heading of a measure."""
        yes = self.vocabulary.yes_past
        return {
            RATE: f"P({yes})",
            GIVEN_EVENT: f"P({yes} | {self.pos_label})",
            GIVEN_OTHER: f"P({yes} | other than {self.pos_label})",
            EVENT_AMONG_YES: f"P({self.pos_label} | {yes})",
            WEIGHTED: "weighted by outcome",
            AT_RISK: "at similar risk",
        }[measure]

    def sentences(self) -> list[str]:
        """State the verdicts, how to read them, the assumption and the sample."""
        first, yes = self.estimates[0].evaluation, self.vocabulary.yes_past
        reasons = dict.fromkeys(
            f"No interval for {each.evaluation.subgroup}: {each.evaluation.reason}"
            for each in self.estimates
            if each.evaluation.reason
        )
        return [
            *display.caution_lines(first.sample),
            *filter(None, [first.sample.assignment]),
            *self.verdicts(),
            *self.few,
            *reasons,
            "Weighted by outcome: gaps given the outcome, weighted by how often each outcome occurs (Arnold, "
            "Dobbie and Hull 2022); it compares cases whose outcome is the same, whatever the groups' risks. "
            "At similar risk: within tenths of the predicted risk; people may know more than the features.",
            f"Outcome test: it compares average outcomes of those {yes}, and assumes that cases at the "
            "margin are like the average one. Where the groups differ in their distribution of risk it "
            "misleads (inframarginality). Its robust form (Gaebler and Goel 2025) needs both a higher share "
            f"{yes} and worse outcomes; it assumes that one group's risks are larger throughout (monotone "
            "likelihood ratios), and otherwise says nothing.",
            "A disparity is a difference in numbers. It does not show why groups are treated differently, "
            "who intended it, or whether the outcome itself is measured alike in all groups.",
            display.assumption_text(first.assumption, first.sample.sentence),
            f"Sample: {display.sample_text(self._whole)} Intervals are in brackets below the bounds and "
            f"cover each value with probability {first.confidence_level:.4g}, one at a time.",
        ]

    @property
    def _whole(self) -> Any:
        """Description of the sample of all groups."""
        samples = {
            each.evaluation.subgroup: each.evaluation.sample
            for each in self.estimates
            if each.evaluation.reference is None
        }.values()
        first = next(iter(samples))
        totals = {name: sum(getattr(each, name) for each in samples) for name in ("n", "n_labeled")}
        return replace(first, **totals, cluster=None)

    def verdicts(self) -> list[str]:
        """State for each way to decide and each group what the gaps and the outcome tests show."""
        said = []
        for who in dict.fromkeys(each.who for each in self.estimates):
            for group in self.groups:
                if group != self.reference:
                    said += self._verdicts(who, group)
        return said

    def _verdicts(self, who: str, group: Any) -> list[str]:
        pair = f"{group} minus {self.reference}"
        main = WEIGHTED if who != SCORE else GIVEN_OTHER
        gap = self.get(who, main, group, self.reference)
        words = "given the outcome" if main == WEIGHTED else f"among cases other than {self.pos_label}"
        direction = _sign(gap)
        yes = self.vocabulary.yes_past
        found = {
            1: f"{group} is {yes} more often than {self.reference}",
            -1: f"{group} is {yes} less often than {self.reference}",
            0: "the data leave the sign open",
        }[direction]
        people = self.vocabulary.decision_makers
        subject = people[:1].upper() + people[1:] if who == HUMAN else who.capitalize()
        lines = [f"{subject}, {pair}, {words}: {_figures(gap)}: {found}."]
        if who == SCORE:
            return lines
        return [*lines, self._outcome_tests(who, group)]

    def _outcome_tests(self, who: str, group: Any) -> str:
        rate, harm = (self.get(who, measure, group, self.reference) for measure in (RATE, EVENT_AMONG_YES))
        bars = {1: f"a lower bar for {group}", -1: f"a higher bar for {group}", 0: "no conclusion"}
        # A yes that inspects is meant to find the event; one that accepts is meant to avoid it.
        worse = -_sign(harm) if self.vocabulary.means == INSPECT else _sign(harm)
        plain, robust = bars[worse], bars[worse if _sign(rate) == worse else 0]
        pair = f"{who.capitalize()}, {group} minus {self.reference}"
        return (
            f"{pair}, outcome test: {self.words(EVENT_AMONG_YES)} {_figures(harm)}: {plain}; robust form: "
            f"{robust}."
        )

    def plot(self, ax: Any = None) -> Any:
        """Draw bounds and intervals of the gaps; return the matplotlib axes."""
        labels, shown = [], []
        for each in self.estimates:
            found = each.evaluation
            if found.reference is not None and found.defined:
                pair = f"{found.subgroup} minus {found.reference}"
                labels.append(f"{each.who}, {pair}: {self.words(each.measure)}")
                shown.append(found)
        return display.plot_intervals(shown, ax, labels)


def _sign(gap: Evaluation) -> int:
    """1 or -1 if the interval excludes zero, else 0."""
    return int(gap.ci_lower > 0.0) - int(gap.ci_upper < 0.0)


def _figures(gap: Evaluation) -> str:
    if np.isnan(gap.ci_lower):
        return f"{display.bounds_text(gap)} (no interval)"
    level = f"{gap.confidence_level:.0%} interval"
    return f"{display.bounds_text(gap)} ({level} {gap.ci_lower:.3f} to {gap.ci_upper:.3f})"


def disparity_request(
    fitted: FittedRows,
    request: EvaluationRequest,
    question: DisparityQuestion,
    interval: str,
    confidence_level: float,
) -> Disparity:
    """Bound the gaps between groups; input errors come before any fit."""
    data = fitted.table
    require_two_classes(data.classes)
    if data.panels is not None:
        raise InputError.about("share_labels", "is not possible with disparity: give one row for each case.")
    masks = read_subgroups(read_column(question.by, "by", data), len(data))
    if len(masks) < 2:
        raise InputError.about("by", f"is {next(iter(masks))!r} in every case: there is no gap.")
    reference = _reference(question.reference, masks, data.weights)
    event = class_code(request.pos_label, data.classes)
    ways, risk, checked = _ways(fitted, question, event)
    chosen = the_only(
        chosen_assumptions(request.assumption, fitted.has_instrument),
        "assumption",
        "disparity takes one assumption.",
    )
    sample = fitted.scored(request)
    doubts = fitted.doubts(data, [chosen], [*checked, ("by", masks)])
    sample = with_doubts(sample, doubts)
    if not sample.has_scores(chosen.name):
        raise InputError(
            f"assumption {chosen.name!r} bounds one event alone; disparity needs one that bounds all "
            "classes, such as 'instrument'.",
            "assumption",
        )
    if risk is None:  # without a score, the middle of each case's bounds
        bounds = sample.repeats[0][chosen.name].bounds
        risk = (bounds.lower + bounds.upper)[:, event] / 2.0
    asked = _Asked(sample, chosen.name, masks, reference, interval, confidence_level)
    estimates = [each for who, rates in ways.items() for each in asked.estimates(who, rates, risk)]
    names = data.classes.tolist()
    return Disparity(
        estimates=tuple(estimates),
        groups=tuple(masks),
        reference=reference,
        pos_label=names[event],
        vocabulary=data.vocabulary,
        few=tuple(_few(masks)),
    )


def _reference(given: Any, masks: Mapping[Any, np.ndarray], weights: Array) -> Any:
    """The group that the others are compared with: the one given, or the largest."""
    if given is None:
        return max(masks, key=lambda each: float(weights[masks[each]].sum()))
    if given not in masks:
        known = ", ".join(map(repr, masks))
        raise InputError.about("reference", f"is {given!r}, no group; groups are {known}.")
    return given


def _few(masks: Mapping[Any, np.ndarray]) -> list[str]:
    sizes = {group: int(rows.sum()) for group, rows in masks.items()}
    small = [f"{group} ({size})" for group, size in sizes.items() if size < FEW_CASES]
    if not small:
        return []
    if len(small) > MOST_NAMED:
        small = [*small[:MOST_NAMED], f"{len(small) - MOST_NAMED:,} others"]
    return [
        f"Few cases in {', '.join(small)}: their intervals are wide and rough; merge small groups where that "
        "makes sense."
    ]


def _ways(
    fitted: FittedRows, question: DisparityQuestion, event: int
) -> tuple[dict[str, YesRates], Array | None, list[tuple[str, Checked]]]:
    """Ways to decide, the risk by the score, and what must not depend on who decides."""
    data, decision = fitted.table, fitted.table.row_decision.astype(float)
    refuse_pending(data, "disparity")
    zeros, ones = np.zeros(len(data)), np.ones(len(data))
    how = decision, data.y, event, len(data.classes)
    ways = {HUMAN: YesRates(zeros, ones, *how)}
    if question.score is None:
        if question.threshold is not None:
            raise InputError.about("threshold", "needs score=.")
        return ways, None, []
    actions = checked_policy_actions(Policy(question.score, threshold=question.threshold), data, event)
    below, _ = actions.share_below(decision, data.weights)
    ways |= {SCORE: YesRates(below, zeros, *how), BOTH: YesRates(zeros, below, *how)}
    return ways, actions.risk, [(SCORE, read_predictions(question.score, data, SCORE))]


@dataclass(frozen=True, eq=False)
class _Asked:
    """What is needed to put numbers on one way to decide."""

    sample: ScoredSample
    assumption: str
    masks: Mapping[Any, np.ndarray]
    reference: Any
    interval: str
    confidence_level: float

    def estimates(self, who: str, rates: YesRates, risk: Array) -> list[DisparityEstimate]:
        """Levels and gaps of every measure."""
        functionals = {
            RATE: rates.rate(),
            GIVEN_EVENT: rates.given(True),
            GIVEN_OTHER: rates.given(False),
            EVENT_AMONG_YES: rates.event_among_yes(),
        }
        others = [each for each in self.masks if each != self.reference]
        pairs = [(each, self.reference) for each in others]
        levels, gaps = [], []
        for measure in LEVELS:
            how = f"{measure}, {who}", self.assumption, self.interval, self.confidence_level, (0.0, 1.0)
            found = by_subgroup(self.sample, functionals[measure], *how, self.masks, pairs)
            levels += [DisparityEstimate(who, measure, each) for each in found[0]]
            gaps += [DisparityEstimate(who, measure, each) for each in found[1]]
        if rates.observed:
            gaps += [self._gap(who, WEIGHTED, each, rates, risk) for each in others]
            gaps += [self._gap(who, AT_RISK, each, rates, risk) for each in others]
        return levels + gaps

    def _gap(self, who: str, measure: str, group: Any, rates: YesRates, risk: Array) -> DisparityEstimate:
        first = self.masks[group]
        weighted = measure == WEIGHTED
        functional = rates.outcome_weighted(first) if weighted else rates.risk_adjusted(first, risk)
        found = judged(
            self.sample,
            functional,
            f"{measure}, {who}",
            self.assumption,
            (-1.0, 1.0),
            self.confidence_level,
            self.interval,
            rows=first | self.masks[self.reference],
            subgroup=group,
        )
        return DisparityEstimate(who, measure, replace(found, reference=self.reference))
