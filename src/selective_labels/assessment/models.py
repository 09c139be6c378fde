"""How good each rule is on everybody, metric by metric, under each assumption."""

from collections.abc import Sequence
from itertools import product

import numpy as np

from selective_labels.assessment.answers import labeled_value
from selective_labels.assessment.contenders import Contender
from selective_labels.assessment.sections import Part
from selective_labels.evaluation.evaluate import evaluate_sample
from selective_labels.evaluation.results import Evaluation
from selective_labels.inference.sample import ScoredSample
from selective_labels.measures.metrics import AnyMetric, Auc
from selective_labels.measures.subject import ArraySubject
from selective_labels.support.errors import InputError


def models_part(sample: ScoredSample, contenders: Sequence[Contender], metrics: Sequence[AnyMetric]) -> Part:
    """Evaluate every contender on the same scores, and beside it on the labeled cases alone.

    One metric under one assumption at a time: one without a value leaves the others alone.
    """
    models, notes = [], []
    for contender in contenders:
        results: list[Evaluation] = []
        for metric, assumption in product(metrics, sample.assumptions):
            subject = subject_of(contender, metric, sample.data.classes)
            try:
                results += evaluate_sample(sample, subject, [metric], assumptions=[assumption])
            except InputError as error:
                notes.append(undefined(metric, error))
        models.append(
            {
                "key": contender.key,
                "name": contender.name,
                "description": contender.description,
                "labeled": {
                    metric.name: labeled_value(
                        sample, subject_of(contender, metric, sample.data.classes), metric
                    )
                    for metric in metrics
                },
                "evaluations": [item.to_dict() for item in results],
            }
        )
    return Part(models, tuple(dict.fromkeys(notes)))


def subject_of(contender: Contender, metric: AnyMetric, classes: np.ndarray) -> ArraySubject:
    """What a metric is computed from: predicted classes, or scores if it is about an order."""
    if isinstance(metric, Auc) and contender.scores is not None:
        return ArraySubject(contender.scores, classes, contender.name)
    return contender.subject(classes)


def undefined(metric: AnyMetric, error: InputError) -> str:
    """Say which metric has no value, and why."""
    text = str(error)
    return f"Left out: {text if metric.name in text else f'{metric.name}: {text}'}"
