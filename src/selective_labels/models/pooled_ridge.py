"""The mean log-loss of a pooled logistic model plus ridge, and its minimum."""

from dataclasses import dataclass

import numpy as np
from scipy.optimize import OptimizeResult, minimize

from selective_labels.models.arrow import ArrowFactor, arrow_factor
from selective_labels.models.pooled_rows import PooledRows, arm_slices
from selective_labels.models.products import add_quadratic, product_pairs, quadratic_gradient

MAX_ITERATIONS = 500
# The curvature is read off a tenth of the rows, but no fewer and no more than these.
CURVATURE_ROWS = (4000, 8000)
# With this many times more rows, the start is the solution on those few, found to this tolerance.
MANY_TIMES = 4
START_TOLERANCE = 1e-4
START_ROWS_OF_OUTCOME = 10


@dataclass(frozen=True, eq=False)
class Coefficients:
    """Of features, and of each arm, as they multiply what is written in the lines of the rows.

    Logits are those of each outcome against the last one, which has none: n_logits is n_outcomes - 1.

    Attributes
    ----------
    base : (n_logits, 1 + n_columns) array
        The intercept first.
    curvature : (n_logits, n_columns, n_columns) array or None
        Of squares and products, zero below the diagonal.
    local : (n_logits, n_arms, 1 or 1 + n_numbers) array
        Intercept of the arm, and its slopes.
    """

    base: np.ndarray
    curvature: np.ndarray | None
    local: np.ndarray

    def common_logits(self, lines: np.ndarray) -> np.ndarray:
        """Without what belongs to arms, (n_logits, n_samples)."""
        logits = self.base @ lines
        if self.curvature is not None:
            add_quadratic(logits, lines[1:], self.curvature)
        return logits

    def sorted_logits(self, lines: np.ndarray, edges: np.ndarray) -> np.ndarray:
        """Of rows that are sorted by arm, (n_logits, n_samples)."""
        logits = np.empty((len(self.base), lines.shape[1]))
        for arm, rows in enumerate(arm_slices(edges)):
            own = self.base.copy()
            own[:, : self.local.shape[2]] += self.local[:, arm]
            np.matmul(own, lines[:, rows], out=logits[:, rows])
        if self.curvature is not None:
            add_quadratic(logits, lines[1:], self.curvature)
        return logits


def softmax_with_last(logits: np.ndarray) -> np.ndarray:
    """Probabilities from logits against the last outcome, outcomes on the last axis but one.

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
    """Mean log-loss plus ridge as a function of the coefficients of standardised columns.

    Parameters
    ----------
    rows : PooledRows
    products : bool
        Squares and products as well; all columns are then standardised once more.
    variance, slope_variance : float
        Prior variances; see :class:`selective_labels.models.logistic.LogisticSettings`.
    """

    def __init__(self, rows: PooledRows, products: bool, variance: float, slope_variance: float):
        n_columns = len(rows.lines) - 1
        self.rows, self.products = rows, products
        if products:
            self.mean, self.deviation = rows.product_scale
        else:
            self.mean, self.deviation = np.zeros(n_columns), np.ones(n_columns)
        n_local = 1 + (rows.n_numbers if slope_variance else 0)
        # Two outcomes have one contrast, whose ridge is that of one vector of coefficients.
        strength = (2.0 if len(rows.outcomes) == 2 else 1.0) / rows.total
        self.base_ridge = np.full(1 + len(self.mean), strength / variance)
        self.base_ridge[0] = 0.0
        self.local_ridge = np.full(n_local, strength / (slope_variance or 1.0))
        self.local_ridge[0] = strength / variance

    @property
    def shapes(self) -> tuple[tuple[int, int], tuple[int, int, int]]:
        """Shapes of the coefficients: of features, and of arms."""
        n_outcomes = len(self.rows.outcomes)
        return (n_outcomes, len(self.base_ridge)), (n_outcomes, self.rows.n_arms, len(self.local_ridge))

    def coefficients(self, base: np.ndarray, local: np.ndarray) -> Coefficients:
        """From standardised columns to those that the rows hold."""
        base, local = base[:-1] - base[-1], local[:-1] - local[-1]
        slopes = base[:, 1:] / self.deviation
        n_columns = len(self.rows.lines) - 1
        plain = np.column_stack([base[:, 0] - slopes @ self.mean, slopes[:, :n_columns]])
        if not self.products:
            return Coefficients(plain, None, local)
        curvature = np.zeros((len(base), n_columns, n_columns))
        curvature[:, *product_pairs(n_columns)] = slopes[:, n_columns:]
        return Coefficients(plain, curvature, local)

    def standardised(self, found: Coefficients) -> tuple[np.ndarray, np.ndarray]:
        """From the columns that the rows hold to standardised ones; what is not in `found` is zero."""
        base, local = (np.zeros(shape) for shape in self.shapes)
        n_columns = len(self.rows.lines) - 1
        base[:-1, : 1 + n_columns] = found.base
        if self.products and found.curvature is not None:
            base[:-1, 1 + n_columns :] = found.curvature[:, *product_pairs(n_columns)]
        base[:, 0] += base[:, 1:] @ self.mean
        base[:, 1:] *= self.deviation
        shared = min(local.shape[2], found.local.shape[2])
        local[:-1, :, :shared] = found.local[..., :shared]
        return base - base.mean(axis=0), local - local.mean(axis=0)

    def value(self, base: np.ndarray, local: np.ndarray) -> tuple[float, np.ndarray, np.ndarray]:
        """Mean log-loss plus ridge, and its gradients."""
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
            slopes = np.hstack([slopes, quadratic_gradient(residual, rows.lines[1:])])
        slopes = (slopes - total[:, :1] * self.mean) / self.deviation
        base = np.column_stack([total[:, 0], slopes])
        # Residuals of all outcomes sum to zero.
        return np.vstack([base, -base.sum(axis=0)]), np.concatenate([local, -local.sum(axis=0)[None]])

    def factor(self, start: Coefficients) -> ArrowFactor:
        """Curvature at some coefficients, from a sample of the rows."""
        few = _few(self.rows)
        probabilities = softmax_with_last(start.sorted_logits(few.lines, few.edges))
        columns = few.lines[1:]
        if self.products:
            first, second = product_pairs(len(columns))
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
    """Minimise by L-BFGS, with the curvature of a sample of the rows as the measure of lengths.

    Parameters
    ----------
    rows : PooledRows
    products, variance, slope_variance
        See :class:`PooledRidge`.
    tolerance : float
        How much larger than its minimum the mean log-loss may be, about.
    start : Coefficients, optional
        Those of another ridge on the same rows. Default: if the rows are many, the solution on a few of them.
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
    """The shares of the outcomes, whatever the features."""
    base, local = (np.zeros(shape) for shape in problem.shapes)
    share = np.maximum(problem.rows.happened.sum(axis=1), 1.0 / problem.rows.n_samples)
    base[:, 0] = np.log(share) - np.log(share).mean()
    return problem.coefficients(base, local)


def _minimise(problem: PooledRidge, start: Coefficients, tolerance: float) -> Coefficients:
    base, local = problem.standardised(start)
    factor = problem.factor(start)
    _, *gradients = problem.value(base, local)
    # The first step is of length one: with lengths in this unit it is Newton's.
    unit = float(np.linalg.norm(factor.whiten(*gradients)))
    if unit**2 / 2.0 <= tolerance:
        return start
    decrement = np.inf

    def scaled(flat: np.ndarray) -> tuple[float, np.ndarray]:
        nonlocal decrement
        step_base, step_local = factor.colour(unit * flat)
        value, *slopes = problem.value(base + step_base, local + step_local)
        slope = factor.whiten(*slopes)
        decrement = float(slope @ slope) / 2.0  # about what is left to gain
        return value / unit**2, slope / unit

    def stop(intermediate_result: OptimizeResult) -> None:
        if decrement <= tolerance:
            raise StopIteration

    options = {"maxiter": MAX_ITERATIONS, "gtol": 0.0, "ftol": 0.0}
    origin = np.zeros(factor.size)
    found = minimize(scaled, origin, jac=True, method="L-BFGS-B", callback=stop, options=options)
    step_base, step_local = factor.colour(unit * found.x)
    return problem.coefficients(base + step_base, local + step_local)
