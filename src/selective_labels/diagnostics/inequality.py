"""SL401: the instrumental inequality on average: do the lower bounds fit into one probability."""

import numpy as np
from scipy.special import ndtr, ndtri

from selective_labels.diagnostics.context import Context
from selective_labels.diagnostics.results import VIOLATED, Check, Finding, need, status_of_test
from selective_labels.hypotheses.detectable import POWER


def excess(context: Context) -> np.ndarray:
    """Score of Σ_k max_z P(Y=k, D=1 | x, z) - 1 of the model rows, (n_model_rows,).

    Its mean is at most the true excess whichever decision-makers the selector finds, so a positive mean
    contradicts an instrument that is as good as random and does not change the label.
    """
    need(context.n_classes > 1, "one class only was seen, so the inequality always holds.")
    return -context.scores["instrument"].slack


def one_sided(values: np.ndarray) -> tuple[float, float]:
    """T statistic of the mean, and the p-value of "not above zero".

    Examples
    --------
    >>> one_sided(np.array([-1.0, 1.0]))
    (0.0, 0.5)
    """
    error = values.std(ddof=1) / np.sqrt(len(values)) if len(values) > 1 else 0.0
    statistic = float(values.mean() / error) if error > 0.0 else 0.0
    return statistic, float(ndtr(-statistic))


def _find(context: Context) -> Finding:
    values = excess(context)
    statistic, p_value = one_sided(values)
    total = 1.0 + float(values.mean())
    status = status_of_test(p_value, context.level)
    error = float(values.std(ddof=1) / np.sqrt(len(values))) if len(values) > 1 else 0.0
    seen = 1.0 + (ndtri(1.0 - context.level) + ndtri(POWER)) * error
    detects = f"lower bounds that sum to {seen:.2f} or more on average"
    if status == VIOLATED:
        return Finding(
            status,
            f"The best lower bounds of the classes sum to {total:.2f} on average: no probabilities fit. "
            "Cases are not comparable across decision-makers, or who decides changes the label.",
            statistic,
            p_value,
            "Do not use decision-makers as an instrument before finding out which of the two.",
            detects,
        )
    return Finding(
        status,
        f"The best lower bounds of the classes sum to {total:.2f} on average, within what probabilities "
        "allow. Only gross violations would show.",
        statistic,
        p_value,
        detects=detects,
    )


CHECK = Check("SL401", "instrumental inequality", "inequality", _find)
