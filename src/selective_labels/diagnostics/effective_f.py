"""SL102: the effective first-stage F of decision-makers, features left aside."""

from dataclasses import dataclass

import numpy as np

from selective_labels.diagnostics.conditional_strength import CHECK as STRENGTH
from selective_labels.diagnostics.context import Context
from selective_labels.diagnostics.results import NOT_APPLICABLE, OK, Check, Finding, need
from selective_labels.hypotheses.cells import sums_by

USABLE = 10.0


@dataclass(frozen=True)
class Leniency:
    """Decision-makers' acceptance rates, adjusted for strata.

    Attributes
    ----------
    rows : (n_decision_makers,) array
        Cases, among those with somebody to compare with.
    mean, variance : (n_decision_makers,) arrays
        Of the adjusted decision; NaN where there is no case, or a single one.
    """

    rows: np.ndarray
    mean: np.ndarray
    variance: np.ndarray

    @property
    def error(self) -> np.ndarray:
        """Standard errors of the rates."""
        return np.sqrt(self.variance / np.maximum(self.rows, 1))


def adjusted_leniency(context: Context) -> Leniency:
    """Acceptance rates of all decision-makers, centred within strata with the overall rate added back."""
    values = context.adjusted_outcomes[:, 0]
    codes = context.decision_maker[context.compared]
    columns = np.column_stack([np.ones(len(values)), values, values**2])
    rows, total, squares = sums_by(codes, columns, context.n_decision_makers).T
    mean = np.divide(total, rows, out=np.full(len(rows), np.nan), where=rows > 0)
    variance = np.full(len(rows), np.nan)
    several = rows > 1
    within = np.maximum(squares[several] / rows[several] - mean[several] ** 2, 0.0)
    variance[several] = within * rows[several] / (rows[several] - 1)
    return Leniency(rows, mean, variance)


def explained_and_noise(leniency: Leniency) -> tuple[float, float]:
    """Between-decision-maker sum of squares, and what sampling noise alone makes of it.

    N = Σ_z n_z (λ_z - λ̄)²,   E[N | equal] = Σ_z (1 - n_z / n) σ_z²

    Decision-makers with a single case have no variance of their own and are left out.

    Examples
    --------
    >>> rates = Leniency(np.array([100.0, 100.0]), np.array([0.4, 0.6]), np.array([0.24, 0.24]))
    >>> explained_and_noise(rates)
    (2.0, 0.24)
    """
    several = leniency.rows > 1
    rows, mean = leniency.rows[several], leniency.mean[several]
    explained = np.sum(rows * (mean - np.average(mean, weights=rows)) ** 2)
    noise = np.sum((1.0 - rows / rows.sum()) * leniency.variance[several])
    return round(float(explained), 12), round(float(noise), 12)


def effective_f(context: Context) -> float:
    """Effective F of Montiel Olea and Pflueger for indicators of decision-makers: N / E[N | equal]."""
    context.need_rejected()
    leniency = adjusted_leniency(context)
    need(np.sum(leniency.rows > 1) > 1, "fewer than two decision-makers have more than one case.")
    explained, noise = explained_and_noise(leniency)
    need(noise > 0.0, "decisions do not vary within decision-makers.")
    return explained / noise


def _find(context: Context) -> Finding:
    statistic = effective_f(context)
    decided = context.result_of(STRENGTH).status
    status = OK if decided == NOT_APPLICABLE else decided
    if statistic >= USABLE:
        message = f"Effective F of decision-makers is {statistic:.1f}: above 10, the rule of thumb."
    else:
        message = f"Effective F of decision-makers is {statistic:.1f}: below 10, the rule of thumb."
        if status == OK:
            message += " It ignores features; for like cases decision-makers do differ (SL101 decides)."
    return Finding(status, message, statistic)


CHECK = Check("SL102", "effective F", "relevance", _find)
