"""The first figures: the event among the accepted and among everybody, and how good the rules are."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from selective_labels.assessment.contenders import Contender
from selective_labels.assessment.sections import Part
from selective_labels.evaluation.evaluate import evaluate_sample
from selective_labels.evaluation.results import plain
from selective_labels.inference.sample import ScoredSample
from selective_labels.measures.metrics import AnyMetric
from selective_labels.measures.named import named_metrics
from selective_labels.measures.subject import ArraySubject
from selective_labels.support.errors import InputError


def answers_part(
    sample: ScoredSample, contenders: Sequence[Contender], metric: AnyMetric, event: int, assumption: str
) -> Part:
    """Evaluate the share of the event and one metric of each rule, each beside the labeled cases' figure.

    What the labeled cases say needs no assumption, and is not about everybody.
    """
    classes = sample.data.classes
    share = named_metrics("share", classes, classes[event])[0]
    anybody = ArraySubject(np.full(len(sample.data), classes[event]), classes, "everybody")
    return Part(
        {
            "event": _answer(sample, anybody, share, assumption),
            "rules": [
                {"key": each.key, "name": each.name}
                | _answer(sample, each.subject(classes), metric, assumption)
                for each in contenders
            ],
        }
    )


def labeled_value(sample: ScoredSample, subject: ArraySubject, metric: AnyMetric) -> float | None:
    """The metric among labeled cases; nothing is missing there, so no assumption enters."""
    seen = sample.data.decision == 1
    try:
        found = evaluate_sample(sample, subject, [metric], {"labeled": seen}, assumptions=["none"])[0]
    except InputError:
        return None
    value: float | None = plain(found.lower)
    return value


def _answer(
    sample: ScoredSample, subject: ArraySubject, metric: AnyMetric, assumption: str
) -> dict[str, Any]:
    result = evaluate_sample(sample, subject, [metric], assumptions=[assumption])[0]
    return {"labeled": labeled_value(sample, subject, metric), "result": result.to_dict()}
