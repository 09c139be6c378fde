"""What would settle it: the plan for the comparison of the two rules, or for how good the first is."""

import numpy as np

from selective_labels.assessment.acceptance import ends
from selective_labels.assessment.contenders import Contender
from selective_labels.assessment.sections import Part
from selective_labels.evaluation.compare import compare_sample, paired_contest
from selective_labels.inference.sample import ScoredSample
from selective_labels.measures.metrics import AnyMetric
from selective_labels.planning.plan import plan
from selective_labels.support.errors import InputError


def outlook_part(
    sample: ScoredSample, first: Contender, second: Contender, metric: AnyMetric, assumption: str
) -> Part:
    """Predict how narrow the difference of the two gets with more cases, other people, or a lottery."""
    classes = sample.data.classes
    if sample.data.decision.all():
        raise InputError("Every outcome was seen: nothing is left open but the chance of the sample.", "y")
    contest = paired_contest(first.subject(classes), second.subject(classes), metric)
    result = compare_sample(sample, contest, assumption, names=(first.name, second.name))
    found = plan(result)
    return Part(
        {
            "question": f"“{first.name}” or “{second.name}”?",
            "metric": metric.name,
            "assumption": assumption,
            "verdict": result.verdict,
            **ends(result),
            "ways": [
                {"way": row["way"], "bounds": row["bounds"], "interval": row["interval"]}
                for row in found.rows
                if np.isfinite(row["interval"])
            ],
            "answers": found.answers,
        }
    )
