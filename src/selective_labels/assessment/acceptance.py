"""What if we accepted more, or others? Every share of cases by each score, beside the decisions taken."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from selective_labels.assessment.contenders import Contender
from selective_labels.assessment.sections import Part
from selective_labels.curves.policy_curve import policy_curve_of_sample
from selective_labels.curves.policy_results import PolicyCurve
from selective_labels.evaluation.curves import ENDS
from selective_labels.evaluation.results import Estimated, plain
from selective_labels.inference.sample import ScoredSample
from selective_labels.policies.stakes import COST, FAILURE_RATE, FAILURES, GOOD_LOST
from selective_labels.support.errors import InputError

MEASURES = (FAILURE_RATE, FAILURES, GOOD_LOST)
# Shares of cases from a twentieth to all; the present one comes besides.
N_RATES = 20
NEAR = 0.01
STEP = 0.1


def acceptance_part(
    sample: ScoredSample,
    contenders: Sequence[Contender],
    event: int,
    assumption: str,
    cost: Any = None,
) -> Part:
    """Accept the cases with the lowest scores, from few to all, and mark what people do now.

    With two classes and a cost matrix, the mean cost of a case is among the measures.
    """
    data = sample.data
    scored = {each.key: each.scores for each in contenders if each.scores is not None}
    if not scored:
        raise InputError(
            "Only predicted classes are known; an acceptance rate needs a score or a probability.",
            "predictions",
        )
    money = None if len(data.classes) != 2 else cost
    present = float(np.average(data.row_decision, weights=sample.weights))
    rates = stops(present)
    measures = MEASURES if money is None else (*MEASURES, COST)
    curves = {
        key: policy_curve_of_sample(
            sample, as_risk(scores, data.classes), assumption, data.classes[event], rates, cost=money
        )
        for key, scores in scored.items()
    }
    first = next(iter(curves.values()))
    return Part(
        {
            "assumption": assumption,
            "present": present,
            "human": {name: ends(first.human[name]) for name in measures},
            "models": [_of_model(key, curve, present, measures) for key, curve in curves.items()],
        }
    )


def stops(present: float) -> np.ndarray:
    """Shares of cases to stop at, the present one among them.

    Examples
    --------
    >>> stops(0.5).round(2)[:3], 0.503 in stops(0.503), 0.5 in stops(0.503)
    (array([0.05, 0.1 , 0.15]), True, False)
    """
    others = np.linspace(0.0, 1.0, N_RATES + 1)[1:]
    return np.union1d(others[np.abs(others - present) > NEAR], present)


def as_risk(scores: np.ndarray, classes: np.ndarray) -> np.ndarray:
    """Scores in the same order that cannot be taken for predicted classes.

    Examples
    --------
    >>> as_risk(np.array([0.0, 1.0]), np.array([0, 1]))
    array([0.5, 1.5])
    """
    return scores + 0.5 if np.isin(scores, classes).all() else scores


def ends(result: Estimated) -> dict[str, Any]:
    """Ends and interval as plain values."""
    return {end: plain(getattr(result, end)) for end in ENDS}


def _of_model(key: str, curve: PolicyCurve, present: float, measures: Sequence[str]) -> dict[str, Any]:
    points = [
        {"rate": float(rate)} | {name: ends(curve.evaluations[name][place]) for name in measures}
        for place, rate in enumerate(curve.rates)
    ]
    return {
        "key": key,
        "start": int(np.argmin(np.abs(curve.rates - present))),
        "points": points,
        # Among as many accepted cases as now: more or fewer failures than the people had?
        "against_human": ends(curve.against_human()) if 0.0 < present < 1.0 else None,
        "step": _step(curve, present),
        "cut_off": _cut_off(curve),
    }


def _step(curve: PolicyCurve, present: float) -> dict[str, Any] | None:
    if not 0.0 < present <= 1.0 - STEP:
        return None
    return {"more": STEP} | ends(curve.difference(present, present + STEP))


def _cut_off(curve: PolicyCurve) -> dict[str, Any] | None:
    """With costs: the share of cases to accept that is safest, and those that could still be best."""
    found = curve.cut_offs
    if found is None:
        return None
    safest, open_ones = found.minimax_regret, found.acceptance[found.could_be_best]
    return {
        "accept": float(found.acceptance[safest]),
        "worst_regret": float(found.worst_regret[safest]),
        "could_be_best": [float(open_ones.min()), float(open_ones.max())],
    }
