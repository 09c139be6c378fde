"""Policy curves: bounds on the outcomes of accepting by a score, at every acceptance rate."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from textwrap import fill
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike

from selective_labels._display import Described, digits, new_axes
from selective_labels._errors import InputError
from selective_labels._validation import require_choice, the_only
from selective_labels._vocabulary import INSPECT
from selective_labels.assumptions.base import Assumption
from selective_labels.assumptions.combination import Combination
from selective_labels.assumptions.instrument import EventTilt
from selective_labels.assumptions.refused import Prevalence
from selective_labels.data.selective_labels import class_code
from selective_labels.evaluation.display import (
    ENDS,
    assumption_text,
    bounds_text,
    caution_lines,
    frame_along,
    interval_text,
    money_a_year,
    sample_text,
)
from selective_labels.evaluation.fitted_table import FittedTable
from selective_labels.evaluation.metrics import default_thresholds
from selective_labels.evaluation.policy import (
    ACCEPTANCE,
    BOTH,
    COST,
    EITHER,
    MEASURES_OF,
    WORDS,
    AnyPolicySample,
    MeasureNames,
    Policy,
    PolicyActions,
    PolicyMeasure,
    read_policy_measures,
    team_words,
)
from selective_labels.evaluation.policy_value import CutOffs, PolicyValue, choose_cut_off
from selective_labels.evaluation.predictions import EvaluationRequest
from selective_labels.evaluation.results import Evaluation, judged
from selective_labels.evaluation.simultaneous import coverage_text, simultaneous_intervals
from selective_labels.identification.bounds import Array
from selective_labels.inference.exact_intervals import clopper_pearson

SCORE = "score"
# Increase in the acceptance rate that the printed text reports.
STEP = 0.1
KNOWN_RULE = {SCORE: None}
# Number of measures whose bounds and intervals fit into 100 columns.
MEASURES_SIDE_BY_SIDE = 4


@dataclass(frozen=True, eq=False, kw_only=True)
class PolicyCurve(Described):
    """Outcomes of accepting by one score at many acceptance rates, and of the human's decisions.

    Attributes
    ----------
    rule : "score", "both" or "either"
        Who decides: see :func:`selective_labels.policy_curve`.
    pos_label : class label
        The failure.
    rates : (n_points,) array
        Shares of cases that are accepted (or inspected) by the score, ascending.
    evaluations : dict of tuple of Evaluation
        By measure, one for each rate: "acceptance", "failures" (among all cases), "failure_rate" (among
        accepted cases), "avoided", "good_lost"; where a yes inspects "acceptance" (the inspection rate),
        "missed", "hit_rate", "found" and "in_vain"; with costs also "cost" and "profit".
    human : dict of Evaluation
        The same measures for the observed decisions.
    decision_makers : DataFrame
        Observed outcomes of every decision-maker.
    cut_offs : CutOffs or None
        With costs: the recommended thresholds, and those that could still be best.
    simultaneous : bool
        Whether the intervals of a measure hold at all rates at once, also at one that is chosen.

    Examples
    --------
    >>> import selective_labels as sl
    >>> sample = sl.datasets.make_decision_makers(600, n_classes=2, random_state=0)
    >>> data = sl.SelectiveLabels.from_arrays(sample.X, sample.y, decision_maker=sample.decision_maker)
    >>> curve = sl.policy_curve(-sample.X[:, 0], data, rates=[0.3, 0.6], nuisance="logistic", random_state=0)
    >>> few, many = curve.evaluations["failures"]
    >>> bool(few.lower <= many.lower), curve.cut_offs is None
    (True, True)
    """

    lines_each = 2

    rule: str
    pos_label: Any
    rates: np.ndarray
    evaluations: Mapping[str, Sequence[Evaluation]]
    human: Mapping[str, Evaluation]
    decision_makers: pd.DataFrame
    cut_offs: CutOffs | None
    policy_sample: AnyPolicySample = field(repr=False)
    scores: Any = field(repr=False)
    policy_measures: Mapping[str, PolicyMeasure] = field(repr=False)
    simultaneous: bool = False

    @property
    def title(self) -> str:  # type: ignore[override]
        """Title with the failure and the rule."""
        return f"Accepting by a score of {self.pos_label!r}: {self._words}"

    @property
    def assumption(self) -> str:
        """Name of the assumption."""
        return self.human[ACCEPTANCE].assumption

    @property
    def confidence_level(self) -> float:
        """Confidence level of every interval."""
        return self.human[ACCEPTANCE].confidence_level

    def __len__(self) -> int:
        return len(self.rates)

    def to_frame(self) -> pd.DataFrame:
        """Return a frame with one row per rate: bounds and interval of every measure."""
        return frame_along("rate", self.rates, self.evaluations)

    def printed_frame(self) -> pd.DataFrame:
        """Return bounds of every measure at every rate as text, with the interval in brackets below."""
        columns = {"rate": [text for rate in self.rates for text in (f"{rate:.3g}", "")]}
        for name, results in self.evaluations.items():
            if name != ACCEPTANCE or self.rule != SCORE:
                columns[name] = [
                    text for each in results for text in (bounds_text(each), interval_text(each))
                ]
        return pd.DataFrame(columns)

    def printed_parts(self) -> list[pd.DataFrame]:
        """Split the printed table into tables with a few measures each."""
        frame = self.printed_frame()
        names = [str(name) for name in frame.columns[1:]]
        return [
            frame[["rate", *names[start : start + MEASURES_SIDE_BY_SIDE]]]
            for start in range(0, len(names), MEASURES_SIDE_BY_SIDE)
        ]

    def difference(self, start: float | str, stop: float, measure: str | None = None) -> Evaluation:
        """Bound the difference of a measure between two rates, or between a rate and the human.

        E[(d_stop(X) - d_start(X)) η_failure(X)] for failures: only cases between the thresholds matter.

        Parameters
        ----------
        start : float, or "human"
            A rate, or "human" for the observed decisions.
        stop : float
            Another rate.
        measure : str, optional
            Default: "failures", or "missed" where a yes inspects.

        Returns
        -------
        Evaluation
            Measure at `stop` minus measure at `start`.
        """
        measure = self.names.main if measure is None else measure
        require_choice("measure", measure, tuple(self.policy_measures))
        first = self._course(stop)
        second = (
            PolicyActions.human(len(self.policy_sample.cases))
            if start == "human"
            else self._course(float(start))
        )
        policy_measure = self.policy_measures[measure]
        functional = PolicyValue.of(policy_measure, self.policy_sample.cases, (1.0, first), (-1.0, second))
        limits = functional.limits
        if self.rule == SCORE and start != "human" and not policy_measure.per_accepted:
            change = (float(stop) - float(start)) * (policy_measure.accepted - policy_measure.refused)
            limits = float(min(change)), float(max(change))
        name = f"{measure} at {_rate(stop)} minus at {_rate(start)}"
        return judged(
            self.policy_sample.sample, functional, name, self.assumption, limits, self.confidence_level
        )

    def against_human(self, measure: str | None = None) -> Evaluation:
        """Bound the difference of a measure between the score and the human at the human's acceptance rate.

        The acceptance rate is estimated, and the interval accounts for this.
        """
        measure = self.names.main if measure is None else measure
        cases, actions = self.policy_sample.cases, self.policy_sample.actions(self._policy(None))
        functional = PolicyValue.of(
            self.policy_measures[measure], cases, (1.0, actions), (-1.0, PolicyActions.human(len(cases)))
        )
        name = f"{measure} at the human's rate minus the human's"
        return judged(
            self.policy_sample.sample,
            functional,
            name,
            self.assumption,
            functional.limits,
            self.confidence_level,
        )

    def money_a_year(self, cases_per_year: float, name: str = "the score") -> str:
        """Say what the recommended cut-off would cost or save in a year, compared with today.

        The cut-off is the one with the smallest worst-case regret, and the range is the confidence interval
        of the difference of its mean cost from that of the observed decisions.

        Parameters
        ----------
        cases_per_year : float
        name : str
            Name of the score.
        """
        if self.cut_offs is None:
            raise InputError("money a year needs costs, and the rule 'score': give cost=.", "cost")
        place = self.cut_offs.minimax_regret
        change = self.difference("human", float(self.cut_offs.acceptance[place]), COST)
        what = self.cut_offs.constant(place)
        doing = f"Following {name} at {digits(self.cut_offs.thresholds[place])}"
        doing = doing if what is None else f"To {what}"
        return money_a_year(doing, (change.ci_lower, change.ci_upper), cases_per_year)

    def sentences(self) -> list[str]:
        """Describe the rule, the effect of accepting more cases, the assumption and the sample."""
        human = self.human[self.names.main]
        side = "from the cut-off on" if self.decision_means == INSPECT else "below the cut-off"
        return [
            *caution_lines(human.sample),
            f"rate: share of cases with a score {side}; {self._words}.",
            *(f"{name}: {WORDS[name]}." for name in self.evaluations),
            *self.answers(),
            assumption_text(self.assumption, human.sample.sentence),
            "What the human accepted, and how often the event happened there, needs no assumption.",
            f"Sample: {sample_text(human.sample)} Intervals are in brackets below the bounds. "
            f"{coverage_text(human, self.simultaneous, 'rate')}",
        ]

    def answers(self) -> list[str]:
        """Describe what the human did, the effect of accepting more cases, and the recommended cut-offs."""
        cut_offs = [] if self.cut_offs is None else self.cut_offs.sentences()
        return [self._human_sentence(), *self._step_sentences(), *cut_offs]

    def plot(self, measure: str | None = None, ax: Any = None) -> Any:
        """Draw one measure against the acceptance rate, with the human and the decision-makers.

        Returns
        -------
        matplotlib Axes
        """
        measure = self.names.main if measure is None else measure
        require_choice("measure", measure, tuple(self.evaluations))
        ax = new_axes() if ax is None else ax
        frame = self.to_frame()
        x = frame[f"{ACCEPTANCE}_lower"]
        low, high, ci_low, ci_high = (frame[f"{measure}_{end}"] for end in ENDS)
        ax.fill_between(x, ci_low, ci_high, color="C0", alpha=0.15, linewidth=0, label="interval")
        ax.fill_between(x, low, high, color="C0", alpha=0.45, linewidth=0, label="bounds")
        point = self.human[measure]
        at = self.human[ACCEPTANCE].lower
        ax.vlines(at, point.lower, point.upper, color="C3", linewidth=2)
        ax.plot([at, at], [point.lower, point.upper], "o", color="C3", label="human")
        if measure in self.decision_makers:
            makers = self.decision_makers
            ax.plot(makers["acceptance"], makers[measure], ".", color="0.4", label="decision-makers")
        ax.set(xlabel="share accepted", ylabel=fill(WORDS[measure], 40))
        ax.legend(fontsize="small")
        return ax

    @property
    def _words(self) -> str:
        return team_words(KNOWN_RULE.get(self.rule, self.rule), self.decision_means)

    @property
    def decision_means(self) -> str:
        """What a yes means, "accept" or "inspect"."""
        return self.policy_sample.cases.decision_means

    @property
    def names(self) -> MeasureNames:
        """Names of the measures, which depend on what a yes means."""
        return MEASURES_OF[self.decision_means]

    def _policy(self, rate: float | None) -> Policy:
        return Policy(self.scores, rate, with_human=KNOWN_RULE.get(self.rule, self.rule))

    def _course(self, rate: float) -> PolicyActions:
        return self.policy_sample.actions(self._policy(_as_now(float(rate), self.policy_sample)))

    def _human_sentence(self) -> str:
        wanted = (ACCEPTANCE, self.names.seen, self.names.rate)
        accepted, happened, rate = (self.human[name] for name in wanted)
        return (
            f"The human accepted {accepted.lower:.1%} of the cases; {happened.lower:.1%} of all cases were "
            f"accepted and had the event, {rate.lower:.1%} of the accepted."
        )

    def _step_sentences(self) -> list[str]:
        """Describe the effect of accepting another tenth of the cases by the score alone."""
        today = round(self.human[ACCEPTANCE].lower, 2)
        if self.rule != SCORE or not 0.0 < today <= 1.0 - STEP:
            return []
        more = self.difference(today, today + STEP, self.names.seen)
        if not more.defined:
            return []
        counted = "events found" if self.decision_means == INSPECT else "failures"
        return [
            f"Accept {STEP:.0%} more of the cases ({today:.0%} to {today + STEP:.0%}, by the score): between "
            f"{100 * more.lower:.1f} and {100 * more.upper:.1f} more {counted} in 100 cases "
            f"({self.confidence_level:.0%} interval {100 * more.ci_lower:.1f} to {100 * more.ci_upper:.1f})."
        ]


def _rate(value: float | str) -> str:
    return "the human's" if isinstance(value, str) else f"{float(value):.4g}"


N_RATES = 41
RULES = ("score", BOTH, EITHER)


SAME_RATE = 1e-12


def policy_curve_request(
    fitted: FittedTable,
    request: EvaluationRequest,
    rates: ArrayLike | None,
    rule: str,
    confidence_level: float,
    bands: bool = False,
) -> PolicyCurve:
    """Compute the policy curve of a request; input errors are raised before anything is fitted."""
    (scores,), assumption = request.given, request.assumption
    shares = read_rates(rates)
    _check_rule(rule)
    classes = fitted.classes_with([scores])
    if len(classes) > 1:
        event = class_code(request.pos_label, classes)
        read_policy_measures(None, classes, event, request.cost, fitted.table.decision_means)
    for each in (assumption,) if isinstance(assumption, str | Assumption) else assumption:
        _refuse_shares(each)
    policy = Policy(scores)
    policy_sample = fitted.policy_sample(replace(request, given=(policy,)), {"scores": policy})
    assumed = the_only(policy_sample.sample.assumptions, "assumption", "policy_curve takes one assumption.")
    how = assumed, shares, rule, request.cost, confidence_level, bands
    return policy_curve_of(policy_sample, scores, *how)


def _refuse_shares(assumption: str | Assumption) -> None:
    parts = assumption.parts if isinstance(assumption, Combination) else (assumption,)
    if any(part == EventTilt().name or isinstance(part, EventTilt | Prevalence) for part in parts):
        name = assumption if isinstance(assumption, str) else assumption.name
        raise InputError(
            f"policy_curve does not know the assumption {name!r}: rates among the accepted are not worked "
            "out for known shares and tilts; compare single policies instead.",
            "assumption",
        )


def _as_now(share: float, policy_sample: AnyPolicySample) -> float | None:
    """The rate; None at the rate of the human, which is estimated, as in every other question about today."""
    today = np.average(policy_sample.cases.row_decision, weights=policy_sample.sample.weights)
    return None if abs(share - today) < SAME_RATE else share


def policy_curve_of(
    policy_sample: AnyPolicySample,
    scores: Any,
    assumption: str,
    rates: Array,
    rule: str = "score",
    cost: ArrayLike | None = None,
    confidence_level: float = 0.95,
    bands: bool = False,
) -> PolicyCurve:
    """Compute the curve on rows, or cells of rows, that are already scored."""
    _check_rule(rule)
    cases, sample = policy_sample.cases, policy_sample.sample
    means = cases.decision_means
    policy_measures = read_policy_measures(None, cases.classes, policy_sample.failure, cost, means)
    team = None if rule == RULES[0] else rule
    policy_actions = [
        policy_sample.actions(Policy(scores, _as_now(share, policy_sample), with_human=team))
        for share in rates.tolist()
    ]
    human = PolicyActions.human(len(cases))

    def values(policy_measure: PolicyMeasure, several: Sequence[PolicyActions]) -> tuple[Evaluation, ...]:
        functionals = [PolicyValue.of(policy_measure, cases, (1.0, each)) for each in several]
        found = [
            judged(sample, each, policy_measure.name, assumption, each.limits, confidence_level)
            for each in functionals
        ]
        if bands and len(several) > 1:
            return simultaneous_intervals(sample, assumption, functionals, found)
        return tuple(found)

    cut_offs = None
    if cost is not None and team is None:
        risk = policy_actions[0].risk
        # The lowest threshold accepts nobody, the highest everybody.
        thresholds = default_thresholds(risk, weights=sample.weights)
        if policy_actions[0].between is not None:  # the value of such a bin lies just below the next edge
            inside = np.isin(thresholds, risk[policy_actions[0].between])
            thresholds = np.unique(np.where(inside, np.nextafter(thresholds, np.inf), thresholds))
        by_name = {policy_measure.name: policy_measure for policy_measure in policy_measures}
        cut_offs = choose_cut_off(sample, risk, by_name[COST], assumption, thresholds, confidence_level)
        if means == INSPECT:  # the order of acting is minus the score
            lowest = _lowest_above(-cut_offs.thresholds, -risk)
            cut_offs = replace(cut_offs, thresholds=lowest, decision_means=means)
    return PolicyCurve(
        rule=rule,
        pos_label=cases.classes.tolist()[policy_sample.failure],
        rates=rates,
        evaluations={
            policy_measure.name: values(policy_measure, policy_actions) for policy_measure in policy_measures
        },
        human={policy_measure.name: values(policy_measure, [human])[0] for policy_measure in policy_measures},
        decision_makers=decision_maker_points(policy_sample, confidence_level),
        cut_offs=cut_offs,
        policy_sample=policy_sample,
        scores=scores,
        policy_measures={policy_measure.name: policy_measure for policy_measure in policy_measures},
        simultaneous=bands,
    )


def _lowest_above(thresholds: Array, scores: Array) -> Array:
    """The smallest score above each threshold, which says the same as "from here on".

    Examples
    --------
    >>> _lowest_above(np.array([5.0, 2.0, 1.0, -0.1]), np.array([0.0, 2.0, 5.0, 2.0])).round(3)
    array([5., 5., 2., 0.])
    """
    values = np.unique(scores)
    return np.append(values, np.nextafter(values[-1], np.inf))[np.searchsorted(values, thresholds, "right")]


def decision_maker_points(policy_sample: AnyPolicySample, confidence_level: float = 0.95) -> pd.DataFrame:
    """Acceptance rate, and share of the event among all and among accepted cases, by decision-maker.

    These shares are observed. Their intervals are those of Clopper and Pearson, with Kish's effective number
    of cases if weights differ. Decision-makers are comparable if cases are assigned at random. If outcomes
    are pending, the failure rate is that of the others, and failures per case are its product with the
    acceptance rate.
    """
    seen = policy_sample.deciders
    n_makers, failed = len(seen.makers), seen.outcome == policy_sample.failure + 1
    tail = (1.0 - confidence_level) / 2.0

    def total(values: Array) -> Array:
        return np.bincount(seen.codes, values, minlength=n_makers).astype(float)

    everybody, accepted = np.ones(len(seen.codes), dtype=bool), seen.outcome > 0
    labeled = accepted & (seen.outcome <= len(policy_sample.cases.classes))
    columns = {"decision_maker": seen.makers, "cases": total(seen.rows).astype(int)}
    names = MEASURES_OF[policy_sample.cases.decision_means]
    for name, above, below in (
        (ACCEPTANCE, accepted, everybody),
        (names.seen, failed, everybody),
        (names.rate, failed, labeled),
    ):
        size, squares = total(seen.weights * below), total(seen.squares * below)
        share = np.divide(total(seen.weights * above), size, out=np.full(n_makers, np.nan), where=size > 0.0)
        number = np.divide(size**2, squares, out=np.zeros(n_makers), where=squares > 0.0)
        columns[name] = share
        columns[f"{name}_ci_lower"], columns[f"{name}_ci_upper"] = clopper_pearson(
            share * number, number, (tail, tail)
        )
    if labeled.sum() < accepted.sum():
        for end in ("", "_ci_lower", "_ci_upper"):
            columns[f"{names.seen}{end}"] = columns[f"{ACCEPTANCE}{end}"] * columns[f"{names.rate}{end}"]
    return pd.DataFrame(columns)


def read_rates(rates: ArrayLike | None) -> Array:
    """Return sorted acceptance rates; the default grid if none are given."""
    if rates is None:
        return np.linspace(0.0, 1.0, N_RATES)
    try:
        values = np.unique(np.atleast_1d(np.asarray(rates, dtype=float)))
    except (TypeError, ValueError):
        raise InputError.about("rates", "must be numbers between 0 and 1.") from None
    if not len(values) or not ((values >= 0.0) & (values <= 1.0)).all():
        raise InputError.about("rates", "must be numbers between 0 and 1, one or more.")
    return values


def _check_rule(rule: Any) -> None:
    if not isinstance(rule, str) or rule not in RULES:
        raise InputError(f"rule={rule!r} is not one of {', '.join(map(repr, RULES))}.", "rule")
