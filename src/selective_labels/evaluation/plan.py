"""Plans: the predicted width of an interval with more cases, other decision-makers, or random acceptance."""

from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import pandas as pd
from scipy.integrate import quad
from scipy.optimize import brentq
from scipy.special import expit, log_ndtr, logit, ndtri

from selective_labels._display import Described, digits
from selective_labels._errors import InputError
from selective_labels._validation import require_share
from selective_labels.diagnostics.results import Diagnosis
from selective_labels.evaluation.results import Comparison, Design, Estimated, Evaluation
from selective_labels.inference.confidence_intervals import Basis, Reported, report
from selective_labels.inference.standard_errors import ROUNDING

# With more decision-makers, these are pooled in 2 √J bands before they are compared.
MOST_ARMS = 20


def expected_maximum(number: int) -> float:
    """E[max of J standard normal variables] = ∫ x dΦ(x)^J.

    Examples
    --------
    >>> [round(expected_maximum(number), 3) for number in (1, 2, 8)]
    [0.0, 0.564, 1.424]
    """

    def tail(x: float) -> float:
        return float(-np.expm1(number * log_ndtr(x)) - np.exp(number * log_ndtr(-x)))

    return quad(tail, 0.0, 12.0)[0]


def largest_leniency(mean: float, spread: float, number: int) -> float:
    """Acceptance rate of the most lenient of J decision-makers whose log odds of accepting are normal.

    σ(logit(mean) + spread / (mean (1 - mean)) · E[max of J standard normals])

    A normal rate would exceed one: for instance, the largest of 25 with a mean of 80 %.

    Examples
    --------
    >>> round(largest_leniency(0.5, 0.1, 8), 3), round(largest_leniency(0.8, 0.15, 25), 3)
    (0.639, 0.962)
    """
    if not 0.0 < mean < 1.0:
        return float(mean)
    return float(expit(logit(mean) + spread / (mean * (1.0 - mean)) * expected_maximum(number)))


def after_more_cases(
    basis: Basis, factor: float, interval: str, level: float, slack: float = 1.0
) -> Reported:
    """Bounds and interval with `factor` times the cases, and the width of the bounds times `slack`.

    Standard errors fall with the square root of the number of cases. The bounds stay the same, or move
    towards their midpoint as the slack shrinks.
    """
    spread = basis.spread
    middle, half = (spread.lower + spread.upper) / 2.0, slack * (spread.upper - spread.lower) / 2.0
    scaled = replace(
        spread,
        lower=middle - half,
        upper=middle + half,
        errors=(spread.errors[0] / np.sqrt(factor), spread.errors[1] / np.sqrt(factor)),
        n_clusters=max(round(spread.n_clusters * factor), 1),
        n_units=spread.n_units * factor,
        effective=(spread.effective[0] * factor, spread.effective[1] * factor),
        counts=(None, None),
    )
    return report(scaled, interval, level, basis.limits)


def lottery_error(design: Design, number: float, relevant_only: bool = False) -> float:
    """Standard error of a mean after `number` refused cases are accepted at random and their labels observed.

    s² = [a E_A(c - θ)² + (1 - a) w E_R(c - θ)²] / n,   w = n_R / m the weight of a sampled case

    with A the accepted, R the refused and θ = a E_A c + (1 - a) E_R c: the error of the mean with weight one
    for accepted and n_R / m for sampled cases. The mean is then identified without an assumption. With
    `relevant_only`, cases are sampled among the refused whose label affects the mean; the others have
    contribution zero.
    """
    a = design.acceptance
    value = a * design.accepted_mean + (1.0 - a) * design.refused_mean
    accepted = design.accepted_square - 2.0 * value * design.accepted_mean + value**2
    share = (1.0 - a) * (design.relevant if relevant_only else 1.0)
    if share <= 0.0:
        return float(np.sqrt(a * accepted / design.n))
    mean, square = ((1.0 - a) / share * each for each in (design.refused_mean, design.refused_square))
    refused = square - 2.0 * value * mean + value**2
    weight = max(share * design.n / number, 1.0)
    rest = (1.0 - a - share) * value**2
    return float(np.sqrt((a * accepted + share * weight * refused + rest) / design.n))


def lottery_width(design: Design, number: float, level: float, relevant_only: bool = False) -> float:
    """Width of the interval after random acceptance: 2 z s."""
    return float(2.0 * ndtri((1.0 + level) / 2.0) * lottery_error(design, number, relevant_only))


def arms(number: int) -> float:
    """Number of decision-makers, or of bands of them, that are compared."""
    return float(number) if number <= MOST_ARMS else float(max(MOST_ARMS, 2.0 * np.sqrt(number)))


def study_width(
    cases: float, makers: int, mean: float, spread: float, disagreement: float | None, level: float
) -> tuple[float, float]:
    """Width of the bounds and of the interval in a future study, with a conservative standard error.

    slack = 1 - largest leniency. Bounds on a share are as wide as the slack. Bounds on a difference are twice
    as wide, times the share of cases on which the two differ. A bound is a mean of labels over the cases of
    one arm in J, so its variance is at most J / (4 n), and J q / n for a difference.
    """
    slack = 1.0 - largest_leniency(mean, spread, makers)
    width = slack if disagreement is None else 2.0 * slack * disagreement
    variance = arms(makers) * (0.25 if disagreement is None else disagreement) / cases
    return width, width + 2.0 * float(ndtri(level)) * float(np.sqrt(variance))


def acceptance_rates(diagnosis: Diagnosis) -> tuple[float, float]:
    """Mean and standard deviation of decision-makers' acceptance rates, net of sampling error."""
    rates, errors = diagnosis.figures.leniency, diagnosis.figures.leniency_error
    if rates is None or errors is None:
        raise InputError("this diagnosis knows no acceptance rates of decision-makers.", "diagnosis")
    known = np.isfinite(rates) & np.isfinite(errors)
    if known.sum() < 2:
        raise InputError("fewer than two decision-makers have an acceptance rate.", "diagnosis")
    spread = np.sqrt(max(np.var(rates[known], ddof=1) - np.mean(errors[known] ** 2), 0.0))
    return float(np.mean(rates)), float(spread)


def ways_from_diagnosis(
    diagnosis: Diagnosis, cases: float, decision_makers: float, leniency: float | None, width: float | None
) -> tuple[list[dict[str, Any]], list[str]]:
    """Predict widths for any classifier from acceptance rates, by the formulas of :func:`study_width`.

    Returns
    -------
    rows : list of dict
        As in :class:`Plan`.
    answers : list of str
    """
    mean, spread = acceptance_rates(diagnosis)
    n_samples, n_makers = diagnosis.n_samples, diagnosis.n_decision_makers
    now = largest_leniency(mean, spread, n_makers)

    def row(way: str, size: float = 1.0, makers: int = n_makers, slack: float = 1.0) -> dict[str, Any]:
        bounds, interval = study_width(size * n_samples, makers, mean, spread, None, 0.95)
        return {"way": way, "bounds": bounds * slack, "interval": interval - bounds * (1.0 - slack)}

    more = round(n_makers * decision_makers)
    rows = [
        row("as it is, expected"),
        row(f"{cases:g} times the cases", cases),
        row(f"{more} decision-makers", makers=more),
    ]
    if now < 1.0:
        wanted = 1.0 - (1.0 - now) / 2.0 if leniency is None else leniency
        way = f"some who accept {wanted:.0%} (now at most {now:.0%})"
        rows.append(row(way, slack=min((1.0 - wanted) / (1.0 - now), 1.0)))
    answers = []
    if width is not None:
        reached = [each["way"] for each in rows if each["interval"] <= width]
        answers.append(
            f"An interval of {width:g} or less is to be expected with: {', '.join(reached)}."
            if reached
            else f"None of these leads one to expect an interval as narrow as {width:g}."
        )
    return rows, answers


MOST_CASES = 1e6
# Share of refused cases that are accepted at random by default.
DEFAULT_SHARE = 0.1


@dataclass(frozen=True, eq=False, kw_only=True)
class Plan(Described):
    """Options to narrow an interval, with the predicted width of each.

    Attributes
    ----------
    result : Evaluation, Comparison or Diagnosis
        The result to improve.
    rows : list of dict
        One for each option: "way", "bounds" (width of the identified set), "interval" (width of the
        confidence interval).
    answers : list of str
        The number of cases that a target needs, and what more cases cannot achieve.
    worth : (n_samples,) array or None
        For a comparison: slack times disagreement of every refused case. Labels are worth most where it is
        largest: accept those cases at random.

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
        """Title with the name of the result."""
        if isinstance(self.result, Diagnosis):
            return "What would narrow an interval of accuracy (instrument), from the acceptance rates alone"
        return f"What would narrow the interval of {self.result.title} ({self.result.assumption})"

    def to_frame(self) -> pd.DataFrame:
        """Return a frame with one row per option."""
        return pd.DataFrame(self.rows)

    def sentences(self) -> list[str]:
        """Describe the assumptions of the predictions, and the requirements."""
        said = [
            *self.answers,
            "Predictions by formula: standard errors fall with the square root of the number of cases; "
            "bounds shrink with the smallest share that anybody refuses; new decision-makers are like those "
            "here. A lottery accepts refused cases at random: its draw replaces the assumption.",
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
    """Predict how the width of an interval changes with the design, and what a target needs.

    interval = (upper - lower) · slack' / slack + (c_L s_L + c_U s_U) / √factor

    Parameters
    ----------
    result : Evaluation, Comparison or Diagnosis
        As returned by `evaluate` and `compare`, for all cases. With a diagnosis, which needs no classifier,
        the widths are those that :func:`plan_study` predicts for any classifier.
    cases, decision_makers : float
        Multiples of the current numbers. Only `cases` changes the number of cases.
    leniency : float, optional
        Acceptance rate of a more lenient decision-maker. Default: the rate that halves the refusals of the
        most lenient one.
    lottery : int, optional
        Number of refused cases to accept at random. Default: a tenth of them.
    width : float, optional
        Target width of the interval.
    power : float
        Target probability of a verdict in a comparison.

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
    """Raise an error for impossible targets."""
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
    """Options that lower the refusal rate of the most lenient; only under the instrument."""
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
    ways.append(_predicted(result, f"some who accept {wanted:.0%} (now at most {now:.0%})", slack=factor))
    return ways


def _without_design(result: Estimated) -> list[str]:
    """Explain why random acceptance and other decision-makers are not among the options."""
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
    if design.relevant < 1.0 - ROUNDING:  # a share that is a sum over partitions
        best = min(drawn, round(design.relevant * refused))
        if best:
            way = f"{best:,} of the refused on which the two differ, accepted at random"
            ways.append(_row(way, 0.0, lottery_width(design, best, level, relevant_only=True)))
    return ways


def _for_width(result: Estimated, width: float | None) -> list[str]:
    """Number of cases, or of randomly accepted refused cases, for a target width."""
    if width is None:
        return []
    said = []
    if _widths(result, 1.0)[1] <= width:
        said.append(f"The interval is no wider than {width:g} as it is.")
    elif result.width >= width or _widths(result, MOST_CASES)[1] > width:
        said.append(
            f"No number of cases makes the interval as narrow as {width:g}: what the assumption leaves open "
            f"is {digits(result.width, 3)} wide."
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
    """Number of cases for a verdict, if the bounds exclude zero."""
    if not isinstance(result, Comparison) or result.verdict != "undecided" or result.basis is None:
        return []
    spread = result.basis.spread
    if result.lower <= 0.0 <= result.upper:
        return [
            "No number of cases settles it: the bounds themselves contain zero. A more lenient "
            "decision-maker would help, or labels of refused cases on which the two differ."
        ]
    nearest, error = (
        (result.lower, spread.errors[0]) if result.lower > 0.0 else (-result.upper, spread.errors[1])
    )
    factor = max(((ndtri(result.confidence_level) + ndtri(power)) * error / nearest) ** 2, 1.0)
    return [
        f"With {int(np.ceil(factor * result.n)):,} cases ({factor:.1f} times) there is a verdict with "
        f"probability {power:.0%}, if the bounds lie where they are estimated."
    ]


MAKERS = (2, 4, 8, 16, 32, 64)
MOST_STUDY_CASES = 1e9


def plan_study(
    diagnosis: Diagnosis | None = None,
    *,
    width: float | None = None,
    effect: float | None = None,
    power: float = 0.8,
    acceptance: float | None = None,
    leniency_spread: float | None = None,
    disagreement: float | None = None,
    decision_makers: tuple[int, ...] = MAKERS,
    confidence_level: float = 0.95,
) -> pd.DataFrame:
    """Number of cases for an interval of a target width, for several numbers of decision-makers.

    bounds = 1 - (acceptance + spread · E[max of J normals]);   interval = bounds + 2 z √(J / 4n)

    and, with `disagreement` q (two classifiers that differ on a share q of the cases), bounds of 2 q times
    the slack and a variance of J q / n. Standard errors are the largest possible, and decision-makers are
    assumed to be as lenient as stated.

    With an `effect`, the true difference of the two, the number of cases gives a verdict with probability
    `power`: effect - q · slack, the nearer bound if the truth is in the middle, must exceed zero by
    z_level + z_power standard errors.

    Parameters
    ----------
    diagnosis : Diagnosis, optional
        Diagnosis of data from similar decision-makers; it supplies `acceptance` and `leniency_spread`.
    width : float
        Target width of the interval; give either `width` or `effect`.
    effect : float, optional
        Difference of two classifiers to detect, positive; needs `disagreement`.
    power : float
        Probability of a verdict.
    acceptance, leniency_spread : float
        Mean and standard deviation of decision-makers' acceptance rates.
    disagreement : float, optional
    decision_makers : tuple of int
    confidence_level : float

    Returns
    -------
    DataFrame
        "decision_makers", "bounds" (their width), "cases" (NaN: no number suffices).

    Examples
    --------
    >>> plan_study(width=0.3, acceptance=0.6, leniency_spread=0.15, decision_makers=(4, 16)).round(2)
       decision_makers  bounds   cases
    0                4    0.26  6582.0
    1               16    0.18  3060.0
    """
    if diagnosis is not None:
        mean, spread = acceptance_rates(diagnosis)
        acceptance = mean if acceptance is None else acceptance
        leniency_spread = spread if leniency_spread is None else leniency_spread
    if acceptance is None or leniency_spread is None:
        raise InputError("give a diagnosis, or acceptance and leniency_spread.", "acceptance")
    if not 0.0 < acceptance <= 1.0 or leniency_spread < 0.0:
        raise InputError(
            "acceptance must lie between 0 and 1, leniency_spread must not be negative.", "acceptance"
        )
    if disagreement is not None and not 0.0 < disagreement <= 1.0:
        raise InputError.about("disagreement", f"is {disagreement!r}; it must lie between 0 and 1.")
    if (width is None) == (effect is None):
        raise InputError("give width or effect, one of them.", "width")
    if width is not None and not width > 0.0:
        raise InputError.about("width", f"is {width!r}; it must be positive.")
    if effect is not None and (disagreement is None or not 0.0 < effect <= disagreement):
        raise InputError("an effect is positive and needs disagreement, which it cannot exceed.", "effect")
    require_share("power", power)
    require_share("confidence_level", confidence_level, low=0.5)
    rows = []
    for number in decision_makers:
        how = number, acceptance, leniency_spread, disagreement, confidence_level
        bounds = study_width(MOST_STUDY_CASES, *how)[0]
        one = (study_width(1.0, *how)[1] - bounds) / 2.0  # critical value times the error with one case
        if effect is None:
            room = ((width or 0.0) - bounds) / 2.0
        else:
            room = effect - bounds / 2.0
            one *= 1.0 + float(ndtri(power)) / float(ndtri(confidence_level))
        cases = max(np.ceil((one / room) ** 2), 1.0) if room > 0.0 else np.nan
        rows.append({"decision_makers": number, "bounds": bounds, "cases": cases})
    return pd.DataFrame(rows)
