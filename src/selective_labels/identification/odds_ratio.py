"""Constant odds ratio models: unlabeled and labeled cases differ by a constant factor in the odds of a class.

Model O (constant odds ratio), with p_kz(x) = P(Y=k, D=1 | x, z) and leniency λ_z = Σ_k p_kz:

    q_kz(x) = P(Y*=k | D=0, x, z) ∝ p_kz(x) e^{-γ_k},   that is   logit P(D=1 | Y*=k, x, z) = α(x, z) + γ_k.

The tilt γ is one vector for all cases, defined up to a constant. γ = 0 means that unlabeled and labeled cases
with the same features and decision-maker have the same class probabilities. Given γ,
η_k(x) = p_kz + (1 - λ_z) q_kz for every z. Because η does not depend on z, an instrument that shifts leniency
identifies γ.

Allowance for skill: decision-makers of different leniency may sort cases differently well,
γ_k(x, z) = γ_k + δ_k (λ_z - λ̄), λ̄ the mean over decision-makers. In the formulas, p_kz e^{-δ_k (λ_z - λ̄)}
(:func:`with_skill`) then takes the place of p_kz wherever it is tilted, and γ stays one vector.

Model N (a tilt of the labeled cases' probabilities, under NUCEM): η = softmax(log η0 - γ), η0 = p̄ / λ̄.

Functions take the tilt as `odds` w_k = e^{-γ_k}, scaled to a maximum of one (:func:`relative_odds`). An
infinite tilt is then a zero, and no formula needs a special case. The file holds the scores and moments of
both models, and the weights and confidence sets of tilts on a grid.
"""

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import softmax
from scipy.stats import chi2

from selective_labels.identification.bounds import Array

# Cap on the weight of a labeled case in a score. Where hardly any case of a class is labeled, a larger weight
# would be noise. It matches the floor of .01 on inverse probabilities elsewhere (1 / .01).
LARGEST_WEIGHT = 100.0
# Floor on predicted probabilities, so that a tilt can also raise a class predicted at zero.
SMALLEST = 1e-12


def relative_odds(tilt: ArrayLike) -> Array:
    """w_k = e^{-γ_k} / max_j e^{-γ_j}, in [0, 1]; infinite tilts are allowed.

    Parameters
    ----------
    tilt : (..., n_classes) array
        γ. If some classes are at -∞, they share all unlabeled cases and the other classes have odds of zero.

    Examples
    --------
    >>> relative_odds([0.0, np.log(2.0)]), relative_odds([0.0, np.inf]), relative_odds([-np.inf, 3.0])
    (array([1. , 0.5]), array([1., 0.]), array([1., 0.]))
    """
    tilt = np.asarray(tilt, dtype=float)
    smallest = tilt.min(axis=-1, keepdims=True)
    bounded = np.where(np.isinf(smallest), 0.0, smallest)
    beyond = np.where(np.isinf(smallest), 0.0, np.exp(bounded - np.where(np.isneginf(tilt), 0.0, tilt)))
    return np.where(tilt == smallest, 1.0, beyond)


def refused(labeled: Array, odds: Array) -> Array:
    """Class probabilities of unlabeled cases: q_k = p_k w_k / Σ_j p_j w_j.

    Parameters
    ----------
    labeled : (..., n_classes) array
        p_k = P(Y=k, D=1 | ...), or an array proportional to it.
    odds : (n_classes,) array
        w_k.

    Examples
    --------
    >>> refused(np.array([[0.3, 0.3]]), np.array([1.0, 0.5])).round(3)
    array([[0.667, 0.333]])
    """
    tilted = np.maximum(labeled, SMALLEST) * odds
    return tilted / tilted.sum(axis=-1, keepdims=True)


def everybody(labeled: Array, odds: Array) -> Array:
    """Class probabilities of all cases under model O: η_k = p_k + (1 - λ) q_k, for any leading axes.

    Examples
    --------
    >>> everybody(np.array([[0.3, 0.3]]), np.array([1.0, 0.0]))
    array([[0.7, 0.3]])
    """
    return labeled + (1.0 - labeled.sum(axis=-1, keepdims=True)) * refused(labeled, odds)


def odds_scores(labeled: Array, y: Array, odds: Array) -> Array:
    """Orthogonal score of model O at each row's own decision-maker.

    ψ_k = q_k + D (1 + c w_Y) (Y_k - q_k),   c = (1 - λ) / Σ_j p_j w_j

    E[ψ_k | x, z] = p_kz + (1 - λ_z) q_kz. The derivatives of this mean in q and in c vanish at the truth.
    Given γ, the bias is the product of two errors, (q̂ - q)(1 - λ - ĉ Σ_j p_j w_j). The weights c w_Y are
    capped at 100.

    Parameters
    ----------
    labeled : (n_samples, n_classes) array
        p_kz of the row's own decision-maker, from a model that was not fitted on the row.
    y : (n_samples,) int array
        Label codes, -1 for unlabeled rows.
    odds : (n_classes,) or (n_samples, n_classes) array
        w_k.

    Returns
    -------
    (n_samples, n_classes) array
        Rows sum to one.

    Examples
    --------
    >>> odds_scores(np.array([[0.2, 0.4], [0.2, 0.4]]), np.array([1, -1]), np.ones(2)).round(3)
    array([[-0.222,  1.222],
           [ 0.333,  0.667]])
    """
    among_refused = refused(labeled, odds)
    return among_refused + _step(labeled, y, odds)[:, None] * (_one_hot(y, labeled) - among_refused)


def with_skill(labeled: Array, propensity: Array, slope: Array) -> Array:
    """Labeled probabilities times the skill part of the odds: p_kz e^{-δ_k (λ_z - λ̄)}.

    Parameters
    ----------
    labeled : (n_arms, n_samples, n_classes) array
    propensity : (n_samples, n_arms) array
    slope : (n_classes,) array
        δ: the change of the tilt per unit of leniency.

    Examples
    --------
    >>> labeled = np.array([[[0.1, 0.1]], [[0.3, 0.3]]])
    >>> with_skill(labeled, np.array([[0.5, 0.5]]), np.array([0.0, 1.0])).round(3)
    array([[[0.1  , 0.122]],
    <BLANKLINE>
           [[0.3  , 0.246]]])
    """
    leniency = labeled.sum(axis=2)
    away = leniency - np.einsum("nz,zn->n", propensity, leniency)
    return labeled * np.exp(-away[:, :, None] * slope)


class Mixture:
    """Class probabilities of all cases under model O, averaged over decision-makers.

    Quantities that do not depend on the tilt are computed once.

    Parameters
    ----------
    labeled : (n_arms, n_samples, n_classes) array
    propensity : (n_samples, n_arms) array
    base : (n_arms, n_samples, n_classes) array, optional
        What is tilted: the output of :func:`with_skill`. Default: `labeled`.
    """

    def __init__(self, labeled: Array, propensity: Array, base: Array | None = None):
        tilted = labeled if base is None else base
        self._labeled = np.ascontiguousarray(np.maximum(tilted, SMALLEST).transpose(2, 0, 1))
        self._unseen = propensity.T * (1.0 - labeled.sum(axis=2))
        self._mean = np.einsum("nz,znk->kn", propensity, labeled)

    def at(self, odds: Array) -> Array:
        """Σ_z e_z [p_kz + (1 - λ_z) q_kz], (n_classes, n_samples)."""
        per_unit = self._unseen / np.tensordot(odds, self._labeled, 1)
        return self._mean + odds[:, None] * np.einsum("zn,kzn->kn", per_unit, self._labeled)


class OddsRows:
    """Residuals of model O for many tilts, classes first; parameters as in :class:`Mixture`."""

    def __init__(self, labeled: Array, propensity: Array, arm: Array, y: Array, base: Array | None = None):
        rows = np.arange(len(arm))
        own = labeled[arm, rows]
        self._everybody = Mixture(labeled, propensity, base)
        self._own = np.ascontiguousarray(np.maximum(own if base is None else base[arm, rows], SMALLEST).T)
        self._unseen = 1.0 - own.sum(axis=1)
        self._y, self._seen = y, _one_hot(y, own).T
        code = np.maximum(y, 0)
        self._skill = 1.0 if base is None else self._own[code, rows] / np.maximum(own[rows, code], SMALLEST)

    def residuals(self, odds: Array) -> Array:
        """ψ_k - Σ_z e_z [p_kz + (1 - λ_z) q_kz], (n_classes, n_samples)."""
        total = np.maximum(odds @ self._own, SMALLEST**2)
        among_refused = odds[:, None] * self._own / total
        weight = self._unseen * _own_odds(self._y, odds) * self._skill / total
        step = np.where(self._y >= 0, 1.0 + np.minimum(weight, LARGEST_WEIGHT), 0.0)
        return among_refused + step * (self._seen - among_refused) - self._everybody.at(odds)


def tilted_answer(selected: Array, odds: Array) -> Array:
    """Model N: η = softmax(log η0 - γ), with η0 the labeled cases' class probabilities; any leading axes.

    Examples
    --------
    >>> tilted_answer(np.array([[0.5, 0.5]]), np.array([1.0, 0.25]))
    array([[0.8, 0.2]])
    """
    return refused(selected, odds)


class AnswerRows:
    """Moments of model N for many tilts, classes first; parameters as in :func:`answer_moments`."""

    def __init__(self, labeled: Array, y: Array, instrument: Array, strength: Array):
        self._leniency = np.maximum(labeled.sum(axis=1), SMALLEST)
        self._selected = np.ascontiguousarray(np.maximum(labeled / self._leniency[:, None], SMALLEST).T)
        self._y, self._instrument, self._strength = y, instrument, strength
        self._seen = _one_hot(y, labeled).T
        self._surprise = self._seen - labeled.T
        self._away = (y >= 0) - self._leniency

    def moments(self, odds: Array) -> Array:
        """g_k, (n_classes, n_samples)."""
        total = np.maximum(odds @ self._selected, SMALLEST)
        answer = odds[:, None] * self._selected / total
        weight = np.minimum(_own_odds(self._y, odds) / (total * self._leniency), LARGEST_WEIGHT)
        residual = self._surprise - answer * self._away
        return self._instrument * residual - self._strength * weight * (self._seen - answer)


def event_scores(
    chance: Array, leniency: Array, event: Array, decided: Array, odds_ratio: float | Array
) -> Array:
    """Orthogonal score of the share of an event, when the odds of the event are tilted.

    S = p1 r + (λ - p1),   q = p1 r / S,   ψ = q + D (1 + (1 - λ) r^C / S) (C - q),   r = e^{-γ}

    C = 1{Y* = t(x)} (or any event of the label) and p1 = P(D=1, C=1 | x, z). This is model O with two
    classes, the event and its complement. r = 0 and r = ∞ are allowed.

    Parameters
    ----------
    chance, leniency : (n_samples,) arrays
        p1 and λ of the row's own decision-maker.
    event : (n_samples,) bool array
        C; ignored for unlabeled rows.
    decided : (n_samples,) bool array
        D.
    odds_ratio : float or (n_samples,) array
        r: odds of the event among unlabeled cases over the odds among comparable labeled cases.

    Examples
    --------
    >>> seen, unseen = np.array([True]), np.array([False])
    >>> event_scores(np.array([0.3]), np.array([0.6]), seen, seen, 1.0).round(3)
    array([1.333])
    >>> event_scores(np.array([0.3]), np.array([0.6]), seen, unseen, np.inf)
    array([1.])
    """
    labeled = np.column_stack([leniency - chance, chance])
    y = np.where(decided, np.asarray(event, dtype=int), -1)
    return odds_scores(labeled, y, event_odds(odds_ratio))[:, 1]


def event_odds(odds_ratio: float | Array) -> Array:
    """Relative odds of the complement of an event and of the event, (..., 2); the larger one is one.

    Examples
    --------
    >>> event_odds(2.0), event_odds(np.inf)
    (array([0.5, 1. ]), array([0., 1.]))
    """
    ratio = np.asarray(odds_ratio, dtype=float)
    with np.errstate(divide="ignore"):
        return np.stack([np.minimum(1.0 / ratio, 1.0), np.minimum(ratio, 1.0)], axis=-1)


def _step(labeled: Array, y: Array, odds: Array, largest: float = LARGEST_WEIGHT) -> Array:
    """D (1 + c w_Y), (n_samples,)."""
    floored = np.maximum(labeled, SMALLEST)
    sums = floored @ odds if odds.ndim == 1 else np.einsum("nk,nk->n", floored, odds)
    total = np.maximum(sums, SMALLEST**2)
    weight = (1.0 - labeled.sum(axis=1)) * _own_odds(y, odds) / total
    return np.where(y >= 0, 1.0 + np.minimum(weight, largest), 0.0)


def _own_odds(y: Array, odds: Array) -> Array:
    return np.where(y >= 0, odds[y] if odds.ndim == 1 else odds[np.arange(len(y)), y], 0.0)


def _one_hot(y: Array, labeled: Array) -> Array:
    return (y[:, None] == np.arange(labeled.shape[1])).astype(float)


def contrasts(n_classes: int) -> Array:
    """Matrix C of tilt coordinates c with γ = c C and Σ_k γ_k = 0, shape (n_classes - 1, n_classes).

    The rows are orthogonal polynomials in the class number with length 1/√2. For two classes c = γ_2 - γ_1. A
    normal prior on c does not depend on the order of the classes, because all orthogonal coordinates with the
    same scale give the same prior.

    Examples
    --------
    >>> contrasts(2)
    array([[-0.5,  0.5]])
    >>> contrasts(3)[1].round(3)
    array([ 0.289, -0.577,  0.289])
    """
    powers = np.vander(np.arange(n_classes) - (n_classes - 1) / 2, n_classes, increasing=True)
    orthogonal, triangle = np.linalg.qr(powers)
    return (orthogonal * np.sign(np.diag(triangle))).T[1:] / np.sqrt(2.0)


@dataclass(frozen=True)
class MomentSums:
    """Mean and covariance of the moments at each of several tilts.

    Attributes
    ----------
    mean : (n_tilts, n_moments) array
    covariance : (n_tilts, n_moments, n_moments) array
        Covariance of the moments of a single unit.
    """

    mean: Array
    covariance: Array
    n_units: float

    @property
    def statistic(self) -> Array:
        """Q(γ) = n ḡ' Ω(γ)⁻¹ ḡ, (n_tilts,); at the true tilt χ² with one degree of freedom per moment.

        This is an Anderson–Rubin statistic, valid however weak the instrument is. A moment without variance
        contributes nothing.
        """
        scale = np.trace(self.covariance, axis1=1, axis2=2) / self.mean.shape[1]
        floor = (1e-10 * scale + np.finfo(float).tiny)[:, None, None] * np.eye(self.mean.shape[1])
        solved = np.linalg.solve(self.covariance + floor, self.mean[:, :, None])[:, :, 0]
        return self.n_units * np.sum(self.mean * solved, axis=1)


@dataclass(frozen=True, eq=False)
class TiltWeights:
    """Tilts with their test statistics and quasi-posterior weights.

    w(γ) ∝ exp(-Q(γ) / 2) · N(c; 0, 1) · volume,   γ = c C

    Attributes
    ----------
    tilts : (n_tilts, n_classes) array
        Infinite tilts have weight zero and enter only the confidence set.
    statistic : (n_tilts,) array
        Q(γ).
    weights : (n_tilts,) array
        Quasi-posterior weights; sum to one.
    slopes : (n_tilts, n_classes) array or None
        With an allowance for skill: mean slope δ at each tilt. The statistic is then the smallest over
        slopes, and the weights are sums over slopes.
    """

    tilts: Array
    statistic: Array
    weights: Array
    slopes: Array | None = None

    @classmethod
    def from_grid(
        cls, tilts: Array, statistic: Array, log_volume: Array | float = 0.0, slopes: Array | None = None
    ) -> "TiltWeights":
        """Weigh the points of a grid; `log_volume` is the log volume of the cell around each point."""
        finite: np.ndarray = np.asarray(np.isfinite(tilts).all(axis=1))
        squares = 2.0 * np.sum(np.where(finite[:, None], tilts, 0.0) ** 2, axis=1)  # |c|² for γ = c C
        logs = np.where(finite, -(statistic + squares) / 2.0 + log_volume, -np.inf)
        return cls(tilts, statistic, softmax(logs), slopes)

    @property
    def mean(self) -> Array:
        """Weighted mean of γ, (n_classes,)."""
        return self._finite[1] @ self._finite[0]

    @property
    def spread(self) -> Array:
        """Weighted standard deviation of each γ_k, (n_classes,)."""
        tilts, weights = self._finite
        return np.sqrt(weights @ (tilts - self.mean) ** 2)

    @property
    def mean_slope(self) -> Array:
        """Weighted mean of δ, (n_classes,); zero without an allowance for skill."""
        return np.zeros(self.tilts.shape[1]) if self.slopes is None else self.weights @ self.slopes

    def supports(self, event: ArrayLike | None = None, level: float = 0.95) -> bool:
        """Whether the confidence set has a tilt under which the refused have the event at least as often.

        Parameters
        ----------
        event : (n_classes,) bool array, optional
            Without it: whether the confidence set has any tilt. If not, the model does not fit.
        """
        kept = self.statistic <= chi2.ppf(level, self.tilts.shape[1] - 1)
        return bool((kept if event is None else kept & (self._raised(event) >= 0.0)).any())

    def towards(self, event: ArrayLike) -> "TiltWeights":
        """The same tilts, with weight only where the refused have the event at least as often."""
        inside = np.where(self._raised(event) >= 0.0, self.weights, 0.0)
        return replace(self, weights=inside / inside.sum())

    def _raised(self, event: ArrayLike) -> Array:
        """Log odds of the classes of an event against the others, refused against accepted, (n_tilts,)."""
        inside = np.asarray(event, dtype=float)
        direction = inside / inside.sum() - (1.0 - inside) / (1.0 - inside).sum()
        raised = np.log(np.maximum(relative_odds(self.tilts), SMALLEST)) @ direction
        return np.where(np.abs(raised) < 1e-9, 0.0, raised)

    def confidence_range(self, level: float = 0.95) -> tuple[Array, Array]:
        """Smallest and largest γ_k among tilts with Q(γ) <= χ²_{K-1}(level); infinite where unbounded.

        The limits are NaN if every tilt is rejected, that is if the model does not fit.
        """
        n_classes = self.tilts.shape[1]
        left = self.tilts[self.statistic <= chi2.ppf(level, n_classes - 1)]
        if not len(left):
            return np.full(n_classes, np.nan), np.full(n_classes, np.nan)
        # Tilts sum to zero: if some are +∞, the finite ones in the same row stand for -∞.
        limit = np.isinf(left).any(axis=1, keepdims=True)
        left = np.where(limit & np.isfinite(left), -np.inf, left)
        return left.min(axis=0), left.max(axis=0)

    def heaviest(self, share: float = 0.999) -> tuple[Array, Array]:
        """Tilts with the largest weights, up to a total of `share`, and their rescaled weights."""
        order = np.argsort(-self.weights)
        enough = int(np.searchsorted(np.cumsum(self.weights[order]), share)) + 1
        kept = order[:enough]
        return self.tilts[kept], self.weights[kept] / self.weights[kept].sum()

    @property
    def _finite(self) -> tuple[Array, Array]:
        finite = np.isfinite(self.tilts).all(axis=1)
        return self.tilts[finite], self.weights[finite]


def far_tilts(n_classes: int, distance: float = 8.0, along: Array | None = None) -> Array:
    """Extreme and infinite tilts, so that an unbounded confidence set is not mistaken for a bounded one.

    All unlabeled cases belong to one class, or to two classes at finite relative odds (`along`); the other
    classes have γ = +∞. For two classes the tilts ±8 are added.

    Examples
    --------
    >>> far_tilts(2)
    array([[-4.,  4.],
           [ 4., -4.],
           [ 0., inf],
           [inf,  0.]])
    """
    alone = np.where(np.eye(n_classes, dtype=bool), 0.0, np.inf)
    if n_classes == 2:
        return np.vstack([distance * contrasts(2), -distance * contrasts(2), alone])
    along = np.linspace(-6.0, 6.0, 9) if along is None else along
    pairs = []
    for one in range(n_classes):
        for other in range(one + 1, n_classes):
            pair = np.full((len(along), n_classes), np.inf)
            pair[:, one], pair[:, other] = -along / 2, along / 2
            pairs.append(pair)
    return np.vstack([alone, *pairs])
