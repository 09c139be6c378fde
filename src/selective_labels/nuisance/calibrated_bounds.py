"""Bounds of single rows: plug-ins of the scores, calibrated by the scores, with standard errors.

The scores of an assumption use pools of decision-makers and only those who can see the case. The bounds of a
row are the models' part of these scores, without the correction by the row's own label. Cross-fitted scores
then correct them on average (:func:`fit_calibration`), and the disagreement of the
folds' models measures their noise.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from scipy.special import expit, logit

from selective_labels._validation import effective_sample_size
from selective_labels.data.selective_labels import SelectiveLabels
from selective_labels.identification.bounds import Bounds, Event, Mask, as_label_range, repair
from selective_labels.identification.event_bounds import LaminarBounds, LaminarScores
from selective_labels.nuisance.assignment import cell_shares
from selective_labels.nuisance.cross_fit import CrossFit, arm_propensity
from selective_labels.nuisance.score_formulas import (
    OVERLAP,
    HeldOutPredictions,
    LabelRange,
    Pools,
    Rows,
    Scores,
    ranged_ceiling,
    required_lead,
)
from selective_labels.nuisance.scores import (
    Scorable,
    cross_fit_scores,
    fold_pools,
    leniency_order,
    n_independent,
    probe_of,
)

# Probabilities are clipped here before the logit, so that no row has an extreme leverage.
CLIP = 1e-3
# Keeps the logit of the prediction itself finite; a small probability stays small.
SMALLEST = 1e-12
MAX_STEPS = 50
TOLERANCE = 1e-10
# A fitted intercept or slope beyond this does not correct a prediction, it replaces it.
FARTHEST = 10.0
# Predictions that differ by less than this (standard deviation of the logit) cannot have a slope.
LEAST_SPREAD = 1e-6


@dataclass(frozen=True, eq=False)
class Calibration:
    """Correction of predicted probabilities p on the logit scale.

    l = expit(logit(p) + a + b (z - z̄)),   z = logit(p), clipped

    Attributes
    ----------
    centre : float
        z̄.
    coefficients : (2,) array
        a and b, shrunk.
    covariance : (2, 2) array
        Covariance of a and b, times their shrinkage factor.
    """

    centre: float
    coefficients: np.ndarray
    covariance: np.ndarray

    def apply(self, probability: np.ndarray) -> np.ndarray:
        """Corrected probabilities; zeros and negative numbers, which are known limits, stay as they are."""
        if not self.coefficients.any():
            return probability
        shift = self.coefficients[0] + self.coefficients[1] * (_logit(probability) - self.centre)
        return np.where(probability > 0.0, expit(_offset(probability) + shift), probability)

    def variance(self, probability: np.ndarray, calibrated: np.ndarray) -> np.ndarray:
        """Variance that estimating a and b adds to the corrected probabilities."""
        if not self.covariance.any():
            return np.zeros_like(probability)
        distance = _logit(probability) - self.centre
        (first, both), (_, second) = self.covariance
        own = first + 2.0 * both * distance + second * distance**2
        found = own * (calibrated * (1.0 - calibrated)) ** 2
        return np.where(probability > 0.0, found, 0.0)


NONE = Calibration(0.0, np.zeros(2), np.zeros((2, 2)))


def fit_calibration(
    scores: np.ndarray,
    probability: np.ndarray,
    weights: np.ndarray | None = None,
    clusters: np.ndarray | None = None,
) -> Calibration:
    """Fit a logistic line of scores on predicted probabilities, and shrink it towards no correction.

    Σ_i w_i (φ_i - expit(logit(p_i) + a + b (z_i - z̄))) (1, z_i - z̄)' = 0,
    (a, b) is multiplied by max(0, 1 - 2 / Q),   Q = (a, b) V⁻¹ (a, b)'

    V is the sandwich covariance, summed within clusters. The shrinkage is that of James and Stein: if the
    predictions are calibrated, Q is about two and nothing changes.

    Parameters
    ----------
    scores : (n_samples,) array
        φ, with E[φ | x] equal to the probability that p predicts. They may lie outside [0, 1].
    probability : (n_samples,) array
        p, from models that were not fitted on the row. Rows with p <= 0 are left out.
    weights : (n_samples,) array, optional
    clusters : (n_samples,) int array, optional
        Codes of dependent rows.

    Returns
    -------
    Calibration
        No correction if there is no solution.

    Examples
    --------
    Predictions that are too small by a factor of about two:

    >>> generator = np.random.default_rng(0)
    >>> p = generator.uniform(0.05, 0.3, 4000)
    >>> happened = (generator.random(4000) < 2 * p).astype(float)
    >>> fit_calibration(happened, p).apply(np.array([0.1, 0.2])).round(2)
    array([0.21, 0.4 ])
    """
    used = probability > 0.0
    weights = np.ones(len(scores)) if weights is None else weights
    scores, weights = scores[used], weights[used]
    if not weights.sum() > 0.0:
        return NONE
    z = _logit(probability[used])
    centre = float(np.average(z, weights=weights))
    design = np.column_stack([np.ones(len(z)), z - centre])
    solution = None
    if np.sqrt(np.average((z - centre) ** 2, weights=weights)) > LEAST_SPREAD:
        solution = _solve(design, _offset(probability[used]), scores, weights)
    # A slope below -1 would turn the order of the predictions round, which few scores cannot justify.
    if solution is None or solution[0][1] <= -1.0:
        design = design[:, :1]
        solution = _solve(design, _offset(probability[used]), scores, weights)
    if solution is None:
        return NONE
    coefficients, information, residual = solution
    size = len(coefficients)
    moments = (weights * residual)[:, None] * design
    if clusters is not None:
        moments = np.stack([np.bincount(clusters[used], column) for column in moments.T], axis=1)
    bread = np.linalg.inv(information)
    covariance = bread @ (moments.T @ moments) @ bread
    strength = float(coefficients @ np.linalg.pinv(covariance) @ coefficients)
    factor = max(0.0, 1.0 - 2.0 / strength) if strength > 0.0 else 0.0
    full, spread = np.zeros(2), np.zeros((2, 2))
    full[:size], spread[:size, :size] = factor * coefficients, factor * covariance
    return Calibration(centre, full, spread)


def _solve(
    design: np.ndarray, offset: np.ndarray, scores: np.ndarray, weights: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray] | None:
    """Newton's method: coefficients, information and residuals; None if it does not converge."""
    coefficients = np.zeros(design.shape[1])

    def at(values: np.ndarray) -> tuple[float, np.ndarray, np.ndarray]:
        line = offset + design @ values
        mean = expit(line)
        return float(weights @ (scores * line - np.logaddexp(0.0, line))), mean, scores - mean

    value, mean, residual = at(coefficients)
    for _ in range(MAX_STEPS):
        information = (design * (weights * mean * (1.0 - mean))[:, None]).T @ design
        if not np.linalg.cond(information) < 1e12:
            return None
        step = np.linalg.solve(information, design.T @ (weights * residual))
        for _ in range(MAX_STEPS):
            tried = at(coefficients + step)
            if tried[0] >= value - TOLERANCE * abs(value):
                break
            step = step / 2.0
        coefficients, (value, mean, residual) = coefficients + step, tried
        if not np.abs(coefficients).max() < FARTHEST:
            return None
        if np.abs(step).max() < TOLERANCE**0.5:
            return coefficients, information, residual
    return None


def _offset(probability: np.ndarray) -> np.ndarray:
    return np.asarray(logit(np.clip(probability, SMALLEST, 1.0 - SMALLEST)))


def _logit(probability: np.ndarray) -> np.ndarray:
    return np.asarray(logit(np.clip(probability, CLIP, 1.0 - CLIP)))


# Known probabilities have no noise, so an arm needs no overlap to be used, only a positive share.
ANY_OVERLAP = 1e-12
# Rows of unknown stratum average over at most this many strata, drawn evenly by their shares.
MOST_STRATA = 50
# Rows whose bounds the models of all folds predict during the fit: for the mean noise, and for the regret.
MOST_COMPARED = 2_000
# Degrees of freedom of the mean noise, which moderates the noise of each row.
PRIOR_FREEDOM = 4.0
UNKNOWN = -1
ROUNDING = 1e-12


@dataclass(frozen=True)
class SetForm:
    """Which numbers describe the identified set of a row.

    Attributes
    ----------
    n_classes : int
        The first numbers are the lower bounds of the classes.
    events : tuple of tuples of int
        The slack of each event follows (:class:`LaminarBounds`).
    ceilings : bool
        Instead of events: one minus the upper bound of each class follows.
    """

    n_classes: int
    events: tuple[Event, ...] = ()
    ceilings: bool = False

    @classmethod
    def of(cls, lower: np.ndarray, further: LaminarScores | None) -> "SetForm":
        """Form of the sets that scores describe."""
        if further is None:
            return cls(lower.shape[1])
        return cls(lower.shape[1], further.events, further.ceiling is not None)

    @property
    def n_numbers(self) -> int:
        """How many numbers describe a row."""
        return self.n_classes * (1 + self.ceilings) + len(self.events)

    def joined(self, lower: np.ndarray, slack: np.ndarray | None, ceiling: np.ndarray | None) -> np.ndarray:
        """Numbers of every row, (n_samples, n_numbers)."""
        if self.ceilings:
            assert ceiling is not None
            return np.concatenate([lower, 1.0 - ceiling], axis=1)
        return lower if slack is None or not self.events else np.concatenate([lower, slack], axis=1)

    def of_models(self, scores: Scores) -> np.ndarray:
        """Numbers by the models' part of scores."""
        more = scores.laminar_scores
        if more is None:
            return scores.plug_in
        return self.joined(scores.plug_in, more.plug_in, more.ceiling_plug_in)

    def of_values(self, scores: Scores) -> np.ndarray:
        """Numbers by scores."""
        more = scores.laminar_scores
        return scores.values if more is None else self.joined(scores.values, more.values, more.ceiling)

    def scores(self, values: np.ndarray, models: np.ndarray) -> tuple[np.ndarray, LaminarScores | None]:
        """Scores of the lower bounds, and those of events or ceilings, from numbers."""
        lower, more, model = (
            values[:, : self.n_classes],
            *(each[:, self.n_classes :] for each in (values, models)),
        )
        if self.ceilings:
            none = np.zeros((len(values), 0))
            return lower, LaminarScores((), none, none, 1.0 - more, 1.0 - model)
        return lower, LaminarScores(self.events, more, model) if self.events else None

    def upper(self, numbers: np.ndarray) -> np.ndarray:
        """u_k = 1 - Σ_{j≠k} l_j - Σ_{S without k} δ_S, or the ceiling if that is smaller."""
        held = numbers[:, : self.n_classes]
        upper = 1.0 - held.sum(axis=1, keepdims=True) + held
        for event, amount in zip(self.events, numbers[:, self.n_classes :].T, strict=False):
            upper[:, [code for code in range(self.n_classes) if code not in event]] -= amount[:, None]
        return np.minimum(upper, 1.0 - numbers[:, self.n_classes :]) if self.ceilings else upper

    def upper_variance(self, numbers: np.ndarray, variance: np.ndarray) -> np.ndarray:
        """Variance of the upper bounds from variances of the numbers, which are taken as independent."""
        total = SetForm(self.n_classes, self.events)
        found = 1.0 - total.upper(variance)
        if not self.ceilings:
            return found
        binding = 1.0 - numbers[:, self.n_classes :] < total.upper(numbers[:, : self.n_classes])
        return np.where(binding, variance[:, self.n_classes :], found)

    def bounds(self, numbers: np.ndarray, lowest: Any = 0.0, highest: Any = 1.0) -> tuple[Bounds, Mask]:
        """Identified sets, repaired where they are empty, and these rows."""
        lower = numbers[:, : self.n_classes]
        if self.events:
            amounts = np.maximum(numbers[:, self.n_classes :], 0.0)
            return LaminarBounds.of(lower, self.events, amounts).repaired()
        return repair(Bounds(lower, self.upper(numbers)), lowest, highest)


@dataclass(frozen=True, eq=False)
class Strata:
    """Shares of arms by stratum.

    Attributes
    ----------
    labels : array or None
        Strata as given by users, sorted; None without strata.
    mass : (n_strata,) array
        Share of the rows in each stratum.
    shares : tuple of (n_strata, n_arms) arrays
        Shares of the arms of each fold.
    """

    labels: np.ndarray | None
    mass: np.ndarray
    shares: tuple[np.ndarray, ...]

    @classmethod
    def of(cls, fit: CrossFit, data: SelectiveLabels) -> "Strata":
        """Shares of the training rows."""
        n_cells = int(data.cells.max()) + 1
        mass = np.bincount(data.cells, data.weights, n_cells)
        shares = []
        for fold in fit.folds:
            if data.assignment is None:
                arms = fold.lookup[data.decision_maker_codes]
                shares.append(cell_shares(data.cells, arms, data.weights, n_cells, fit.n_arms))
                continue
            known = data.assignment @ (fold.lookup[:, None] == np.arange(fit.n_arms))
            total = [np.bincount(data.cells, data.weights * column, n_cells) for column in known.T]
            shares.append(np.stack(total, axis=1) / np.maximum(mass, np.finfo(float).tiny)[:, None])
        labels = None if data.strata is None else data.stratum_labels
        return cls(labels, mass / mass.sum(), tuple(shares))

    def codes(self, strata: np.ndarray | None, n_samples: int) -> np.ndarray:
        """Codes of the strata of new rows; -1 where the stratum is unknown."""
        if self.labels is None:
            return np.zeros(n_samples, dtype=int)
        if strata is None:
            return np.full(n_samples, UNKNOWN)
        place = {label: code for code, label in enumerate(self.labels.tolist())}
        return np.array([place.get(each, UNKNOWN) for each in np.asarray(strata).tolist()], dtype=int)

    @cached_property
    def mixture(self) -> list[tuple[int, float]]:
        """Strata and weights that stand for an unknown stratum."""
        if np.count_nonzero(self.mass) <= MOST_STRATA:
            return [(int(code), float(self.mass[code])) for code in np.flatnonzero(self.mass)]
        points = (np.arange(MOST_STRATA) + 0.5) / MOST_STRATA
        codes, times = np.unique(np.searchsorted(np.cumsum(self.mass), points), return_counts=True)
        return [(int(code), float(n) / MOST_STRATA) for code, n in zip(codes, times, strict=True)]


@dataclass(frozen=True, eq=False)
class CalibratedBounds:
    """Rule for the bounds of rows under one assumption, fitted to the training rows.

    For fold f, the numbers l_f(x) that describe the set are the models' part of the assumption's scores, with
    the pools of the fold and the shares of the row's stratum. If the stratum is unknown, l_f(x) is its mean
    over strata. Each number is calibrated (:func:`fit_calibration`), and l(x) is the mean over folds.

    se² = ((L-1) v + 4 v̄) / (L+3) + variance of the calibration,   v = (L-1)/L Σ_f (l_f - l)²

    v is the delete-a-group jackknife of the L folds, v̄ its mean over training rows.

    Attributes
    ----------
    assumption : Scorable
    classes : (n_classes,) array
    label_range : pair
    strata : Strata
    pools : tuple of (Pools or None)
        Pools of each fold.
    leniency : tuple of (array or None)
        Where there are no pools: numbers that order the arms of each fold.
    probes : tuple of (HeldOutPredictions or None)
        Predictions of some training rows by the model without them, on which arms are compared.
    n_fitted, n_units : float
        See :class:`selective_labels.nuisance.score_formulas.Rows`.
    form : SetForm
    calibration : tuple of Calibration
        One for each number.
    noise : (2, n_classes) array
        v̄ of lower and of upper bounds.
    """

    assumption: Scorable
    classes: np.ndarray
    label_range: Any
    strata: Strata
    pools: tuple[Pools | None, ...]
    leniency: tuple[np.ndarray | None, ...]
    probes: tuple[HeldOutPredictions | None, ...]
    n_fitted: int
    n_units: float
    form: SetForm
    calibration: tuple[Calibration, ...]
    noise: np.ndarray

    def bounds(self, fit: CrossFit, X: np.ndarray, cells: np.ndarray) -> Bounds:
        """Calibrated bounds of new rows, repaired where they cross."""
        return self.with_errors(fit, X, cells)[0]

    def with_errors(self, fit: CrossFit, X: np.ndarray, cells: np.ndarray) -> tuple[Bounds, Bounds]:
        """Calibrated bounds of new rows and their standard errors, in the same shape.

        Parameters
        ----------
        fit : CrossFit
        X : (n_samples, n_features) array
        cells : (n_samples,) int array
            Codes of strata, -1 where unknown.
        """
        found = self.by_fold(fit, X, cells)
        return self.intervals(X, ((rows, *self.estimated(each, extra)) for rows, each, extra in found))

    def estimated(self, by_fold: np.ndarray, extra: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Numbers of some rows, and variances of their lower and upper bounds."""
        numbers = by_fold.mean(axis=0)
        return numbers, self._moderated(by_fold) + self._of_calibration(numbers, extra)

    def intervals(
        self, X: np.ndarray, parts: Iterable[tuple[Any, np.ndarray, np.ndarray]]
    ) -> tuple[Bounds, Bounds]:
        """Bounds and standard errors of all rows, from those of chunks."""
        numbers = np.empty((len(X), self.form.n_numbers))
        variance = np.empty((2, len(X), len(self.classes)))
        for rows, here, spread in parts:
            numbers[rows], variance[:, rows] = here, spread
        lowest, highest = as_label_range(self.label_range, X, len(self.classes))
        found, _ = self.form.bounds(numbers, lowest, highest)
        errors = np.sqrt(variance)
        return found, Bounds(errors[0], errors[1])

    def by_fold(
        self, fit: CrossFit, X: np.ndarray, cells: np.ndarray
    ) -> Iterator[tuple[np.ndarray, np.ndarray, np.ndarray]]:
        """Row numbers, calibrated numbers of each fold (n_folds, n, n_numbers), and variance of calibration.

        Rows come in chunks.
        """
        lowest, highest = as_label_range(self.label_range, X, len(self.classes))
        ranged = has_range(self.label_range)
        for rows in fit.chunks(np.arange(len(X)), len(self.classes) + 1):
            known = _label_range(lowest, highest, rows, len(self.classes)) if ranged else None
            raw = np.stack(
                [self._of_fold(fit, number, X[rows], cells[rows], known) for number in range(len(fit.folds))]
            )
            found = np.stack([self.calibrated(each, known) for each in raw])
            mean, centre = raw.mean(axis=0), found.mean(axis=0)
            lines = zip(self.calibration, mean.T, centre.T, strict=True)
            extra = np.stack([each.variance(p, level) for each, p, level in lines], axis=1)
            yield rows, found, np.where(open_numbers(self.form, mean, known), extra, 0.0)

    def calibrated(self, raw: np.ndarray, known: LabelRange | None) -> np.ndarray:
        """Calibrated numbers, (n_samples, n_numbers)."""
        lines = zip(self.calibration, raw.T, strict=True)
        found = np.stack([each.apply(p) for each, p in lines], axis=1)
        return np.where(open_numbers(self.form, raw, known), found, raw)

    @property
    def _given(self) -> bool:
        return bool(np.isinf(self.n_units))

    def _of_calibration(self, numbers: np.ndarray, extra: np.ndarray) -> np.ndarray:
        """Variance of lower and upper bounds from that of the numbers, (2, n_samples, n_classes)."""
        return np.stack([extra[:, : len(self.classes)], self.form.upper_variance(numbers, extra)])

    def jackknife(self, by_fold: np.ndarray) -> np.ndarray:
        """Delete-a-group jackknife variance of lower and upper bounds, (2, n_samples, n_classes)."""
        upper = np.stack([self.form.upper(each) for each in by_fold])
        n_folds = len(by_fold)
        ends = (by_fold[:, :, : len(self.classes)], upper)
        return np.stack([(n_folds - 1) * each.var(axis=0) for each in ends])

    def _moderated(self, by_fold: np.ndarray) -> np.ndarray:
        freedom = len(by_fold) - 1.0
        own = freedom * self.jackknife(by_fold) + PRIOR_FREEDOM * self.noise[:, None]
        return own / (freedom + PRIOR_FREEDOM)

    def _of_fold(
        self, fit: CrossFit, number: int, X: np.ndarray, cells: np.ndarray, known: LabelRange | None
    ) -> np.ndarray:
        """Numbers by the model of one fold, not calibrated."""
        joint = fit.folds[number].joint(X)
        found = np.zeros((len(X), self.form.n_numbers))
        placed = np.flatnonzero(cells != UNKNOWN)
        for codes, rows, weight in self._groups(cells, placed):
            arms = np.flatnonzero(self.strata.shares[number][np.unique(codes)].max(axis=0) > 0.0)
            whole = len(arms) == len(joint) and len(rows) == len(X)
            part = joint if whole else joint[np.ix_(arms, rows)]
            here = self._rows(number, part, self._shares(fit, number, X[rows], codes, arms), arms)
            if known is not None:
                here = replace(here, label_range=known.take(rows))
            found[rows] += weight * self.form.of_models(self.assumption.score(here, self.overlap))
        return found

    def _groups(
        self, cells: np.ndarray, placed: np.ndarray
    ) -> Iterator[tuple[np.ndarray, np.ndarray, float]]:
        """Strata, rows and weight of each pass: one for each stratum, because it has few of the arms."""
        present = np.unique(cells[placed])
        if len(present) > MOST_STRATA:
            yield cells[placed], placed, 1.0
        else:
            for code in present:
                rows = placed[cells[placed] == code]
                yield cells[rows], rows, 1.0
        lost = np.flatnonzero(cells == UNKNOWN)
        if len(lost):
            for code, weight in self.strata.mixture:
                yield np.full(len(lost), code), lost, weight

    def _shares(
        self, fit: CrossFit, number: int, X: np.ndarray, codes: np.ndarray, arms: np.ndarray
    ) -> np.ndarray:
        """Propensity of some arms at new rows of these strata, (n_samples, n_kept)."""
        shares = self.strata.shares[number]
        models = fit.assignment.models
        if not models:
            if (codes == codes[0]).all():
                return np.broadcast_to(shares[codes[0], arms], (len(X), len(arms)))
            return shares[codes][:, arms]
        chosen = (models[number],) if len(models) == len(fit.folds) else models
        return np.asarray(np.mean([model.at(X, codes, shares) for model in chosen], axis=0))[:, arms]

    def _rows(self, number: int, joint: np.ndarray, shares: np.ndarray, arms: np.ndarray) -> Rows:
        """Rows to score whose labels do not matter."""
        n_samples = joint.shape[1]
        pools, leniency, probe = self.pools[number], self.leniency[number], self.probes[number]
        lead: np.ndarray | float = 0.0
        if leniency is not None:
            lead = required_lead(shares, leniency[arms], self.n_fitted, self.overlap)
        return Rows(
            joint,
            joint,
            np.zeros(n_samples, dtype=int),
            np.full(n_samples, UNKNOWN),
            shares,
            lead,
            n_units=self.n_units,
            n_fitted=self.n_fitted,
            pools=None if pools is None else pools.among(arms),
            probe=None if probe is None else (lambda: replace(probe, arms=arms)),
            classes=self.classes,
        )

    @property
    def overlap(self) -> float:
        """Smallest probability at which an arm is used."""
        return ANY_OVERLAP if self._given else OVERLAP


def open_numbers(form: SetForm, numbers: np.ndarray, known: LabelRange | None) -> Mask:
    """Numbers that are estimates: those at a limit that is known are not calibrated."""
    limits = np.zeros_like(numbers)
    if known is not None:
        limits[:, : form.n_classes] = known.lowest
        if form.ceilings:
            limits[:, form.n_classes :] = 1.0 - known.highest
    return np.asarray(numbers > limits + ROUNDING)


@dataclass(frozen=True)
class WithCeilings:
    """An assumption whose scores also have upper bounds of classes where a label range gives them.

    With two classes the lower bounds say it all. With bounds on events, these have upper bounds of their own.
    """

    assumption: Scorable

    @property
    def name(self) -> str:
        """Key of its scores."""
        return self.assumption.name

    @property
    def needs_halves(self) -> bool:
        """Whether its scores need models of two disjoint halves of the rows."""
        return self.assumption.needs_halves

    @property
    def needs_decision_makers(self) -> bool:
        """Whether it compares decision-makers."""
        return self.assumption.needs_decision_makers

    def score(self, rows: Rows, overlap: float) -> Scores:
        """Score rows."""
        scores = self.assumption.score(rows, overlap)
        if rows.label_range is None or scores.laminar_scores is not None or scores.values.shape[1] < 3:
            return scores
        ceiling = ranged_ceiling(rows, rows.label_range, overlap)
        none = np.zeros((len(scores.values), 0))
        more = LaminarScores((), none, none, 1.0 - ceiling.values, 1.0 - ceiling.plug_in)
        return replace(scores, laminar_scores=more)


@dataclass(frozen=True, eq=False)
class RowScores:
    """Scores and held-out calibrated numbers of the training rows, and what models of all folds say of some.

    Attributes
    ----------
    form : SetForm
    values, models : (n_samples, n_numbers) arrays
        Scores, and calibrated predictions of models that were not fitted on the row.
    compared : (n_compared,) int array
        Some of the rows.
    deviations : (n_folds, n_compared, n_numbers) array
        l_f(x) - l(x) at these rows.
    estimated, errors : Bounds
        Bounds of these rows by the models of all folds, and their standard errors.
    lowest, highest : arrays
        Label range.
    uncalibrated : Scores or None
        The scores with the models' own predictions, as `evaluate` has them, for checks; None under a label
        range or with given probabilities.
    """

    form: SetForm
    values: np.ndarray
    models: np.ndarray
    compared: np.ndarray
    deviations: np.ndarray
    estimated: Bounds
    errors: Bounds
    lowest: np.ndarray
    highest: np.ndarray
    uncalibrated: Scores | None = None

    def bounds(self) -> tuple[Bounds, Mask]:
        """Identified sets of the training rows, and the rows that crossed and were repaired."""
        return self.form.bounds(self.models, self.lowest, self.highest)


def fit_bounds(
    fit: CrossFit, data: SelectiveLabels, assumption: Scorable, label_range: Any = (0.0, 1.0)
) -> tuple[CalibratedBounds, RowScores]:
    """Calibrate the bounds of rows under an assumption.

    The cost is one prediction of every row under every arm, and one more of 2,000 rows for each fold.

    Parameters
    ----------
    fit : CrossFit
    data : SelectiveLabels
        The rows that `fit` was fitted to.
    assumption : Scorable
    label_range : pair
        See :func:`selective_labels.identification.bounds.as_label_range`.
    """
    given = fit.report.chosen == "injected"
    n_fitted, n_units = _sizes(data)
    n_classes = len(data.classes)
    lowest, highest = as_label_range(label_range, data.features, n_classes)
    ranged = has_range(label_range)
    known = _label_range(lowest, highest, np.arange(len(data)), n_classes) if ranged else None
    arms = _arms(fit, data, assumption, given=given, pooled=not given and not ranged)
    rule = CalibratedBounds(
        assumption=WithCeilings(assumption),
        classes=data.classes,
        label_range=label_range,
        strata=Strata.of(fit, data),
        pools=tuple(each.pools for each in arms),
        leniency=tuple(each.leniency for each in arms),
        probes=tuple(each.probe for each in arms),
        n_fitted=n_fitted,
        n_units=np.inf if given else n_units,
        form=SetForm(n_classes),
        calibration=(),
        noise=np.zeros((2, n_classes)),
    )
    found = cross_fit_scores(
        fit, data, [rule.assumption], overlap=rule.overlap, label_range=known, pools=rule.pools
    )[rule.assumption.name]
    form = SetForm.of(found.values, found.laminar_scores)
    values, models = form.of_values(found), form.of_models(found)
    lines: tuple[Calibration, ...] = (NONE,) * form.n_numbers
    # Known probabilities need no correction. With all labels seen, they sum to one as they are.
    if not given and not data.labeled.all():
        lines = _lines(data, values, models, open_numbers(form, models, known))
    rule = replace(rule, form=form, calibration=lines)
    models = rule.calibrated(models, known)
    some = np.unique(np.linspace(0, len(data) - 1, min(len(data), MOST_COMPARED)).astype(int))
    parts = list(rule.by_fold(fit, data.features[some], data.cells[some]))
    by_fold = np.concatenate([numbers for _, numbers, _ in parts], axis=1)
    extra = np.concatenate([variance for _, _, variance in parts])
    weights = data.weights[some] if data.weights[some].any() else np.ones(len(some))
    noise = np.average(rule.jackknife(by_fold), axis=1, weights=weights)
    rule = replace(rule, noise=noise)
    intervals = rule.intervals(data.features[some], [(slice(None), *rule.estimated(by_fold, extra))])
    deviations = by_fold - by_fold.mean(axis=0)
    plain = None if given or ranged else found
    values = models if given else values
    return rule, RowScores(form, values, models, some, deviations, *intervals, lowest, highest, plain)


def _sizes(data: SelectiveLabels) -> tuple[int, int]:
    """Number of rows behind the models, and of independent units."""
    n_fitted = round(effective_sample_size(data.weights))
    n_units = n_independent(data, n_fitted)
    return (n_fitted if data.panels is None else n_units), n_units


def _lines(
    data: SelectiveLabels, values: np.ndarray, models: np.ndarray, allowed: Mask
) -> tuple[Calibration, ...]:
    """Calibration of each number."""
    groups = data.groups
    return tuple(
        fit_calibration(score[on], model[on], data.weights[on], None if groups is None else groups[on])
        for score, model, on in zip(values.T, models.T, allowed.T, strict=True)
    )


def has_range(label_range: Any) -> bool:
    """Whether a label range says more than that probabilities lie between zero and one."""
    lowest, highest = label_range
    plain = not any(callable(each) or np.ndim(each) for each in (lowest, highest))
    return not (plain and (lowest, highest) == (0.0, 1.0))


def _label_range(lowest: np.ndarray, highest: np.ndarray, rows: np.ndarray, n_classes: int) -> LabelRange:
    ends = (each[rows] if each.ndim == 2 else each for each in (lowest, highest))
    return LabelRange(*(np.array(np.broadcast_to(each, (len(rows), n_classes))) for each in ends))


class _FoldArms(NamedTuple):
    """How the arms of a fold are chosen; see :class:`CalibratedBounds`."""

    pools: Pools | None
    leniency: np.ndarray | None
    probe: HeldOutPredictions | None


def _arms(
    fit: CrossFit, data: SelectiveLabels, assumption: Any, *, given: bool, pooled: bool
) -> list[_FoldArms]:
    """Pools, leniencies and probes of every fold."""
    found = []
    compares = any(getattr(each, "singled_out", False) for each in _floors(assumption, data))
    formed = fold_pools(fit, data) if pooled else [None] * len(fit.folds)
    for number, (fold, pools) in enumerate(zip(fit.folds, formed, strict=True)):
        rows = np.flatnonzero(fit.held_out == number)
        order = None
        if not given and pools is None:
            order = leniency_order(fit, fold, data.features[rows], data.weights[rows])
        probe = probe_of(fold, data, rows, arm_propensity(fit, number, data))() if compares else None
        found.append(_FoldArms(pools, order, probe))
    return found


def _floors(assumption: Any, data: SelectiveLabels) -> Sequence[Any]:
    find = getattr(assumption, "floors", None)
    return () if find is None else find(data.classes)
