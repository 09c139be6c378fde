"""Scores of all rows from models that were fitted once, each row by a model that has not seen it."""

from collections.abc import Callable, Iterable
from dataclasses import replace
from functools import cache
from typing import Protocol

import numpy as np

from selective_labels.data import SelectiveLabels
from selective_labels.identification.earmarks import Earmarks
from selective_labels.nuisance.bands import MANY_DECISION_MAKERS
from selective_labels.nuisance.cross_fit import CrossFit, FoldModel
from selective_labels.nuisance.panels import arms_off_fold, by_case
from selective_labels.nuisance.pools import class_pools, class_surplus
from selective_labels.nuisance.propensity import Propensity, arm_propensity
from selective_labels.nuisance.score_formulas import (
    OVERLAP,
    LabelRange,
    Rows,
    Scores,
    required_lead,
)
from selective_labels.nuisance.selectors import Pools, Probe
from selective_labels.support.errors import InputError
from selective_labels.support.weighting import effective_number

# Up to this many decision-makers are arms of their own, of which those alike are pooled class by class.
FEW_DECISION_MAKERS = 20
MOST_BANDS = 20
ROWS_PER_BAND = 500
# Rows on which arms are compared by the models' averages: enough to rank arms, few enough to cost nothing.
PROBE_ROWS = 500


class Scorable(Protocol):
    """An assumption, as far as scores need it."""

    @property
    def name(self) -> str:
        """By which its scores are found."""

    @property
    def needs_halves(self) -> bool:
        """Whether its scores need models on two disjoint halves of the rows."""

    def score(self, rows: Rows, overlap: float) -> Scores:
        """Score rows."""


def cross_fit_scores(
    fit: CrossFit,
    data: SelectiveLabels,
    assumptions: Iterable[Scorable],
    *,
    overlap: float = OVERLAP,
    held_out: bool = True,
    label_range: LabelRange | None = None,
) -> dict[str, Scores]:
    """Scores of every row under several assumptions, from models fitted once.

    Costs one prediction of every row under every arm (per half), whatever the number of assumptions, and no
    further fit. Probabilities of arms are those of
    :func:`selective_labels.nuisance.propensity.arm_propensity`.

    Parameters
    ----------
    fit : CrossFit
    data : SelectiveLabels
        The rows that `fit` was made from, or, with ``held_out=False``, other rows with the same
        decision-makers and classes.
    assumptions : iterable of assumption objects
        See :mod:`selective_labels.assumptions`. Some need ``cross_fit(in_halves=True)``.
    overlap : float
        Arms are selected, and decisions inverted, only where their probability is at least this.
    held_out : bool
        True: each row is scored by the model that has not seen it. False: new rows; the scores by the
        models of all folds are averaged.
    label_range : LabelRange, optional
        Of all rows; it makes bounds narrower and changes no point estimate.

    Returns
    -------
    dict of Scores
        By the name of the assumption.
    """
    chosen = {each.name: each for each in assumptions}
    _check(fit, data, chosen.values(), overlap, held_out)
    n_classes = len(data.classes)
    # Probabilities that are given have no noise: the best arm needs no lead.
    given = fit.report.chosen == "injected"
    n_fitted = round(effective_number(data.weights)) if held_out else len(fit.held_out) or len(data)
    n_units = np.inf if given else n_independent(data, n_fitted)
    if data.panels is not None:  # rows of one case say the same of it
        n_fitted = n_independent(data, n_fitted)
    pooled = held_out and not given and label_range is None
    totals = {name: _empty_scores(len(data), n_classes) for name in chosen}
    earmarks: dict[str, Earmarks] = {}
    n_folds = 1 if held_out else len(fit.folds)
    for number, fold in enumerate(fit.folds):
        rows = np.flatnonzero(fit.held_out == number) if held_out else np.arange(len(data))
        probability = arm_propensity(fit, number, data, held_out=held_out)
        pools = fold_pools(fit, fold, data, fit.held_out != number) if pooled else None
        probe = probe_of(fold, data, rows, probability)
        leniency = None
        if not given and pools is None:
            leniency = leniency_order(fit, fold, data.features[rows], data.weights[rows])
        for here in fit.chunks(rows, n_classes + 1):
            pair = [model.joint(data.features[here]) for model in fold.models]
            arm = fold.lookup[data.decision_maker_codes[here]]
            shares = probability(here)
            lead = 0.0 if leniency is None else required_lead(shares, leniency, n_fitted, overlap)
            known = None if label_range is None else label_range.take(here)
            chunk = Rows(pair[0], pair[-1], arm, data.y[here], shares, lead, known, n_units, n_fitted, pools)
            chunk = replace(chunk, classes=data.classes, probe=probe)
            for name, assumption in chosen.items():
                part = assumption.score(chunk, overlap)
                _add(totals[name], here, part)
                if part.earmarks is not None:
                    kept = earmarks.setdefault(name, part.earmarks.empty(len(data)))
                    kept.add(here, part.earmarks, 1.0 / n_folds)
    if held_out:
        return {name: replace(each, earmarks=earmarks.get(name)) for name, each in totals.items()}
    return {
        name: Scores(
            each.values / n_folds,
            each.plug_in / n_folds,
            each.clipped,
            each.bounded,
            earmarks=earmarks.get(name),
        )
        for name, each in totals.items()
    }


def selector_bands(data: SelectiveLabels) -> int | None:
    """How many leniency bands to evaluate with: the `n_bands` of :func:`cross_fit`.

    Q = 2 √J rounded, from 2 to 20 and with 500 rows or more each; None (no bands) for J <= 20

    with J the decision-makers a case can go to: all, or those of its stratum (the median over rows); beyond
    64 in all, models know bands only. Up to twenty are arms of their own: those that cannot be told from the
    best for a class are pooled (:func:`selective_labels.nuisance.pools.class_pools`), so ties do not make the
    selector unstable. More of them have few rows each, and bands of leniency, pooled likewise, do better;
    differences in skill within a band are lost. Where panels decide, cases count in place of rows.

    Examples
    --------
    >>> X, y, case = np.zeros((8000, 1)), [0, 1] * 4000, np.arange(8000)
    >>> many = SelectiveLabels.from_arrays(X, y, decision_maker=case % 40)
    >>> few = SelectiveLabels.from_arrays(X, y, decision_maker=case % 3)
    >>> selector_bands(many), selector_bands(few)
    (13, None)
    """
    cells = np.zeros(len(data), dtype=int) if data.strata is None else data.strata
    pairs = np.unique(cells * data.n_decision_makers + data.decision_maker_codes)
    available = np.median(np.bincount(pairs // data.n_decision_makers)[cells])
    if available <= FEW_DECISION_MAKERS and data.n_decision_makers <= MANY_DECISION_MAKERS:
        return None
    n_units = len(data) if data.panels is None else n_independent(data, len(data))
    n_bands = min(round(2.0 * np.sqrt(available)), MOST_BANDS, n_units // ROWS_PER_BAND)
    return max(n_bands, 2)


def _check(
    fit: CrossFit, data: SelectiveLabels, chosen: Iterable[Scorable], overlap: float, held_out: bool
) -> None:
    if not 0.0 < overlap < 1.0:
        raise InputError(f"overlap={overlap} must lie between 0 and 1, both excluded.", "overlap")
    if held_out and len(fit.held_out) != len(data):
        raise InputError(
            f"the nuisance model was fitted on {len(fit.held_out)} rows and data has {len(data)}; "
            "rows that it has not seen need held_out=False.",
            "held_out",
        )
    single = len(fit.folds[0].models) == 1 and fit.report.chosen != "injected"
    needing = [each.name for each in chosen if each.needs_halves]
    if needing and single:
        raise InputError(
            f"assumption {needing[0]!r} needs models on two halves of the rows: cross_fit(in_halves=True).",
            "assumption",
        )


def leniency_order(fit: CrossFit, fold: FoldModel, X: np.ndarray, weight: np.ndarray) -> np.ndarray:
    """Numbers that order the arms by leniency, without the decisions of the rows at hand, (n_arms,)."""
    if fit.report.banded:  # bands are numbered from the least to the most lenient
        return np.arange(fit.n_arms)
    probe = _spread(len(X))
    share = weight[probe] / max(weight[probe].sum(), np.finfo(float).tiny)
    return 1.0 - fold.joint(X[probe])[:, :, 0] @ share


def probe_of(
    fold: FoldModel, data: SelectiveLabels, rows: np.ndarray, probability: Propensity
) -> Callable[[], Probe]:
    """A sample of the rows, predicted when it is first asked for."""
    some = rows[_spread(len(rows))]
    return cache(lambda: Probe(fold.joint(data.features[some]), probability(some)))


def _spread(n_samples: int) -> np.ndarray:
    return np.linspace(0, n_samples - 1, min(n_samples, PROBE_ROWS)).astype(int)


def _empty_scores(n_samples: int, n_classes: int) -> Scores:
    shape = (n_samples, n_classes)
    clipped, bounded = np.zeros((2, n_samples), dtype=bool)
    return Scores(np.zeros(shape), np.zeros(shape), clipped, bounded, np.zeros(n_samples))


def _add(total: Scores, rows: np.ndarray, part: Scores) -> None:
    total.values[rows] += part.values
    total.plug_in[rows] += part.plug_in
    total.clipped[rows] |= part.clipped
    total.by_bounds[rows] |= part.by_bounds
    total.sharpness_lost[rows] += part.sharpness_lost


def fold_pools(fit: CrossFit, fold: FoldModel, data: SelectiveLabels, others: np.ndarray) -> Pools:
    """Which arms bound which class, by the rows that the fold's models were fitted to."""
    strata = None if data.strata is None else data.strata[others]
    n_classes = len(data.classes)
    surplus = class_surplus(data.features[others], data.y[others], n_classes, strata, data.categorical)
    if data.panels is not None:
        first, surplus = by_case(data.groups, others, surplus)
        arm = arms_off_fold(data, np.flatnonzero(others), fit.n_arms if fit.report.banded else None)
        return class_pools(surplus, arm[first], np.arange(fit.n_arms), fit.n_arms)
    return class_pools(surplus, data.decision_maker_codes[others], fold.lookup, fit.n_arms)


def n_independent(data: SelectiveLabels, n_fitted: int) -> int:
    """Repeated rows of one case tell less than as many cases: of groups, each counts once."""
    if data.groups is None:
        return n_fitted
    return round(n_fitted * len(np.unique(data.groups)) / len(data))
