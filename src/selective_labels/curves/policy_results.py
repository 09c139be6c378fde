"""A policy curve: what a score's policies lead to at every share of cases, beside the human."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pandas as pd

from selective_labels.evaluation.curves import ENDS, Described, frame_along
from selective_labels.evaluation.display import assumption_text, sample_text
from selective_labels.evaluation.estimated import judged
from selective_labels.evaluation.judged import Ground
from selective_labels.evaluation.results import Evaluation
from selective_labels.policies.courses import Course
from selective_labels.policies.cut_offs import CutOffs
from selective_labels.policies.policy import TEAM_WORDS, Policy
from selective_labels.policies.policy_value import PolicyValue
from selective_labels.policies.stakes import ACCEPTANCE, FAILURE_RATE, FAILURES, WORDS, Stake
from selective_labels.support.drawing import new_axes
from selective_labels.support.errors import require_choice

SCORE = "score"
# "Accept 10 % more": the step that the printed text answers.
STEP = 0.1
KNOWN_RULE = {SCORE: None}
# Bounds and intervals of so many measures fit a page of 100 columns.
MEASURES_SIDE_BY_SIDE = 4


@dataclass(frozen=True, eq=False, kw_only=True)
class PolicyCurve(Described):
    """Policies of one score at many shares of cases, the human's decisions beside them.

    Attributes
    ----------
    rule : "score", "both" or "either"
        Who has a say: see :func:`selective_labels.policy_curve`.
    pos_label : class label
        The failure.
    rates : (n_points,) array
        Shares of cases with a score below the cut-off, ascending.
    evaluations : dict of tuple of Evaluation
        By measure, one for each rate: "acceptance", "failures" (among all), "failure_rate" (among the
        accepted), "avoided", "good_lost"; with costs "cost" and "profit".
    human : dict of Evaluation
        The same measures of the decisions taken.
    decision_makers : DataFrame
        Every decision-maker's own point.
    cut_offs : CutOffs or None
        With costs: which cut-off to take, and which could still be best.

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
    ground: Ground = field(repr=False)
    scores: Any = field(repr=False)
    stakes: Mapping[str, Stake] = field(repr=False)

    @property
    def title(self) -> str:  # type: ignore[override]
        """Say what is accepted and what fails."""
        return f"Accepting by a score of {self.pos_label!r}: {self._words}"

    @property
    def assumption(self) -> str:
        """What the numbers assume."""
        return self.human[FAILURES].assumption

    @property
    def confidence_level(self) -> float:
        """Of every interval."""
        return self.human[FAILURES].confidence_level

    def __len__(self) -> int:
        return len(self.rates)

    def to_frame(self) -> pd.DataFrame:
        """One row per rate: ends and interval of every measure."""
        return frame_along("rate", self.rates, self.evaluations)

    def printed_frame(self) -> pd.DataFrame:
        """Bounds of every measure at every rate as text, in brackets below them the interval."""
        columns = {"rate": [text for rate in self.rates for text in (f"{rate:.3g}", "")]}
        for name, results in self.evaluations.items():
            if name != ACCEPTANCE or self.rule != SCORE:
                columns[name] = [
                    text for each in results for text in (_bounds_text(each), _interval_text(each))
                ]
        return pd.DataFrame(columns)

    def printed_parts(self) -> list[pd.DataFrame]:
        """A few measures in each table."""
        frame = self.printed_frame()
        names = [str(name) for name in frame.columns[1:]]
        return [
            frame[["rate", *names[start : start + MEASURES_SIDE_BY_SIDE]]]
            for start in range(0, len(names), MEASURES_SIDE_BY_SIDE)
        ]

    def difference(self, start: float | str, stop: float, measure: str = FAILURES) -> Evaluation:
        """Bound how much more of a measure one rate has than another, or than the human.

        E[(d_stop(X) - d_start(X)) η_failure(X)] for failures: only cases between the cut-offs count.

        Parameters
        ----------
        start : float, or "human"
            A rate; "human": the decisions taken.
        stop : float
            Another rate.
        measure : str

        Returns
        -------
        Evaluation
            Measure at `stop` minus measure at `start`.
        """
        require_choice("measure", measure, tuple(self.stakes))
        first = self._course(stop)
        second = Course.human(len(self.ground.cases)) if start == "human" else self._course(float(start))
        stake = self.stakes[measure]
        functional = PolicyValue.of(stake, self.ground.cases, (1.0, first), (-1.0, second))
        limits = functional.limits
        if self.rule == SCORE and start != "human" and not stake.per_accepted:
            change = (float(stop) - float(start)) * (stake.accepted - stake.refused)
            limits = float(min(change)), float(max(change))
        name = f"{measure} at {_rate(stop)} minus at {_rate(start)}"
        return judged(self.ground.sample, functional, name, self.assumption, limits, self.confidence_level)

    def against_human(self, measure: str = FAILURES) -> Evaluation:
        """Bound a measure of the score's policy that accepts as many as were accepted, minus the human's.

        The share accepted is estimated, and the interval knows it.
        """
        cases, course = self.ground.cases, self.ground.course(self._policy(None))
        functional = PolicyValue.of(
            self.stakes[measure], cases, (1.0, course), (-1.0, Course.human(len(cases)))
        )
        name = f"{measure} at the human's rate minus the human's"
        return judged(
            self.ground.sample, functional, name, self.assumption, functional.limits, self.confidence_level
        )

    def sentences(self) -> list[str]:
        """Say who decides, what accepting more leads to, what is assumed, and of which sample."""
        human = self.human[FAILURES]
        return [
            f"rate: share of cases with a score below the cut-off; {self._words}.",
            *(f"{name}: {WORDS[name]}." for name in self.evaluations),
            self._human_sentence(),
            *self._step_sentences(),
            *([] if self.cut_offs is None else self.cut_offs.sentences()),
            assumption_text(self.assumption, human.sample.sentence),
            "What the human accepted, and how often it failed, needs no assumption.",
            f"Sample: {sample_text(human.sample)} In brackets below the bounds stands the "
            f"{self.confidence_level:.0%} interval, which covers the value at one rate.",
        ]

    def plot(self, measure: str = FAILURES, ax: Any = None) -> Any:
        """Draw one measure against acceptance: band of bounds, intervals, the human and decision-makers.

        Returns
        -------
        matplotlib Axes
        """
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
        ax.set(xlabel="share accepted", ylabel=WORDS[measure])
        ax.legend(fontsize="small")
        return ax

    @property
    def _words(self) -> str:
        return TEAM_WORDS[KNOWN_RULE.get(self.rule, self.rule)]

    def _policy(self, rate: float | None) -> Policy:
        return Policy(self.scores, rate, with_human=KNOWN_RULE.get(self.rule, self.rule))

    def _course(self, rate: float) -> Course:
        return self.ground.course(self._policy(float(rate)))

    def _human_sentence(self) -> str:
        accepted, failed, rate = (self.human[name] for name in (ACCEPTANCE, FAILURES, FAILURE_RATE))
        return (
            f"The human accepted {accepted.lower:.1%} of the cases; {failed.lower:.1%} of all cases were "
            f"accepted and failed, {rate.lower:.1%} of the accepted."
        )

    def _step_sentences(self) -> list[str]:
        """Accepting a tenth of the cases more than today, by the score alone."""
        today = round(self.human[ACCEPTANCE].lower, 2)
        if self.rule != SCORE or not 0.0 < today <= 1.0 - STEP:
            return []
        more = self.difference(today, today + STEP)
        if not more.defined:
            return []
        return [
            f"Accept {STEP:.0%} more of the cases ({today:.0%} to {today + STEP:.0%}, by the score): between "
            f"{100 * more.lower:.1f} and {100 * more.upper:.1f} more failures in 100 cases "
            f"({self.confidence_level:.0%} interval {100 * more.ci_lower:.1f} to {100 * more.ci_upper:.1f})."
        ]


def _bounds_text(result: Evaluation) -> str:
    if not result.defined:
        return "none"
    low, high = f"{result.lower:.3f}", f"{result.upper:.3f}"
    return low if low == high else f"{low} to {high}"


def _interval_text(result: Evaluation) -> str:
    if not result.defined:
        return ""
    if np.isnan([result.ci_lower, result.ci_upper]).any():
        return "(no interval)"
    return f"({result.ci_lower:.3f} to {result.ci_upper:.3f})"


def _rate(value: float | str) -> str:
    return "the human's" if isinstance(value, str) else f"{float(value):.4g}"
