"""Predictions are checked: they must not depend on who decides, nor be those of training rows."""

import hashlib
import warnings
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np
from scipy.special import ndtr
from scipy.stats import chi2, rankdata
from sklearn.base import clone
from sklearn.ensemble import HistGradientBoostingRegressor
from sklearn.model_selection import GroupShuffleSplit
from sklearn.utils import _safe_indexing

from selective_labels._errors import InputError, several
from selective_labels.data.selective_labels import SelectiveLabels, class_code
from selective_labels.diagnostics.balance import between
from selective_labels.diagnostics.hypothesis_tests import (
    Units,
    assignment_units,
    centred,
    permutation_draws,
    sums_by,
)
from selective_labels.evaluation.predictions import (
    ArrayPredictions,
    ClassifierPredictions,
    Predictions,
    argument_of,
    codes_of,
)
from selective_labels.evaluation.scored_rows import ScoredSample
from selective_labels.identification.bounds import Array
from selective_labels.inference.evidence import covariance, mean_estimate
from selective_labels.inference.standard_errors import cluster_codes
from selective_labels.nuisance.assignment import cell_shares
from selective_labels.nuisance.bands import MANY_DECISION_MAKERS
from selective_labels.nuisance.cross_fit import CrossFit, arm_propensity
from selective_labels.nuisance.models.encoders import standardised

# A random sample of this size finds dependence that matters, and limits what the test costs.
MOST_ROWS = 10_000
# A quarter of the permutations is enough where the p-value is far from every level in use.
N_FOLDS, FEW_PERMUTATIONS, N_PERMUTATIONS, NOT_CLOSE = 5, 50, 200, 0.2
# With fewer rows for each decision-maker, leniency bands are compared.
FEWEST_EACH = 4
# Columns of the regression on features: products of a few, and smooth random functions of all.
MOST_PRODUCTS, MOST_COLUMNS, N_RANDOM = 10, 200, 100
ROWS_AT_ONCE = 1024
TREES = {"max_iter": 30, "learning_rate": 0.2, "max_leaf_nodes": 15}
# A p-value below this calls for a second regression.
SUSPECT = 0.01
# A p-value below this, of a function of the features alone, is blamed on the model of who decides.
UNBALANCED = 1e-3
PENALTIES = np.array([1.0, 10.0, 100.0, 1000.0])
TINY = np.finfo(float).tiny
# Predictions copy the decisions if they agree in this share of the rows, with this correlation ...
SAME, COPIED = 0.98, 0.9
# ... and if features predict no more than this share of their variance.
PREDICTED = 0.8
# Predictions are filled by decisions if elsewhere, and by what features say, at most this share is the same.
OTHERWISE = 0.9
FEWEST_REFUSED = 50
# Where the decisions have a smaller p-value, it shows copies, too.
STRONG = 1e-6


class HeldOutRidge:
    """Cross-fitted ridge regressions of any number of columns on smooth functions of the features.

    Matrices are factored once, so that each further column costs little. The penalty of each column has the
    smallest held-out squared error.

    Parameters
    ----------
    columns : (n, n_columns) array
        By `smooth_functions`.
    fold : (n,) int array
    weight : (n,) array
        Rows of weight zero are predicted and take no part in the fit.

    Examples
    --------
    >>> generator = np.random.default_rng(0)
    >>> X = generator.normal(size=(1000, 2))
    >>> columns, fold = smooth_functions(X, generator), np.arange(1000) % 5
    >>> left = HeldOutRidge(columns, fold, np.ones(1000)).residuals(np.sin(X))
    >>> bool(left.var() < 0.01)
    True
    """

    def __init__(self, columns: np.ndarray, fold: np.ndarray, weight: np.ndarray) -> None:
        self._weight, self._columns = weight / weight.mean(), columns
        self._centre = self._weight @ columns / len(columns)
        self._rows = [np.flatnonzero(fold == number) for number in range(int(fold.max()) + 1)]
        grams = [self._products(rows) for rows in self._rows]
        self._factors = [np.linalg.eigh(sum(grams) - gram) for gram in grams]

    def residuals(self, values: np.ndarray) -> np.ndarray:
        """Values minus their held-out predictions, (n, n_values)."""
        values = values - np.average(values, axis=0, weights=self._weight)
        parts = [self._products(rows, values) for rows in self._rows]
        left = np.empty((len(values), len(PENALTIES), values.shape[1]))
        errors = np.zeros(left.shape[1:])
        for rows, part, (sizes, vectors) in zip(self._rows, parts, self._factors, strict=True):
            along = vectors.T @ (sum(parts) - part)
            shrunk = along[:, None] / (np.maximum(sizes, 0.0)[:, None] + PENALTIES)[:, :, None]
            slopes = vectors @ shrunk.reshape(len(vectors), -1)  # of all penalties: columns are read once
            for some in _in_parts(rows):
                predicted = ((self._columns[some] - self._centre) @ slopes).reshape(-1, *shrunk.shape[1:])
                left[some] = values[some, None] - predicted
                errors += np.tensordot(self._weight[some], left[some] ** 2, 1)
        best = errors.argmin(axis=0)
        return left[:, best, np.arange(values.shape[1])]

    def _products(self, rows: np.ndarray, values: np.ndarray | None = None) -> np.ndarray:
        """Weighted products of the columns with each other, or with values, over some rows."""
        total: np.ndarray | float = 0.0
        for some in _in_parts(rows[self._weight[rows] > 0.0]):
            root = np.sqrt(self._weight[some, None])
            columns = (self._columns[some] - self._centre) * root
            total = total + columns.T @ (columns if values is None else values[some] * root)
        return np.asarray(total)


def _in_parts(rows: np.ndarray) -> list[np.ndarray]:
    """Rows in parts that are small enough for their columns to stay in the processor's cache."""
    return np.array_split(rows, len(rows) // ROWS_AT_ONCE + 1)


def smooth_functions(X: np.ndarray, generator: np.random.Generator) -> np.ndarray:
    """Standardised features X, products of a few features, and tanh(a'x + b) with random a and b."""
    n_columns = X.shape[1]
    if n_columns > MOST_COLUMNS:
        X = X @ generator.normal(size=(n_columns, MOST_COLUMNS)) / np.sqrt(n_columns)
    if not n_columns:
        return X
    first, second = np.triu_indices(n_columns if n_columns <= MOST_PRODUCTS else 0)
    directions = generator.normal(size=(X.shape[1], N_RANDOM)) * 1.5 / X.shape[1] ** 0.25
    shift, n_plain = generator.normal(size=N_RANDOM), X.shape[1] + len(first)
    found = np.empty((len(X), n_plain + N_RANDOM))
    for part in _in_parts(np.arange(len(X))):
        some, into = X[part], found[part[0] : part[-1] + 1]
        into[:, : X.shape[1]] = some
        np.multiply(some[:, first], some[:, second], out=into[:, X.shape[1] : n_plain])
        along = some @ directions
        along += shift
        np.tanh(along, out=into[:, n_plain:])
    return found


@dataclass(frozen=True, eq=False)
class PredictionBalance:
    """Tests of predictions against who decides, given features and strata; set up once for a table.

    The residual r of a prediction from its regression on the features must not depend on the decision-maker,
    whatever the prediction is made of:

        S_z = Σ_i r_i (1{Z_i = z} - e_z(x_i)),   Q = Σ_z S_z² / (n e_z),   T = Σ_z λ_z S_z

    with e the model of who decides and λ the leniency in the other folds. S has mean zero if the regression
    or e is right. The regression is a ridge regression on smooth functions; a small p-value must be confirmed
    with boosted trees in its place. Q is compared with the multiple of χ² that has its first two moments, T
    with the normal distribution; the p-value is twice the smaller of the two, times the number of columns.
    Where assignment is random within strata, the moments are those of permutations of z within strata;
    with a model of who decides, known probabilities or weights, they come from the products r (1{Z=z} - e_z).

    Attributes
    ----------
    data : SelectiveLabels
        With two or more decision-makers.
    fit : CrossFit or None
        Has the model of who decides; None: shares within strata.
    """

    data: SelectiveLabels
    fit: CrossFit | None
    seed: int

    @cached_property
    def rows(self) -> np.ndarray:
        """Rows of the test."""
        n_samples = len(self.data)
        if n_samples <= MOST_ROWS:
            return np.arange(n_samples)
        return np.sort(np.random.default_rng(self._seeds[0]).choice(n_samples, MOST_ROWS, replace=False))

    @cached_property
    def columns_of_who_decides(self) -> np.ndarray:
        """Features that tell who decides, such as an id; these are no features of the case."""
        rows = self.rows
        codes = self.data.decision_maker_codes[rows]
        return columns_of_codes(self.data.features[rows], codes, self.data.cells[rows])

    def p_value(self, columns: np.ndarray) -> float:
        """P-value of the hypothesis that columns of predictions do not depend on who decides.

        Parameters
        ----------
        columns : (n_samples, n_columns) array
        """
        ranks = self._ranks(columns)
        if not ranks.shape[1]:
            return 1.0
        found = self._smallest(self._regression.residuals(ranks))
        # Before predictions are called doubtful, a second regression, which knows steps, must agree.
        return found if found > SUSPECT else max(found, self._smallest(self._left_by_trees(ranks)))

    def knows_assignment(self, columns: np.ndarray) -> bool:
        """Whether what features predict of the columns is balanced, given the model of who decides.

        It cannot depend on who decides but through the features. If it does, the model of who decides has not
        settled or misses something, and the columns themselves may depend on features alone.
        """
        ranks = self._ranks(columns)
        settled = not self._modelled or self.fit is None or self.fit.assignment.report.settled
        by_features = ranks - self._left_by_trees(ranks)
        return settled and self._smallest(self._regression.residuals(by_features)) > UNBALANCED

    def _ranks(self, columns: np.ndarray) -> np.ndarray:
        """Columns that vary, as ranks, so that outliers of a score do not hide everything else."""
        some = columns[self.rows]
        return rankdata(some[:, np.ptp(some, axis=0) > 0.0], axis=0) / len(some)

    def _smallest(self, left: np.ndarray) -> float:
        found = self._by_permutation(left) if self._by_lot else self._by_products(left)
        return float(min(1.0, found.min() * found.size))

    def repeats_decisions(self, columns: np.ndarray) -> str | None:
        """Describe how predictions repeat the decisions; None if they do not, or if `p_value` would show it.

        With a weak instrument, decisions hardly depend on who decides, and neither do their copies. A column
        of two values is a copy if it agrees with the decisions, or with their opposite, in 98 % of the rows.
        A column is filled by decisions if it is constant where nobody accepted, and varies elsewhere. Neither
        counts if features predict the same.
        """
        for column in columns[self.rows].T:
            copied, filled = self._copied(column), self._filled(column)
            if (copied or filled) and self._weak:
                if copied:
                    return f"repeat the decisions (in {copied:.1%} of the cases)"
                return "are constant where nobody accepted, and vary elsewhere"
        return None

    def _copied(self, column: np.ndarray) -> float:
        """Share of the rows in which a column repeats the decisions; zero if it is not a copy."""
        decision = self.data.row_decision[self.rows] == 1
        if len(np.unique(column)) != 2 or len(np.unique(decision)) != 2:
            return 0.0
        agrees = float(np.mean((column > column.min()) == decision))
        share, related = max(agrees, 1.0 - agrees), abs(np.corrcoef(column, decision)[0, 1])
        copied = share >= SAME and related > COPIED and self._unpredicted(column) > 1.0 - PREDICTED
        return share if copied else 0.0

    def _filled(self, column: np.ndarray) -> bool:
        """Whether a column is constant where nobody accepted, and neither elsewhere nor by the features."""
        decision = self.data.row_decision[self.rows] == 1
        refused = ~decision
        if refused.sum() < FEWEST_REFUSED or decision.sum() < FEWEST_REFUSED:
            return False
        values, counts = np.unique(column[refused], return_counts=True)
        usual = (column == values[counts.argmax()]).astype(float)
        if usual[refused].mean() < SAME or usual[decision].mean() > OTHERWISE:
            return False
        expected = usual - self._left_by_trees(usual[:, None])[:, 0]
        return bool(expected[refused].mean() < OTHERWISE)

    def _unpredicted(self, column: np.ndarray) -> float:
        """Share of the variance of a column that features do not predict."""
        return float(self._left_by_trees(column[:, None]).var() / max(column.var(), TINY))

    @cached_property
    def _weak(self) -> bool:
        """Whether decisions themselves would pass the test, or nearly."""
        decision = self.data.row_decision[self.rows].astype(float)[:, None]
        return self._smallest(self._regression.residuals(decision)) > STRONG

    @cached_property
    def _seeds(self) -> list[int]:
        return np.random.SeedSequence(self.seed).generate_state(4).tolist()

    @cached_property
    def _modelled(self) -> bool:
        """Whether the fitted model of who decides is used; one that reads an id has nothing left to test."""
        fitted = self.fit is not None and bool(self.fit.assignment.models)
        return fitted and not len(self.columns_of_who_decides)

    @cached_property
    def _by_lot(self) -> bool:
        """Whether decision-makers can be permuted within strata."""
        plain = self.data.assignment is None and self.data.sample_weight is None
        return not self._modelled and (plain or self._n_arms > MANY_DECISION_MAKERS)

    @property
    def _n_arms(self) -> int:
        return self.data.n_decision_makers if self.fit is None else self.fit.n_arms

    @cached_property
    def _codes(self) -> np.ndarray:
        """Decision-maker of each row, or its leniency band."""
        codes = self.data.decision_maker_codes[self.rows]
        if self.fit is None or self._n_arms == self.data.n_decision_makers:
            return codes
        if self._by_lot and len(np.unique(codes)) * FEWEST_EACH <= len(codes):
            return codes
        lookups = np.stack([fold.lookup for fold in self.fit.folds])
        return lookups[self.fit.held_out[self.rows], codes]

    @cached_property
    def _groups(self) -> np.ndarray | None:
        return None if self.data.groups is None else self.data.groups[self.rows]

    @cached_property
    def _units(self) -> Units:
        return assignment_units(self._codes, self.data.cells[self.rows], self._groups)

    @cached_property
    def _fold(self) -> np.ndarray:
        groups = np.arange(len(self.rows)) if self._groups is None else self._groups
        unit = np.unique(groups, return_inverse=True)[1]
        return (np.random.default_rng(self._seeds[1]).permutation(int(unit.max()) + 1) % N_FOLDS)[unit]

    @cached_property
    def _weight(self) -> np.ndarray:
        return self.data.weights[self.rows]

    @cached_property
    def _features(self) -> np.ndarray:
        """Numbers of the columns that describe the case."""
        return np.setdiff1d(np.arange(self.data.features.shape[1]), self.columns_of_who_decides)

    @cached_property
    def _values(self) -> np.ndarray:
        """The columns that describe the case, (n_rows, n_columns)."""
        return self.data.features[np.ix_(self.rows, self._features)]

    @cached_property
    def _regression(self) -> HeldOutRidge:
        categories = tuple(np.flatnonzero(np.isin(self._features, self.data.categorical)).tolist())
        X, generator = (
            standardised(categories).fit_transform(self._values),
            np.random.default_rng(self._seeds[2]),
        )
        return HeldOutRidge(smooth_functions(X, generator), self._fold, self._weight)

    def _left_by_trees(self, values: np.ndarray) -> np.ndarray:
        """Values minus the held-out predictions of boosted trees; any regression will do, also unweighted."""
        left = values - np.average(values, axis=0, weights=self._weight)
        for number in range(N_FOLDS if self._values.shape[1] else 0):
            seen = self._fold != number
            for column in range(values.shape[1]):
                trees = HistGradientBoostingRegressor(random_state=self._seeds[2], **TREES)
                trees.fit(self._values[seen], values[seen, column])
                left[~seen, column] = values[~seen, column] - trees.predict(self._values[~seen])
        return left

    @cached_property
    def _surplus(self) -> np.ndarray:
        """Decisions minus what features predict."""
        decision = self.data.row_decision[self.rows].astype(float)[:, None]
        return self._regression.residuals(decision)[:, 0]

    @cached_property
    def _lenient(self) -> np.ndarray:
        """Leniency of every decision-maker or band in the other folds, (n_folds, n_arms)."""
        n_arms, found = max(self._n_arms, int(self._codes.max()) + 1), []
        for number in range(N_FOLDS):
            others = self._fold != number
            codes, weight = self._codes[others], self._weight[others]
            sums = np.bincount(codes, weight * self._surplus[others], n_arms)
            found.append(sums / np.maximum(np.bincount(codes, weight, n_arms), TINY))
        return np.array(found)

    def _shared(self, left: np.ndarray) -> np.ndarray:
        """Squared correlation of the residuals of predictions and decisions.

        Both enter twice, as residuals of a row and as the leniency of its decision-maker in other folds; if
        leniency is mere noise, that adds as much to the variance of T.
        """
        both = np.column_stack([left, self._surplus])
        with np.errstate(invalid="ignore", divide="ignore"):
            return np.nan_to_num(np.corrcoef(both.T)[-1, :-1]) ** 2

    def _by_permutation(self, left: np.ndarray) -> np.ndarray:
        units, n_rows = self._units, len(self.rows)
        values = units.total(centred(left, self.data.cells[self.rows]))
        columns = np.column_stack([values, units.size])
        differ = np.ones(left.shape[1])
        for n_permutations in (FEW_PERMUTATIONS, N_PERMUTATIONS):
            generator = np.random.default_rng(self._seeds[3])
            observed, drawn = permutation_draws(units, columns, between, n_permutations, generator)
            differ = chi_square_p(observed[1:], drawn.mean(axis=0)[1:], drawn.var(axis=0)[1:])
            if differ.min() > NOT_CLOSE:
                break
        first = np.arange(n_rows)
        if units.of_row is not None:
            first = np.unique(units.of_row, return_index=True)[1]
        lenient = centred(self._lenient[self._fold, self._codes][first], units.cell)
        values, n_units = centred(values, units.cell), np.bincount(units.cell)
        squares = sums_by(units.cell, values**2, len(n_units)) / np.maximum(n_units - 1, 1)[:, None]
        variance = np.bincount(units.cell, lenient**2) @ squares
        return np.append(differ, normal_p(lenient @ values, variance * (1.0 + self._shared(left))))

    @cached_property
    def _chances(self) -> np.ndarray:
        """Probability of every decision-maker or band at each row, (n_rows, n_arms)."""
        data, rows, fit = self.data, self.rows, self.fit
        if fit is None and data.assignment is not None:
            return data.assignment[rows]
        if fit is None or (data.assignment is None and not self._modelled):
            cells = data.cells[rows]
            n_cells = int(data.cells.max()) + 1
            return cell_shares(cells, self._codes, self._weight, n_cells, self._n_arms)[cells]
        found = np.empty((len(rows), fit.n_arms))
        held_out = fit.held_out[rows]
        for number in np.unique(held_out):
            here = held_out == number
            found[here] = arm_propensity(fit, int(number), data)(rows[here])
        return found

    def _by_products(self, left: np.ndarray) -> np.ndarray:
        surprise = -self._chances
        surprise[np.arange(len(surprise)), self._codes] += 1.0
        lenient = np.einsum("nz,nz->n", surprise, self._lenient[self._fold])
        scale = np.sqrt(np.maximum(self._weight @ self._chances, TINY))
        factors = self._weight[:, None] * np.column_stack([surprise / scale, lenient])
        found = []
        for column, shared in zip(left.T, self._shared(left), strict=True):
            parts = self._units.total(column[:, None] * factors)
            total, spread = parts.sum(axis=0), parts.T @ parts
            inside = spread[:-1, :-1]
            differ = chi_square_p(np.sum(total[:-1] ** 2), np.trace(inside), 2.0 * np.sum(inside**2))
            found += [differ, normal_p(total[-1], spread[-1, -1] * (1.0 + shared))]
        return np.array(found)


# A column tells who decides if it hardly varies among the cases of one decision-maker.
SAME_CASES = 0.999
FEWEST_PAIRS = 3


def columns_of_codes(X: np.ndarray, codes: np.ndarray, cells: np.ndarray) -> np.ndarray:
    """Numbers of the columns that are constant within codes, if together they identify the codes in a cell.

    An id, its indicators, or a property that no two decision-makers share. A court where several
    decision-makers work identifies none of them.

    Examples
    --------
    >>> codes = np.tile([0, 1, 2, 3], 5)
    >>> columns_of_codes(np.column_stack([np.arange(20) % 3, codes]), codes, np.zeros(20, dtype=int))
    array([1])
    >>> columns_of_codes((codes > 1)[:, None].astype(float), codes, np.zeros(20, dtype=int))
    array([], dtype=int64)
    """
    nobody = np.empty(0, dtype=int)
    pair, of_row = np.unique(np.column_stack([cells, codes]), axis=0, return_inverse=True)
    of_row = of_row.ravel()
    if not X.shape[1] or len(pair) < 2 or len(X) < FEWEST_PAIRS * len(pair):
        return nobody
    values = np.where(np.isnan(X), np.inf, X)
    first = np.unique(of_row, return_index=True)[1]
    same = (values == values[first][of_row]).mean(axis=0) >= SAME_CASES
    fixed = np.flatnonzero(same & (np.ptp(np.nan_to_num(values, posinf=0.0), axis=0) > 0.0))
    if not len(fixed):
        return nobody
    kinds = np.unique(np.column_stack([pair[:, 0], values[first][:, fixed]]), axis=0)
    return fixed if len(kinds) == len(pair) else nobody


def chi_square_p(observed: np.ndarray, mean: np.ndarray, variance: np.ndarray) -> np.ndarray:
    """Upper tail of the multiple of χ² with this mean and variance; one if nothing varies.

    Examples
    --------
    >>> chi_square_p(np.array(3.84), np.array(1.0), np.array(2.0)).round(3)
    np.float64(0.05)
    """
    varies = variance > 1e-12 * np.maximum(mean, TINY) ** 2
    freedom = np.where(varies, 2.0 * mean**2 / np.where(varies, variance, 1.0), 1.0)
    return np.where(varies, chi2.sf(observed * freedom / np.maximum(mean, TINY), freedom), 1.0)[()]


def normal_p(observed: np.ndarray, variance: np.ndarray) -> np.ndarray:
    """Two-sided p-value of a normal statistic with mean zero.

    Examples
    --------
    >>> normal_p(np.array(1.96), np.array(1.0)).round(3)
    np.float64(0.05)
    """
    return 2.0 * ndtr(-np.abs(observed) / np.sqrt(np.maximum(variance, TINY)))


# Balanced predictions are refused once in ten thousand times, and called doubtful once in a hundred.
REFUSED, DOUBTFUL = 1e-4, 1e-2
WAYS_OUT = (
    'give "human" for the decisions taken, Policy(score, with_human=...) for a team of score and human, or '
    "add the feature that the predictions use and the table lacks"
)


# What must not depend on who decides: predictions, cases left to the human, subgroups.
Checked = Predictions | Array | Mapping[Any, np.ndarray]


@dataclass(eq=False)
class PredictionCheck:
    """The check of predictions on the rows that the models are fitted to; each prediction is tested once.

    Parameters
    ----------
    fit : CrossFit or None
        Has the model of who decides.
    """

    data: SelectiveLabels
    fit: CrossFit | None
    seed: int
    _known: dict[bytes, tuple[float, str]] = field(default_factory=dict, init=False)

    def __post_init__(self) -> None:
        self._balance = PredictionBalance(self.data, self.fit, self.seed)

    def doubts(self, subject: Checked, name: str) -> tuple[str, ...]:
        """Return why results on a prediction are doubtful; raise an error if the bounds do not hold for it.

        Parameters
        ----------
        subject : Predictions, (n_samples,) array of cases that a policy leaves to the human, or dict of masks
            Masks are those of subgroups or periods.
        name : str
            Name in messages.
        """
        if isinstance(subject, Mapping):
            return self._subgroup_doubts(subject)
        columns = self._columns(subject)
        if columns is None:
            return ()
        p_value, refusal = self._found(columns)
        if refusal:
            raise InputError(
                f"{name}: {refusal}, and bounds hold only for predictions that do not depend on who decides: "
                f"{WAYS_OUT}.",
                argument_of(name),
            )
        if p_value < DOUBTFUL:
            return (
                f"The result is doubtful: given the features, predictions ({name}) seem to depend on who "
                f"decided (p = {p_value:.1g}), or the model of who decides misses something.",
            )
        return ()

    def _subgroup_doubts(self, masks: Mapping[Any, np.ndarray]) -> tuple[str, ...]:
        """Return why results by subgroup or period are doubtful: these are sets of cases, like predictions.

        Shares and models of who decides are those of all cases. Where the staff differs between subgroups,
        and no feature or stratum says so, cases of different decision-makers are not comparable within one.
        """
        if len(masks) < 2:
            return ()
        p_value, copies = self._found(np.column_stack(list(masks.values())[1:]).astype(float))
        if not copies and p_value >= DOUBTFUL:
            return ()
        return (
            "Results by subgroup are doubtful: given the features, who decides differs between the subgroups "
            f"(p = {p_value:.1g}), so cases of different decision-makers are not comparable within one. Give "
            "the column of the subgroups as strata, or as a feature.",
        )

    def _columns(self, subject: Predictions | Array) -> Array | None:
        """Return numbers of a prediction to test; None if it is a function of the features, or decisions."""
        if isinstance(subject, np.ndarray):
            return subject[:, None]
        if isinstance(subject, ClassifierPredictions):
            if not len(self._balance.columns_of_who_decides):
                return None
            found = subject.probabilities if hasattr(subject.classifier, "predict_proba") else subject.chosen
        elif not isinstance(subject, ArrayPredictions):
            return None
        elif subject.values.ndim == 1 and subject.has_scores:
            return subject.score(0)[:, None]
        else:
            found = subject.chosen
        return found[:, 1:] if found.shape[1] == 2 else found

    def _found(self, columns: Array) -> tuple[float, str]:
        """Return the p-value of the test of balance, and why the predictions are refused, if they are."""
        key = hashlib.blake2b(np.asarray(columns, dtype=float).tobytes(), digest_size=16).digest()
        if key not in self._known:
            self._known[key] = self._tested(columns)
        return self._known[key]

    def _tested(self, columns: Array) -> tuple[float, str]:
        repeated = self._balance.repeats_decisions(columns)
        if repeated is not None:
            return 0.0, f"the predictions {repeated}"
        p_value = self._balance.p_value(columns)
        if p_value < REFUSED and self._balance.knows_assignment(columns):
            given = f"given the features{self._without()}"
            return p_value, f"{given}, the predictions depend on who decided (p = {p_value:.1g})"
        return p_value, ""

    def _without(self) -> str:
        """Name the features that tell who decides, which are no features of the case."""
        columns = self._balance.columns_of_who_decides.tolist()
        if not columns:
            return ""
        names = self.data.feature_names
        return f" other than {several([names[each] for each in columns])}, which tell who decides"


def with_doubts(sample: ScoredSample, sentences: Sequence[str]) -> ScoredSample:
    """Add cautions to the assumptions that compare decision-makers."""
    if not sentences:
        return sample
    cautions = {
        name: (*sample.cautions.get(name, ()), *sentences)
        for name in sample.assumptions
        if sample.assumed(name).needs_decision_makers
    }
    return replace(sample, cautions=sample.cautions | cautions)


# Labeled rows that are compared: enough to see a difference, few enough to refit a classifier quickly.
MOST_LABELED = 4000
FEWEST_LABELED = 40
# A classifier is refitted if it beats the held-out models by so many standard errors and by so much.
SUSPICIOUS_ERRORS, SUSPICIOUS_GAIN = 2.0, 0.02
# The same where all labels are seen, so that there are no held-out models: so few errors.
SUSPICIOUS_ERROR_RATE = 0.02
# Share of the gap between training rows and other rows above which it was trained on these rows.
TRAINED_SHARE, TRAINED_ERRORS = 0.5, 1.0
# An array has no classifier to refit: it needs fewer errors than this share of the held-out models' errors.
PERFECT_SHARE, PERFECT_ERRORS = 0.1, 4.0
UNSEEN = "Evaluate it on rows that it has not seen."


def subject_cautions(sample: ScoredSample, subjects: Iterable[Predictions], pos_label: Any) -> list[str]:
    """Return the reasons to doubt the numbers of these predictions on these rows."""
    event = class_code(pos_label, sample.classes)
    found = (training_rows_caution(sample, subject, event) for subject in subjects)
    return [caution for caution in found if caution is not None]


def training_rows_caution(sample: ScoredSample, subject: Predictions, event: int) -> str | None:
    """Return a caution if a classifier seems to be evaluated on rows that it was trained on; else None.

    The share of correct predictions among labeled rows is compared with that of the held-out models of
    decision and label. If it is larger, the classifier is refitted to half of the labeled rows:

        share = (accuracy on the other half - accuracy of the refit there)
                / (accuracy of the refit on its own half - accuracy of the refit on the other half)

    With errors of order 1 / n, the share is three quarters for a classifier trained on these rows and one
    quarter for one trained on as many other rows; for interpolating classifiers it is one and near zero.
    Predictions given as an array cannot be refitted. They get the caution only if they are nearly perfect,
    because they may use more than the features of this table.
    """
    data = sample.data
    labeled = np.flatnonzero(data.labeled & (data.weights > 0.0))
    if len(labeled) < FEWEST_LABELED:
        return None
    rows = labeled[np.linspace(0, len(labeled) - 1, min(len(labeled), MOST_LABELED)).astype(int)]
    among = _Labeled(data, rows, cluster_codes(sample.cluster, data))
    try:
        right, known = _correct(subject, among, _held_out(sample)[rows], event)
    except InputError:  # the metric says what is wrong with the predictions
        return None
    accuracy, reference = among.mean(right)[0], among.mean(known)[0]
    gain, error = among.mean(right - known)
    if isinstance(subject, ClassifierPredictions):
        suspicious = gain > max(SUSPICIOUS_ERRORS * error, SUSPICIOUS_GAIN)
        if data.labeled.all():
            suspicious = accuracy > 1.0 - SUSPICIOUS_ERROR_RATE
        return _refit_caution(subject, among, right) if suspicious else None
    nearly_perfect = 1.0 - accuracy < PERFECT_SHARE * (1.0 - reference)
    if data.labeled.all() or not nearly_perfect or gain <= PERFECT_ERRORS * error:
        return None
    return (
        f"The predictions are right in {accuracy:.1%} of the labeled rows, and models that have not seen the "
        f"row in {reference:.1%}: if a model was trained on these rows, its numbers are not to be trusted. "
        f"{UNSEEN}"
    )


@dataclass(frozen=True, eq=False)
class _Labeled:
    """Labeled rows on which predictions are compared."""

    data: SelectiveLabels
    rows: np.ndarray
    clusters: np.ndarray | None

    @property
    def y(self) -> np.ndarray:
        return self.data.y[self.rows]

    def features(self) -> Any:
        return _safe_indexing(self.data.X, self.rows)

    def take(self, places: np.ndarray) -> "_Labeled":
        return _Labeled(self.data, self.rows[places], self.clusters)

    def right(self, classifier: Any, name: str) -> Array:
        """Whether the predictions of a classifier are right."""
        labels = np.asarray(classifier.predict(self.features()))
        return (codes_of(labels, self.data.classes, name) == self.y).astype(float)

    def mean(self, values: Array) -> tuple[float, float]:
        """Weighted mean, and its standard error."""
        found = mean_estimate(values, self.data.weights[self.rows])
        units = None if self.clusters is None else self.clusters[self.rows]
        if units is not None and (units == units[0]).all():
            return found.value, np.inf
        return found.value, float(np.sqrt(covariance([found.influence], units)[0, 0]))


def _held_out(sample: ScoredSample) -> np.ndarray:
    """Class with the largest held-out probability of being seen, for every row."""
    evidence = next(iter(sample.repeats[0].values()), None)
    if evidence is None:  # the event tilt
        evidence = sample.tilted[0].instrument
    return evidence.model.argmax(axis=1)


def _correct(subject: Predictions, among: _Labeled, known: np.ndarray, event: int) -> tuple[Array, Array]:
    """Whether the predictions, and the held-out models, are right: one number per labeled row."""
    y, found = among.y, (known == among.y).astype(float)
    if isinstance(subject, ClassifierPredictions):
        return among.right(subject.classifier, subject.name), found
    if not isinstance(subject, ArrayPredictions):
        raise InputError("predictions of another kind.", "classifier")
    if subject.values.ndim == 2 or not subject.has_scores:
        return (subject.chosen[among.rows].argmax(axis=1) == y).astype(float), found
    # A score: the highest are events, as many as there are.
    score, happened = subject.score(event)[among.rows], y == event
    flagged = score > np.quantile(score, 1.0 - happened.mean())
    return (flagged == happened).astype(float), ((known == event) == happened).astype(float)


def _refit_caution(subject: ClassifierPredictions, among: _Labeled, right: Array) -> str | None:
    """Refit the classifier to half of the rows, and compare it with what it is like on training rows."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            units = np.arange(len(among.rows)) if among.clusters is None else among.clusters[among.rows]
            own, other = next(GroupShuffleSplit(1, test_size=0.5, random_state=0).split(units, groups=units))
            halves = [among.take(own), among.take(other)]
            model = clone(subject.classifier)
            if "random_state" in model.get_params() and model.get_params()["random_state"] is None:
                model.set_params(random_state=0)  # leaves the global generator alone
            model.fit(halves[0].features(), among.data.classes[halves[0].y])
            trained, fresh = (half.right(model, subject.name) for half in halves)
    except Exception:  # a classifier of the user can fail in any way, and the evaluation must not
        return None
    best, best_error = halves[0].mean(trained)
    worse, _ = halves[1].mean(fresh)
    here, here_error = halves[1].mean(right[other] - (1.0 - TRAINED_SHARE) * fresh)
    excess = here - TRAINED_SHARE * best
    if best - worse < SUSPICIOUS_GAIN or excess <= TRAINED_ERRORS * np.hypot(
        here_error, TRAINED_SHARE * best_error
    ):
        return None
    return (
        f"The classifier is right in {among.mean(right)[0]:.1%} of the labeled rows. Refitted to half of "
        f"them, it is right in {best:.1%} of that half and {worse:.1%} of the other: it was probably trained "
        f"on these rows, so its numbers are not to be trusted. {UNSEEN}"
    )
