"""The two rules against each other: which is right more often, and where they differ."""

import numpy as np

from selective_labels.assessment.by_feature import share_by_feature
from selective_labels.assessment.columns import Column
from selective_labels.assessment.contenders import Contender
from selective_labels.assessment.sections import Part
from selective_labels.evaluation.compare import compare_sample, paired_contest
from selective_labels.inference.sample import ScoredSample
from selective_labels.measures.metrics import AnyMetric


def comparison_part(
    sample: ScoredSample, yours: Contender, ours: Contender, columns: list[Column], metric: AnyMetric
) -> Part:
    """Bound metric(yours) - metric(ours) under every assumption."""
    classes = sample.data.classes
    contest = paired_contest(yours.subject(classes), ours.subject(classes), metric)
    names = yours.name, ours.name
    results = [compare_sample(sample, contest, each, names=names) for each in sample.assumptions]
    differ = yours.codes != ours.codes
    return Part(
        {
            "results": [each.to_dict() for each in results],
            "disagreement": float(np.average(differ, weights=sample.weights)),
            "by_feature": share_by_feature(columns, differ, sample.weights),
        }
    )
