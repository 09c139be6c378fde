"""Tilted models of the class probabilities of the population, weighted by the instrument's moments.

Without an allowance for skill, models O and N of :mod:`selective_labels.identification.odds_ratio` are
averaged over all tilts. With one, model O is taken at the weighted means of the tilt and of its slope.

"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial

import numpy as np
from numpy.typing import ArrayLike
from scipy.optimize import minimize
from scipy.special import logsumexp, softmax
from scipy.stats import chi2, qmc
from scipy.stats import t as student

from selective_labels.identification.bounds import Bounds
from selective_labels.identification.odds_ratio import (
    AnswerRows,
    Mixture,
    MomentSums,
    OddsRows,
    TiltWeights,
    contrasts,
    far_tilts,
    relative_odds,
    tilted_answer,
    with_skill,
)
from selective_labels.identification.point import project_within
from selective_labels.nuisance.first_stage import FirstStage, HeldOutPart, HeldOutRows
from selective_labels.nuisance.maturity import label_terms

# Confidence level of the set of tilts, R_c.
LEVEL = 0.95

# The grid of contrasts runs from -6 to 6, beyond which the prior is negligible. POINTS is the number of grid
# points on each axis, by number of classes: one axis for two classes, two axes for three.
FARTHEST = 6.0
POINTS = {2: 61, 3: 9}
# The grid is refined REFINEMENTS times around points whose objective is within WITHIN of the smallest.
WITHIN = 12.0
REFINEMENTS = {2: 1, 3: 2}
# With more classes: log2 of the number of importance draws, and degrees of freedom of their t distribution.
LOG2_DRAWS = 7
DEGREES = 5

# Points on each axis of slopes, by number of classes; with more classes, 2**LOG2_SLOPES points in the box.
SLOPE_POINTS = {2: 25, 3: 9}
LOG2_SLOPES = 8


@dataclass(frozen=True, eq=False)
class TiltProfile:
    """What the moments say of each of several tilts, over all slopes that are allowed for.

    Attributes
    ----------
    statistic : (n_tilts,) array
        min over slopes of Q(γ, δ).
    log_volume : (n_tilts,) array
        log of the mean of exp(-(Q(γ, δ) - statistic) / 2) over the prior of the slopes; 0 without slopes.
    slopes : (n_tilts, n_classes) array or None
        Weighted mean of δ at each tilt.
    """

    statistic: np.ndarray
    log_volume: np.ndarray
    slopes: np.ndarray | None

    @classmethod
    def joined(cls, several: Sequence["TiltProfile"]) -> "TiltProfile":
        """The tilts of several profiles, one after the other."""
        slopes = [each.slopes for each in several if each.slopes is not None]
        return cls(
            np.concatenate([each.statistic for each in several]),
            np.concatenate([each.log_volume for each in several]),
            np.vstack(slopes) if slopes else None,
        )


Profile = Callable[[np.ndarray], TiltProfile]


@dataclass(frozen=True, eq=False)
class Tilted:
    """Weighted tilts of models of the class probabilities of the population.

    Attributes
    ----------
    refused : TiltWeights
        Model O: unlabeled cases are a tilt of the labeled cases of the same decision-maker.
    answer : TiltWeights or None
        Model N: the whole population is a tilt of the labeled cases. None with an allowance for skill.
    statistic_at_zero : float
        min over slopes of Q(0, δ): the test of no tilt.
    """

    refused: TiltWeights
    answer: TiltWeights | None
    statistic_at_zero: float

    @property
    def excludes_zero(self) -> bool:
        """Whether no tilt at all is outside the confidence set R_c, {γ: min_δ Q(γ, δ) <= χ²_{K-1}(.95)}."""
        return self.statistic_at_zero > chi2.ppf(LEVEL, self.refused.tilts.shape[1] - 1)

    def towards(self, event: ArrayLike) -> "Tilted":
        """The same tilts, as far as refused cases have the event at least as often as comparable ones."""
        answer = None if self.answer is None else self.answer.towards(event)
        return replace(self, refused=self.refused.towards(event), answer=answer)

    def probabilities(self, labeled: np.ndarray, propensity: np.ndarray, bounds: Bounds) -> np.ndarray:
        """Class probabilities of the whole population: the mean of both models, each within the bounds.

        η_O = Σ_γ w(γ) Σ_z e_z [p_z + (1 - λ_z) q_z(γ)],   η_N = Σ_γ w(γ) softmax(log η0 - γ)

        With an allowance for skill, it is model O at the weighted means of γ and δ. Each is projected onto
        the identified set. (The alternative to projecting η_O, distributing the slack as l + δ q̄, did worse
        in a comparison where bounds are wide.)

        Parameters
        ----------
        labeled : (n_arms, n_samples, n_classes) array
        propensity : (n_samples, n_arms) array
        bounds : Bounds

        Returns
        -------
        (n_samples, n_classes) array
        """
        if self.answer is None:
            return self.at_mean(labeled, propensity, bounds)
        return (
            self.by_refused(labeled, propensity, bounds)
            + self.by_answer(self.answer, labeled, propensity, bounds)
        ) / 2

    def at_mean(self, labeled: np.ndarray, propensity: np.ndarray, bounds: Bounds) -> np.ndarray:
        """Model O at the weighted means of tilt and slope, projected onto the identified set."""
        base = with_skill(labeled, propensity, self.refused.mean_slope)
        mixture = Mixture(labeled, propensity, base)
        return project_within(mixture.at(relative_odds(self.refused.mean)).T, bounds)

    def by_refused(self, labeled: np.ndarray, propensity: np.ndarray, bounds: Bounds) -> np.ndarray:
        """Model O, projected onto the identified set."""
        mixture, mean = Mixture(labeled, propensity), np.zeros(labeled.shape[:0:-1])
        for tilt, weight in zip(*self.refused.heaviest(), strict=True):
            mean += weight * mixture.at(relative_odds(tilt))
        return project_within(mean.T, bounds)

    @staticmethod
    def by_answer(
        weights: TiltWeights, labeled: np.ndarray, propensity: np.ndarray, bounds: Bounds
    ) -> np.ndarray:
        """Model N, projected onto the identified set."""
        selected = np.einsum("nz,znk->nk", propensity, labeled)
        answer = np.zeros_like(selected)
        for tilt, weight in zip(*weights.heaviest(), strict=True):
            answer += weight * tilted_answer(selected, relative_odds(tilt))
        return project_within(answer, bounds)


def fit_tilt(held_out: HeldOutRows, stage: FirstStage, skill_range: float = 0.0) -> Tilted:
    """Weight tilts by the fit of the instrument's moments.

    Q(γ, δ) = n ḡ' Ω(γ, δ)⁻¹ ḡ,   g = f · residual of classes 2..K, held out
    w(γ, δ) ∝ exp(-Q / 2) N(c; 0, 1) N(d; 0, (r/2)²) on |d_j| <= r,   γ = c C, δ = d C

    Parameters
    ----------
    skill_range : float
        r: the largest slope of a contrast of the tilt over leniency. 0: the tilt is the same for all
        decision-makers, and model N is weighted beside model O.
    """
    n_classes = len(held_out.data.classes)
    nothing = np.zeros((1, n_classes))
    if skill_range > 0.0:
        moments = SkillMoments.fit(held_out, stage, nothing, skill_range)
        profile = partial(skill_profile, held_out, stage, skill_range)
        return Tilted(weigh_tilts(profile, n_classes), None, moments.smallest())

    def plain(statistic: Callable[..., np.ndarray], tilts: np.ndarray) -> TiltProfile:
        found = statistic(tilts)
        return TiltProfile(found, np.zeros(len(found)), None)

    refused = partial(tilt_statistics, held_out, stage)
    answer = partial(tilt_statistics, held_out, stage, moments_of=_answer_moments)
    return Tilted(
        weigh_tilts(partial(plain, refused), n_classes),
        weigh_tilts(partial(plain, answer), n_classes),
        float(refused(nothing)[0]),
    )


@dataclass(frozen=True, eq=False)
class SkillMoments:
    """Sums of moments at several tilts, as quadratic functions of the slopes.

    They are computed at no slope and at slopes ±r along each contrast, and interpolated between: residuals
    are smooth in the slopes, and r (λ_z - λ̄) is well below one.

    Attributes
    ----------
    mean : (n_nodes, n_tilts, n_moments) array
    covariance : (n_nodes, n_tilts, n_moments, n_moments) array
    n_units, skill_range : float
    """

    mean: np.ndarray
    covariance: np.ndarray
    n_units: float
    skill_range: float

    @classmethod
    def fit(
        cls, held_out: HeldOutRows, stage: FirstStage, tilts: np.ndarray, skill_range: float
    ) -> "SkillMoments":
        """Compute the sums at the nodes."""
        rows = contrasts(tilts.shape[1])
        slopes = skill_range * np.vstack([np.zeros((1, tilts.shape[1])), rows, -rows])
        found = [
            tilt_sums(held_out, stage, tilts, partial(_refused_moments, slope=slope)) for slope in slopes
        ]
        return cls(
            np.stack([each.mean for each in found]),
            np.stack([each.covariance for each in found]),
            found[0].n_units,
            skill_range,
        )

    def statistics(self, coordinates: np.ndarray) -> np.ndarray:
        """Q at every tilt and slope, (n_tilts, n_slopes); `coordinates` d are (n_slopes, n_contrasts)."""
        unit = coordinates / self.skill_range
        squares = unit**2 / 2.0
        basis = np.hstack(
            [1.0 - 2.0 * squares.sum(axis=1, keepdims=True), squares + unit / 2, squares - unit / 2]
        )
        mean = np.einsum("sb,btk->tsk", basis, self.mean)
        covariance = np.einsum("sb,btkl->tskl", basis, self.covariance)
        (n_tilts, n_slopes, n_moments) = mean.shape
        flat = MomentSums(
            mean.reshape(-1, n_moments), covariance.reshape(-1, n_moments, n_moments), self.n_units
        )
        return flat.statistic.reshape(n_tilts, n_slopes)

    def smallest(self) -> float:
        """Min over slopes of Q at the first tilt."""
        reach = self.skill_range
        grid = _slopes(self.mean.shape[2] + 1, reach)
        start = grid[self.statistics(grid)[0].argmin()]
        found = minimize(
            lambda point: self.statistics(point[None])[0, 0], start, bounds=[(-reach, reach)] * len(start)
        )
        return float(min(found.fun, self.statistics(start[None])[0, 0]))


def _slopes(n_classes: int, reach: float) -> np.ndarray:
    """Coordinates of the slopes to average over, (n_slopes, n_classes - 1)."""
    if n_classes in SLOPE_POINTS:
        axis = np.linspace(-reach, reach, SLOPE_POINTS[n_classes])
        axes = np.meshgrid(*[axis] * (n_classes - 1), indexing="ij")
        return np.stack(axes, axis=-1).reshape(-1, n_classes - 1)
    uniform = qmc.Sobol(n_classes - 1, scramble=False).random_base2(LOG2_SLOPES)
    return reach * (2.0 * uniform + 0.5**LOG2_SLOPES - 1.0)


def skill_profile(
    held_out: HeldOutRows, stage: FirstStage, skill_range: float, tilts: np.ndarray
) -> TiltProfile:
    """Average the slopes out of the quasi-posterior, and minimise the statistic over them."""
    n_classes = tilts.shape[1]
    coordinates = _slopes(n_classes, skill_range)
    statistics = SkillMoments.fit(held_out, stage, tilts, skill_range).statistics(coordinates)
    prior = -2.0 * np.sum((coordinates / skill_range) ** 2, axis=1)
    logs = prior - logsumexp(prior) - statistics / 2.0
    smallest = statistics.min(axis=1)
    slopes = softmax(logs, axis=1) @ (coordinates @ contrasts(n_classes))
    return TiltProfile(smallest, logsumexp(logs, axis=1) + smallest / 2.0, slopes)


def weigh_tilts(profile: Profile, n_classes: int) -> TiltWeights:
    """Quasi-posterior over tilts, with statistics at distant tilts for the confidence set.

    For two and three classes: a grid of all contrasts from -6 to 6, refined around its heaviest points.
    For more classes: importance sampling from a Student t distribution around the minimum.
    """
    far = far_tilts(n_classes)
    tilts, found, log_volume = (
        _grid(profile, n_classes) if n_classes in POINTS else _draws(profile, n_classes)
    )
    everything = TiltProfile.joined([found, profile(far)])
    return TiltWeights.from_grid(
        np.vstack([tilts, far]),
        everything.statistic,
        np.append(log_volume, np.zeros(len(far))) + everything.log_volume,
        everything.slopes,
    )


def _grid(profile: Profile, n_classes: int) -> tuple[np.ndarray, TiltProfile, np.ndarray]:
    """Points of all grids; only the last grid has weight, the others serve the confidence set."""
    rows = contrasts(n_classes)
    low, high = np.full(n_classes - 1, -FARTHEST), np.full(n_classes - 1, FARTHEST)
    seen: list[np.ndarray] = []
    values: list[TiltProfile] = []
    volumes: list[np.ndarray] = []
    for number in range(1 + REFINEMENTS[n_classes]):
        axes = [np.linspace(*ends, POINTS[n_classes]) for ends in zip(low, high, strict=True)]
        points = np.stack(np.meshgrid(*axes, indexing="ij"), axis=-1).reshape(-1, n_classes - 1)
        found = profile(points @ rows)
        volumes = [np.full(len(each), -np.inf) for each in volumes] + [np.zeros(len(points))]
        seen.append(points @ rows)
        values.append(found)
        step = (high - low) / (POINTS[n_classes] - 1)
        objective = found.statistic - 2.0 * found.log_volume + np.sum(points**2, axis=1)
        near = points[objective <= objective.min() + WITHIN]
        smaller = np.maximum(near.min(axis=0) - step, low), np.minimum(near.max(axis=0) + step, high)
        if number == REFINEMENTS[n_classes] or (smaller[1] - smaller[0] > 0.7 * (high - low)).all():
            break
        low, high = smaller
    return np.vstack(seen), TiltProfile.joined(values), np.concatenate(volumes)


def _draws(profile: Profile, n_classes: int) -> tuple[np.ndarray, TiltProfile, np.ndarray]:
    """Draws around the minimum; minus their log density serves as the log volume."""
    rows = contrasts(n_classes)

    def objective(points: np.ndarray) -> np.ndarray:
        found = profile(points @ rows)
        return found.statistic - 2.0 * found.log_volume + np.sum(points**2, axis=1)

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
    return points @ rows, profile(points @ rows), -log_density


def _curvature(objective: Callable[[np.ndarray], np.ndarray], center: np.ndarray) -> np.ndarray:
    """Half the Hessian by finite differences, with eigenvalues no smaller than those of the prior."""
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
MomentsOf = Callable[[HeldOutPart, np.ndarray, FirstStage], Moments]


def _refused_moments(
    part: HeldOutPart, y: np.ndarray, stage: FirstStage, slope: np.ndarray | None = None
) -> Moments:
    """Moments of model O: f times the residual, (n_classes, n_samples), as a function of the odds."""
    base = None if slope is None or not slope.any() else with_skill(part.labeled, part.propensity, slope)
    rows = OddsRows(part.labeled, part.propensity, part.arm, y, base)
    return lambda odds: stage.instrument[part.rows] * rows.residuals(odds)


def _answer_moments(part: HeldOutPart, y: np.ndarray, stage: FirstStage) -> Moments:
    """Moments of model N, (n_classes, n_samples), as a function of the odds."""
    here = part.rows
    return AnswerRows(stage.mean[here], y, stage.instrument[here], stage.strength[here]).moments


def _terms_of_labels(held_out: HeldOutRows, part: HeldOutPart) -> list[tuple[np.ndarray, np.ndarray | float]]:
    """Label codes of the rows and their weight: those that are known, or all that may have happened."""
    weights = held_out.fit.label_weights
    return [(held_out.data.y[part.rows], 1.0)] if weights is None else list(label_terms(weights[part.rows]))


def tilt_statistics(
    held_out: HeldOutRows,
    stage: FirstStage,
    tilts: np.ndarray,
    moments_of: MomentsOf = _refused_moments,
) -> np.ndarray:
    """Statistic Q of every tilt, (n_tilts,)."""
    return tilt_sums(held_out, stage, tilts, moments_of).statistic


def tilt_sums(
    held_out: HeldOutRows, stage: FirstStage, tilts: np.ndarray, moments_of: MomentsOf
) -> MomentSums:
    """Sums of the moments at every tilt; a group of repeated cases counts as one unit."""
    data = held_out.data
    n_moments = len(data.classes) - 1
    groups = data.groups
    n_units = len(data) if groups is None else int(groups.max()) + 1
    total = np.zeros((len(tilts), n_moments))
    squares = np.zeros((len(tilts), n_moments, n_moments))
    by_group = np.zeros((len(tilts), 0 if groups is None else n_units, n_moments))
    odds = relative_odds(tilts)
    for part in held_out:
        weight, terms = data.weights[part.rows], _terms_of_labels(held_out, part)
        moments_at = [(moments_of(part, y, stage), happened) for y, happened in terms]
        for number, each in enumerate(odds):
            moments = weight * sum(happened * find(each)[1:] for find, happened in moments_at)
            total[number] += moments.sum(axis=1)
            if groups is None:
                squares[number] += moments @ moments.T
            else:
                np.add.at(by_group[number], groups[part.rows], moments.T)
    if groups is not None:
        squares = np.einsum("tgi,tgj->tij", by_group, by_group)
    mean = total / n_units
    covariance = squares / n_units - mean[:, :, None] * mean[:, None, :]
    return MomentSums(mean, covariance, n_units)
