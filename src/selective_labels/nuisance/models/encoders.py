"""Encoders of features for linear models and trees: imputation, standardisation and category encoding."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.special import ndtri
from sklearn import config_context
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.compose import ColumnTransformer
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import OneHotEncoder, OrdinalEncoder
from sklearn.utils.validation import has_fit_parameter

from selective_labels._errors import InputError
from selective_labels._validation import require_weight

# A linear model gets at most MOST_INDICATORS columns per categorical feature: one for each frequent category
# with at least FEWEST_ROWS rows, and one for all others.
MOST_INDICATORS = 20
FEWEST_ROWS = 10
# Indicators of categories with up to this many values enter products; more would be mostly zeros.
MOST_VALUES_IN_PRODUCTS = 6
# Trees split groups of categories, so they can use more of them; histograms allow 255.
MOST_TREE_CATEGORIES = 100
# Pooled shares of this many outcomes, or directions of them, describe a category.
MOST_POOLED = 8
POOLING_FOLDS = 5
# Numeric columns are clipped at this many standard deviations from the mean.
FARTHEST = 10.0
# A column with a larger skewness is transformed. An exponential distribution has this skewness.
LARGEST_SKEWNESS = 2.0
# Transformations of skewed columns are compared on at most this many rows.
SCALE_ROWS = 2_000


def standardised(categorical: tuple[int, ...] = ()) -> Pipeline:
    """Impute missing numbers by the mean, add missing indicators, and scale numbers to unit variance.

    The `categorical` columns come first, as indicators: one for each of the 19 most frequent categories with
    at least ten rows, and one for all others. Missing is a category of its own. A category that was not seen
    during fit counts among the others. The numeric columns follow.

    ``fit_transform(X, y)`` uses an outcome, if there is one: categories that share an indicator get the
    shrunken shares of the outcomes beside it (:class:`PooledShares`), so that they are pooled and not merged,
    and a skewed column gets the transformation that predicts the outcome best (:class:`Numbers`).

    Parameters
    ----------
    categorical : tuple of int
        Columns with category codes.

    Examples
    --------
    >>> standardised().fit_transform(np.array([[1.0], [3.0]]))
    array([[-1.],
           [ 1.]])
    >>> table = np.column_stack([np.repeat([0.0, 1.0], 10), np.tile([1.0, 3.0], 10)])
    >>> standardised((0,)).fit(table).transform([[0.0, 3.0], [7.0, 3.0]])
    array([[1., 0., 1.],
           [0., 0., 1.]])
    """
    scale = make_pipeline(_indicators(categorical, Numbers()) if categorical else Numbers())
    return scale.set_output(transform="default")  # arrays, even if the user configured data frames


def standardised_numbers(scale: Pipeline) -> slice:
    """Output columns of a fitted :func:`standardised` that come from numeric features.

    Examples
    --------
    >>> standardised_numbers(standardised((0,)).fit(np.ones((20, 3))))
    slice(1, 3, None)
    """
    first = scale[0]
    return first.output_indices_["remainder"] if isinstance(first, ColumnTransformer) else slice(None)


def n_in_products(scale: Pipeline) -> int:
    """Number of columns of a fitted :func:`standardised` that enter products: numbers and few-valued categories.

    Examples
    --------
    >>> n_in_products(standardised((0, 1)).fit(np.column_stack([np.arange(30.0), np.arange(30.0) % 3] * 2)))
    5
    """
    first = scale[0]
    if not isinstance(first, ColumnTransformer):
        return len(first.mean_)
    rest = first.output_indices_["remainder"]
    return first.named_transformers_["categories"].n_short_ + rest.stop - rest.start


def n_standardised(X: np.ndarray, categorical: tuple[int, ...]) -> int:
    """Largest number of columns of a linear model, without missing indicators.

    Examples
    --------
    >>> n_standardised(np.column_stack([np.arange(30.0), np.arange(30.0) % 3]), (0, 1))
    23
    """
    indicators = (min(len(np.unique(X[:, column])), MOST_INDICATORS) for column in categorical)
    return X.shape[1] - len(categorical) + sum(indicators)


def n_factors(X: np.ndarray, categorical: tuple[int, ...]) -> int:
    """Number of columns that enter products, without missing indicators; see :func:`n_in_products`.

    Examples
    --------
    >>> n_factors(np.column_stack([np.arange(30.0), np.arange(30.0) % 3, np.ones(30)]), (0, 1))
    4
    """
    values = (len(np.unique(X[:, column])) for column in categorical)
    short = sum(number for number in values if number <= MOST_VALUES_IN_PRODUCTS)
    return X.shape[1] - len(categorical) + short


def one_hot_columns(categorical: tuple[int, ...]) -> ColumnTransformer:
    """Indicators of categories, as in :func:`standardised`, then the numeric columns unchanged."""
    return _indicators(categorical, "passthrough")


def one_hot_before(model: Any, categorical: tuple[int, ...]) -> Any:
    """Prepend indicators of categories to a model that takes numeric features only.

    Examples
    --------
    >>> from sklearn.linear_model import LogisticRegression
    >>> one_hot_before(LogisticRegression(), (0,)).named_steps["model"]
    LogisticRegression()
    """
    if not categorical:
        return model
    return Pipeline([("features", one_hot_columns(categorical)), ("model", model)])


class Numbers(TransformerMixin, BaseEstimator):
    """Numeric features for linear models: imputed by the mean, scaled to unit variance, outliers clipped.

    Each column with missing values during fit gets a missing indicator. A column without any value is zero.
    Values more than ten standard deviations from the mean are clipped, because a single outlier (an income of
    ten million) must not determine the linear predictor of all other rows. A column that is more skewed than
    an exponential distribution (counts, amounts) is first transformed by x -> asinh((x - median) / distance),
    where the distance is the mean absolute deviation from the median. The transformation is about linear in
    the middle and logarithmic in the tail, where one more unit carries little information.

    With an outcome `y`, other scales of a skewed column are compared with this one: as it is, logarithmic from
    small values on, and normal scores of ranks. The scale with the smallest held-out loss replaces
    it if the difference exceeds its standard error (:func:`best_scales`).

    Examples
    --------
    >>> Numbers().fit_transform(np.array([[1.0], [3.0], [np.nan]]))
    array([[-1.22474487, -0.70710678],
           [ 1.22474487, -0.70710678],
           [ 0.        ,  1.41421356]])
    """

    def fit(self, X: np.ndarray, y: Any = None) -> "Numbers":
        """Learn means, scales and the columns to transform."""
        X = np.asarray(X, dtype=float)
        holes = np.isnan(X)
        self.marked_ = np.flatnonzero(holes.any(axis=0))
        counts = len(X) - np.count_nonzero(holes, axis=0)
        self.fill_ = np.where(holes, 0.0, X).sum(axis=0) / np.maximum(counts, 1)
        columns = self._filled(X)
        skewed = np.flatnonzero(_skewness(columns[:, : X.shape[1]]) > LARGEST_SKEWNESS)
        chosen = best_scales(columns[:, skewed], y)
        self.scales_ = {
            int(column): scale for column, scale in zip(skewed, chosen, strict=True) if scale.name != "raw"
        }
        columns = self._squashed(columns)
        self.mean_ = columns.mean(axis=0)
        columns -= self.mean_
        variance = np.einsum("ij,ij->j", columns, columns) / len(X)
        rounding = len(X) * np.finfo(float).eps
        constant = variance <= rounding * variance + (rounding * self.mean_) ** 2
        self.scale_ = np.where(constant, 1.0, np.sqrt(variance))
        return self

    def transform(self, X: np.ndarray) -> np.ndarray:
        """Standardise, (n_samples, n_features + n_missing_indicators)."""
        columns = self._squashed(self._filled(np.asarray(X, dtype=float)))
        columns -= self.mean_
        columns /= self.scale_
        return np.clip(columns, -FARTHEST, FARTHEST, out=columns)

    def set_output(self, *, transform: Any = None) -> "Numbers":
        """Do nothing: the output is always an array, even if the user configured data frames."""
        return self

    def _squashed(self, columns: np.ndarray) -> np.ndarray:
        for column, scale in self.scales_.items():
            columns[:, column] = scale(columns[:, column])
        return columns

    def _filled(self, X: np.ndarray) -> np.ndarray:
        holes = np.isnan(X)
        if not holes.any() and not len(self.marked_):
            return X.copy()
        return np.hstack([np.where(holes, self.fill_, X), holes[:, self.marked_]])


SQUASHED, RAW, LOGARITHM, RANKS = "squashed", "raw", "logarithm", "ranks"
N_KNOTS = 200
# The logarithmic scale is linear below this quantile of the distances from zero.
SMALL = 0.05


@dataclass(frozen=True, eq=False)
class Scale:
    """A scale of a skewed column, fitted to its values.

    squashed: asinh((x - median) / distance)   logarithm: asinh(x / small)   ranks: normal scores

    Attributes
    ----------
    name : "squashed", "raw", "logarithm" or "ranks"
    centre, unit : float
    knots, scores : arrays
        Values and their normal scores, between which ranks interpolate; empty for other scales.
    """

    name: str
    centre: float
    unit: float
    knots: np.ndarray
    scores: np.ndarray

    @classmethod
    def of(cls, name: str, values: np.ndarray) -> "Scale":
        """Fit a scale to the values of a column."""
        nothing = np.empty(0)
        if name == RANKS:
            kept, first, count = np.unique(np.sort(values), return_index=True, return_counts=True)
            places = (first + (count - 1) / 2.0 + 0.5) / len(values)
            few = np.unique(np.linspace(0, len(kept) - 1, N_KNOTS).astype(int))
            return cls(name, 0.0, 1.0, kept[few], ndtri(places[few]))
        if name == LOGARITHM:
            away = np.abs(values[values != 0.0])
            return cls(name, 0.0, float(np.quantile(away, SMALL)) if len(away) else 1.0, nothing, nothing)
        if name == SQUASHED:
            centre = float(np.median(values))
            return cls(name, centre, float(np.abs(values - centre).mean()), nothing, nothing)
        return cls(name, 0.0, 1.0, nothing, nothing)

    def __call__(self, values: np.ndarray) -> np.ndarray:
        """Transform values, which may be new."""
        if self.name == RAW:
            return values
        if self.name == RANKS:
            return np.interp(values, self.knots, self.scores)
        return np.arcsinh((values - self.centre) / self.unit)


def best_scales(columns: np.ndarray, y: Any = None) -> list[Scale]:
    """Scale of each skewed column by which it alone predicts an outcome best on held-out rows.

    loss = Σ_c (1{y = c} - a_c - b_c s(x))² / p_c   on the half of the rows that a_c, b_c have not seen

    This is the χ² approximation of the log-loss of a model with one feature. It needs no fit, so that the
    comparison costs little. Another scale replaces "squashed" if its loss is smaller by more than the
    standard error of the difference. Without an outcome all columns are squashed.

    Parameters
    ----------
    columns : (n_samples, n_columns) array
    y : (n_samples,) array, optional
        Classes, or numbers, which are then cut at their quartiles.

    Examples
    --------
    >>> amount = np.exp(2.0 * np.random.default_rng(0).normal(size=(500, 1)))
    >>> likely = np.log(amount[:, 0]) > np.random.default_rng(1).normal(size=500)
    >>> best_scales(amount)[0].name, best_scales(amount, likely)[0].name
    ('squashed', 'logarithm')
    """
    squashed = [Scale.of(SQUASHED, column) for column in columns.T]
    if y is None or not len(squashed):
        return squashed
    rows = np.linspace(0, len(columns) - 1, min(len(columns), SCALE_ROWS)).astype(int)
    rows = np.random.default_rng(0).permutation(rows)
    happened = _classes_of(np.asarray(y))[rows]
    happened = happened / np.sqrt(np.maximum(happened.mean(axis=0), 1.0 / len(rows)))
    found = []
    for column, plain in zip(columns.T, squashed, strict=True):
        scales = [plain, *(Scale.of(name, column) for name in (RAW, LOGARITHM, RANKS))]
        losses = [_held_out_losses(scale(column[rows]), happened) for scale in scales]
        best = int(np.argmin([loss.mean() for loss in losses]))
        lead = losses[0] - losses[best]
        found.append(scales[best] if lead.mean() > lead.std() / np.sqrt(len(lead)) else plain)
    return found


def _classes_of(y: np.ndarray) -> np.ndarray:
    """Indicators of the classes, or of the quarters of numbers with many values, (n, n_classes)."""
    values, codes = np.unique(y, return_inverse=True)
    if y.dtype.kind == "f" and len(values) > MOST_INDICATORS:
        codes = np.searchsorted(np.quantile(y, [0.25, 0.5, 0.75]), y)
    return (codes[:, None] == np.arange(codes.max() + 1)).astype(float)


def _held_out_losses(values: np.ndarray, happened: np.ndarray) -> np.ndarray:
    """Squared errors, summed over outcomes, of a linear prediction by the other half of the rows."""
    losses = np.empty(len(values))
    first = np.arange(len(values)) % 2 == 0
    for train, test in ((first, ~first), (~first, first)):
        mean, spread = values[train].mean(), values[train].std()
        unit = np.clip((values - mean) / (spread or 1.0), -FARTHEST, FARTHEST)
        design = np.column_stack([np.ones(len(unit)), unit])
        slopes = np.linalg.lstsq(design[train], happened[train], rcond=None)[0]
        losses[test] = np.sum((happened[test] - design[test] @ slopes) ** 2, axis=1)
    return losses


def _skewness(columns: np.ndarray) -> np.ndarray:
    """Absolute skewness of each column; zero for a constant column."""
    centred = columns - columns.mean(axis=0)
    spread = np.sqrt(np.mean(centred**2, axis=0))
    varies = spread > len(columns) * np.finfo(float).eps * np.abs(columns).max(axis=0, initial=0.0)
    unit = np.divide(centred, spread, out=np.zeros_like(centred), where=varies)
    return np.abs(np.mean(unit * unit * unit, axis=0))  # many times faster than unit**3


class TreeColumns(TransformerMixin, BaseEstimator):
    """Features for histogram gradient boosting: categories as small integers, in their original columns.

    The 99 most frequent categories have their own code, and all others share one. If there are others and
    ``fit_transform`` is given an outcome, :class:`PooledShares` of the column follow all features. A category
    that was not seen during fit is missing. A column without any value becomes zero, because it has no
    histogram.

    Parameters
    ----------
    categorical : tuple of int
        Columns with category codes.

    Examples
    --------
    >>> seen, new = np.array([[5.0, np.nan], [7.0, np.nan]]), np.array([[7.0, 1.0], [6.0, 1.0]])
    >>> TreeColumns((0,)).fit(seen).transform(new)
    array([[ 1.,  0.],
           [nan,  0.]])
    """

    def __init__(self, categorical: tuple[int, ...] = ()) -> None:
        self.categorical = categorical

    def fit(self, X: np.ndarray, y: Any = None) -> "TreeColumns":
        """Learn the categories and the empty columns."""
        self.empty_ = np.isnan(X).all(axis=0)
        self.encoder_ = OrdinalEncoder(
            handle_unknown="use_encoded_value", unknown_value=np.nan, max_categories=MOST_TREE_CATEGORIES
        )
        if self.categorical:
            self.encoder_.fit(X[:, list(self.categorical)])
        self.pooled_: tuple[tuple[int, PooledShares], ...] = ()
        return self

    def fit_transform(self, X: np.ndarray, y: Any = None, **ignored: Any) -> np.ndarray:
        """Learn and encode; the pooled shares of a row come from other rows."""
        columns = self.fit(X).transform(X)
        merged = [
            number for number in self.categorical if len(np.unique(X[:, number])) > MOST_TREE_CATEGORIES
        ]
        if y is None or not merged:
            return columns
        happened = _classes_of(np.asarray(y))
        pooled = [PooledShares.of(X[:, number], happened) for number in merged]
        self.pooled_ = tuple((number, shares) for number, (shares, _) in zip(merged, pooled, strict=True))
        return np.hstack([columns, *(rows for _, rows in pooled)])

    def transform(self, X: np.ndarray) -> np.ndarray:
        """Encode, (n_samples, n_features + n_pooled)."""
        columns = np.where(self.empty_, 0.0, X)
        if self.categorical:
            chosen = list(self.categorical)
            columns[:, chosen] = self.encoder_.transform(X[:, chosen])
        if self.pooled_:
            return np.hstack([columns, *(shares(X[:, number]) for number, shares in self.pooled_)])
        return columns


def boosting(model: Any, categorical: tuple[int, ...] = ()) -> Pipeline:
    """Prepend :class:`TreeColumns` to histogram gradient boosting, and declare its categorical features.

    Parameters
    ----------
    model : HistGradientBoostingClassifier or HistGradientBoostingRegressor
    categorical : tuple of int

    Examples
    --------
    >>> from sklearn.ensemble import HistGradientBoostingClassifier
    >>> boosting(HistGradientBoostingClassifier(), (2,))[-1]
    HistGradientBoostingClassifier(categorical_features=[2])
    """
    sample_summary = model.set_params(categorical_features=list(categorical)) if categorical else model
    return Pipeline([("features", TreeColumns(categorical)), ("model", sample_summary)])


def _indicators(categorical: tuple[int, ...], numbers: Any) -> ColumnTransformer:
    return ColumnTransformer(
        [("categories", Categories(), list(categorical))], remainder=numbers, sparse_threshold=0.0
    )


class Categories(TransformerMixin, BaseEstimator):
    """Indicators of categories, those of few-valued columns first, then pooled shares of the outcomes.

    A column whose rare or surplus categories share one indicator also gets :class:`PooledShares`, if
    ``fit_transform`` is given an outcome. Without an outcome, these categories are merged.

    Attributes
    ----------
    n_short_ : int
        Number of indicators of columns with up to six values, which may enter products.
    pooled_ : tuple of (int, PooledShares)
        Position of each pooled column.

    Examples
    --------
    >>> codes = np.repeat(np.arange(40.0), 5)[:, None]
    >>> Categories().fit(codes).transform(codes).shape
    (200, 1)
    >>> Categories().fit_transform(codes, np.arange(200) % 3).shape
    (200, 4)
    """

    def fit(self, X: np.ndarray, y: Any = None) -> "Categories":
        """Learn the categories."""
        self.fit_transform(X, y)
        return self

    def fit_transform(self, X: np.ndarray, y: Any = None, **ignored: Any) -> np.ndarray:
        """Learn and encode; the pooled shares of a row come from other rows."""
        values = [np.unique(column, return_counts=True)[1] for column in X.T]
        short = [number for number, rows in enumerate(values) if len(rows) <= MOST_VALUES_IN_PRODUCTS]
        long = [number for number in range(len(values)) if number not in short]
        self.parts_ = tuple((tuple(part), _encoder().fit(X[:, part])) for part in (short, long) if part)
        indicators = [encoder.transform(X[:, list(part)]) for part, encoder in self.parts_]
        self.n_short_ = indicators[0].shape[1] if short else 0
        merged = [
            number
            for number, rows in enumerate(values)
            if len(rows) > MOST_INDICATORS or np.sum(rows < FEWEST_ROWS) > 1
        ]
        self.pooled_: tuple[tuple[int, PooledShares], ...] = ()
        if y is None:
            return np.hstack(indicators)
        happened = _classes_of(np.asarray(y))
        pooled = [PooledShares.of(X[:, number], happened) for number in merged]
        self.pooled_ = tuple((number, shares) for number, (shares, _) in zip(merged, pooled, strict=True))
        return np.hstack([*indicators, *(columns for _, columns in pooled)])

    def transform(self, X: np.ndarray) -> np.ndarray:
        """Encode rows, which may be new."""
        X = np.asarray(X, dtype=float)
        indicators = [encoder.transform(X[:, list(part)]) for part, encoder in self.parts_]
        return np.hstack([*indicators, *(shares(X[:, number]) for number, shares in self.pooled_)])

    def set_output(self, *, transform: Any = None) -> "Categories":
        """Do nothing: the output is always an array, even if the user configured data frames."""
        return self


def _encoder() -> OneHotEncoder:
    return OneHotEncoder(
        handle_unknown="infrequent_if_exist",
        max_categories=MOST_INDICATORS,
        min_frequency=FEWEST_ROWS,
        sparse_output=False,
    )


@dataclass(frozen=True, eq=False)
class PooledShares:
    """Shrunken shares of the outcomes in every category: partial pooling with one prior for all categories.

    log(s_lc / p_c),   s_lc = (n_lc + a p_c) / (n_l + a)

    with n_lc rows of category l and outcome c, and p_c the share of the outcome in all rows. The number a of
    prior rows is 1 / ρ - 1, with ρ the variance of categories as a share of all variance (ANOVA estimate). A
    category with few rows is thus described by the average of all, more so if categories differ little. More
    than eight outcomes are reduced to the eight directions in which categories differ most.

    Attributes
    ----------
    values : (n_values,) array
        Sorted category codes; NaN, the missing value, is last.
    columns : (n_values + 1, n_columns) array
        One row for each category; the last, zeros, is for new ones.
    """

    values: np.ndarray
    columns: np.ndarray

    @classmethod
    def of(cls, column: np.ndarray, happened: np.ndarray) -> tuple["PooledShares", np.ndarray]:
        """Pool the shares, and describe each row by the rows of the other folds, (n, n_columns).

        Parameters
        ----------
        column : (n_samples,) array
            Category codes.
        happened : (n_samples, n_outcomes) array
            Indicators of the outcomes.
        """
        values, codes = np.unique(column, return_inverse=True)
        counts = np.stack([np.bincount(codes, each, len(values)) for each in happened.T], axis=1)
        prior = _prior_rows(counts)
        whole = _log_ratios(counts, prior)
        directions = _leading(whole, counts.sum(axis=1))
        # Rows of a fold are described by the others: their own outcome would describe them too well.
        folds = np.random.default_rng(0).permutation(len(column)) % POOLING_FOLDS
        rows = np.empty((len(column), directions.shape[1]))
        for fold in range(POOLING_FOLDS):
            here = folds == fold
            own = np.stack([np.bincount(codes[here], each[here], len(values)) for each in happened.T], axis=1)
            rows[here] = _log_ratios(counts - own, prior)[codes[here]] @ directions
        columns = np.vstack([whole @ directions, np.zeros(directions.shape[1])])
        return cls(values, columns), rows

    def __call__(self, column: np.ndarray) -> np.ndarray:
        """Describe rows, which may be new, (n, n_columns)."""
        place = np.minimum(np.searchsorted(self.values, column), len(self.values) - 1)
        found = self.values[place]
        known = (found == column) | (np.isnan(found) & np.isnan(column))
        return self.columns[np.where(known, place, len(self.values))]


def _prior_rows(counts: np.ndarray) -> float:
    """Number of prior rows 1 / ρ - 1, from the between and within mean squares of indicators."""
    rows = counts.sum(axis=1)
    total, n_values = rows.sum(), len(rows)
    if n_values < 2 or total <= n_values:
        return float(total)
    shares = counts / rows[:, None]
    between = np.sum(rows[:, None] * (shares - counts.sum(axis=0) / total) ** 2) / (n_values - 1)
    within = np.sum(rows[:, None] * shares * (1.0 - shares)) / (total - n_values)
    size = (total - np.sum(rows**2) / total) / (n_values - 1)
    variance = max((between - within) / size, 0.0)
    return float(np.clip(within / max(variance, np.finfo(float).tiny), 1.0, total))


def _log_ratios(counts: np.ndarray, prior: float) -> np.ndarray:
    """Logarithms of the shrunken shares over the overall ones; the redundant one of two outcomes is left out."""
    overall = np.maximum(counts.sum(axis=0), 0.5)
    overall = overall / overall.sum()
    ratios = np.log((counts / overall + prior) / (counts.sum(axis=1, keepdims=True) + prior))
    return ratios[:, :1] if ratios.shape[1] == 2 else ratios


def _leading(ratios: np.ndarray, rows: np.ndarray) -> np.ndarray:
    """Directions in which categories differ most, (n_outcomes, at most 8); all of them if there are few."""
    if ratios.shape[1] <= MOST_POOLED:
        return np.eye(ratios.shape[1])
    _, _, axes = np.linalg.svd(np.sqrt(rows)[:, None] * ratios, full_matrices=False)
    return axes[:MOST_POOLED].T


def fit_weighted(classifier: Any, X: np.ndarray, y: np.ndarray, sample_weight: np.ndarray | None) -> Any:
    """Fit a classifier in place, and pass the weights to the step of a pipeline or search that takes them."""
    last = classifier.steps[-1][1] if isinstance(classifier, Pipeline) else classifier
    if isinstance(last, HistGradientBoostingClassifier):
        X = without_empty_columns(X, sample_weight)
    if sample_weight is None:
        return classifier.fit(X, y)
    require_weight(sample_weight)
    # Metadata routing applies to our estimator, not to the classifier inside it, which gets weights directly.
    with config_context(enable_metadata_routing=False):
        return classifier.fit(X, y, **{weight_name(classifier): sample_weight})


def without_empty_columns(X: np.ndarray, sample_weight: np.ndarray | None = None) -> np.ndarray:
    """Replace columns that are missing in every row with positive weight by zeros.

    Boosting would search such columns for a split. It never splits a constant, so predictions do not change.

    Examples
    --------
    >>> without_empty_columns(np.array([[1.0, np.nan], [np.nan, np.nan]]))
    array([[ 1.,  0.],
           [nan,  0.]])
    """
    empty = np.isnan(X if sample_weight is None else X[sample_weight > 0.0]).all(axis=0)
    return np.where(empty, 0.0, X) if empty.any() else X


def weight_name(classifier: Any) -> str:
    """Name of the keyword by which ``fit`` of a classifier takes sample weights.

    Examples
    --------
    >>> from sklearn.linear_model import LogisticRegression
    >>> weight_name(Pipeline([("model", LogisticRegression())]))
    'model__sample_weight'
    """
    if has_fit_parameter(classifier, "sample_weight"):
        return "sample_weight"
    if isinstance(classifier, Pipeline):
        name, last = classifier.steps[-1]
        return f"{name}__{weight_name(last)}"
    if hasattr(classifier, "estimator"):  # a hyper-parameter search passes its keywords on
        return weight_name(classifier.estimator)
    raise InputError(
        f"{type(classifier).__name__} takes no sample_weight; use a classifier that does.", "estimator"
    )
