"""SL301 to SL304: cases per decision-maker, overlap of assignment and of decisions, and numeric ids."""

from dataclasses import replace
from functools import partial

import numpy as np
from sklearn.ensemble import HistGradientBoostingClassifier

from selective_labels.assumptions.base import OK, VIOLATED, WARNING
from selective_labels.data.reading import looks_measured
from selective_labels.diagnostics.context import Context
from selective_labels.diagnostics.hypothesis_tests import decision_makers_per_cell
from selective_labels.diagnostics.results import Check, Finding, NotApplicableError, need
from selective_labels.nuisance.models.boosting import BOOSTING, FEW_LEAVES
from selective_labels.nuisance.models.encoders import boosting, fit_weighted
from selective_labels.nuisance.score_formulas import OVERLAP

# Decision-makers with fewer cases carry little information on their own.
FEW_ROWS = 30
# Warn if more than this share of cases went to such decision-makers.
MANY_WITH_FEW_CASES = 0.05
SHOWN = 5


def _find_sizes(context: Context) -> Finding:
    need(context.n_decision_makers > 1, "there is only one decision-maker.")
    rows = np.bincount(context.decision_maker, minlength=context.n_decision_makers)
    labels = np.bincount(
        context.decision_maker, weights=context.data.decision, minlength=context.n_decision_makers
    ).astype(int)
    small = np.flatnonzero(rows < FEW_ROWS)
    share = float(rows[small].sum() / rows.sum())
    message = (
        f"{len(rows):,} decision-makers have {rows.min():,} to {rows.max():,} cases (median "
        f"{np.median(rows):,.0f}) and {labels.min():,} to {labels.max():,} labels."
    )
    if not len(small):
        return Finding(OK, message, float(rows.min()))
    names = [str(name) for name in context.data.decision_makers[small[:SHOWN]].tolist()]
    more = f" and {len(small) - SHOWN:,} more" if len(small) > SHOWN else ""
    return Finding(
        WARNING if share > MANY_WITH_FEW_CASES else OK,
        f"{message} {len(small):,} of them have fewer than {FEW_ROWS}, {share:.1%} of all cases.",
        float(rows.min()),
        advice=f"Merge decision-makers that work alike (by unit or office), first {', '.join(names)}{more}.",
    )


SIZES_CHECK = Check("SL301", "sizes", "overlap", _find_sizes)


# Below this effective share of the sample, averages depend on few cases.
SMALL_EFFECTIVE_SHARE = 0.5
FEW_DECISION_MAKERS = 3
MANY_WITHOUT_OVERLAP = 0.1
# A case can reach a decision-maker if the propensity is at least this fraction of the decision-maker's share.
POSSIBLE = 0.05


def effective_share(weights: np.ndarray) -> float:
    """Effective sample size (Kish) over sample size, (Σ w)² / (n Σ w²).

    Examples
    --------
    >>> effective_share(np.array([1.0, 1.0, 0.0, 0.0]))
    0.5
    """
    return float(weights.sum() ** 2 / (len(weights) * np.sum(weights**2)))


def _weights(context: Context) -> np.ndarray:
    """Share of the row's decision-maker over the propensity at the row; one under random assignment."""
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
    """Number of decision-makers each case can reach, by known probabilities, strata or a model."""
    if context.data.assignment is not None:
        return np.sum(context.data.assignment >= OVERLAP, axis=1)
    if context.data.strata is None:
        try:
            model = context.assignment_model
            return np.sum(np.exp(model.log_probabilities) >= POSSIBLE * model.share, axis=1)
        except NotApplicableError:
            pass  # without features, a case can reach every decision-maker of its cell
    return decision_makers_per_cell(context.cell, context.decision_maker)[context.cell]


def _find_overlap(context: Context) -> Finding:
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
    if alone > 0.0 or few > MANY_WITHOUT_OVERLAP or effective < SMALL_EFFECTIVE_SHARE:
        return Finding(
            WARNING,
            f"{alone:.0%} of cases could have gone to a single decision-maker only, {few:.0%} to fewer than "
            f"three. {words}",
            effective,
            advice="Use coarser strata, merge decision-makers, or leave out cases that only few handle.",
        )
    return Finding(OK, f"Every case could have gone to several decision-makers. {words}", effective)


OVERLAP_CHECK = Check("SL302", "overlap", "overlap", _find_overlap)


# Below this acceptance probability, one observed label represents more than twenty cases.
RARELY = 0.05
# Warn if more than this share of cases is accepted so rarely.
MANY_ONE_SIDED = 0.05
# Rows and trees of the model of acceptance: in `diagnose`, and where the check runs unasked.
MOST_ROWS, MOST_TREES = 20_000, 100
QUICK_ROWS, QUICK_TREES = 4_000, 40


def chance_by_trees(
    context: Context, rows: np.ndarray, happened: np.ndarray, n_trees: int, generator: np.random.Generator
) -> np.ndarray:
    """Chance that something happened (0 or 1) given x, by boosted trees that have not seen a row, (n_rows,).

    Trees find kinds of cases that are never accepted (a step, a product of features); a linear model does
    not. Each half of the rows is predicted by trees of the other; a group stays in one half.
    """
    data = context.data
    unit = rows if data.groups is None else data.groups[rows]
    half = generator.permutation(int(unit.max()) + 1)[unit] % 2
    X, weight = context.model_features[rows], data.weights[rows]
    chance = np.full(len(rows), float(np.average(happened, weights=weight)))
    for number in range(2):
        fitted, predicted = half != number, half == number
        if len(np.unique(happened[fitted])) < 2 or not predicted.any():
            continue
        trees = HistGradientBoostingClassifier(
            **BOOSTING, max_leaf_nodes=FEW_LEAVES, max_iter=n_trees, early_stopping=False, random_state=0
        )
        model = boosting(trees, data.categorical)
        fit_weighted(model, X[fitted], happened[fitted], weight[fitted])
        chance[predicted] = model.predict_proba(X[predicted])[:, 1]
    return chance


def _find_decision_overlap(
    context: Context, most_rows: int = MOST_ROWS, n_trees: int = MOST_TREES
) -> Finding:
    context.need_rejected()
    generator, rows = context.generator(303), context.compared
    if len(rows) > most_rows:
        rows = np.sort(generator.choice(rows, most_rows, replace=False))
    weight, decided = context.data.weights[rows], context.data.decision[rows]
    rare = chance_by_trees(context, rows, decided, n_trees, generator) < RARELY
    share = float(np.average(rare, weights=weight))
    # Trees that overfit call too many cases rare; these rows did not enter the trees that say so.
    accepted = float(np.average(decided[rare], weights=weight[rare])) if weight[rare].any() else 0.0
    if share <= MANY_ONE_SIDED or accepted > RARELY:
        return Finding(OK, f"At least {RARELY:.0%} of nearly every kind of case are accepted.", share)
    n_seen, whole = int(decided[rare].sum()), len(rows) == len(context.compared)
    among = "" if whole else f" (of {len(rows):,} drawn at random)"
    return Finding(
        WARNING,
        f"{share:.0%} of the cases are of a kind of which fewer than {RARELY:.0%} are accepted: {n_seen:,} "
        f"labels stand for {int(rare.sum()):,} cases{among}.",
        share,
        advice="What 'unconfounded' or 'nucem' say of such cases is extrapolated from other cases, and "
        "bounds are wide there: leave these cases out, or ask only about cases like those that are accepted.",
    )


DECISION_OVERLAP_CHECK = Check("SL303", "overlap of decisions", "overlap", _find_decision_overlap)
QUICK_DECISION_OVERLAP = replace(
    DECISION_OVERLAP_CHECK, find=partial(_find_decision_overlap, most_rows=QUICK_ROWS, n_trees=QUICK_TREES)
)


def _find_numeric_ids(context: Context) -> Finding:
    need(context.n_decision_makers > 1, "there is only one decision-maker.")
    ids = context.data.decision_makers
    if context.data.numeric:
        return Finding(
            OK,
            f"decision_maker is taken as a number: checks compare cases at {len(ids)} values, each case at "
            "the nearest, and call these values decision-makers.",
            float(len(ids)),
        )
    rows = np.bincount(context.decision_maker, minlength=len(ids))
    if looks_measured(ids, rows):
        return Finding(
            WARNING,
            f"The ids of decision-makers are {len(ids):,} different numbers, {np.median(rows):,.0f} cases "
            "each in the median: they look like a measurement, and are taken as names without an order.",
            float(len(ids)),
            advice="If they measure something (a distance, a time, a rate), give instrument='numeric'.",
        )
    return Finding(OK, "The ids of decision-makers look like names.", float(len(ids)))


NUMERIC_IDS_CHECK = Check("SL304", "numbers as ids", "overlap", _find_numeric_ids)
