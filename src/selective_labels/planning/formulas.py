"""How width depends on cases, decision-makers and lotteries: formulas, numbers in and out."""

from dataclasses import replace

import numpy as np
from scipy.integrate import quad
from scipy.special import expit, log_ndtr, logit, ndtri

from selective_labels.evaluation.design import Design
from selective_labels.inference.reported import Basis, Reported, report

# Above this many, decision-makers are pooled in 2 √J bands before they are compared.
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
    """Acceptance rate of the most lenient of J whose log odds of accepting are normal.

    σ(logit(mean) + spread / (mean (1 - mean)) · E[max of J standard normals])

    A rate itself is not normal: the most lenient of 25 who accept 80 % on average would accept more than all.

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
    """Ends and interval with `factor` times the cases, and the width of the bounds times `slack`.

    Errors fall with the square root of the number of cases; ends stay where they are, or move to their middle
    by as much as the slack shrinks.
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
    """Standard error of a mean once `number` refused cases were accepted by lot and their labels seen.

    s² = [a E_A(c - θ)² + (1 - a) w E_R(c - θ)²] / n,   w = n_R / m the weight of a case that was drawn

    with A the accepted, R the refused and θ = a E_A c + (1 - a) E_R c: the error of the mean with weights one
    for the accepted and n_R / m for the drawn. Nothing is left to bound: the draw replaces the assumption.
    With `relevant_only` the draw is among the refused whose label matters; the others count zero.
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
    """Width of the interval after a lottery: 2 z s."""
    return float(2.0 * ndtri((1.0 + level) / 2.0) * lottery_error(design, number, relevant_only))


def arms(number: int) -> float:
    """Decision-makers, or bands of them, that are compared."""
    return float(number) if number <= MOST_ARMS else float(max(MOST_ARMS, 2.0 * np.sqrt(number)))


def study_width(
    cases: float, makers: int, mean: float, spread: float, disagreement: float | None, level: float
) -> tuple[float, float]:
    """Width of bounds and of interval in a study yet to be made; conservative in its error.

    slack = 1 - largest leniency; bounds of a share are as wide as the slack, of a difference twice the slack
    times the share of cases on which the two differ. An end is a mean of labels over the cases of one arm in
    J, so its variance is J/4 over n at most, and J q over n for a difference.
    """
    slack = 1.0 - largest_leniency(mean, spread, makers)
    width = slack if disagreement is None else 2.0 * slack * disagreement
    variance = arms(makers) * (0.25 if disagreement is None else disagreement) / cases
    return width, width + 2.0 * float(ndtri(level)) * float(np.sqrt(variance))
