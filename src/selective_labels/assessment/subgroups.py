"""The same metrics in subgroups, and the gaps between them; those narrow enough to use come first."""

import contextlib
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import product
from typing import Any

import numpy as np

from selective_labels.assessment.acceptance import ends
from selective_labels.assessment.columns import Column, binned
from selective_labels.assessment.contenders import Contender
from selective_labels.assessment.models import subject_of, undefined
from selective_labels.assessment.sections import Part
from selective_labels.evaluation.curves import ENDS
from selective_labels.evaluation.evaluate import evaluate_sample
from selective_labels.evaluation.results import Evaluation
from selective_labels.inference.sample import ScoredSample
from selective_labels.measures.metrics import AnyMetric
from selective_labels.measures.named import named_metrics
from selective_labels.measures.subject import ArraySubject
from selective_labels.support.errors import InputError

# An interval of ten points or less tells that a gap is small.
NARROW = 0.1


def subgroups_part(
    sample: ScoredSample,
    contenders: Sequence[Contender],
    metrics: Sequence[AnyMetric],
    by: Sequence[Column],
    assumptions: Sequence[str],
    event: int,
) -> Part:
    """Evaluate every contender in the subgroups of every column; gaps are against the largest.

    The event among the accepted cases of each subgroup is seen, and needs no assumption.
    """
    sections, notes = [], []
    for column in by:
        cells = _largest_last(column)
        if len(cells) < 2:
            notes.append(f"{column.name} has one value only, so there are no subgroups to compare.")
            continue
        for contender in contenders:
            found = _Found()
            for metric, assumption in product(metrics, assumptions):
                found.add(sample, contender, metric, assumption, cells)
            sections.append(
                {
                    "column": column.name,
                    "model": contender.key,
                    "evaluations": [item.to_dict() for item in found.evaluations],
                    "gaps": [gap.to_dict() for gap in found.gaps],
                    "usable": _usable(found.gaps, assumptions[-1]),
                    "seen": _seen(sample, event, cells),
                }
            )
            notes += [f"{column.name}, {note}" for note in found.notes]
    return Part(sections, tuple(dict.fromkeys(notes)))


@dataclass
class _Found:
    """What was found about the subgroups of one column; one without a value leaves the others alone."""

    evaluations: list[Evaluation] = field(default_factory=list)
    gaps: list[Evaluation] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)

    def add(
        self,
        sample: ScoredSample,
        contender: Contender,
        metric: AnyMetric,
        assumption: str,
        cells: dict[str, np.ndarray],
    ) -> None:
        """Evaluate a metric in each subgroup, beside the largest (the last)."""
        subject = subject_of(contender, metric, sample.data.classes)
        *others, largest = cells
        for label in (largest, *others):
            pair = {label: cells[label], largest: cells[largest]}
            try:
                results = evaluate_sample(sample, subject, [metric], pair, assumptions=[assumption])
            except InputError as error:
                self.notes.append(f"{label}. {undefined(metric, error)}")
                continue
            self.evaluations.append(results[0])
            self.gaps += results.gaps or ()


def _usable(gaps: Sequence[Evaluation], assumption: str) -> list[int]:
    """Places of the gaps that say something, the narrowest first: without zero, or small for certain."""
    places = [
        place
        for place, gap in enumerate(gaps)
        if gap.assumption == assumption
        and (gap.ci_lower > 0.0 or gap.ci_upper < 0.0 or gap.ci_upper - gap.ci_lower <= NARROW)
    ]
    return sorted(places, key=lambda place: gaps[place].ci_upper - gaps[place].ci_lower)


def _seen(sample: ScoredSample, event: int, cells: dict[str, np.ndarray]) -> list[dict[str, Any]]:
    """Share of the event among the accepted cases of every subgroup."""
    classes, seen = sample.data.classes, sample.data.decision == 1
    share = named_metrics("share", classes, classes[event])
    anybody = ArraySubject(np.full(len(sample.data), classes[event]), classes, "everybody")
    rows = []
    for label, cell in cells.items():
        accepted = float(np.average(seen[cell], weights=sample.weights[cell]))
        failed: dict[str, Any] = dict.fromkeys(ENDS)
        if (cell & seen).any():
            with contextlib.suppress(InputError):
                found = evaluate_sample(sample, anybody, share, {label: cell & seen}, assumptions=["none"])
                failed = ends(found[0])
        rows.append({"subgroup": label, "n": int(cell.sum()), "accepted": accepted, "event": failed})
    return rows


def _largest_last(column: Column) -> dict[str, np.ndarray]:
    """Rows of every subgroup, the largest last: gaps then subtract it."""
    bins = binned(column)
    order = np.argsort(np.bincount(bins.codes) == np.bincount(bins.codes).max(), kind="stable")
    return {bins.labels[code]: bins.codes == code for code in order}
