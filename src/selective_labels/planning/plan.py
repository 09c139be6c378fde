"""What would settle it? From a result: its width with more cases, other people, or a lottery."""

from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pandas as pd
from scipy.optimize import brentq
from scipy.special import ndtri

from selective_labels.diagnostics import Diagnosis
from selective_labels.evaluation import Comparison, Evaluation
from selective_labels.evaluation.curves import Described
from selective_labels.evaluation.results import Estimated
from selective_labels.planning.formulas import after_more_cases, largest_leniency, lottery_width
from selective_labels.planning.from_diagnosis import ways_from_diagnosis
from selective_labels.support.errors import InputError

MOST_CASES = 1e6
# A tenth of the refused: the lottery that is shown if none is asked for.
DEFAULT_SHARE = 0.1


@dataclass(frozen=True, eq=False, kw_only=True)
class Plan(Described):
    """Ways to a narrower interval, with the width that each is predicted to bring.

    Attributes
    ----------
    result : Evaluation, Comparison or Diagnosis
        What was to be settled.
    rows : list of dict
        One for each way: "way", "bounds" (width of what is not identified), "interval" (width of the
        confidence interval).
    answers : list of str
        How many cases a target needs, and what no number of cases can do.
    worth : (n_samples,) array or None
        Of a comparison: slack times disagreement of every refused case. Accept at random where it is largest.

    Examples
    --------
    >>> import selective_labels as sl
    >>> sample = sl.datasets.make_decision_makers(600, n_classes=2, random_state=0)
    >>> data = sl.SelectiveLabels.from_arrays(sample.X, sample.y, decision_maker=sample.decision_maker)
    >>> rule = (sample.X[:, 0] < 0).astype(int)
    >>> ways = sl.plan(sl.evaluate(rule, data, nuisance="logistic", random_state=0), cases=4)
    >>> ways.to_frame()["way"][1]
    '4 times the cases'
    """

    result: Estimated | Diagnosis
    rows: list[dict[str, Any]]
    answers: list[str]
    worth: np.ndarray | None = field(default=None, repr=False)

    @property
    def title(self) -> str:  # type: ignore[override]
        """Say what is planned for."""
        if isinstance(self.result, Diagnosis):
            return "What would narrow an interval of accuracy (instrument), from the acceptance rates alone"
        return f"What would narrow the interval of {self.result.title} ({self.result.assumption})"

    def to_frame(self) -> pd.DataFrame:
        """One row for each way."""
        return pd.DataFrame(self.rows)

    def sentences(self) -> list[str]:
        """Say what the predictions rest on, and what is needed."""
        said = [
            *self.answers,
            "Predictions by formula: errors fall with the root of the number of cases; bounds shrink as the "
            "share that the most lenient refuse; acceptance rates of people yet to come are like those here. "
            "A lottery accepts refused cases at random: its draw replaces the assumption.",
        ]
        if self.worth is not None and self.worth.any():
            said.append(
                "Which refused cases to accept: where slack times disagreement is largest (`worth`); "
                f"{np.mean(self.worth > 0):.0%} of all cases have any."
            )
        return said


def plan(
    result: Evaluation | Comparison | Diagnosis,
    *,
    cases: float = 2.0,
    decision_makers: float = 2.0,
    leniency: float | None = None,
    lottery: int | None = None,
    width: float | None = None,
    power: float = 0.8,
) -> Plan:
    """Predict how wide an interval gets, and what a target needs.

    interval = (upper - lower) · slack' / slack + (c_L s_L + c_U s_U) / √factor

    Parameters
    ----------
    result : Evaluation, Comparison or Diagnosis
        As `evaluate` and `compare` return them, of all cases. A diagnosis will do before there is anything
        to judge: widths are then those that :func:`plan_study` expects for any classifier.
    cases, decision_makers : float
        How many times as many, at the same number of cases for each way but the first.
    leniency : float, optional
        Acceptance rate of a more lenient decision-maker. Default: half as many refusals as the most lenient
        have now.
    lottery : int, optional
        Refused cases to accept at random. Default: a tenth of them.
    width : float, optional
        Wanted width of the interval.
    power : float
        Probability of a verdict that a comparison is to reach.

    Returns
    -------
    Plan

    Examples
    --------
    >>> import selective_labels as sl
    >>> sample = sl.datasets.make_decision_makers(1000, n_classes=2, random_state=0)
    >>> data = sl.SelectiveLabels.from_arrays(sample.X, sample.y, decision_maker=sample.decision_maker)
    >>> guess = (sample.X[:, 0] < 0).astype(int)
    >>> ways = plan(sl.evaluate(guess, data, nuisance="logistic", random_state=0)).to_frame()
    >>> bool(ways["interval"][1] < ways["interval"][0])
    True
    """
    if not isinstance(result, Evaluation | Comparison | Diagnosis):
        raise InputError(
            "plan takes one result of evaluate or compare, or a diagnosis; without data, plan_study says "
            "what a study needs.",
            "result",
        )
    check_wishes(cases, decision_makers, leniency, width, power)
    if isinstance(result, Diagnosis):
        rows, answers = ways_from_diagnosis(result, cases, decision_makers, leniency, width)
        return Plan(result=result, rows=rows, answers=answers)
    if result.basis is None or not np.isfinite(result.ci_lower):
        raise InputError(f"there is no interval to narrow: {result.reason}", "result")
    rows = [
        _row("as it is", result.width, result.ci_upper - result.ci_lower),
        _predicted(result, f"{cases:g} times the cases", factor=cases),
        *_other_people(result, decision_makers, leniency),
        *_lottery(result, lottery),
    ]
    answers = [*_without_design(result), *_for_width(result, width), *_for_power(result, power)]
    return Plan(result=result, rows=rows, answers=answers, worth=getattr(result, "worth", None))


def check_wishes(
    cases: float, decision_makers: float, leniency: float | None, width: float | None, power: float
) -> None:
    """Refuse numbers that no study has."""
    for name, value in (("cases", cases), ("decision_makers", decision_makers)):
        if not 1.0 <= value <= MOST_CASES:
            raise InputError(
                f"{name}={value!r} must lie between 1 and {MOST_CASES:,.0f}: how many times as many.", name
            )
    if leniency is not None and not 0.0 <= leniency <= 1.0:
        raise InputError.about("leniency", f"is {leniency!r}; an acceptance rate lies between 0 and 1.")
    if width is not None and not 0.0 < width < np.inf:
        raise InputError.about("width", f"is {width!r}; it must be positive.")
    if not 0.0 < power < 1.0:
        raise InputError.about("power", f"is {power!r}; it must lie between 0 and 1.")


def _row(way: str, bounds: float, interval: float) -> dict[str, Any]:
    return {"way": way, "bounds": float(bounds), "interval": float(interval)}


def _predicted(result: Estimated, way: str, factor: float = 1.0, slack: float = 1.0) -> dict[str, Any]:
    bounds, interval = _widths(result, factor, slack)
    return _row(way, bounds, interval)


def _widths(result: Estimated, factor: float, slack: float = 1.0) -> tuple[float, float]:
    assert result.basis is not None
    found = after_more_cases(result.basis, factor, result.interval, result.confidence_level, slack)
    return found.upper - found.lower, found.interval.upper - found.interval.lower


def _other_people(result: Estimated, more: float, leniency: float | None) -> list[dict[str, Any]]:
    """Ways that lower the share which the most lenient refuse; only where bounds rest on decision-makers."""
    design = result.design
    if design is None or result.assumption != "instrument" or design.n_decision_makers < 2:
        return []
    now = largest_leniency(design.leniency_mean, design.leniency_spread, design.n_decision_makers)
    if now >= 1.0:
        return []
    number = round(design.n_decision_makers * more)
    then = largest_leniency(design.leniency_mean, design.leniency_spread, number)
    wanted = 1.0 - (1.0 - now) / 2.0 if leniency is None else leniency
    ways = [_predicted(result, f"{number} decision-makers", slack=(1.0 - then) / (1.0 - now))]
    factor = min((1.0 - wanted) / (1.0 - now), 1.0)
    ways.append(
        _predicted(result, f"some who accept {wanted:.0%} (the most lenient now: {now:.0%})", slack=factor)
    )
    return ways


def _without_design(result: Estimated) -> list[str]:
    """Say why a lottery and other people are not among the ways, where they are not."""
    if result.design is not None:
        return []
    return [
        f"What a lottery, or other decision-makers, would bring to {result.title} is not predicted: there "
        "are formulas for means over all cases only. Plan for the share of the event, or for accuracy: their "
        "lottery is one for everything else too."
    ]


def _lottery(result: Estimated, number: int | None) -> list[dict[str, Any]]:
    design = result.design
    if design is None or design.acceptance >= 1.0:
        return []
    refused = (1.0 - design.acceptance) * design.n
    drawn = max(round(DEFAULT_SHARE * refused), 1) if number is None else number
    if not 1 <= drawn <= round(refused):
        raise InputError.about("lottery", f"is {drawn!r}; {refused:.0f} cases were refused.")
    level = result.confidence_level
    ways = [_row(f"{drawn:,} refused cases accepted at random", 0.0, lottery_width(design, drawn, level))]
    if design.relevant < 1.0:
        best = min(drawn, round(design.relevant * refused))
        if best:
            way = f"{best:,} of the refused on which the two differ, accepted at random"
            ways.append(_row(way, 0.0, lottery_width(design, best, level, relevant_only=True)))
    return ways


def _for_width(result: Estimated, width: float | None) -> list[str]:
    """Cases, or drawn refused cases, that a wanted width needs."""
    if width is None:
        return []
    said = []
    if _widths(result, 1.0)[1] <= width:
        said.append(f"The interval is no wider than {width:g} as it is.")
    elif result.width >= width or _widths(result, MOST_CASES)[1] > width:
        said.append(
            f"No number of cases makes the interval as narrow as {width:g}: what the assumption leaves open "
            f"is {result.width:.3g} wide."
        )
    else:
        factor = brentq(lambda each: _widths(result, each)[1] - width, 1.0, MOST_CASES, xtol=1e-3)
        said.append(
            f"An interval of {width:g} needs {int(np.ceil(factor * result.n)):,} cases ({factor:.1f} times)."
        )
    design = result.design
    if design is not None and design.acceptance < 1.0:
        refused = (1.0 - design.acceptance) * design.n
        level = result.confidence_level
        if lottery_width(design, refused, level) > width:
            said.append(f"Not even the labels of all {refused:,.0f} refused cases would make it so narrow.")
        elif lottery_width(design, 1.0, level) > width:
            number = brentq(lambda each: lottery_width(design, each, level) - width, 1.0, refused)
            said.append(f"Or {int(np.ceil(number)):,} refused cases accepted at random.")
    return said


def _for_power(result: Estimated, power: float) -> list[str]:
    """Cases that a verdict needs, if the bounds are on one side of zero."""
    if not isinstance(result, Comparison) or result.verdict != "undecided" or result.basis is None:
        return []
    spread = result.basis.spread
    if result.lower <= 0.0 <= result.upper:
        return [
            "No number of cases settles it: the bounds themselves contain zero. What helps is who accepts "
            "more, or labels of refused cases on which the two differ."
        ]
    nearest, error = (
        (result.lower, spread.errors[0]) if result.lower > 0.0 else (-result.upper, spread.errors[1])
    )
    factor = max(((ndtri(result.confidence_level) + ndtri(power)) * error / nearest) ** 2, 1.0)
    return [
        f"With {int(np.ceil(factor * result.n)):,} cases ({factor:.1f} times) there is a verdict with "
        f"probability {power:.0%}, if the bounds lie where they are estimated."
    ]
