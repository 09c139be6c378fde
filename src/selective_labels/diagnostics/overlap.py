"""SL302: whether every case could have gone to several decision-makers."""

import numpy as np

from selective_labels.diagnostics.context import Context
from selective_labels.diagnostics.results import (
    OK,
    VIOLATED,
    WARNING,
    Check,
    Finding,
    NotApplicableError,
    need,
)
from selective_labels.hypotheses.cells import decision_makers_per_cell
from selective_labels.nuisance.score_formulas import OVERLAP

# Below this effective share of the sample, averages rest on few cases.
SMALL_EFFECTIVE_SHARE = 0.5
FEW_DECISION_MAKERS = 3
MANY_CASES = 0.1
# A decision-maker is possible for a case if the model gives this part of the usual share or more.
POSSIBLE = 0.05


def effective_share(weights: np.ndarray) -> float:
    """Effective sample size over sample size, (Σ w)² / (n Σ w²).

    Examples
    --------
    >>> effective_share(np.array([1.0, 1.0, 0.0, 0.0]))
    0.5
    """
    return float(weights.sum() ** 2 / (len(weights) * np.sum(weights**2)))


def _weights(context: Context) -> np.ndarray:
    """Share of the row's decision-maker over its probability at the row: one if assignment is by lot."""
    codes = context.decision_maker
    share = np.bincount(codes, minlength=context.n_decision_makers) / len(codes)
    if context.data.assignment is not None:
        own = context.data.assignment[np.arange(len(codes)), codes]
    elif context.data.strata is not None:
        pair = context.cell * context.n_decision_makers + codes
        own = np.bincount(pair)[pair] / np.bincount(context.cell)[context.cell]
    else:
        model = context.assignment_model
        share, codes, own = model.share, model.arm, np.exp(model.own_log_probability)
    return share[codes] / np.maximum(own, OVERLAP * share[codes])


def _available(context: Context) -> np.ndarray:
    """How many decision-makers each case could have gone to: known, by strata, or by a model of features."""
    if context.data.assignment is not None:
        return np.sum(context.data.assignment >= OVERLAP, axis=1)
    if context.data.strata is None:
        try:
            model = context.assignment_model
            return np.sum(np.exp(model.log_probabilities) >= POSSIBLE * model.share, axis=1)
        except NotApplicableError:
            pass  # without features every case could have gone to anybody in its cell
    return decision_makers_per_cell(context.cell, context.decision_maker)[context.cell]


def _find(context: Context) -> Finding:
    need(context.n_decision_makers > 1, "there is only one decision-maker.")
    available = _available(context)
    alone = float(np.mean(available == 1))
    few = float(np.mean(available < min(FEW_DECISION_MAKERS, context.n_decision_makers)))
    try:
        effective = effective_share(_weights(context))
        words = f"Weighted to equal assignment, the sample is worth {effective:.0%} of its size."
    except NotApplicableError:
        effective, words = 1.0, "Without features or strata every case counts alike."
    if alone > 0.5:
        return Finding(
            VIOLATED,
            f"{alone:.0%} of cases could have gone to a single decision-maker only: nobody to compare with.",
            effective,
            advice="Use coarser strata, or leave out features that decide who gets the case.",
        )
    if alone > 0.0 or few > MANY_CASES or effective < SMALL_EFFECTIVE_SHARE:
        return Finding(
            WARNING,
            f"{alone:.0%} of cases could have gone to a single decision-maker only, {few:.0%} to fewer than "
            f"three. {words}",
            effective,
            advice="Use coarser strata, merge decision-makers, or leave out cases that only few handle.",
        )
    return Finding(OK, f"Every case could have gone to several decision-makers. {words}", effective)


CHECK = Check("SL302", "overlap", "overlap", _find)
