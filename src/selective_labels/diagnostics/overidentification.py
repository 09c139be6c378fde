"""SL601: the over-identification test of NUCEM: one slope for all decision-makers."""

import numpy as np

from selective_labels.diagnostics.conditional_strength import CHECK as STRENGTH
from selective_labels.diagnostics.conditional_strength import need_strength
from selective_labels.diagnostics.context import Context
from selective_labels.diagnostics.effective_f import USABLE, effective_f
from selective_labels.diagnostics.results import (
    OK,
    VIOLATED,
    WARNING,
    Check,
    Finding,
    NotApplicableError,
    need,
    status_of_test,
)
from selective_labels.hypotheses.detectable import detectable_noncentrality
from selective_labels.hypotheses.linearity import LinearityTest, cell_linearity, covariate_linearity

# Decision-makers with fewer cases, or fewer of either decision, are left out: shares of so few are not nearly
# normal.
FEWEST_ROWS = 20
FEWEST_OF_EACH = 5


def _large(rows: np.ndarray, accepted: np.ndarray) -> np.ndarray:
    enough = np.minimum(accepted, rows - accepted) >= FEWEST_OF_EACH
    return enough & (rows >= FEWEST_ROWS)


def _by_cell(context: Context) -> LinearityTest:
    """Test every stratum with three decision-makers or more, and add up."""
    n_makers = context.n_decision_makers
    n_outcomes = context.n_classes + 1
    code = (context.cell * n_makers + context.decision_maker) * n_outcomes + context.data.y + 1
    n_cells = int(context.cell.max()) + 1
    counts = np.bincount(code, minlength=n_cells * n_makers * n_outcomes).reshape(
        n_cells, n_makers, n_outcomes
    )
    tests = []
    for cell in counts.reshape(n_cells, n_makers, n_outcomes):
        large = cell[_large(cell.sum(axis=1), cell[:, 1:].sum(axis=1))]
        shown = large[:, 1:].any(axis=0)
        if len(large) >= 3 and shown.sum() > 1:
            tests.append(cell_linearity(large[:, np.append(True, shown)]))
    need(tests, f"no three decision-makers of one stratum have {FEWEST_ROWS} cases or more.")
    return sum(tests[1:], start=tests[0])


def _given_features(context: Context) -> LinearityTest:
    need_strength(context, "for the test to hold its level given features")
    model = context.row_model
    rows = np.bincount(model.arm, minlength=model.propensity.shape[1])
    accepted = np.bincount(model.arm, context.model_data.decision, len(rows))
    large = _large(rows, accepted)
    need(large.sum() >= 3, f"fewer than three decision-makers have {FEWEST_ROWS} cases or more.")
    kept = large[model.arm]
    propensity = model.propensity[kept][:, large]
    propensity = propensity / np.maximum(propensity.sum(axis=1, keepdims=True), np.finfo(float).tiny)
    return covariate_linearity(
        context.seen_labels[context.model_rows][kept],
        model.labeled[kept],
        model.posterior[kept],
        model.deviation[kept],
        model.parabola[kept],
        (np.cumsum(large) - 1)[model.arm[kept]],
        propensity,
    )


def first_stage(context: Context) -> float:
    """Power proxy: a weak first stage cannot show a curve."""
    try:
        return effective_f(context)
    except NotApplicableError:
        return 0.0


def _find(context: Context) -> Finding:
    need(context.n_decision_makers >= 3, "it takes three decision-makers to tell a line from a curve.")
    need(context.n_classes > 1, "one class only was seen.")
    context.need_rejected()
    test = _given_features(context) if context.has_features else _by_cell(context)
    p_value = test.p_value
    proxy = first_stage(context)
    figures = (
        f"χ² = {test.total:.1f} with {test.total_freedom} degrees of freedom; first-stage F = {proxy:.1f}"
    )
    detects = _detects(test, context.level)
    if status_of_test(p_value, context.level) == VIOLATED:
        return Finding(
            VIOLATED,
            f"Seen labels are not a straight line in leniency ({figures}): something unmeasured both moves "
            "the label and changes how decision-makers differ, or who decides changes the label.",
            test.total,
            p_value,
            "Use bounds (assumption='instrument'), not point estimates.",
            detects,
        )
    # Without features, conditional and average leniency are the same.
    if proxy < USABLE or (context.has_features and context.result_of(STRENGTH).status != OK):
        return Finding(
            WARNING,
            f"NUCEM is not rejected ({figures}), but average leniencies differ too little for that to mean "
            "much.",
            test.total,
            p_value,
            "Use bounds (assumption='instrument'), not point estimates.",
            detects,
        )
    return Finding(
        OK,
        f"Seen labels are a straight line in leniency, as NUCEM says ({figures}).",
        test.total,
        p_value,
        detects=detects,
    )


def _detects(test: LinearityTest, level: float) -> str:
    """The parabola that would have been seen; half of the level is its own."""
    bend = np.sqrt(detectable_noncentrality(level / 2.0, test.curvature_freedom)) * test.bend_error
    if not np.isfinite(bend):
        return ""
    return f"a curve that leaves the line by {100 * bend * 0.1**2:.1f} points at ten points of leniency"


CHECK = Check("SL601", "NUCEM over-identification", "nucem", _find)
