"""SL201: whether decision-makers get cases that look alike, by what features predict."""

from dataclasses import dataclass

import numpy as np

from selective_labels.diagnostics.context import Context
from selective_labels.diagnostics.results import ASSIGNMENT_LOOKS, OK, Check, Finding, need, status_of_test
from selective_labels.hypotheses.cells import centred, sums_by
from selective_labels.hypotheses.detectable import detectable_between
from selective_labels.hypotheses.permutation import permutation_draws, permutation_p_value

# A prediction that varies less than this tells cases not apart.
SMALLEST_VARIANCE = 1e-12


def between(sums: np.ndarray) -> np.ndarray:
    """Sum over predictions of the between-decision-maker sum of squares, Σ_c Σ_z (Σ_{i in z} g_ic)² / n_z.

    Parameters
    ----------
    sums : (n_decision_makers, n_predictions + 1) array
        Sums of the centred, scaled predictions, and the number of rows.

    Returns
    -------
    (n_predictions + 1,) array
        The total first, then each prediction's part.

    Examples
    --------
    >>> between(np.array([[2.0, 0.0, 4.0], [-2.0, 0.0, 4.0]]))
    array([2., 2., 0.])
    """
    rows = np.maximum(sums[:, -1:], 1.0)
    parts = np.sum(sums[:, :-1] ** 2 / rows, axis=0)
    return np.append(parts.sum(), parts)


@dataclass(frozen=True, eq=False)
class CaseIndices:
    """What features predict of the compared rows, centred within strata and of unit variance."""

    values: np.ndarray
    names: list[str]


def case_indices(context: Context) -> CaseIndices:
    """Predicted decision, and predicted label of each class (all but the last, which follows)."""
    need(context.has_features, "there is no feature that varies.")
    rows = context.compared
    model = context.case_model
    columns = np.column_stack([model.decision, model.label[:, :-1]])
    classes = context.data.classes[:-1].tolist()
    names = ["predicted decision", *(f"predicted probability of {label!r}" for label in classes)]
    values = centred(columns, context.cell[rows])
    variance = values.var(axis=0)
    kept = variance > SMALLEST_VARIANCE
    need(kept.any(), f"features predict the same for all cases {context.place}.")
    return CaseIndices(
        values[:, kept] / np.sqrt(variance[kept]),
        [name for name, keep in zip(names, kept, strict=True) if keep],
    )


def _find(context: Context) -> Finding:
    indices, units = case_indices(context), context.units
    columns = np.column_stack([units.total(indices.values), units.size])
    observed, drawn = permutation_draws(
        units, columns, between, context.n_permutations, context.generator(201)
    )
    p_value = permutation_p_value(observed[0], drawn[:, 0])
    ratio = float(observed[0] / max(drawn[:, 0].mean(), np.finfo(float).tiny))
    surplus = (observed - drawn.mean(axis=0))[1:] / np.maximum(drawn.std(axis=0)[1:], np.finfo(float).tiny)
    status = status_of_test(p_value, context.level, ASSIGNMENT_LOOKS)
    detects = _detects(drawn[:, 1], len(indices.values), context.level, indices.names[0])
    if status != OK:
        return Finding(
            status,
            f"Cases are not dealt out at random {context.place}: decision-makers' cases differ {ratio:.1f} "
            f"times as much as chance would have it, most in the {indices.names[int(surplus.argmax())]}.",
            ratio,
            p_value,
            "Give finer strata, or make sure that everything that drives assignment is among the features "
            "and rely on it given the features only.",
            detects,
        )
    return Finding(
        status,
        f"Cases look alike across decision-makers {context.place}: they differ {ratio:.2f} times as much as "
        "chance would have it.",
        ratio,
        p_value,
        detects=detects,
    )


def _detects(drawn: np.ndarray, n_rows: int, level: float, name: str) -> str:
    """The spread of the first prediction over decision-makers that would have been seen."""
    spread = np.sqrt(detectable_between(drawn, level / ASSIGNMENT_LOOKS) / n_rows)
    if not np.isfinite(spread):
        return ""
    return f"cases whose {name} differs between decision-makers by {spread:.2f} standard deviations"


def balance_by_decision_maker(context: Context) -> tuple[np.ndarray, np.ndarray]:
    """Mean predicted decision of each decision-maker's cases, in standard deviations, and its error."""
    values = case_indices(context).values[:, :1]
    codes = context.decision_maker[context.compared]
    total = sums_by(codes, np.column_stack([values, np.ones(len(values))]), context.n_decision_makers)
    rows = np.maximum(total[:, 1], 1.0)
    return total[:, 0] / rows, 1.0 / np.sqrt(rows)


CHECK = Check("SL201", "balance of cases", "assignment", _find)
