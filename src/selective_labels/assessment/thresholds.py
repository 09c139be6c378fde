"""What another threshold would do, for the rules that have a score."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from selective_labels.assessment.contenders import Contender
from selective_labels.assessment.sections import Part
from selective_labels.evaluation.results import plain
from selective_labels.evaluation.thresholds import (
    ENDS,
    ThresholdCurve,
    default_thresholds,
    threshold_curve_of_sample,
)
from selective_labels.inference.sample import ScoredSample
from selective_labels.support.errors import InputError


def thresholds_part(
    sample: ScoredSample, contenders: Sequence[Contender], event: int, assumption: str
) -> Part:
    """Cut each score at about 41 thresholds, the rule's own among them."""
    models = []
    for contender in contenders:
        if contender.scores is None:
            continue
        flagged = contender.codes == event
        cuts = np.union1d(
            default_thresholds(contender.scores, weights=sample.weights),
            own_threshold(contender.scores, flagged),
        )
        curve = threshold_curve_of_sample(sample, contender.scores, event, assumption, cuts)
        differ = [np.average((contender.scores >= cut) != flagged, weights=sample.weights) for cut in cuts]
        models.append(
            {
                "key": contender.key,
                "pos_label": str(curve.pos_label),
                "assumption": assumption,
                "start": int(np.argmin(differ)),
                "points": _points(curve),
            }
        )
    if not models:
        raise InputError(
            "Only predicted classes are known; a threshold needs a score or a probability.", "predictions"
        )
    return Part({"models": models})


def own_threshold(scores: np.ndarray, flagged: np.ndarray) -> float:
    """The threshold at which flagging by score differs least from what was flagged.

    Examples
    --------
    >>> own_threshold(np.array([0.1, 0.4, 0.6, 0.9]), np.array([False, False, True, True]))
    0.6
    """
    values, level = np.unique(scores, return_inverse=True)
    change = np.bincount(level, np.where(flagged, 1.0, -1.0))
    # Moving the threshold from one value to the next stops flagging the cases at that value.
    mistakes = np.concatenate([[0.0], np.cumsum(change)])
    cuts = np.append(values, np.nextafter(values[-1], np.inf))
    return float(cuts[mistakes.argmin()])


def _points(curve: ThresholdCurve) -> list[dict[str, Any]]:
    return [
        {"threshold": float(cut)}
        | {
            name: {end: plain(getattr(results[place], end)) for end in ENDS}
            for name, results in curve.evaluations.items()
        }
        for place, cut in enumerate(curve.thresholds)
    ]
