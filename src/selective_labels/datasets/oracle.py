"""Building blocks of generators: samples, oracles, random streams, argument checks, and quadrature."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Collection
from dataclasses import dataclass
from functools import cached_property
from numbers import Integral
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from scipy.ndimage import map_coordinates, spline_filter

from selective_labels._errors import InputError

UNSEEN = -1
_ROWS_PER_CHUNK = 4096


class Limits(NamedTuple):
    """True population accuracies of three rules that know the distribution of the data."""

    bayes: float
    minimax: float
    selected: float


class Oracle(ABC):
    """The true distribution behind a synthetic sample.

    With p_kz(x) = P(Y=k, D=1 | x, z), l_k(x) = max_z p_kz(x) and eta_k(x) = P(Y*=k | x):

    * `bayes_accuracy`    = E[max_k eta_k(X)],
    * `minimax_accuracy`  = E[eta_t(X)], t(x) = argmax_k l_k(x), the minimax-regret rule,
    * `selected_accuracy` = E[eta_t(X)], t(x) = argmax_k P(Y=k | x, D=1), the limit of training on the labeled
      cases.

    All three are computed by deterministic quadrature at first use, and cached.

    Examples
    --------
    >>> from selective_labels.datasets import make_decision_makers
    >>> sample = make_decision_makers(50, n_classes=2, n_decision_makers=3, random_state=0)
    >>> probabilities, lower = sample.oracle.probabilities(sample.X), sample.oracle.lower(sample.X)
    >>> probabilities.shape, bool((lower <= probabilities).all())
    ((50, 2), True)
    >>> sample.oracle.selected_accuracy <= sample.oracle.bayes_accuracy
    True
    """

    n_features: int
    n_decision_makers: int
    n_classes: int

    def probabilities(self, X: Any) -> np.ndarray:
        """P(Y*=k | x), shape (n_samples, n_classes)."""
        return self._in_chunks(self._probabilities, X)

    def joint(self, X: Any) -> np.ndarray:
        """P(D=0 | x, z), then P(Y=k, D=1 | x, z), shape (n_samples, n_decision_makers, n_classes + 1).

        Decision-makers are in the order of their sorted ids.
        """
        return self._in_chunks(self._joint, X)

    def lower(self, X: Any) -> np.ndarray:
        """Sharp lower bounds max_z P(Y=k, D=1 | x, z), shape (n_samples, n_classes)."""
        return self._in_chunks(self._lower, X)

    @property
    def bayes_accuracy(self) -> float:
        """Accuracy of the Bayes rule."""
        return self._limits.bayes

    @property
    def minimax_accuracy(self) -> float:
        """Accuracy of the rule argmax_k of the true lower bounds."""
        return self._limits.minimax

    @property
    def selected_accuracy(self) -> float:
        """Accuracy of the Bayes rule for the labeled cases."""
        return self._limits.selected

    @cached_property
    def _limits(self) -> Limits:
        return self._compute_limits()

    @abstractmethod
    def _probabilities(self, X: np.ndarray) -> np.ndarray: ...

    @abstractmethod
    def _joint(self, X: np.ndarray) -> np.ndarray: ...

    @abstractmethod
    def _compute_limits(self) -> Limits: ...

    def _lower(self, X: np.ndarray) -> np.ndarray:
        return self._joint(X)[:, :, 1:].max(axis=1)

    def _in_chunks(self, function: Callable[[np.ndarray], np.ndarray], X: Any) -> np.ndarray:
        """Apply `function` to blocks of rows, which limits the memory of quadrature."""
        X = np.asarray(X, dtype=float)
        if X.ndim != 2 or X.shape[1] != self.n_features:
            raise InputError.about("X", f"must have shape (n_samples, {self.n_features}), got {X.shape}.")
        # Without rows, one empty block gives the result its shape.
        starts = range(0, max(len(X), 1), _ROWS_PER_CHUNK)
        return np.concatenate([function(X[start : start + _ROWS_PER_CHUNK]) for start in starts])


def limits_of_rules(oracle: Oracle, X: np.ndarray) -> Limits:
    """Accuracies of the three rules over the rows of a population."""
    labeled, eta = oracle.joint(X)[:, :, 1:], oracle.probabilities(X)

    def accuracy(gains: np.ndarray) -> float:
        return float(np.take_along_axis(eta, gains.argmax(axis=1)[:, None], axis=1).mean())

    return Limits(accuracy(eta), accuracy(labeled.max(axis=1)), accuracy(labeled.mean(axis=1)))


@dataclass(frozen=True, eq=False)
class SelectiveSample:
    """A sample with selective labels, and the truth behind it.

    Attributes
    ----------
    X : array or frame of shape (n_samples, n_features)
    y : int array of shape (n_samples,)
        Class codes 0..K-1 where the decision is 1, and -1 where the label is unobserved.
    decision : int array of shape (n_samples,)
        1 if the label is observed, else 0.
    decision_maker : int array of shape (n_samples,)
    y_true : int array of shape (n_samples,)
        Class codes of all cases. Use them for evaluation, never for training.
    oracle : Oracle or SemiSyntheticOracle
        True distribution of the sample, as far as it is known.

    Examples
    --------
    >>> from selective_labels.datasets import make_decision_makers
    >>> sample = make_decision_makers(100, random_state=0)
    >>> seen = sample.decision == 1
    >>> bool((sample.y[seen] == sample.y_true[seen]).all()), set(sample.y[~seen].tolist())
    (True, {-1})
    """

    X: Any
    y: np.ndarray
    decision: np.ndarray
    decision_maker: np.ndarray
    y_true: np.ndarray
    oracle: Any


def hide_labels(y_true: np.ndarray, decision: np.ndarray) -> np.ndarray:
    """Observed labels: y_true where the decision is 1, else -1."""
    return np.where(decision == 1, y_true, UNSEEN)


RandomState: TypeAlias = int | np.random.SeedSequence | np.random.Generator | np.random.RandomState | None


class Streams(NamedTuple):
    """Independent random generators, one for each component of a design.

    Separate streams make designs comparable: mirroring the selection keeps every draw of features, hidden
    variables, assignment and outcomes.
    """

    design: np.random.Generator
    features: np.random.Generator
    hidden: np.random.Generator
    assignment: np.random.Generator
    decision: np.random.Generator
    outcome: np.random.Generator


def seed_sequence(random_state: RandomState) -> np.random.SeedSequence:
    """Convert any usual `random_state` to a seed sequence.

    * `None`: fresh entropy;
    * an integer: used as entropy, so the data are the same every time;
    * a `SeedSequence`: returned as is; spawning from it twice gives different children;
    * a `Generator` or a `RandomState`: 128 bits are drawn from it, so that two calls differ.
    """
    if isinstance(random_state, np.random.SeedSequence):
        return random_state
    if isinstance(random_state, np.random.Generator):
        return np.random.SeedSequence(random_state.integers(2**32, size=4).tolist())
    if isinstance(random_state, np.random.RandomState):
        return np.random.SeedSequence(random_state.randint(2**32, size=4, dtype=np.uint64).tolist())
    return np.random.SeedSequence(random_state)


def spawn_streams(random_state: RandomState) -> Streams:
    """Spawn one generator for each component.

    Examples
    --------
    >>> from selective_labels.datasets.oracle import spawn_streams
    >>> first, again = spawn_streams(0), spawn_streams(0)
    >>> bool(first.features.random() == again.features.random())
    True
    >>> bool(first.hidden.random() == again.outcome.random())
    False
    """
    children = seed_sequence(random_state).spawn(len(Streams._fields))
    return Streams(*(np.random.default_rng(child) for child in children))


def draw_classes(probabilities: np.ndarray, generator: np.random.Generator) -> np.ndarray:
    """Draw one class code 0..K-1 for each row of `probabilities` (n_samples, n_classes)."""
    uniform = generator.random(len(probabilities))
    # The last cumulative sum is one up to rounding. Omitting it keeps every code below K.
    return (uniform[:, None] > np.cumsum(probabilities, axis=1)[:, :-1]).sum(axis=1)


def draw_decisions(probability: np.ndarray, generator: np.random.Generator) -> np.ndarray:
    """Draw D = 1 with the given probability for each row (n_samples,)."""
    return (generator.random(len(probability)) < probability).astype(int)


def check_count(name: str, value: int, minimum: int) -> None:
    """Raise :class:`InputError` unless `value` is an integer of at least `minimum`."""
    if not isinstance(value, Integral) or isinstance(value, bool) or value < minimum:
        raise InputError.about(name, f"must be an integer of at least {minimum}, got {value!r}.")


def check_choice(name: str, value: str, choices: Collection[str]) -> None:
    """Raise :class:`InputError` unless `value` is one of `choices`."""
    if value not in choices:
        raise InputError.about(name, f"must be one of {', '.join(sorted(choices))}; got {value!r}.")


def check_share(name: str, value: float) -> None:
    """Raise :class:`InputError` unless 0 <= value <= 1."""
    if not 0 <= value <= 1:
        raise InputError.about(name, f"must lie between 0 and 1, got {value!r}.")


TAIL = 8.0  # standard deviations; P(|N| > 8) = 1.2e-15
_LOG_TOLERANCE = 25.0  # exp(-25) = 1.4e-11
_SPLINE_ORDER = 5


def normal_rule(pole_distance: float) -> tuple[np.ndarray, np.ndarray]:
    """Trapezoid nodes and weights for E[f(N)], N standard normal.

    For f analytic in the strip |Im| < d, the error is of the order exp(-2 pi d / step), exponentially small
    in the number of nodes. If f has poles, this is better than Gauss-Hermite, whose nodes spread ever
    farther.

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
    >>> from selective_labels.datasets.oracle import normal_rule
    >>> nodes, weights = normal_rule(1.0)
    >>> round(float(weights @ nodes**4), 9)
    3.0
    """
    # The density itself limits the step: its transform is exp(-t^2 / 2), so d beyond 3 does not help.
    step = 2 * np.pi * min(pole_distance, 3.0) / _LOG_TOLERANCE
    half = int(np.ceil(TAIL / step))
    nodes = step * np.arange(-half, half + 1)
    weights = np.exp(-(nodes**2) / 2)
    return nodes, weights / weights.sum()


def integrate_choice(gains: np.ndarray, values: np.ndarray, step: float) -> np.ndarray:
    """Integral of values[argmax gains] over the last-but-one axis, an even grid.

    The chosen value jumps where the argmax switches, so a plain trapezoid rule would have an error of up to
    half a cell there. Within a cell, gains and values are interpolated linearly. The switch is then at a
    fraction theta of the cell, and the error is of the order step^2.

    Parameters
    ----------
    gains, values : arrays of shape (..., n_nodes, n_classes)
    step : float
        Distance between neighbouring nodes.

    Returns
    -------
    array of shape (...)

    Examples
    --------
    The integral of |x| over [-1, 1], as the larger of x and -x. Zero is not a node.

    >>> import numpy as np
    >>> from selective_labels.datasets.oracle import integrate_choice
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
    # Without a switch (or with a tie at both ends), the class chosen on the left keeps the whole cell.
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
        """Positions of points on the grid, in steps. Points beyond the ends are clipped."""
        return (np.clip(points, -self.end, self.end) + self.end) * ((self.size - 1) / (2 * self.end))


class Table:
    """Interpolation of a smooth function on a grid by quintic splines, constant beyond the ends.

    Parameters
    ----------
    values : array of shape (axes[0].size, axes[1].size, ..., n_functions)
        Several functions on the same grid. They must be flat at its ends.
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
