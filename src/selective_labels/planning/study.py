"""How many cases and decision-makers a study that is yet to be made needs."""

import numpy as np
import pandas as pd
from scipy.special import ndtri

from selective_labels.diagnostics import Diagnosis
from selective_labels.planning.formulas import study_width
from selective_labels.planning.from_diagnosis import acceptance_rates
from selective_labels.support.errors import InputError
from selective_labels.support.options import require_share

MAKERS = (2, 4, 8, 16, 32, 64)
MOST_CASES = 1e9


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
    """Cases that an interval of a wanted width needs, for several numbers of decision-makers.

    bounds = 1 - (acceptance + spread · E[max of J normals]);   interval = bounds + 2 z √(J / 4n)

    and, with `disagreement` q (two classifiers that differ on a share q of the cases), bounds of 2 q times
    the slack and a variance of J q / n. Errors are the largest possible, and people are taken to be as
    lenient as stated.

    With an `effect`, the true difference of the two, cases are those that reach a verdict with probability
    `power`: effect - q · slack, the nearer end if the truth is in the middle, must exceed zero by
    z_level + z_power errors.

    Parameters
    ----------
    diagnosis : Diagnosis, optional
        Of data that show how decision-makers differ: gives `acceptance` and `leniency_spread`.
    width : float
        Wanted width of the interval; or instead of it an effect.
    effect : float, optional
        Difference of two classifiers that is to be found, not negative; needs `disagreement`.
    power : float
        Probability of a verdict.
    acceptance, leniency_spread : float
        Mean and standard deviation of acceptance rates of decision-makers.
    disagreement : float, optional
    decision_makers : tuple of int
    confidence_level : float

    Returns
    -------
    DataFrame
        "decision_makers", "bounds" (their width), "cases" (NaN: no number is enough).

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
        bounds = study_width(MOST_CASES, *how)[0]
        one = (study_width(1.0, *how)[1] - bounds) / 2.0  # constant times the error of an end, with one case
        if effect is None:
            room = ((width or 0.0) - bounds) / 2.0
        else:
            room = effect - bounds / 2.0
            one *= 1.0 + float(ndtri(power)) / float(ndtri(confidence_level))
        cases = max(np.ceil((one / room) ** 2), 1.0) if room > 0.0 else np.nan
        rows.append({"decision_makers": number, "bounds": bounds, "cases": cases})
    return pd.DataFrame(rows)
