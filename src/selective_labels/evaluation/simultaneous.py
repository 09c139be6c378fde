"""Simultaneous intervals: many evaluations on one sample, all of whose intervals hold at once."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from scipy.special import ndtri

from selective_labels._errors import InputError
from selective_labels.evaluation.results import Evaluation, printed
from selective_labels.evaluation.scored_rows import Scored
from selective_labels.inference.bound_estimators import Functional
from selective_labels.inference.simultaneous import critical_value, joint_covariance

SIMULTANEOUS = "simultaneous"


def coverage_text(first: Evaluation, together: bool, point: str) -> str:
    """Say what the intervals of a curve cover: the value at one point, or at all of them."""
    level = f"{first.confidence_level:.0%}"
    if together:
        return (
            f"The {level} intervals of a column cover its values at all {point}s at once, so also at one "
            "that is chosen by looking at them."
        )
    return f"Each {level} interval covers the value at one {point}."


def require_bands(sample: Scored, assumption: str) -> None:
    """Raise an error under the event tilt, whose intervals do not come from bounds with standard errors."""
    if not sample.has_scores(assumption):
        raise InputError(
            f"no simultaneous intervals are known under the assumption {assumption!r}; choose another "
            "assumption, or intervals for one value each.",
            "assumption",
        )


def simultaneous_intervals(
    sample: Scored, assumption: str, functionals: Sequence[Functional], evaluations: Sequence[Evaluation]
) -> tuple[Evaluation, ...]:
    """Give evaluations on one sample intervals that cover all identified sets at once.

    [lower_m - c s_m, upper_m + c s_m],   c the critical value of all 2 M errors together

    They also hold for one that is chosen among them, by whatever rule. They are never shorter than intervals
    that each cover one identified set.

    Parameters
    ----------
    functionals : sequence of Functional
        The functional of each evaluation.
    """
    require_bands(sample, assumption)
    chosen = [each for each, item in zip(functionals, evaluations, strict=True) if item.basis is not None]
    if not chosen:
        return tuple(evaluations)
    everybody = np.ones(sample.size, dtype=bool)
    found = [sample.ends(each, assumption, everybody) for each in chosen]
    matrices = [
        joint_covariance(ends, noise_of)
        for ends, (_, _, noise_of) in zip(zip(*found, strict=True), sample.repeated(assumption), strict=True)
    ]
    level = evaluations[0].confidence_level
    constant = max(critical_value(np.mean(matrices, axis=0), level), float(ndtri((1.0 + level) / 2.0)))
    return tuple(
        replace(
            each,
            interval=SIMULTANEOUS,
            **({} if each.basis is None else printed(each.basis.report("set", level, constant))),
        )
        for each in evaluations
    )
