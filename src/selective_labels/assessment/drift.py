"""Over time: acceptance, labels and the bounds of the first metric, period by period."""

from collections.abc import Sequence

import numpy as np

from selective_labels.assessment.contenders import Contender
from selective_labels.assessment.models import subject_of
from selective_labels.assessment.sections import Part
from selective_labels.curves.drift import drift_of_sample
from selective_labels.evaluation.results import plain
from selective_labels.inference.sample import ScoredSample
from selective_labels.measures.metrics import AnyMetric


def drift_part(
    sample: ScoredSample,
    contender: Contender,
    metrics: Sequence[AnyMetric],
    event: int,
    assumption: str,
    periods: np.ndarray,
) -> Part:
    """Follow one rule over the periods of the cases."""
    classes = sample.data.classes
    subject = subject_of(contender, metrics[0], classes)
    found = drift_of_sample(
        sample, subject, metrics[:1], periods, classes.tolist()[event], assumption=assumption
    )
    first = found.evaluations[0]
    return Part(
        {
            "model": contender.key,
            "metric": first.metric,
            "assumption": assumption,
            "pos_label": plain(found.pos_label),
            "limits": plain(list(first.limits)),
            "confidence_level": first.confidence_level,
            "periods": [
                {str(name): plain(value) for name, value in row.items()}
                for row in found.to_frame().to_dict("records")
            ],
            "sentences": found.moves(),
        }
    )
