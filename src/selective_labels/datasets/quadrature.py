"""Deterministic integrals against the normal law, and tables of smooth functions."""

from dataclasses import dataclass

import numpy as np
from scipy.ndimage import map_coordinates, spline_filter

TAIL = 8.0  # standard deviations; P(|N| > 8) = 1.2e-15
_LOG_TOLERANCE = 25.0  # exp(-25) = 1.4e-11
_SPLINE_ORDER = 5


def normal_rule(pole_distance: float) -> tuple[np.ndarray, np.ndarray]:
    """Trapezoid nodes and weights for E[f(N)], N standard normal.

    For f analytic in the strip |Im| < d the error is of the order exp(-2 pi d / step), exponentially small in
    the number of nodes. Where f has poles that beats Gauss-Hermite, whose nodes reach ever farther out.

    Parameters
    ----------
    pole_distance : float
        d, the distance of the integrand's nearest pole from the real line.

    Returns
    -------
    nodes, weights : arrays of shape (n_nodes,)
        The weights sum to one.

    Examples
    --------
    >>> from selective_labels.datasets.quadrature import normal_rule
    >>> nodes, weights = normal_rule(1.0)
    >>> round(float(weights @ nodes**4), 9)
    3.0
    """
    # The density itself limits the step: its transform is exp(-t^2 / 2), so d beyond 3 buys nothing.
    step = 2 * np.pi * min(pole_distance, 3.0) / _LOG_TOLERANCE
    half = int(np.ceil(TAIL / step))
    nodes = step * np.arange(-half, half + 1)
    weights = np.exp(-(nodes**2) / 2)
    return nodes, weights / weights.sum()


def integrate_choice(gains: np.ndarray, values: np.ndarray, step: float) -> np.ndarray:
    """Integral of values[argmax gains] over the last-but-one axis, an even grid.

    The chosen value jumps where the argmax switches, and a plain trapezoid rule would be off by up to half
    a cell there. Within a cell gains and values are taken as linear, which puts the switch at a
    fraction theta of the cell and leaves an error of the order step^2 only.

    Parameters
    ----------
    gains, values : arrays of shape (..., n_nodes, n_classes)
    step : float
        Distance of neighbouring nodes.

    Returns
    -------
    array of shape (...)

    Examples
    --------
    The integral of |x| over [-1, 1], as the larger of x and -x; zero is not a node.

    >>> import numpy as np
    >>> from selective_labels.datasets.quadrature import integrate_choice
    >>> x = np.linspace(-1, 1, 4)
    >>> float(np.round(integrate_choice(np.c_[x, -x], np.c_[x, -x], 2 / 3), 12))
    1.0
    """
    chosen = gains.argmax(axis=-1)[..., None]
    before, after = chosen[..., :-1, :], chosen[..., 1:, :]

    def pick(array: np.ndarray, classes: np.ndarray) -> np.ndarray:
        return np.take_along_axis(array, classes, axis=-1)[..., 0]

    left, right = slice(None, -1), slice(1, None)
    gap_left = pick(gains[..., left, :], before) - pick(gains[..., left, :], after)
    gap_right = pick(gains[..., right, :], after) - pick(gains[..., right, :], before)
    total = gap_left + gap_right
    # No switch (or a tie at both ends): the class chosen on the left keeps the whole cell.
    theta = np.divide(gap_left, total, out=np.ones_like(total), where=total > 0)

    def between(classes: np.ndarray, start: np.ndarray | float, end: np.ndarray | float) -> np.ndarray:
        first, last = pick(values[..., left, :], classes), pick(values[..., right, :], classes)
        return (end - start) * first + (end**2 - start**2) / 2 * (last - first)

    return step * (between(before, 0.0, theta) + between(after, theta, 1.0)).sum(axis=-1)


@dataclass(frozen=True)
class Axis:
    """An even grid from -end to end."""

    end: float
    size: int

    @classmethod
    def of_step(cls, end: float, step: float) -> "Axis":
        """Cover [-end, end] in steps of at most `step`."""
        return cls(end, 2 * int(np.ceil(end / step)) + 1)

    @property
    def nodes(self) -> np.ndarray:
        """The grid, shape (size,)."""
        return np.linspace(-self.end, self.end, self.size)

    def position(self, points: np.ndarray) -> np.ndarray:
        """Where points lie on the grid, in steps; beyond the ends counts as the end."""
        return (np.clip(points, -self.end, self.end) + self.end) * ((self.size - 1) / (2 * self.end))


class Table:
    """A smooth function on a grid, between the nodes by a quintic spline, constant beyond the ends.

    Parameters
    ----------
    axes : sequence of Axis
    values : array of shape (axes[0].size, axes[1].size, ..., n_functions)
        Several functions on the same grid. They must be flat at the ends of the grid.
    """

    def __init__(self, axes: tuple[Axis, ...], values: np.ndarray) -> None:
        self.axes = axes
        functions = np.moveaxis(values, -1, 0)
        self.coefficients = [spline_filter(f, order=_SPLINE_ORDER, mode="mirror") for f in functions]

    def __call__(self, *points: np.ndarray) -> np.ndarray:
        """Values at `points` (one array for each axis, all of one shape), shape (..., n_functions)."""
        positions = np.stack([axis.position(at) for axis, at in zip(self.axes, points, strict=True)])
        values = [
            map_coordinates(c, positions, order=_SPLINE_ORDER, mode="mirror", prefilter=False)
            for c in self.coefficients
        ]
        return np.stack(values, axis=-1)
