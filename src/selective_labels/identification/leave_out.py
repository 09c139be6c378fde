"""Leave-one-out and leave-cluster-out leniency, and the statistics of a first stage that economists report.

T is the decision, Z the indicators of decision-makers, W those of cells (such as court and day), with
covariates. H and h are projections and their diagonals. Decision-makers and cells enter by their cross table,
never as columns of indicators over all rows.
"""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy.sparse import csr_matrix
from scipy.stats import chi2

from selective_labels.identification.bounds import Array

# A direction whose variance is below this share of the largest one is collinear.
COLLINEAR = 1e-10
# A row (or cluster) with this little leverage left is fitted by its own indicator and has no leave-out value.
NO_LEVERAGE = 1e-9


@dataclass(frozen=True, eq=False)
class FirstStage:
    """Projections on decision-makers Z and controls W, row by row.

    M_W x = x - H_W x,   Z~ = M_W Z,   G = Z~'Z~,   h_ZW = h_W + diag(Z~ G^+ Z~')

    Attributes
    ----------
    decision_maker : (n,) int array
    cell : (n,) int array
        Cells whose indicators are controls; one cell gives an intercept.
    covariates : (n, p) array
        Further controls.

    Examples
    --------
    >>> stage = FirstStage(np.array([0, 0, 1, 1]), np.zeros(4, dtype=int), np.empty((4, 0)))
    >>> stage.fitted(np.array([1.0, 0.0, 1.0, 1.0])).tolist(), stage.leverage.round(9).tolist()
    ([0.5, 0.5, 1.0, 1.0], [0.5, 0.5, 0.5, 0.5])
    """

    decision_maker: np.ndarray
    cell: np.ndarray
    covariates: Array

    @cached_property
    def _sizes(self) -> Array:
        return np.bincount(self.cell).astype(float)

    def _within(self, values: Array) -> Array:
        """Subtract the mean of the cell."""
        columns = values.reshape(len(values), -1)
        means = np.stack([np.bincount(self.cell, each) for each in columns.T], axis=1) / self._sizes[:, None]
        return (columns - means[self.cell]).reshape(values.shape)

    @cached_property
    def _axes(self) -> Array:
        """Orthonormal columns that span the covariates within cells, (n, rank)."""
        if not self.covariates.shape[1]:
            return self.covariates
        inside = self._within(self.covariates)
        left, size, _ = np.linalg.svd(inside, full_matrices=False)
        return left[:, size > np.sqrt(COLLINEAR) * max(size.max(), np.finfo(float).tiny)]

    @cached_property
    def _shares(self) -> Array:
        """Share of each decision-maker in each cell, (n_cells, n_decision_makers)."""
        ones = np.ones(len(self.cell))
        table = csr_matrix((ones, (self.cell, self.decision_maker)))
        return np.asarray(table.multiply(1.0 / self._sizes[:, None]).todense())

    @cached_property
    def _loadings(self) -> Array:
        """Coefficients of the indicators on the axes of the covariates, (rank, n_decision_makers)."""
        return self._sums(self._axes).T

    def _sums(self, values: Array) -> Array:
        """Z'x of a column or columns, (n_decision_makers, ...)."""
        columns = values.reshape(len(values), -1)
        number = self._shares.shape[1]
        sums = [np.bincount(self.decision_maker, each, number) for each in columns.T]
        return np.array(sums, dtype=float).T.reshape(number, *values.shape[1:])

    @cached_property
    def gram(self) -> Array:
        """G = Z'M_W Z, (n_decision_makers, n_decision_makers)."""
        counts = np.diag(np.bincount(self.decision_maker).astype(float))
        weighted = self._shares * self._sizes[:, None]
        return counts - weighted.T @ self._shares - self._loadings.T @ self._loadings

    @cached_property
    def _spectrum(self) -> tuple[Array, Array]:
        size, axes = np.linalg.eigh(self.gram)
        kept = size > COLLINEAR * max(float(np.bincount(self.decision_maker).max()), 1.0)
        return axes[:, kept], size[kept]

    @cached_property
    def inverse(self) -> Array:
        """Moore-Penrose inverse of G."""
        axes, size = self._spectrum
        return (axes / size) @ axes.T

    @property
    def n_instruments(self) -> int:
        """Number of decision-makers that controls leave apart: the rank of G."""
        return len(self._spectrum[1])

    @property
    def n_controls(self) -> int:
        """Number of cells and covariates that are not collinear."""
        return len(self._sizes) + self._axes.shape[1]

    def residual(self, values: Array) -> Array:
        """M_W x, (n,)."""
        inside = self._within(values)
        return inside - self._axes @ (self._axes.T @ inside)

    def _rows(self, rows: np.ndarray) -> Array:
        """Z~ of some rows, (n_rows, n_decision_makers)."""
        adjusted = -self._shares[self.cell[rows]] - self._axes[rows] @ self._loadings
        adjusted[np.arange(len(rows)), self.decision_maker[rows]] += 1.0
        return adjusted

    def explained(self, values: Array) -> Array:
        """H_Z~ x = Z~ G^+ Z~'x, (n,)."""
        slopes = self.inverse @ self._sums(self.residual(values))
        along = slopes[self.decision_maker] - (self._shares @ slopes)[self.cell]
        return along - self._axes @ (self._loadings @ slopes)

    def fitted(self, values: Array) -> Array:
        """H_ZW x, (n,)."""
        return values - self.residual(values) + self.explained(values)

    @cached_property
    def control_leverage(self) -> Array:
        """h_W, (n,)."""
        return 1.0 / self._sizes[self.cell] + np.sum(self._axes**2, axis=1)

    @cached_property
    def own_leverage(self) -> Array:
        """diag(Z~ G^+ Z~'), (n,): u'G^+u for the indicators within cells, less what covariates explain."""
        means = self._shares @ self.inverse
        squares = np.sum(means * self._shares, axis=1)
        maker, cell = self.decision_maker, self.cell
        found = np.diag(self.inverse)[maker] - 2.0 * means[cell, maker] + squares[cell]
        turned = self._loadings @ self.inverse
        along = turned.T[maker] - (means @ self._loadings.T)[cell]
        found = found - 2.0 * np.sum(along * self._axes, axis=1)
        return found + np.sum((self._axes @ (turned @ self._loadings.T)) * self._axes, axis=1)

    @property
    def leverage(self) -> Array:
        """h_ZW, (n,)."""
        return self.control_leverage + self.own_leverage

    def jackknife(self, values: Array) -> Array:
        """Leave-one-out fitted values of [Z, W] minus those of W (UJIVE, Kolesár 2013), (n,).

        (H_ZW x - h_ZW x) / (1 - h_ZW) - (H_W x - h_W x) / (1 - h_W);   zero where a leverage is one
        """
        residual = self.residual(values)
        parts = []
        for fit, leverage in (
            (values - residual + self.explained(values), self.leverage),
            (values - residual, self.control_leverage),
        ):
            left = 1.0 - leverage
            parts.append((fit - leverage * values) / np.where(left > NO_LEVERAGE, left, np.inf))
        return np.where(1.0 - self.leverage > NO_LEVERAGE, parts[0] - parts[1], 0.0)

    def leave_one_out(self, values: Array) -> Array:
        """Leniency without the row's own decision (IJIVE, Ackerberg and Devereux 2009), (n,).

        (H_Z~ x~ - h_Z~ x~) / (1 - h_Z~),   x~ = M_W x
        """
        inside, own = self.residual(values), self.own_leverage
        left = 1.0 - own
        return (self.explained(values) - own * inside) / np.where(left > NO_LEVERAGE, left, np.inf)

    def leave_cluster_out(self, values: Array, cluster: np.ndarray) -> Array:
        """Leniency without the decisions of the row's cluster (Frandsen, Lefgren and Leslie 2023), (n,).

        Z~_c (G - Z~_c'Z~_c)^+ (Z~'x~ - Z~_c'x~_c) = x~_c - (I - H_c)^-1 (x~_c - H_Z~ x~)_c

        for the rows of each cluster c, with H_c = Z~_c G^+ Z~_c'. The second form serves clusters that are
        smaller than the number of decision-makers, unless they fit themselves (a leverage of one).
        """
        inside, found = self.residual(values), np.zeros(len(values))
        left = inside - self.explained(values)
        directions, size = self._spectrum
        total = directions.T @ self._sums(inside)
        order = np.argsort(cluster, kind="stable")
        for rows in np.split(order, np.flatnonzero(np.diff(cluster[order])) + 1):
            here = self._rows(rows) @ directions  # coordinates in which G is diagonal
            if len(rows) < len(size):
                free, axes = np.linalg.eigh(np.eye(len(rows)) - (here / size) @ here.T)
                if free[0] > NO_LEVERAGE:
                    found[rows] = inside[rows] - axes @ ((axes.T @ left[rows]) / free)
                    continue
            rest = np.diag(size) - here.T @ here
            slopes = np.linalg.lstsq(rest, total - here.T @ inside[rows], rcond=COLLINEAR)[0]
            found[rows] = here @ slopes
        return found


@dataclass(frozen=True)
class FirstStageTests:
    """F of the instruments, and Sargan's statistic of over-identification with its p-value (or None)."""

    f: float
    sargan: float | None
    p_value: float | None


def first_stage_tests(stage: FirstStage, outcome: Array, treatment: Array) -> FirstStageTests:
    """First-stage F, and Sargan's test from the smallest eigenvalue of the reduced form.

    F = T'H_Z~ T / K / (T'M_ZW T / (n - K - L)),
    Sargan = n m / (1 - K/n - L/n + m) ~ χ²(K - 1),   m = min eig(Σ^-1 [Y T]'H_Z~[Y T] / n)

    with K instruments, L controls and Σ the residual covariance of the reduced form.

    Examples
    --------
    >>> maker = np.repeat([0, 1, 2], 40)
    >>> stage = FirstStage(maker, np.zeros(120, dtype=int), np.empty((120, 0)))
    >>> treatment = (np.arange(120) % 4 < maker + 1).astype(float)
    >>> round(first_stage_tests(stage, treatment * (np.arange(120) % 2), treatment).f, 2)
    11.7
    """
    number, free, controls = len(outcome), stage.n_instruments, stage.n_controls
    both = np.stack([outcome, treatment])
    within = np.stack([stage.residual(each) for each in both])
    between = np.stack([stage.explained(each) for each in both])
    explained = between @ between.T
    noise = (within @ within.T - explained) / (number - free - controls)
    f = float(explained[1, 1] / free / noise[1, 1]) if noise[1, 1] > 0.0 else float("inf")
    if free < 2 or not np.linalg.det(noise) > 0.0:
        return FirstStageTests(f, None, None)
    smallest = float(np.linalg.eigvals(np.linalg.solve(noise, explained / number)).real.min())
    sargan = number * smallest / (1.0 - (free + controls) / number + smallest)
    return FirstStageTests(f, sargan, float(chi2.sf(sargan, free - 1)))
