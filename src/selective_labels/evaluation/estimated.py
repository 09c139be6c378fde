"""From scored rows to the fields of a result, with or without a value."""

from collections.abc import Callable
from typing import Any

import numpy as np

from selective_labels.cells.cell_sample import CellSample
from selective_labels.evaluation.results import Evaluation, Sample, printed
from selective_labels.inference.ends import Functional
from selective_labels.inference.known_shares import ContradictedError
from selective_labels.inference.reported import NAN, NOTHING, Basis, Reported, check_interval
from selective_labels.inference.sample import ScoredSample
from selective_labels.inference.spread import Spread
from selective_labels.support.errors import UndefinedError

# Rows with scores, or cells with sums of scores: both answer the same questions.
Scored = ScoredSample | CellSample


def estimated(
    sample: Scored,
    basis: Basis,
    assumption: str,
    rows: np.ndarray,
    interval: str,
    confidence_level: float,
) -> dict[str, Any]:
    """Fields that an evaluation and a comparison have in common, apart from the metric's name."""
    found = basis.report(interval, confidence_level)
    spread = basis.spread
    number = min(spread.effective) if np.isfinite(found.interval.lower) else NAN
    return {
        "assumption": assumption,
        **printed(found),
        "interval": interval,
        "confidence_level": confidence_level,
        "correlation": spread.correlation,
        "limits": basis.limits,
        "basis": basis,
        "sample": _sample(sample, assumption, rows, spread, number),
    }


def undefined(
    sample: Scored,
    reason: str,
    assumption: str,
    rows: np.ndarray,
    interval: str,
    confidence_level: float,
    limits: tuple[float, float],
    *,
    contradicted: bool = False,
) -> dict[str, Any]:
    """The same fields where the metric has no value: NaN, and the reason."""
    spread = Spread(NAN, NAN, (NAN, NAN), NAN, sample.count_units(rows))
    nothing = Reported(NAN, NAN, NOTHING, (NAN, NAN), crossed=contradicted, reason=reason)
    return {
        "assumption": assumption,
        **printed(nothing),
        "interval": interval,
        "confidence_level": confidence_level,
        "correlation": NAN,
        "limits": limits,
        "sample": _sample(sample, assumption, rows, spread, NAN),
    }


def found_on_everybody(
    sample: Scored,
    basis: Callable[[np.ndarray], Basis],
    metric: str,
    assumption: str,
    limits: tuple[float, float],
    interval: str,
    confidence_level: float,
) -> dict[str, Any]:
    """The one or the other on all rows: their `basis`, when asked for, gives a value or says why not."""
    everybody = np.ones(sample.size, dtype=bool)
    how = assumption, everybody, interval, confidence_level
    check_interval(interval, confidence_level)
    try:
        sample.require_possible(assumption)
        found = basis(everybody)
    except ContradictedError as error:
        return undefined(sample, str(error), *how, limits, contradicted=True)
    except UndefinedError as error:
        reason = f"metric {metric!r} is not defined under assumption {assumption!r}: {error}"
        return undefined(sample, reason, *how, limits)
    return estimated(sample, found, *how)


def _sample(sample: Scored, assumption: str, rows: np.ndarray, spread: Spread, n_effective: float) -> Sample:
    return Sample(
        n=sample.n_cases(rows),
        n_labeled=sample.n_labeled(rows),
        cluster=sample.cluster,
        n_clusters=spread.n_clusters,
        n_effective=n_effective,
        rank_error=spread.coarse,
        sentence=sample.assumed(assumption).caption,
        **sample.told_of(assumption),
    )


def judged(
    sample: Scored,
    functional: Functional,
    metric: str,
    assumption: str,
    limits: tuple[float, float],
    confidence_level: float = 0.95,
    interval: str = "parameter",
) -> Evaluation:
    """Evaluate one functional on all rows; where it has no value, say why."""

    def basis(rows: np.ndarray) -> Basis:
        return sample.basis(functional, assumption, rows, limits)

    found = found_on_everybody(sample, basis, metric, assumption, limits, interval, confidence_level)
    return Evaluation(metric=metric, **found)
