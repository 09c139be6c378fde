"""Ridge-penalised fit of pooled logistic models: objective, gradient, preconditioner and minimisation."""

from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise

import numpy as np
from scipy.optimize import OptimizeResult, minimize
from sklearn.pipeline import Pipeline

from selective_labels._validation import require_weight
from selective_labels.nuisance.models.encoders import n_in_products, standardised, standardised_numbers

# A chunk of this many rows, times features and outcomes, fits in the processor cache.
CHUNK_ROWS = 2048


def product_pairs(n_features: int) -> tuple[np.ndarray, np.ndarray]:
    """Indices of the two factors of every square and product, each pair once.

    Examples
    --------
    >>> product_pairs(2)
    (array([0, 0, 1]), array([0, 1, 1]))
    """
    return np.triu_indices(n_features)


def product_moments(features: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Mean and standard deviation of every product; the deviation of a constant is set to one.

    Parameters
    ----------
    features : (n_features, n_samples) array

    Examples
    --------
    >>> product_moments(np.array([[1.0, 1.0], [0.0, 2.0]]))
    (array([1., 1., 2.]), array([1., 1., 2.]))
    """
    n_features, n_samples = features.shape
    second, fourth = np.zeros((2, n_features, n_features))
    for start in range(0, n_samples, CHUNK_ROWS):
        chunk = features[:, start : start + CHUNK_ROWS]
        second += chunk @ chunk.T
        squares = chunk**2
        fourth += squares @ squares.T
    pairs = product_pairs(n_features)
    mean, square = second[pairs] / n_samples, fourth[pairs] / n_samples
    variance = square - mean**2
    constant = variance <= 1e-12 * square  # zero up to rounding
    return mean, np.sqrt(np.where(constant, 1.0, variance))


def add_quadratic(logits: np.ndarray, features: np.ndarray, curvature: np.ndarray) -> None:
    """Add Σ_{i<=j} q_cij x_i x_j to the logits, in place.

    Parameters
    ----------
    logits : (n_outcomes, n_samples) array
    features : (n_features, n_samples) array
    curvature : (n_outcomes, n_features, n_features) array
        Zero below the diagonal.

    Examples
    --------
    >>> logits = np.zeros((1, 2))
    >>> add_quadratic(logits, np.array([[1.0, 2.0], [1.0, 3.0]]), np.array([[[1.0, 10.0], [0.0, 0.0]]]))
    >>> logits
    array([[11., 64.]])
    """
    n_outcomes, n_features, _ = curvature.shape
    flat = curvature.reshape(-1, n_features)
    for start in range(0, features.shape[1], CHUNK_ROWS):
        chunk = features[:, start : start + CHUNK_ROWS]
        terms = (flat @ chunk).reshape(n_outcomes, n_features, -1)
        terms *= chunk
        logits[:, start : start + CHUNK_ROWS] += terms.sum(axis=1)


def quadratic_gradient(residual: np.ndarray, features: np.ndarray) -> np.ndarray:
    """Gradient Σ_rows r_c x_i x_j of every product, (n_outcomes, n_products).

    Parameters
    ----------
    residual : (n_outcomes, n_samples) array
    features : (n_features, n_samples) array

    Examples
    --------
    >>> quadratic_gradient(np.array([[1.0, -1.0]]), np.array([[1.0, 2.0], [1.0, 3.0]]))
    array([[-3., -5., -8.]])
    """
    n_outcomes, n_features = len(residual), len(features)
    total = np.zeros((n_outcomes * n_features, n_features))
    for start in range(0, features.shape[1], CHUNK_ROWS):
        chunk = features[:, start : start + CHUNK_ROWS]
        weighted = residual[:, None, start : start + CHUNK_ROWS] * chunk
        total += weighted.reshape(n_outcomes * n_features, -1) @ chunk.T
    return total.reshape(n_outcomes, n_features, n_features)[:, *product_pairs(n_features)]


@dataclass(frozen=True, eq=False)
class PooledRows:
    """Standardised features and outcomes, prepared once for all models fitted to the same rows.

    Attributes
    ----------
    lines : (1 + n_columns, n_samples) array
        Transposed design matrix: a constant, the numeric columns, the indicators of categories (of columns
        with few values first), pooled shares of categories.
    n_numbers, n_factors : int
        Number of numeric columns, and of columns that enter products.
    edges : (n_arms + 1,) int array
        The rows of arm z are ``edges[z]:edges[z + 1]``.
    outcomes : (n_outcomes,) int array
        Codes of the outcomes that occur.
    happened : (n_outcomes, n_samples) array
        Weight of the row at its own outcome, zero at others; normalised to sum to one.
    total : float
        Sum of the original weights.
    """

    scale: Pipeline
    lines: np.ndarray
    n_numbers: int
    n_factors: int
    edges: np.ndarray
    outcomes: np.ndarray
    happened: np.ndarray
    total: float

    @classmethod
    def read(
        cls,
        X: np.ndarray,
        arm: np.ndarray,
        outcome: np.ndarray,
        sample_weight: np.ndarray | None,
        n_arms: int,
        categorical: tuple[int, ...],
    ) -> "PooledRows":
        """Standardise the rows and sort them by arm."""
        order = np.argsort(arm, kind="stable")
        scale = standardised(categorical)
        # What describes a training row must not know its outcome, so it differs from `transform`.
        lines = _lines(scale, scale.fit_transform(X, outcome), order)
        weight = np.ones(len(order)) if sample_weight is None else sample_weight[order].astype(float)
        require_weight(weight)
        total = float(weight.sum())
        outcomes = np.unique(outcome)
        happened = np.where(outcome[order] == outcomes[:, None], weight / total, 0.0)
        n_numbers = number_columns(scale, len(lines) - 1)[1]
        edges = np.searchsorted(arm[order], np.arange(n_arms + 1))
        return cls(scale, lines, n_numbers, n_in_products(scale), edges, outcomes, happened, total)

    @property
    def n_samples(self) -> int:
        """Number of rows."""
        return self.lines.shape[1]

    @property
    def n_arms(self) -> int:
        """Number of arms, including those without rows."""
        return len(self.edges) - 1

    @cached_property
    def weight(self) -> np.ndarray:
        """Normalised weights, (n_samples,)."""
        return self.happened.sum(axis=0)

    @cached_property
    def product_scale(self) -> tuple[np.ndarray, np.ndarray]:
        """Mean and standard deviation of the columns, and of the squares and products of factors."""
        mean, deviation = product_moments(self.lines[1 : 1 + self.n_factors])
        columns = self.lines[1:]
        spread = columns.std(axis=1)
        spread[spread <= 1e-12 * np.abs(columns).max(axis=1, initial=0.0)] = 1.0
        return np.append(columns.mean(axis=1), mean), np.append(spread, deviation)

    def spaced(self, n_samples: int) -> "PooledRows":
        """Sample of at most `n_samples` equally spaced rows, which preserves the shares of arms."""
        if n_samples >= self.n_samples:
            return self
        kept = np.linspace(0, self.n_samples - 1, n_samples).astype(int)
        happened = self.happened[:, kept]
        part = happened.sum()
        return PooledRows(
            self.scale,
            self.lines[:, kept],
            self.n_numbers,
            self.n_factors,
            np.searchsorted(kept, self.edges),
            self.outcomes,
            happened / part,
            self.total * part,
        )


def arm_slices(edges: np.ndarray) -> list[slice]:
    """Slices of the rows of each arm, for rows sorted by arm.

    Examples
    --------
    >>> arm_slices(np.array([0, 2, 5]))
    [slice(0, 2, None), slice(2, 5, None)]
    """
    return [slice(start, stop) for start, stop in pairwise(edges.tolist())]


def number_columns(scale: Pipeline, n_columns: int) -> tuple[int, int]:
    """Index of the first numeric column, and the number of numeric columns."""
    first, last, _ = standardised_numbers(scale).indices(n_columns)
    return (first, last - first) if last > first else (n_columns, 0)


def feature_lines(scale: Pipeline, X: np.ndarray, order: np.ndarray | slice = slice(None)) -> np.ndarray:
    """Transposed design matrix of the rows in the given order, (1 + n_columns, n_samples)."""
    return _lines(scale, scale.transform(X), order)


def _lines(scale: Pipeline, columns: np.ndarray, order: np.ndarray | slice) -> np.ndarray:
    first, count = number_columns(scale, columns.shape[1])
    lines = np.empty((1 + columns.shape[1], len(columns)))
    lines[0] = 1.0
    lines[1 : 1 + count] = columns[order, first : first + count].T
    lines[1 + count :] = columns[order, :first].T
    return lines


# Full curvature blocks cover this many columns of features, and of an arm; further columns are diagonal.
MOST_BASE = 512
MOST_LOCAL = 64
# Relative increase of the diagonal, for numerical stability with collinear columns.
JITTER = 1e-8


@dataclass(frozen=True, eq=False)
class ArrowFactor:
    """Inverse Cholesky factors of the approximate curvature L L'; `whiten` maps a gradient g to inverse(L) g.

    The curvature is an arrowhead matrix: arms are coupled only through the features. Outcomes are rotated to
    directions with uncorrelated curvature. The common direction of all outcomes is left out, because it does
    not change the probabilities.

    Attributes
    ----------
    directions : (n_outcomes, n_outcomes - 1) array
    base : (n_directions, n_base, n_base) array
    local : (n_directions, n_arms, n_local, n_local) array
    coupling : (n_directions, n_arms, n_base, n_local) array
    rest_base : (n_directions, ...) array
    rest_local : (n_directions, n_arms, ...) array
    """

    directions: np.ndarray
    base: np.ndarray
    local: np.ndarray
    coupling: np.ndarray
    rest_base: np.ndarray
    rest_local: np.ndarray

    @property
    def size(self) -> int:
        """Length of the flat coefficient vector."""
        dense = self.base[..., 0].size + self.local[..., 0].size
        return dense + self.rest_base.size + self.rest_local.size

    def whiten(self, base: np.ndarray, local: np.ndarray) -> np.ndarray:
        """Map a gradient, (n_outcomes, n_base) and (n_outcomes, n_arms, n_local), to a flat vector."""
        base = self.directions.T @ base
        local = np.tensordot(self.directions.T, local, 1)
        n_base, n_local = self.base.shape[-1], self.local.shape[-1]
        tips = np.einsum("kzij,kzj->kzi", self.local, local[..., :n_local])
        back = base[:, :n_base] - np.einsum("kzal,kzl->ka", self.coupling, tips)
        shaft = np.einsum("kij,kj->ki", self.base, back)
        rest = base[:, n_base:] * self.rest_base, local[..., n_local:] * self.rest_local
        return np.concatenate([part.ravel() for part in (shaft, tips, *rest)])

    def colour(self, flat: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Map a flat vector u to the coefficients inverse(L') u, in the shapes that `whiten` takes."""
        n_directions, n_base, _ = self.base.shape
        n_arms, n_local = self.local.shape[1:3]
        sizes = np.cumsum([n_directions * n_base, self.local[..., 0].size, self.rest_base.size])
        shaft, tips, rest_base, rest_local = np.split(flat, sizes)
        base = np.einsum("kij,ki->kj", self.base, shaft.reshape(n_directions, n_base))
        tips = tips.reshape(n_directions, n_arms, n_local)
        tips = tips - np.einsum("kzal,ka->kzl", self.coupling, base)
        local = np.einsum("kzij,kzi->kzj", self.local, tips)
        base = np.hstack([base, rest_base.reshape(self.rest_base.shape) * self.rest_base])
        rest = rest_local.reshape(self.rest_local.shape) * self.rest_local
        local = np.concatenate([local, rest], axis=2)
        return self.directions @ base, np.tensordot(self.directions, local, 1)


def arrow_factor(
    base: np.ndarray,
    local: np.ndarray,
    edges: np.ndarray,
    probabilities: np.ndarray,
    weight: np.ndarray,
    base_ridge: np.ndarray,
    local_ridge: np.ndarray,
) -> ArrowFactor:
    """Factor the curvature of the penalised mean log-loss, estimated from a sample of rows.

    Parameters
    ----------
    base : (n_base, n_samples) array
        Columns of the features, the constant first, for rows sorted by arm.
    local : (n_local, n_samples) array
        Columns with separate coefficients for every arm, the constant first.
    edges : (n_arms + 1,) int array
        The rows of arm z are ``edges[z]:edges[z + 1]``.
    probabilities : (n_outcomes, n_samples) array
        Outcome probabilities at which the curvature is evaluated.
    weight : (n_samples,) array
        Normalised to sum to one.
    base_ridge : (n_base,) array
    local_ridge : (n_local,) array
    """
    weighted = probabilities * weight
    curvature = np.diag(weighted.sum(axis=1)) - weighted @ probabilities.T
    directions = np.linalg.eigh(curvature)[1][:, 1:]
    bend = (directions.T**2) @ probabilities - (directions.T @ probabilities) ** 2
    bend = np.maximum(bend, 1e-3 * bend.max()) * weight
    n_base, n_local = min(len(base), MOST_BASE), min(len(local), MOST_LOCAL)
    rest_base = bend @ base[n_base:].T ** 2 + base_ridge[n_base:]
    squares = [bend[:, rows] @ local[n_local:, rows].T ** 2 for rows in arm_slices(edges)]
    rest_local = np.stack(squares, axis=1) + local_ridge[n_local:]
    parts = [
        _factor(base[:n_base], local[:n_local], edges, each, base_ridge[:n_base], local_ridge[:n_local])
        for each in bend
    ]
    shaft, tips, coupling = (np.stack(part) for part in zip(*parts, strict=True))
    return ArrowFactor(directions, shaft, tips, coupling, _inverse_root(rest_base), _inverse_root(rest_local))


def _factor(
    base: np.ndarray,
    local: np.ndarray,
    edges: np.ndarray,
    bend: np.ndarray,
    base_ridge: np.ndarray,
    local_ridge: np.ndarray,
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Blocks of one direction; arms are eliminated first, so that the factor has no fill-in."""
    bent = base * bend
    tips = np.stack([(local[:, rows] * bend[rows]) @ local[:, rows].T for rows in arm_slices(edges)])
    inverse = _inverse_cholesky(tips + np.diag(local_ridge))
    joint = np.stack([bent[:, rows] @ local[:, rows].T for rows in arm_slices(edges)])
    coupling = joint @ inverse.transpose(0, 2, 1)
    flat = coupling.transpose(1, 0, 2).reshape(len(base), -1)
    shaft = bent @ base.T + np.diag(base_ridge)
    jitter = JITTER * np.diag(np.diag(shaft))
    return _inverse_cholesky(shaft - flat @ flat.T + jitter), inverse, coupling


def _inverse_cholesky(matrices: np.ndarray) -> np.ndarray:
    return np.linalg.inv(np.linalg.cholesky(matrices))


def _inverse_root(values: np.ndarray) -> np.ndarray:
    return 1.0 / np.sqrt(np.maximum(values, np.finfo(float).tiny))


MAX_ITERATIONS = 500
# The curvature is estimated from a tenth of the rows, within these limits.
CURVATURE_ROWS = (4000, 8000)
# With more than MANY_TIMES as many rows, the start is the solution on that sample, to START_TOLERANCE.
MANY_TIMES = 4
START_TOLERANCE = 1e-4
START_ROWS_OF_OUTCOME = 10


@dataclass(frozen=True, eq=False)
class Coefficients:
    """Coefficients of the features and of each arm, on the scale of ``PooledRows.lines``.

    Logits are relative to the last outcome, so n_logits is n_outcomes - 1.

    Attributes
    ----------
    base : (n_logits, 1 + n_columns) array
        The intercept first.
    curvature : (n_logits, n_factors, n_factors) array or None
        Coefficients of squares and products, zero below the diagonal.
    local : (n_logits, n_arms, 1 or 1 + n_numbers) array
        Intercept and slopes of each arm.
    """

    base: np.ndarray
    curvature: np.ndarray | None
    local: np.ndarray

    def common_logits(self, lines: np.ndarray) -> np.ndarray:
        """Logits without the effects of arms, (n_logits, n_samples)."""
        logits = self.base @ lines
        if self.curvature is not None:
            add_quadratic(logits, lines[1 : 1 + self.curvature.shape[1]], self.curvature)
        return logits

    def sorted_logits(self, lines: np.ndarray, edges: np.ndarray) -> np.ndarray:
        """Logits of rows that are sorted by arm, (n_logits, n_samples)."""
        logits = np.empty((len(self.base), lines.shape[1]))
        for arm, rows in enumerate(arm_slices(edges)):
            own = self.base.copy()
            own[:, : self.local.shape[2]] += self.local[:, arm]
            np.matmul(own, lines[:, rows], out=logits[:, rows])
        if self.curvature is not None:
            add_quadratic(logits, lines[1 : 1 + self.curvature.shape[1]], self.curvature)
        return logits


def softmax_with_last(logits: np.ndarray) -> np.ndarray:
    """Probabilities from logits relative to the last outcome; outcomes are on the second-to-last axis.

    Examples
    --------
    >>> softmax_with_last(np.log(np.array([[3.0, 1.0]])))
    array([[0.75, 0.5 ],
           [0.25, 0.5 ]])
    """
    shape = (*logits.shape[:-2], logits.shape[-2] + 1, logits.shape[-1])
    odds = np.zeros(shape)
    odds[..., :-1, :] = logits
    odds -= odds.max(axis=-2, keepdims=True)
    np.exp(odds, out=odds)
    odds /= odds.sum(axis=-2, keepdims=True)
    return odds


class PooledRidge:
    """Mean log-loss plus ridge penalty as a function of the coefficients of standardised columns.

    Parameters
    ----------
    products : bool
        Whether to include squares and products; all columns are then standardised again.
    variance, slope_variance : float
        Prior variances; see :class:`selective_labels.nuisance.models.logistic.LogisticSettings`.
    """

    def __init__(self, rows: PooledRows, products: bool, variance: float, slope_variance: float):
        n_columns = len(rows.lines) - 1
        self.rows, self.products = rows, products
        if products:
            self.mean, self.deviation = rows.product_scale
        else:
            self.mean, self.deviation = np.zeros(n_columns), np.ones(n_columns)
        n_local = 1 + (rows.n_numbers if slope_variance else 0)
        # Two outcomes have one contrast, which is penalised like one vector of coefficients.
        strength = (2.0 if len(rows.outcomes) == 2 else 1.0) / rows.total
        self.base_ridge = np.full(1 + len(self.mean), strength / variance)
        self.base_ridge[0] = 0.0
        self.local_ridge = np.full(n_local, strength / (slope_variance or 1.0))
        self.local_ridge[0] = strength / variance

    @property
    def shapes(self) -> tuple[tuple[int, int], tuple[int, int, int]]:
        """Shapes of the coefficients of features and of arms."""
        n_outcomes = len(self.rows.outcomes)
        return (n_outcomes, len(self.base_ridge)), (n_outcomes, self.rows.n_arms, len(self.local_ridge))

    def coefficients(self, base: np.ndarray, local: np.ndarray) -> Coefficients:
        """Convert coefficients of standardised columns to the scale of the rows."""
        base, local = base[:-1] - base[-1], local[:-1] - local[-1]
        slopes = base[:, 1:] / self.deviation
        n_columns = len(self.rows.lines) - 1
        plain = np.column_stack([base[:, 0] - slopes @ self.mean, slopes[:, :n_columns]])
        if not self.products:
            return Coefficients(plain, None, local)
        n_factors = self.rows.n_factors
        curvature = np.zeros((len(base), n_factors, n_factors))
        curvature[:, *product_pairs(n_factors)] = slopes[:, n_columns:]
        return Coefficients(plain, curvature, local)

    def standardised(self, found: Coefficients) -> tuple[np.ndarray, np.ndarray]:
        """Convert coefficients to the scale of standardised columns; terms that `found` lacks are zero."""
        base, local = (np.zeros(shape) for shape in self.shapes)
        n_columns = len(self.rows.lines) - 1
        base[:-1, : 1 + n_columns] = found.base
        if self.products and found.curvature is not None:
            base[:-1, 1 + n_columns :] = found.curvature[:, *product_pairs(self.rows.n_factors)]
        base[:, 0] += base[:, 1:] @ self.mean
        base[:, 1:] *= self.deviation
        shared = min(local.shape[2], found.local.shape[2])
        local[:-1, :, :shared] = found.local[..., :shared]
        return base - base.mean(axis=0), local - local.mean(axis=0)

    def value(self, base: np.ndarray, local: np.ndarray) -> tuple[float, np.ndarray, np.ndarray]:
        """Mean log-loss plus ridge penalty, and its gradients."""
        rows = self.rows
        logits = self.coefficients(base, local).sorted_logits(rows.lines, rows.edges)
        loss = -float(np.vdot(logits, rows.happened[:-1]))
        highest = np.maximum(logits.max(axis=0), 0.0)
        logits -= highest
        residual = np.exp(logits, out=logits)
        total = residual.sum(axis=0) + np.exp(-highest)
        loss += float((highest + np.log(total)) @ rows.weight)
        residual *= rows.weight / total
        residual -= rows.happened[:-1]
        base_gradient, local_gradient = self._gradients(residual)
        loss += 0.5 * float(np.sum(self.base_ridge * base**2) + np.sum(self.local_ridge * local**2))
        return loss, base_gradient + self.base_ridge * base, local_gradient + self.local_ridge * local

    def _gradients(self, residual: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        rows = self.rows
        n_local = len(self.local_ridge)
        total = np.zeros((len(residual), len(rows.lines)))
        local = np.empty((len(residual), rows.n_arms, n_local))
        for arm, own in enumerate(arm_slices(rows.edges)):
            part = residual[:, own] @ rows.lines[:, own].T
            local[:, arm] = part[:, :n_local]
            total += part
        slopes = total[:, 1:]
        if self.products:
            slopes = np.hstack([slopes, quadratic_gradient(residual, rows.lines[1 : 1 + rows.n_factors])])
        slopes = (slopes - total[:, :1] * self.mean) / self.deviation
        base = np.column_stack([total[:, 0], slopes])
        # The residuals of all outcomes sum to zero, so the last gradient is minus the sum of the others.
        return np.vstack([base, -base.sum(axis=0)]), np.concatenate([local, -local.sum(axis=0)[None]])

    def factor(self, start: Coefficients) -> ArrowFactor:
        """Factor the curvature at the given coefficients, from a sample of the rows."""
        few = _few(self.rows)
        probabilities = softmax_with_last(start.sorted_logits(few.lines, few.edges))
        columns = few.lines[1:]
        if self.products:
            first, second = product_pairs(self.rows.n_factors)
            columns = np.vstack([columns, columns[first] * columns[second]])
        columns = (columns - self.mean[:, None]) / self.deviation[:, None]
        return arrow_factor(
            np.vstack([few.lines[:1], columns]),
            few.lines[: len(self.local_ridge)],
            few.edges,
            probabilities,
            few.weight,
            self.base_ridge,
            self.local_ridge,
        )


def fit_ridge(
    rows: PooledRows,
    products: bool,
    variance: float,
    slope_variance: float,
    tolerance: float,
    start: Coefficients | None = None,
) -> Coefficients:
    """Minimise by L-BFGS, preconditioned by the curvature of a sample of the rows.

    Parameters
    ----------
    products, variance, slope_variance
        See :class:`PooledRidge`.
    tolerance : float
        Approximate tolerance of the objective above its minimum.
    start : Coefficients, optional
        Solution for another ridge penalty on the same rows. By default, with many rows, the solution on a
        sample of them.
    """
    problem = PooledRidge(rows, products, variance, slope_variance)
    if start is None:
        start = _start(problem)
        few = _few(rows)
        counts = np.count_nonzero(few.happened, axis=1)
        if rows.n_samples > MANY_TIMES * few.n_samples and counts.min() >= START_ROWS_OF_OUTCOME:
            rough = PooledRidge(few, products, variance, slope_variance)
            start = _minimise(rough, start, START_TOLERANCE)
    return _minimise(problem, start, tolerance)


def _few(rows: PooledRows) -> PooledRows:
    fewest, most = CURVATURE_ROWS
    return rows.spaced(min(most, max(fewest, rows.n_samples // 10)))


def _start(problem: PooledRidge) -> Coefficients:
    """Coefficients that predict the shares of the outcomes for every row."""
    base, local = (np.zeros(shape) for shape in problem.shapes)
    share = np.maximum(problem.rows.happened.sum(axis=1), 1.0 / problem.rows.n_samples)
    base[:, 0] = np.log(share) - np.log(share).mean()
    return problem.coefficients(base, local)


def _minimise(problem: PooledRidge, start: Coefficients, tolerance: float) -> Coefficients:
    base, local = problem.standardised(start)
    factor = problem.factor(start)
    _, *gradients = problem.value(base, local)
    # The first step of L-BFGS has length one; in this unit it equals the Newton step.
    unit = float(np.linalg.norm(factor.whiten(*gradients)))
    if unit**2 / 2.0 <= tolerance:
        return start
    decrement = np.inf

    def scaled(flat: np.ndarray) -> tuple[float, np.ndarray]:
        nonlocal decrement
        step_base, step_local = factor.colour(unit * flat)
        value, *slopes = problem.value(base + step_base, local + step_local)
        slope = factor.whiten(*slopes)
        decrement = float(slope @ slope) / 2.0  # approximate remaining decrease
        return value / unit**2, slope / unit

    def stop(intermediate_result: OptimizeResult) -> None:
        if decrement <= tolerance:
            raise StopIteration

    options = {"maxiter": MAX_ITERATIONS, "gtol": 0.0, "ftol": 0.0}
    origin = np.zeros(factor.size)
    found = minimize(scaled, origin, jac=True, method="L-BFGS-B", callback=stop, options=options)
    step_base, step_local = factor.colour(unit * found.x)
    return problem.coefficients(base + step_base, local + step_local)
