"""What each assumption buys: one number from assuming nothing to all that is believed."""

from collections.abc import Sequence
from typing import Any

from selective_labels.assessment.contenders import Contender
from selective_labels.assessment.models import subject_of
from selective_labels.assessment.sections import Part
from selective_labels.assessment.wording import percent_range
from selective_labels.assumptions import Assumption, Combination
from selective_labels.curves.rungs import Ladder, Rung, build, without_value
from selective_labels.data import SelectiveLabels
from selective_labels.evaluation.evaluate import evaluate_sample
from selective_labels.evaluation.results import plain
from selective_labels.inference.sample import ScoredSample
from selective_labels.measures.metrics import AnyMetric
from selective_labels.measures.named import named_metrics
from selective_labels.support.errors import InputError

NOTHING_ASSUMED = (
    "Nothing was said of what is known besides who decided. If refused cases are known to have the event "
    "more often than like accepted ones, or less often, or the share of the event among all cases is known, "
    "--assume (assumptions= in Python) shows what that buys."
)


def check_assumptions(assumptions: Sequence[Assumption], data: SelectiveLabels) -> None:
    """Refuse what these classes or columns cannot have, before anything is fitted."""
    for each in assumptions:
        if isinstance(each, Combination):
            each.check(data.classes)
            each.shares(data)


def ladder_part(
    sample: ScoredSample,
    contender: Contender,
    metrics: Sequence[AnyMetric],
    event: int,
    rungs: Sequence[Assumption],
) -> Part:
    """Climb with the first metric of one rule, and with the share of the event.

    Parameters
    ----------
    sample : ScoredSample
        Under all rungs.
    contender : Contender
    metrics : sequence of metric objects
        Of the report.
    event : int
        Code of the class.
    rungs : sequence of Assumption
        From weak to strong.
    """
    if [each for each in rungs if each.name not in sample.assumptions]:
        raise InputError("Assumptions about decision-makers cannot be used with this table.", "assumptions")
    classes = sample.data.classes
    share = named_metrics("share", classes, classes[event])[0]
    shown = {each.name: each for each in (metrics[0], share)}
    names = [each.name for each in rungs]
    climbed = [
        list(evaluate_sample(sample, subject_of(contender, each, classes), [each], assumptions=names))
        for each in shown.values()
    ]
    # What the data contradict by one number has no other number either.
    refuted = {each.assumption for found in climbed for each in found if each.empty}
    ladders = []
    for found in climbed:
        left = [
            without_value(each, each.assumption) if each.assumption in refuted and not each.empty else each
            for each in found
        ]
        ladders.append(_content(build(list(rungs), left)))
    return Part({"model": contender.key, "ladders": ladders})


def _content(found: Ladder) -> dict[str, Any]:
    first = found[0].evaluation
    return {
        "metric": first.metric,
        "confidence_level": first.confidence_level,
        "limits": plain(list(first.limits)),
        "takeaway": _takeaway(found),
        "rungs": [
            {name: plain(value) for name, value in {"title": each.title, **each.to_dict()}.items()}
            for each in found
        ],
    }


def _takeaway(found: Ladder) -> str:
    """The two ends of the ladder, the largest step, and what is contradicted."""
    valued = [each for each in found if each.evaluation.defined]
    sentences = []
    if valued:
        first, last = valued[0], valued[-1]
        sentences.append(f"Under “{first.assumption.name}”: {_range(first)}.")
        if last is not first:
            sentences.append(f"With all that fits the data (“{last.assumption.name}”): {_range(last)}.")
            steps = [each for each in valued if each.saved > 0.0]
            if steps:
                largest = max(steps, key=lambda each: each.saved)
                sentences.append(f"The largest step is “{largest.adds}”.")
    refuted = [each.adds for each in found if each.contradicted]
    if refuted:
        names = " and ".join(f"“{name}”" for name in refuted)
        sentences.append(f"The data contradict {names}: there is no number under it.")
    return " ".join(sentences)


def _range(rung: Rung) -> str:
    found = rung.evaluation
    if tuple(found.limits) == (0.0, 1.0):
        return percent_range(found.lower, found.upper)
    return f"{found.lower:.3g} to {found.upper:.3g}"
