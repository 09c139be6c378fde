"""Statistical tools of the checks: permutation tests, one-sided tests, power, and regression within cells."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy.optimize import brentq
from scipy.sparse import csc_array, csr_array
from scipy.special import ndtr, ndtri
from scipy.stats import chi2, ncx2
from scipy.stats import t as student


def sums_by(codes: np.ndarray, columns: np.ndarray, n_codes: int) -> np.ndarray:
    """Sum each column over the rows of each code, shape (n_codes, n_columns).

    Examples
    --------
    >>> sums_by(np.array([0, 1, 0]), np.array([[1.0], [2.0], [3.0]]), 2)
    array([[4.],
           [2.]])
    """
    n_rows = len(codes)
    members = csc_array((np.ones(n_rows), codes, np.arange(n_rows + 1)), shape=(n_codes, n_rows))
    return members @ columns


def centred(values: np.ndarray, cells: np.ndarray) -> np.ndarray:
    """Values minus their mean within the row's cell; one or two dimensions.

    Examples
    --------
    >>> centred(np.array([1.0, 3.0, 5.0]), np.array([0, 0, 1]))
    array([-1.,  1.,  0.])
    """
    columns = values if values.ndim == 2 else values[:, None]
    n_cells = int(cells.max()) + 1
    counts = np.maximum(np.bincount(cells, minlength=n_cells), 1)
    means = sums_by(cells, columns, n_cells) / counts[:, None]
    return (columns - means[cells]).reshape(values.shape)


def decision_makers_per_cell(cells: np.ndarray, codes: np.ndarray) -> np.ndarray:
    """Number of distinct codes in each cell, shape (n_cells,).

    Examples
    --------
    >>> decision_makers_per_cell(np.array([0, 0, 1, 1]), np.array([0, 1, 2, 2]))
    array([2, 1])
    """
    n_codes = int(codes.max()) + 1
    pairs = np.unique(cells * n_codes + codes)
    return np.bincount(pairs // n_codes, minlength=int(cells.max()) + 1)


def holm(p_values: np.ndarray) -> np.ndarray:
    """P-values adjusted for multiple testing by Holm's method.

    Examples
    --------
    >>> holm(np.array([0.01, 0.5, 0.03]))
    array([0.03, 0.5 , 0.06])
    """
    order = np.argsort(p_values)
    factors = len(p_values) - np.arange(len(p_values))
    adjusted = np.minimum(np.maximum.accumulate(p_values[order] * factors), 1.0)
    result = np.empty(len(p_values))
    result[order] = adjusted
    return result


# Weaker directions within a cell are rounding errors.
ROUNDING = 1e-9


@dataclass(frozen=True, eq=False)
class CellPairs:
    """Pairs of a decision-maker and a cell that have cases in common.

    Within each cell, the means of pairs are regressed on the columns `along`, weighted by the number of
    cases. The residuals are averaged over the cells of each decision-maker. A column of ones centres the
    cells; leniency as a second column fits a separate line in each cell.

    Attributes
    ----------
    maker, cell : (n_pairs,) int arrays
    rows : (n_pairs,) array
        Number of cases of each pair.
    along : (n_pairs, n_columns) array
        Regressors within cells.
    """

    maker: np.ndarray
    cell: np.ndarray
    rows: np.ndarray
    along: np.ndarray

    @cached_property
    def rows_of_maker(self) -> np.ndarray:
        """Number of cases of each decision-maker."""
        return np.bincount(self.maker, self.rows)

    @cached_property
    def _loading(self) -> np.ndarray:
        """Row n φ' (Σ n φ φ')⁻ of each pair, (n_pairs, n_columns)."""
        gram = self._products(self.rows)
        inverse = np.linalg.pinv(gram, rcond=ROUNDING, hermitian=True)
        return np.einsum("pa,pab->pb", self.rows[:, None] * self.along, inverse[self.cell])

    def _products(self, weight: np.ndarray) -> np.ndarray:
        """Σ w φ φ' for each cell, (n_cells, n_columns, n_columns)."""
        n_columns = self.along.shape[1]
        products = (weight[:, None, None] * self.along[:, :, None] * self.along[:, None, :]).reshape(
            len(weight), -1
        )
        return sums_by(self.cell, products, int(self.cell.max()) + 1).reshape(-1, n_columns, n_columns)

    def left(self, values: np.ndarray) -> np.ndarray:
        """Residuals of values of pairs, averaged over the cases of each decision-maker.

        Parameters
        ----------
        values : (n_pairs, n_values) array

        Returns
        -------
        (n_decision_makers, n_values) array

        Examples
        --------
        >>> ones = np.ones((3, 1))
        >>> pairs = CellPairs(np.arange(3), np.array([0, 0, 1]), np.array([1.0, 3.0, 5.0]), ones)
        >>> pairs.left(np.array([[4.0], [0.0], [7.0]])).ravel()
        array([ 3., -1.,  0.])
        """
        n_cells, n_values = int(self.cell.max()) + 1, values.shape[1]
        products = (self._loading[:, :, None] * values[:, None, :]).reshape(len(values), -1)
        coefficients = sums_by(self.cell, products, n_cells).reshape(n_cells, -1, n_values)
        rest = values - np.einsum("pa,pav->pv", self.along, coefficients[self.cell])
        n_makers = len(self.rows_of_maker)
        return sums_by(self.maker, self.rows[:, None] * rest, n_makers) / self.rows_of_maker[:, None]

    def covariance(self, variance: np.ndarray) -> np.ndarray:
        """Covariance of averaged residuals of independent rows, (n_decision_makers, n_decision_makers).

        diag(Σ_c n σ²) - X W' - W X' + X T X'   over n_z n_z',

        with W = n σ² φ and X = n φ' (Σ n φ φ')⁻ for each pair, and T = Σ n σ² φ φ' for each cell.

        Parameters
        ----------
        variance : (n_pairs,) array
            Variance of one row of each pair.
        """
        noise = self.rows * variance
        noisy = noise[:, None] * self.along
        half = noisy - 0.5 * np.einsum("pa,pab->pb", self._loading, self._products(noise)[self.cell])
        shared = self._matrix(self._loading) @ self._matrix(half).T
        total = np.diag(np.bincount(self.maker, noise)) - (shared + shared.T).toarray()
        return total / np.outer(self.rows_of_maker, self.rows_of_maker)

    def _matrix(self, values: np.ndarray) -> csr_array:
        """Sparse matrix of the values of pairs, decision-makers by columns of cells."""
        n_columns = values.shape[1]
        column = self.cell[:, None] * n_columns + np.arange(n_columns)
        row = np.broadcast_to(self.maker[:, None], column.shape)
        shape = (len(self.rows_of_maker), (int(self.cell.max()) + 1) * n_columns)
        return csr_array((values.ravel(), (row.ravel(), column.ravel())), shape=shape)


POWER = 0.8
LARGEST = 1e6
# With more degrees of freedom, the noncentral χ² series is slow and the normal approximation is accurate.
MANY = 1e4
# A variance below this fraction of the squared mean is a rounding error.
SHARE_ROUNDING = 1e-12


def detectable_noncentrality(level: float, freedom: float) -> float:
    """Noncentrality at which a χ² test has 80% power: P(χ²_ν(δ) > q) = .8, with q the critical value.

    Parameters
    ----------
    freedom : float
        Degrees of freedom; need not be an integer.

    Examples
    --------
    With one degree of freedom, the noncentrality is about (1.96 + 0.84)².

    >>> round(detectable_noncentrality(0.05, 1), 2)
    7.85
    """
    if freedom > MANY:  # normal approximation
        return float((ndtri(1.0 - level) + ndtri(POWER)) * np.sqrt(2.0 * freedom))
    critical = chi2.isf(level, freedom)
    return float(brentq(lambda ncp: ncx2.sf(critical, freedom, ncp) - POWER, 1e-9, LARGEST))


def detectable_between(drawn: np.ndarray, level: float) -> float:
    """Increase of a sum of squares above its null mean that a test detects with 80% power.

    The null distribution is approximated by a χ²_ν with the mean and variance of the permutation draws, which
    accounts for repeated cases and unequal numbers of cases: a = var / (2 mean), ν = 2 mean² / var. The
    detectable increase is a δ.

    Parameters
    ----------
    drawn : (n_permutations,) array
        The statistic under permutations of the decision-makers.

    Examples
    --------
    >>> drawn = np.random.default_rng(0).chisquare(7, 4000)
    >>> abs(detectable_between(drawn, 0.05) - detectable_noncentrality(0.05, 7)) < 0.5
    True
    """
    mean, variance = float(drawn.mean()), float(drawn.var())
    if mean <= 0.0 or variance <= SHARE_ROUNDING * mean**2:
        return float("nan")
    return variance / (2.0 * mean) * detectable_noncentrality(level, 2.0 * mean**2 / variance)


def mean_above_zero(
    values: np.ndarray, weights: np.ndarray, units: np.ndarray | None = None, error: float = 0.0
) -> tuple[float, float]:
    """T statistic of a weighted mean, and the p-value of the null "the mean is at most zero".

    s² = G / (G - 1) · Σ_g (Σ_{i in g} w_i (v_i - mean))² / (Σ w)² + error²,   t with G - 1 degrees of freedom

    Parameters
    ----------
    values : (n_samples,) array
    weights : (n_samples,) array
        Non-negative, not all zero.
    units : (n_samples,) int array, optional
        Clusters of dependent rows; None if all rows are independent.
    error : float
        Standard error of an estimate from other cases that was subtracted from all values.

    Examples
    --------
    >>> values = np.array([1.0, 1.0, 3.0, 3.0])
    >>> [round(each, 3) for each in mean_above_zero(values, np.ones(4))]
    [3.464, 0.02]
    >>> [round(each, 3) for each in mean_above_zero(values, np.ones(4), np.array([0, 0, 1, 1]))]
    [2.0, 0.148]
    """
    share = weights / weights.sum()
    mean = float(share @ values)
    sums = share * (values - mean)
    if units is not None:
        codes = np.unique(units, return_inverse=True)[1]
        sums = np.bincount(codes, sums)
    number = len(sums)
    spread = np.sum(sums**2) * number / max(number - 1, 1)
    noise = float(np.sqrt(spread + error**2))
    statistic = mean / noise if noise > 0.0 and number > 1 else 0.0
    return float(statistic), float(student.sf(statistic, max(number - 1, 1)))


@dataclass(frozen=True, eq=False)
class Units:
    """Units of assignment to decision-makers: rows, or groups of rows.

    Attributes
    ----------
    of_row : (n_rows,) int array or None
        Unit of each row; None if every row is a unit.
    decision_maker : (n_units,) int array
    cell : (n_units,) int array
    size : (n_units,) float array
        Number of rows in each unit.
    """

    of_row: np.ndarray | None
    decision_maker: np.ndarray
    cell: np.ndarray
    size: np.ndarray

    def total(self, columns: np.ndarray) -> np.ndarray:
        """Sum the columns over the rows of each unit."""
        return columns if self.of_row is None else sums_by(self.of_row, columns, len(self.size))


def assignment_units(decision_maker: np.ndarray, cell: np.ndarray, groups: np.ndarray | None) -> Units:
    """Units of assignment: all rows of a group that one decision-maker handled, or rows without groups.

    Repeated cases of one decision-maker were assigned once, at the first of them. They are permuted together,
    within the cell of that row. The parts of a group that several decision-makers handled are permuted
    separately. A permutation may give two parts to the same decision-maker, which makes the null distribution
    slightly wider and the test slightly conservative.

    Examples
    --------
    >>> maker, cell = np.array([0, 0, 1]), np.zeros(3, dtype=int)
    >>> assignment_units(maker, cell, np.array([7, 7, 9])).size
    array([2., 1.])
    >>> assignment_units(maker, cell, np.array([7, 9, 9])).size
    array([1., 1., 1.])
    """
    if groups is None:
        return Units(None, decision_maker, cell, np.ones(len(cell)))
    part = groups.astype(np.int64) * (int(decision_maker.max()) + 1) + decision_maker
    _, first, of_row = np.unique(part, return_index=True, return_inverse=True)
    return Units(of_row, decision_maker[first], cell[first], np.bincount(of_row).astype(float))


def shuffles(
    codes: np.ndarray, cell: np.ndarray, n_permutations: int, generator: np.random.Generator
) -> Iterator[np.ndarray]:
    """Yield random permutations of the codes within cells.

    Examples
    --------
    >>> codes, cell = np.array([1, 2, 8, 9]), np.array([0, 0, 1, 1])
    >>> drawn = list(shuffles(codes, cell, 20, np.random.default_rng(0)))
    >>> sorted({tuple(each[:2].tolist()) for each in drawn})
    [(1, 2), (2, 1)]
    """
    if cell.min() == cell.max():
        for _ in range(n_permutations):
            yield generator.permutation(codes)
        return
    by_cell = np.argsort(cell, kind="stable")
    for _ in range(n_permutations):
        shuffled = np.empty_like(codes)
        shuffled[by_cell] = codes[np.argsort(cell + generator.random(len(cell)))]
        yield shuffled


# Maps sums over the units of each decision-maker, (n_decision_makers, n_columns), to statistics.
Statistic = Callable[[np.ndarray], np.ndarray]


def permutation_draws(
    units: Units,
    columns: np.ndarray,
    statistic: Statistic,
    n_permutations: int,
    generator: np.random.Generator,
) -> tuple[np.ndarray, np.ndarray]:
    """Statistics of the sample and of its permutations, from sums by decision-maker.

    Parameters
    ----------
    columns : (n_units, n_columns) array
    statistic : callable
        Returns an array of any number of statistics.

    Returns
    -------
    (n_statistics,) array, (n_permutations, n_statistics) array
        No model is refitted: columns stay with their units, and only decision-makers are permuted.
    """
    n_codes = int(units.decision_maker.max()) + 1
    observed = statistic(sums_by(units.decision_maker, columns, n_codes))
    drawn = [
        statistic(sums_by(codes, columns, n_codes))
        for codes in shuffles(units.decision_maker, units.cell, n_permutations, generator)
    ]
    return observed, np.array(drawn)


def permutation_p_value(observed: float, drawn: np.ndarray) -> float:
    """Permutation p-value: the share of permutations, including the sample, that are at least as extreme.

    Examples
    --------
    >>> permutation_p_value(3.0, np.array([1.0, 2.0, 4.0]))
    0.5
    """
    return float((1 + np.sum(drawn >= observed)) / (1 + len(drawn)))


def one_sided(values: np.ndarray) -> tuple[float, float]:
    """T statistic of the mean, and the normal p-value of the null "the mean is at most zero".

    Examples
    --------
    >>> one_sided(np.array([-1.0, 1.0]))
    (0.0, 0.5)
    """
    error = values.std(ddof=1) / np.sqrt(len(values)) if len(values) > 1 else 0.0
    statistic = float(values.mean() / error) if error > 0.0 else 0.0
    return statistic, float(ndtr(-statistic))


def within_cells(values: np.ndarray, cell: np.ndarray, weight: np.ndarray) -> np.ndarray:
    """Columns minus their weighted means within cells, (n, n_columns).

    Examples
    --------
    >>> within_cells(np.array([[0.0], [4.0]]), np.array([0, 0]), np.array([3.0, 1.0])).ravel()
    array([-1.,  3.])
    """
    n_cells = int(cell.max()) + 1
    mass = np.bincount(cell, weight, n_cells)
    total = sums_by(cell, values * weight[:, None], n_cells)
    return values - (total / np.maximum(mass, np.finfo(float).tiny)[:, None])[cell]


def blocks_of(unit: np.ndarray, n_blocks: int, generator: np.random.Generator) -> np.ndarray:
    """Block of each row, (n,): units are assigned at random to blocks 0 to n_blocks of about equal size.

    Examples
    --------
    >>> blocks_of(np.array([0, 0, 1, 2]), 2, np.random.default_rng(0)).tolist()
    [2, 2, 0, 1]
    """
    n_units = int(unit.max()) + 1
    return (generator.permutation(n_units) * (n_blocks + 1) // n_units)[unit]


@dataclass(frozen=True)
class AddedVariable:
    """Test of a variable added to regressions of several residuals.

    Attributes
    ----------
    statistic, p_value : float
        Robust χ² test of the null that the variable adds nothing.
    error : float
        Standard error of its coefficient, the largest over residuals; infinite if it does not vary.
    """

    statistic: float
    p_value: float
    error: float


def added_variable_test(
    residual: np.ndarray, variable: np.ndarray, basis: np.ndarray, unit: np.ndarray | None = None
) -> AddedVariable:
    """Robust χ² test that a variable adds nothing to regressions of several residuals on a basis.

    T = s' (Σ_u s_u s_u')⁻¹ s,   s_u = Σ_{i in u} v_i r_i,   s = Σ_u s_u,

    with v and r the variable and the residuals, net of the basis.

    Parameters
    ----------
    residual : (n, q) array
    variable : (n,) array
    basis : (n, b) array
    unit : (n,) int array, optional
        Clusters of dependent rows.

    Examples
    --------
    >>> generator = np.random.default_rng(0)
    >>> variable, noise = generator.standard_normal((2, 400))
    >>> ones = np.ones((400, 1))
    >>> added_variable_test(noise[:, None] + variable[:, None], variable, ones).p_value < 1e-6
    True
    """
    own = variable - basis @ np.linalg.lstsq(basis, variable, rcond=None)[0]
    left = residual - basis @ np.linalg.lstsq(basis, residual, rcond=None)[0]
    parts = own[:, None] * left
    if unit is not None:
        parts = sums_by(unit, parts, int(unit.max()) + 1)
    total = parts.sum(axis=0)
    centred = parts - total / len(parts)
    matrix = centred.T @ centred
    statistic = float(total @ np.linalg.lstsq(matrix, total, rcond=None)[0])
    square = float(own @ own)
    error = float(np.sqrt(np.diag(matrix).max())) / square if square > 0.0 else float("inf")
    return AddedVariable(statistic, float(chi2.sf(statistic, residual.shape[1])), error)
