"""Point identification: class probabilities as slopes of labels on an instrument.

The file holds the moments of the slope, the shrunken slope, and projections onto the simplex and the bounds.
"""

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from selective_labels.identification.bounds import Array, Bounds, clipped_sum_root


@dataclass(frozen=True, eq=False)
class Moments:
    """Moments that determine a slope, row by row.

    Parameters
    ----------
    covariance : array of shape (n_samples, n_classes)
        c_k, covariance over decision-makers of the instrument and P(Y=k, D=1 | x, z).
    strength : array of shape (n_samples,)
        V = Σ_k c_k, covariance of the instrument and the leniency.
    selected : array of shape (n_samples, n_classes)
        P(Y=k | x, D=1), class probabilities of the labeled cases.
    """

    covariance: Array
    strength: Array
    selected: Array


class SlopeMoments:
    """Moments of one instrument, accumulated over decision-makers.

    covariance_k = Σ_z e_z (f_z - f̄)(p_kz - p̄_k)
    strength = Σ_z e_z (f_z - f̄)(λ_z - λ̄) = Σ_k covariance_k
    selected_k = p̄_k / λ̄

    with instrument values f_z(x), assignment shares e_z(x) (normalised here), and bars for means under e. The
    updates are of Welford's type. They never subtract two large sums, so codes far from zero lose no
    precision.

    Examples
    --------
    >>> moments = SlopeMoments()
    >>> moments.update(0.4, [[0.6, 0.1, 0.3]], share=0.5)
    >>> moments.update(0.8, [[0.2, 0.3, 0.5]], share=0.5)
    >>> moments.covariance
    array([[0.02, 0.02]])
    >>> moments.strength
    array([0.04])
    """

    def __init__(self) -> None:
        self._weight: Array = np.zeros((1, 1))
        self._instrument: Array = np.zeros((1, 1))
        self._labeled: Array | None = None
        self._comoment: Array = np.zeros((1, 1))

    def update(self, instrument: ArrayLike, joint: ArrayLike, share: ArrayLike) -> None:
        """Add one decision-maker.

        Parameters
        ----------
        instrument : number or array of shape (n_samples,)
        joint : array of shape (n_samples, n_classes + 1)
            Joint probabilities, with the unlabeled class first.
        share : number or array of shape (n_samples,)
            Assignment share.
        """
        instrument, share = _column(instrument), _column(share)
        labeled = np.asarray(joint, dtype=np.float64)[:, 1:]
        if self._labeled is None:
            self._labeled = np.zeros_like(labeled)
        weight = self._weight + share
        step = np.divide(share, weight, out=np.zeros_like(weight), where=weight > 0.0)
        instrument_move = instrument - self._instrument
        labeled_move = labeled - self._labeled
        self._comoment = self._comoment + share * (1.0 - step) * instrument_move * labeled_move
        self._instrument = self._instrument + step * instrument_move
        self._labeled = self._labeled + step * labeled_move
        self._weight = weight

    @property
    def labeled(self) -> Array:
        """p̄_k = P(Y=k, D=1 | x); shape (n_samples, n_classes)."""
        if self._labeled is None:  # a programming error
            raise ValueError("moments need the joint probabilities of at least one decision-maker, got none")
        return self._labeled

    @property
    def covariance(self) -> Array:
        """Covariance of the instrument and each labeled class; shape (n_samples, n_classes)."""
        zero = np.zeros_like(self.labeled)
        return np.divide(self._comoment, self._weight, out=zero, where=self._weight > 0.0)

    @property
    def strength(self) -> Array:
        """Covariance of the instrument and the leniency; shape (n_samples,)."""
        return self.covariance.sum(axis=1)

    @property
    def selected(self) -> Array:
        """Class probabilities of labeled cases, uniform where there are none; (n_samples, n_classes)."""
        return _selected(self.labeled)


def numeric_moments(
    codes: Iterable[ArrayLike], joint: Iterable[ArrayLike], share: Iterable[ArrayLike]
) -> Moments:
    """Moments for the paper's ratio of covariances with numeric codes for the decision-makers.

    η_k = Cov(D Y_k, Z | x) / Cov(D, Z | x)

    Theorem 4.3: the equation holds if and only if NUCEM holds for this coding and Cov(D, Z | x) ≠ 0.
    Relevance alone is not enough, and a different numbering gives a different result (E4). Y_k is the
    indicator of class k, not ±1 (E1b). The sign of a coding is arbitrary, so the sign of each row is chosen
    to make the strength non-negative.

    Parameters
    ----------
    codes : iterable of numbers, one per decision-maker
    joint : iterable of arrays of shape (n_samples, n_classes + 1)
        Joint probabilities in the same order, with the unlabeled class first.
    share : iterable of numbers or arrays of shape (n_samples,)
        Assignment shares, in the same order.

    Examples
    --------
    >>> moments = numeric_moments([2, 1], [[[0.6, 0.1, 0.3]], [[0.2, 0.3, 0.5]]], [0.5, 0.5])
    >>> slope(moments.covariance, moments.strength, moments.selected)
    array([[0.5, 0.5]])
    """
    moments = SlopeMoments()
    for code, one_joint, one_share in zip(codes, joint, share, strict=True):
        moments.update(code, one_joint, one_share)
    sign = np.where(moments.strength < 0.0, -1.0, 1.0)
    return Moments(sign[:, None] * moments.covariance, sign * moments.strength, moments.selected)


def two_fold_moments(
    first: Iterable[ArrayLike], second: Iterable[ArrayLike], share: Iterable[ArrayLike]
) -> Moments:
    """Moments for the leniency slope, with the instrument and the outcome from different folds.

    V = ½ Σ_z e_z (d_z^A d_z^B + d_z^B d_z^A),
    c_k = ½ Σ_z e_z (d_z^A (p_kz - p̄_k)^B + d_z^B (p_kz - p̄_k)^A)

    with d_z = λ_z - λ̄ in folds A and B. Under NUCEM for every pair of decision-makers (Proposition A.1, E4b)
    p_kz = κ_k + η_k λ_z, so c_k / V = η_k for any coding of the decision-makers. The noise of independent
    folds does not bias V or c_k, whereas noise biases a slope within one fold towards the labeled cases'
    class probabilities. The drawback is that V can be negative.

    Parameters
    ----------
    first, second : iterables of arrays of shape (n_samples, n_classes + 1)
        Estimates of the two folds in the same order of decision-makers, with the unlabeled class first.
    share : iterable of numbers or arrays of shape (n_samples,)
        Assignment shares, in the same order.

    Examples
    --------
    >>> joint = [[[0.6, 0.1, 0.3]], [[0.2, 0.3, 0.5]]]
    >>> moments = two_fold_moments(joint, joint, [0.5, 0.5])
    >>> moments.strength
    array([0.04])
    >>> slope(moments.covariance, moments.strength, moments.selected)
    array([[0.5, 0.5]])
    """
    forward, backward = SlopeMoments(), SlopeMoments()
    for one, other, one_share in zip(first, second, share, strict=True):
        one, other = np.asarray(one, dtype=np.float64), np.asarray(other, dtype=np.float64)
        forward.update(one[:, 1:].sum(axis=1), other, one_share)
        backward.update(other[:, 1:].sum(axis=1), one, one_share)
    covariance = (forward.covariance + backward.covariance) / 2.0
    return Moments(covariance, covariance.sum(axis=1), _selected(forward.labeled + backward.labeled))


def slope(covariance: Array, strength: Array, selected: Array, shrinkage: ArrayLike = 0.0) -> Array:
    """Class probabilities as slopes, shrunk towards the labeled cases where the instrument is weak.

    η̂_k = (c_k + τ selected_k) / (V + τ) where V > 0,   selected_k where V <= 0

    The probabilities sum to one for every τ, because Σ_k c_k = V. A row with V <= 0 has no usable instrument
    (the two folds contradict each other), so its covariance is not used either.

    Parameters
    ----------
    covariance, strength, selected : arrays
        See `Moments`.
    shrinkage : number or array of shape (n_samples,)
        τ >= 0, in the units of the strength.

    Returns
    -------
    array of shape (n_samples, n_classes)
        Rows sum to one; single values can lie outside [0, 1], see `project_to_simplex`.

    Examples
    --------
    >>> covariance, selected = np.array([[0.03, 0.01], [-0.03, 0.01]]), np.array([[0.25, 0.75], [0.25, 0.75]])
    >>> slope(covariance, covariance.sum(axis=1), selected, shrinkage=0.04)
    array([[0.5 , 0.5 ],
           [0.25, 0.75]])
    """
    tau = _column(shrinkage)
    if not (tau >= 0.0).all():  # a programming error: users do not set this value
        raise ValueError("shrinkage must not be negative")
    denominator = _column(strength)
    usable = np.broadcast_to(denominator > 0.0, covariance.shape)
    return np.divide(
        covariance + tau * selected, denominator + tau, out=np.array(selected, dtype=np.float64), where=usable
    )


def project_to_simplex(values: Array) -> Array:
    """Project each row onto the probability simplex, by sorting.

    argmin_η ‖η - values‖ over η >= 0, Σ_k η_k = 1;   η_k = max(values_k - θ, 0)

    Examples
    --------
    >>> project_to_simplex(np.array([[0.2, 0.8], [1.5, -0.5], [1e20, 0.0]]))
    array([[0.2, 0.8],
           [1. , 0. ],
           [1. , 0. ]])
    """
    return _project(values, np.ones((len(values), 1)))


def project_within(values: Array, bounds: Bounds) -> Array:
    """Project each row onto {lower <= η <= upper, Σ_k η_k = 1}; upper bounds may bind.

    η_k = clip(values_k + θ, lower_k, upper_k), with θ such that they sum to one

    Examples
    --------
    >>> bounds = Bounds(np.array([[0.3, 0.1, 0.1]]), np.array([[0.5, 0.7, 0.2]]))
    >>> project_within(np.array([[0.9, 0.0, 0.1]]), bounds)
    array([[0.5, 0.3, 0.2]])
    """
    low, high = bounds.lower - values, np.maximum(bounds.upper, bounds.lower) - values
    total = np.clip(1.0 - values.sum(axis=1), low.sum(axis=1), high.sum(axis=1))
    return values + np.clip(clipped_sum_root(low, high, total)[:, None], low, high)


def _project(values: Array, total: Array) -> Array:
    """Project the rows onto {η >= 0, Σ_k η_k = total}."""
    # A common shift does not change the projection; it keeps the precision of the total for large values.
    shifted = values - values.max(axis=1, keepdims=True)
    descending = -np.sort(-shifted, axis=1)
    excess = np.cumsum(descending, axis=1) - total
    count = np.arange(1, values.shape[1] + 1)
    n_positive = (descending * count >= excess).sum(axis=1, keepdims=True)
    threshold = np.take_along_axis(excess, n_positive - 1, axis=1) / n_positive
    return np.maximum(shifted - threshold, 0.0)


def _selected(labeled: Array) -> Array:
    total = labeled.sum(axis=1, keepdims=True)
    uniform = np.full_like(labeled, 1.0 / labeled.shape[1])
    return np.divide(labeled, total, out=uniform, where=total > 0.0)


def _column(values: ArrayLike) -> Array:
    """Convert a number, or one value per row, to a column."""
    return np.atleast_1d(np.asarray(values, dtype=np.float64))[:, None]
