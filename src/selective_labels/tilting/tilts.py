"""Tilts that the instrument supports, and class probabilities of everybody from them."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy.optimize import minimize
from scipy.stats import qmc
from scipy.stats import t as student

from selective_labels.identification.bounds import Bounds
from selective_labels.identification.point import project_within
from selective_labels.identification.tilt import (
    AnswerRows,
    Mixture,
    OddsRows,
    relative_odds,
    tilted_answer,
)
from selective_labels.identification.tilt_weights import MomentSums, TiltWeights, contrasts, far_tilts
from selective_labels.tilting.first_stage import FirstStage
from selective_labels.tilting.held_out import HeldOutPart, HeldOutRows

# Contrasts of a grid run from -6 to 6, where the prior has nothing left; so many points for two classes,
# and along each of two axes for three.
FARTHEST = 6.0
POINTS = {2: 61, 3: 9}
# A grid is made finer around points whose log weight is within this of the largest, so many times.
WITHIN = 12.0
REFINEMENTS = {2: 1, 3: 2}
# More classes: draws around the minimum, by importance, and their Student's degrees.
LOG2_DRAWS = 7
DEGREES = 5

Statistic = Callable[[np.ndarray], np.ndarray]


@dataclass(frozen=True, eq=False)
class Tilted:
    """Tilts of the two models with their weights.

    Attributes
    ----------
    refused : TiltWeights
        Model O: the refused are tilted accepted cases of the same decision-maker.
    answer : TiltWeights
        Model N: everybody is a tilt of the labeled cases.
    """

    refused: TiltWeights
    answer: TiltWeights

    def probabilities(self, labeled: np.ndarray, propensity: np.ndarray, bounds: Bounds) -> np.ndarray:
        """Class probabilities of everybody: the mean of both models, each inside the bounds.

        η_O = Σ_γ w(γ) Σ_z e_z [p_z + (1 - λ_z) q_z(γ)],   η_N = Σ_γ w(γ) softmax(log η0 - γ)

        Each is projected onto the identified set. (Sharing out what bounds leave open, l + δ q̄, in place of
        the projection of η_O was compared and is the worse one where bounds are poor.)

        Parameters
        ----------
        labeled : (n_arms, n_samples, n_classes) array
        propensity : (n_samples, n_arms) array
        bounds : Bounds

        Returns
        -------
        (n_samples, n_classes) array
        """
        return (
            self.by_refused(labeled, propensity, bounds) + self.by_answer(labeled, propensity, bounds)
        ) / 2

    def by_refused(self, labeled: np.ndarray, propensity: np.ndarray, bounds: Bounds) -> np.ndarray:
        """Model O, projected onto the identified set."""
        mixture, mean = Mixture(labeled, propensity), np.zeros(labeled.shape[:0:-1])
        for tilt, weight in zip(*self.refused.heaviest(), strict=True):
            mean += weight * mixture.at(relative_odds(tilt))
        return project_within(mean.T, bounds)

    def by_answer(self, labeled: np.ndarray, propensity: np.ndarray, bounds: Bounds) -> np.ndarray:
        """Model N, projected onto the identified set."""
        selected = np.einsum("nz,znk->nk", propensity, labeled)
        answer = np.zeros_like(selected)
        for tilt, weight in zip(*self.answer.heaviest(), strict=True):
            answer += weight * tilted_answer(selected, relative_odds(tilt))
        return project_within(answer, bounds)


def fit_tilt(held_out: HeldOutRows, stage: FirstStage) -> Tilted:
    """Weigh tilts of both models by how well the instrument's moments fit them.

    Q(γ) = n ḡ' Ω(γ)⁻¹ ḡ,   g = f · residual of classes 2..K, held out
    """
    n_classes = len(held_out.data.classes)
    return Tilted(
        weigh_tilts(lambda tilts: tilt_statistics(held_out, stage, tilts), n_classes),
        weigh_tilts(lambda tilts: tilt_statistics(held_out, stage, tilts, _answer_moments), n_classes),
    )


def weigh_tilts(statistic: Statistic, n_classes: int) -> TiltWeights:
    """Quasi-posterior over tilts, and statistics far out for the confidence set.

    Two and three classes: a grid over all contrasts from -6 to 6, made finer around its heaviest points.
    More: importance sampling by a Student law around the minimum.
    """
    far = far_tilts(n_classes)
    tilts, statistics, log_volume = (
        _grid(statistic, n_classes) if n_classes in POINTS else _draws(statistic, n_classes)
    )
    return TiltWeights.from_grid(
        np.vstack([tilts, far]),
        np.append(statistics, statistic(far)),
        np.append(log_volume, np.zeros(len(far))),
    )


def _grid(statistic: Statistic, n_classes: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Points of all grids; those of the last have the weight, the others count in the confidence set."""
    rows = contrasts(n_classes)
    low, high = np.full(n_classes - 1, -FARTHEST), np.full(n_classes - 1, FARTHEST)
    seen: list[np.ndarray] = []
    values: list[np.ndarray] = []
    volumes: list[np.ndarray] = []
    for number in range(1 + REFINEMENTS[n_classes]):
        axes = [np.linspace(*ends, POINTS[n_classes]) for ends in zip(low, high, strict=True)]
        points = np.stack(np.meshgrid(*axes, indexing="ij"), axis=-1).reshape(-1, n_classes - 1)
        found = statistic(points @ rows)
        volumes = [np.full(len(each), -np.inf) for each in volumes] + [np.zeros(len(points))]
        seen.append(points @ rows)
        values.append(found)
        step = (high - low) / (POINTS[n_classes] - 1)
        objective = found + np.sum(points**2, axis=1)
        near = points[objective <= objective.min() + WITHIN]
        smaller = np.maximum(near.min(axis=0) - step, low), np.minimum(near.max(axis=0) + step, high)
        if number == REFINEMENTS[n_classes] or (smaller[1] - smaller[0] > 0.7 * (high - low)).all():
            break
        low, high = smaller
    return np.vstack(seen), np.concatenate(values), np.concatenate(volumes)


def _draws(statistic: Statistic, n_classes: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Draws around the minimum; minus the log density of the draws stands for the volume."""
    rows = contrasts(n_classes)

    def objective(points: np.ndarray) -> np.ndarray:
        return statistic(points @ rows) + np.sum(points**2, axis=1)

    starts = np.vstack([np.zeros(n_classes - 1), 2.0 * np.eye(n_classes - 1), -2.0 * np.eye(n_classes - 1)])
    start = starts[objective(starts).argmin()]
    found = minimize(
        lambda point: objective(point[None])[0], start, method="L-BFGS-B", options={"maxiter": 50}
    )
    factor = np.linalg.cholesky(np.linalg.inv(_curvature(objective, found.x)))
    uniform = qmc.Sobol(n_classes - 1, scramble=False).random_base2(LOG2_DRAWS) + 0.5 ** (LOG2_DRAWS + 1)
    draws = student.ppf(uniform, DEGREES)
    points = found.x + draws @ factor.T
    log_density = student.logpdf(draws, DEGREES).sum(axis=1)
    return points @ rows, statistic(points @ rows), -log_density


def _curvature(objective: Callable[[np.ndarray], np.ndarray], center: np.ndarray) -> np.ndarray:
    """Half the second derivatives by differences, made positive definite: at least the prior's."""
    size, step = len(center), 0.05
    moves = step * np.eye(size)
    pairs = np.array([first + second for first in moves for second in moves])
    both = (objective(center + pairs) + objective(center - pairs)).reshape(size, size)
    single = objective(center + moves) + objective(center - moves)
    middle = objective(center[None])[0]
    second = (both - single[:, None] - single[None, :] + 2.0 * middle) / (2.0 * step**2)
    values, vectors = np.linalg.eigh((second + second.T) / 4.0)
    return (vectors * np.maximum(values, 1.0)) @ vectors.T


Moments = Callable[[np.ndarray], np.ndarray]


def _refused_moments(part: HeldOutPart, y: np.ndarray, stage: FirstStage) -> Moments:
    """Model O: f times the residual, (n_classes, n_samples), as a function of the odds."""
    rows = OddsRows(part.labeled, part.propensity, part.arm, y)
    return lambda odds: stage.instrument[part.rows] * rows.residuals(odds)


def _answer_moments(part: HeldOutPart, y: np.ndarray, stage: FirstStage) -> Moments:
    """Model N, likewise."""
    here = part.rows
    return AnswerRows(stage.mean[here], y, stage.instrument[here], stage.strength[here]).moments


def tilt_statistics(
    held_out: HeldOutRows,
    stage: FirstStage,
    tilts: np.ndarray,
    moments_of: Callable[[HeldOutPart, np.ndarray, FirstStage], Moments] = _refused_moments,
) -> np.ndarray:
    """Q of every tilt; groups of repeated cases are one unit."""
    data = held_out.data
    n_moments = len(data.classes) - 1
    groups = data.groups
    n_units = len(data) if groups is None else int(groups.max()) + 1
    total = np.zeros((len(tilts), n_moments))
    squares = np.zeros((len(tilts), n_moments, n_moments))
    by_group = np.zeros((len(tilts), 0 if groups is None else n_units, n_moments))
    odds = relative_odds(tilts)
    for part in held_out:
        weight, moments_at = data.weights[part.rows], moments_of(part, data.y[part.rows], stage)
        for number, each in enumerate(odds):
            moments = weight * moments_at(each)[1:]
            total[number] += moments.sum(axis=1)
            if groups is None:
                squares[number] += moments @ moments.T
            else:
                np.add.at(by_group[number], groups[part.rows], moments.T)
    if groups is not None:
        squares = np.einsum("tgi,tgj->tij", by_group, by_group)
    mean = total / n_units
    covariance = squares / n_units - mean[:, :, None] * mean[:, None, :]
    return MomentSums(mean, covariance, n_units).statistic
