"""Cross-fitted scores of all rows under several assumptions, and the pools and bands of arms they use."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from functools import cache
from typing import Protocol

import numpy as np
from scipy.stats import chi2

from selective_labels._errors import InputError
from selective_labels._validation import effective_sample_size
from selective_labels.data.selective_labels import SelectiveLabels
from selective_labels.identification.event_bounds import LaminarScores
from selective_labels.nuisance.bands import MANY_DECISION_MAKERS, arms_off_fold, by_case
from selective_labels.nuisance.cross_fit import (
    CrossFit,
    FoldModel,
    Propensity,
    arm_propensity,
    weights_of_labels,
)
from selective_labels.nuisance.maturity import label_terms
from selective_labels.nuisance.models.encoders import standardised
from selective_labels.nuisance.score_formulas import (
    OVERLAP,
    ArmShares,
    HeldOutPredictions,
    LabelRange,
    Pools,
    Rows,
    Scores,
    required_lead,
)

# Significance level of the test that decision-makers differ in one more direction.
LEVEL = 0.05


def class_pools(surplus: np.ndarray, decision_maker: np.ndarray, lookup: np.ndarray, n_arms: int) -> Pools:
    """Pool, for each class, the arms that are statistically indistinguishable from the best one.

    S_z = mean of 1{D=1, Y=k} - E[. | x] over the rows of decision-maker z,   Ŝ_z = shrunken S_z,
    pool_k = {a : Ŝ_ka >= max_b Ŝ_kb - 1.5 se(Ŝ_ka - Ŝ_kb)},   Ŝ_a = mean of Ŝ_z over the rows of the arm

    Decision-makers differ in leniency and in skill, so the rates of all classes are shrunk jointly, in the
    canonical variates: coordinates in which the noise is white, ordered by how much decision-makers differ. A
    sequential χ² test at 5 % decides how many coordinates to keep, and each has its own empirical Bayes
    factor. If decision-makers differ in leniency alone, one coordinate remains, and all rows are informative
    about every class. If the test finds no differences, all arms form one pool: the instrument is then too
    weak to use, and the pool does not follow noise.

    Parameters
    ----------
    surplus : (n_samples, n_classes) array
        See :func:`class_surplus`. Must not include the rows to be scored.
    decision_maker : (n_samples,) int array
    lookup : (n_decision_makers,) int array
        The arm of each decision-maker (its own, or its band).

    Examples
    --------
    Two of four decision-makers label only class 0, the other two only class 1:

    >>> maker, label = np.arange(800) % 4, np.arange(800) // 4 % 2
    >>> seen = (label == maker % 2)[:, None] & (label[:, None] == np.arange(2))
    >>> class_pools(seen - seen.mean(axis=0), maker, np.arange(4), 4).members
    array([[ True, False],
           [False,  True],
           [ True, False],
           [False,  True]])
    """
    counts = np.bincount(decision_maker, minlength=len(lookup)).astype(float)
    rows = np.maximum(counts, 1.0)[:, None]
    sums = np.stack([np.bincount(decision_maker, each, len(lookup)) for each in surplus.T], axis=1)
    residual = surplus - (sums / rows)[decision_maker]
    noise = residual.T @ residual / max(len(residual) - np.count_nonzero(counts), 1)
    deviations = (sums / rows - surplus.mean(axis=0)) * (counts > 0.0)[:, None]
    white, loadings, strength = _canonical(deviations, counts, noise)
    factor = strength / (strength + 1.0 / rows)
    weight = (lookup == np.arange(n_arms)[:, None]) * counts
    total = weight.sum(axis=1, keepdims=True)
    weight = weight / np.maximum(total, 1.0)
    shares = weight @ (white * factor) @ loadings
    variance = weight**2 @ (strength * (1.0 - factor)) @ loadings**2
    arms = ArmShares(shares, variance, total[:, 0])
    members, lost = arms.near_best(np.ones((1, n_arms), dtype=bool))
    return Pools(members[0], float(lost[0]), arms)


def class_surplus(
    seen: np.ndarray, columns: np.ndarray | None = None, strata: np.ndarray | None = None
) -> np.ndarray:
    """Observed labels minus their expectation given the case, (n_samples, n_classes).

    The expectation is the mean of the stratum, or, without strata, a ridge regression on columns of features.
    `seen` are the indicators of the observed labels.

    Examples
    --------
    >>> class_surplus(np.array([[0.0, 1.0], [0.0, 0.0]]), strata=np.array([0, 0]))
    array([[ 0. ,  0.5],
           [ 0. , -0.5]])
    """
    if strata is not None:
        rows = np.maximum(np.bincount(strata), 1)
        return seen - np.stack([np.bincount(strata, column) / rows for column in seen.T], axis=1)[strata]
    assert columns is not None
    columns, seen = columns - columns.mean(axis=0), seen - seen.mean(axis=0)
    penalised = columns.T @ columns + np.eye(columns.shape[1])
    return np.asarray(seen - columns @ np.linalg.solve(penalised, columns.T @ seen))


def _canonical(
    deviations: np.ndarray, counts: np.ndarray, noise: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Canonical variates: coordinates with white noise, ordered by the variance between arms.

    Returns
    -------
    white : (n_arms, n_coordinates) array
    loadings : (n_coordinates, n_classes) array
        white @ loadings recovers the deviations.
    strength : (n_coordinates,) array
        Variance between arms, net of noise; zero where the test is not significant.
    """
    size, axes = np.linalg.eigh(noise)
    kept = size > 1e-9 * max(float(size[-1]), np.finfo(float).tiny)
    scale = np.sqrt(size[kept])
    white = deviations @ (axes[:, kept] / scale)
    squares, turn = np.linalg.eigh((white * counts[:, None]).T @ white)
    squares, turn = squares[::-1], turn[:, ::-1]
    free = np.count_nonzero(counts) - 1
    found = np.zeros(len(squares), dtype=bool)
    for first in range(len(squares)):
        degrees = (free - first) * (len(squares) - first)
        if degrees <= 0 or squares[first:].sum() <= chi2.ppf(1.0 - LEVEL, degrees):
            break
        found[first] = True
    total = counts.sum()
    room = max(float(total - np.sum(counts**2) / total), np.finfo(float).tiny)
    strength = np.where(found, np.maximum(squares - free, 0.0) / room, 0.0)
    return white @ turn, turn.T @ (axes[:, kept] * scale).T, strength


# Up to this many decision-makers are arms of their own; similar arms are pooled for each class.
FEW_DECISION_MAKERS = 20
MOST_BANDS = 20
ROWS_PER_BAND = 500
# Rows on which arms are compared by their mean predictions: enough to rank arms, at negligible cost.
PROBE_ROWS = 500


class Scorable(Protocol):
    """Interface of an assumption that can score rows."""

    @property
    def name(self) -> str:
        """Key of its scores."""

    @property
    def needs_halves(self) -> bool:
        """Whether its scores need models of two disjoint halves of the rows."""

    @property
    def needs_decision_makers(self) -> bool:
        """Whether it compares decision-makers."""

    def score(self, rows: Rows, overlap: float) -> Scores:
        """Score rows."""


def overlap_of(fit: CrossFit) -> float:
    """Probability below which an arm is left out."""
    assignment = fit.report.assignment
    return OVERLAP if assignment is None else assignment.overlap


def cross_fit_scores(
    fit: CrossFit,
    data: SelectiveLabels,
    assumptions: Iterable[Scorable],
    *,
    overlap: float | None = None,
    held_out: bool = True,
    label_range: LabelRange | None = None,
    pools: Sequence[Pools | None] | None = None,
) -> dict[str, Scores]:
    """Score every row under several assumptions, from models fitted once.

    The cost is one prediction of every row under every arm (per half), for any number of assumptions. No
    model is fitted again. Propensity scores come from
    :func:`selective_labels.nuisance.cross_fit.arm_propensity`.

    Parameters
    ----------
    data : SelectiveLabels
        The rows that `fit` was fitted to, or, with ``held_out=False``, other rows with the same
        decision-makers and classes.
    assumptions : iterable of assumption objects
        See :mod:`selective_labels.assumptions`. Some need ``cross_fit(in_halves=True)``.
    overlap : float, optional
        Smallest probability at which an arm is selected or a decision is inversely weighted. Default: for
        arms :func:`overlap_of`, for decisions `OVERLAP`.
    held_out : bool
        If True, the model fitted without a row scores it. If False, the rows are new, and scores are averaged
        over the models of all folds.
    label_range : LabelRange, optional
        Label range of all rows. It narrows the bounds and does not change point estimates.
    pools : sequence of Pools, optional
        Pools of each fold, if the caller has formed them already (:func:`fold_pools`).

    Returns
    -------
    dict of Scores
        Keyed by the name of the assumption.
    """
    chosen = {each.name: each for each in assumptions}
    of_decisions = OVERLAP if overlap is None else overlap
    of_arms = overlap_of(fit) if overlap is None else overlap
    _check(fit, data, chosen.values(), of_decisions, held_out)
    n_classes = len(data.classes)
    # Given probabilities have no noise, so the best arm needs no lead.
    given = fit.report.chosen == "injected"
    n_fitted = round(effective_sample_size(data.weights)) if held_out else len(fit.held_out) or len(data)
    n_units = np.inf if given else n_independent(data, n_fitted)
    if data.panels is not None:  # rows of one case are not independent
        n_fitted = n_independent(data, n_fitted)
    pooled = held_out and not given and label_range is None
    totals = {name: _empty_scores(len(data), n_classes) for name in chosen}
    weights = fit.label_weights if held_out else weights_of_labels(fit, data, held_out=False)
    accepted = data.decision == 1 if data.has_pending and weights is None else None
    laminar_scores: dict[str, LaminarScores] = {}
    n_folds = 1 if held_out else len(fit.folds)
    if pools is None and pooled:
        pools = fold_pools(fit, data)
    for number, fold in enumerate(fit.folds):
        rows = np.flatnonzero(fit.held_out == number) if held_out else np.arange(len(data))
        probability = arm_propensity(fit, number, data, held_out=held_out)
        formed = None if pools is None else pools[number]
        probe = probe_of(fold, data, rows, probability)
        leniency = None
        if not given and formed is None:
            leniency = leniency_order(fit, fold, data.features[rows], data.weights[rows])
        for here in fit.chunks(rows, n_classes + 1):
            pair = [model.joint(data.features[here]) for model in fold.models]
            arm = fold.lookup[data.decision_maker_codes[here]]
            shares = probability(here)
            lead = 0.0 if leniency is None else required_lead(shares, leniency, n_fitted, of_arms)
            known = None if label_range is None else label_range.take(here)
            chunk = Rows(pair[0], pair[-1], arm, data.y[here], shares, lead, known, n_units, n_fitted, formed)
            chunk = replace(
                chunk,
                classes=data.classes,
                probe=probe,
                accepted=None if accepted is None else accepted[here],
            )
            for name, assumption in chosen.items():
                least = of_arms if assumption.needs_decision_makers else of_decisions
                part = expected_scores(assumption, chunk, least, None if weights is None else weights[here])
                _add(totals[name], here, part)
                if part.laminar_scores is not None:
                    kept = laminar_scores.setdefault(name, part.laminar_scores.empty(len(data)))
                    kept.add(here, part.laminar_scores, 1.0 / n_folds)
    if held_out:
        return {name: replace(each, laminar_scores=laminar_scores.get(name)) for name, each in totals.items()}
    return {
        name: Scores(
            each.values / n_folds,
            each.plug_in / n_folds,
            each.clipped,
            each.bounded,
            laminar_scores=laminar_scores.get(name),
        )
        for name, each in totals.items()
    }


def selector_bands(data: SelectiveLabels) -> int | None:
    """Number of leniency bands for an evaluation, as `n_bands` of :func:`cross_fit`.

    Q = 2 √J rounded, from 2 to 20 and with 500 rows or more each; None (no bands) for J <= 20

    Here J is the number of decision-makers available to a case: all, or those of its stratum (median over
    rows). With more than 64 decision-makers in total, models always use bands. Up to 20 decision-makers are
    arms of their own. Arms that are statistically indistinguishable from the best one for a class are pooled
    (:func:`class_pools`), so ties do not make the selector unstable. With more decision-makers, each has few
    rows, and leniency bands, pooled in the same way, do better. Differences in skill within a band are lost.
    If panels decide, cases are counted instead of rows.

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


def expected_scores(assumption: Scorable, rows: Rows, overlap: float, weights: np.ndarray | None) -> Scores:
    """Scores of rows; with weights of the labels, their expectation (:func:`label_terms`)."""
    if weights is None:
        return assumption.score(rows, overlap)
    parts = [(assumption.score(replace(rows, y=y), overlap), weight) for y, weight in label_terms(weights)]

    def expected(find: Callable[[Scores], np.ndarray]) -> np.ndarray:
        return np.sum([weight[:, None] * find(part) for part, weight in parts], axis=0)

    first, more = parts[0][0], parts[0][0].laminar_scores
    if more is not None:
        more = replace(more, values=expected(lambda part: part.laminar_scores.values))  # type: ignore[union-attr]
        if more.ceiling is not None:
            more = replace(more, ceiling=expected(lambda part: part.laminar_scores.ceiling))  # type: ignore
    return replace(first, values=expected(lambda part: part.values), laminar_scores=more)


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
    """Numbers that order the arms by leniency, without the decisions of these rows, (n_arms,)."""
    if fit.report.banded:  # bands are numbered from the least to the most lenient
        return np.arange(fit.n_arms)
    probe = _spread(len(X))
    share = weight[probe] / max(weight[probe].sum(), np.finfo(float).tiny)
    return 1.0 - fold.joint(X[probe])[:, :, 0] @ share


def probe_of(
    fold: FoldModel, data: SelectiveLabels, rows: np.ndarray, probability: Propensity
) -> Callable[[], HeldOutPredictions]:
    """Predictions of a sample of the rows, computed at the first call."""
    some = rows[_spread(len(rows))]
    return cache(lambda: HeldOutPredictions(fold.joint(data.features[some]), probability(some)))


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


def fold_pools(fit: CrossFit, data: SelectiveLabels) -> list[Pools]:
    """Pool of arms for each class, by fold, from the rows that the fold's models were fitted to.

    Rows of weight zero are as if they were not there.
    """
    columns = None
    if data.strata is None:  # standardised once: features of held-out rows say nothing of their labels
        scale = standardised(data.categorical).fit(data.features[data.weights > 0.0])
        columns = scale.transform(data.features)
    seen = data.label_indicators if fit.label_weights is None else fit.label_weights
    found = []
    for number, fold in enumerate(fit.folds):
        others = (fit.held_out != number) & (data.weights > 0.0)
        if columns is None:
            assert data.strata is not None
            surplus = class_surplus(seen[others], strata=data.strata[others])
        else:
            surplus = class_surplus(seen[others], columns[others])
        if data.panels is None:
            maker = data.decision_maker_codes[others]
            found.append(class_pools(surplus, maker, fold.lookup, fit.n_arms))
            continue
        first, surplus = by_case(data.groups, others, surplus)
        arm = arms_off_fold(data, np.flatnonzero(others), fit.n_arms if fit.report.banded else None)
        found.append(class_pools(surplus, arm[first], np.arange(fit.n_arms), fit.n_arms))
    return found


def n_independent(data: SelectiveLabels, n_fitted: int) -> int:
    """Number of independent units: each group counts once, because its rows are dependent."""
    if data.groups is None:
        return n_fitted
    return round(n_fitted * len(np.unique(data.groups)) / len(data))
