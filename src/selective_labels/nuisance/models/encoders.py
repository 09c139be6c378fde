"""Encoders of features for linear models and trees: imputation, standardisation and category encoding."""

from typing import Any

import numpy as np
from sklearn import config_context
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.compose import ColumnTransformer
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import OneHotEncoder, OrdinalEncoder
from sklearn.utils.validation import has_fit_parameter

from selective_labels._errors import InputError
from selective_labels._validation import require_weight
from selective_labels.nuisance.models.pooling import PooledShares
from selective_labels.nuisance.models.scales import (
    FARTHEST,
    RAW,
    Scale,
    best_scales,
    common_scale,
    outcome_indicators,
    skewness,
)

# A linear model gets at most MOST_INDICATORS columns per categorical feature: one for each frequent category
# with at least FEWEST_ROWS rows, and one for all others.
MOST_INDICATORS = 20
FEWEST_ROWS = 10
# Indicators of categories with up to this many values enter products; more would be mostly zeros.
MOST_VALUES_IN_PRODUCTS = 6
# Trees split groups of categories, so they can use more of them; histograms allow 255.
MOST_TREE_CATEGORIES = 100
# A column with a larger skewness is transformed. An exponential distribution has this skewness.
LARGEST_SKEWNESS = 2.0


def standardised_for_learner(
    X: np.ndarray, labels: np.ndarray | None, categorical: tuple[int, ...] = ()
) -> Pipeline:
    """Fitted :func:`standardised` features of a learner: skewed columns enter as they suit the labeled rows.

    Parameters
    ----------
    X : (n_samples, n_features) array
    labels : (n_samples,) int array or None
        Codes of the labels, -1 where not observed. None: skewed columns are squashed.
    categorical : tuple of int
    """
    if labels is None:
        return standardised(categorical).fit(X)
    return standardised(categorical, LearnerNumbers()).fit(X, np.where(labels < 0, np.nan, labels))


def standardised(categorical: tuple[int, ...] = (), numbers: "Numbers | None" = None) -> Pipeline:
    """Impute missing numbers by the mean, add missing indicators, and scale numbers to unit variance.

    The `categorical` columns come first, as indicators: one for each of the 19 most frequent categories with
    at least ten rows, and one for all others. Missing is a category of its own. A category that was not seen
    during fit counts among the others. The numeric columns follow.

    ``fit_transform(X, y)`` uses an outcome, if there is one: categories that share an indicator get the
    shrunken shares of the outcomes beside it (:class:`PooledShares`) if no outcome is missing (NaN), so that
    they are pooled and not merged, and a skewed column gets the transformation that predicts the outcome best
    (:class:`Numbers`).

    Parameters
    ----------
    categorical : tuple of int
        Columns with category codes.
    numbers : Numbers, optional
        How numeric columns are transformed. Default: ``Numbers()``.

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
    numbers = Numbers() if numbers is None else numbers
    scale = make_pipeline(_indicators(categorical, numbers) if categorical else numbers)
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
    """Number of columns of a fitted :func:`standardised` that enter products.

    Numbers and the indicators of few-valued categories do.

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

    With an outcome `y`, other scales of a skewed column are compared with this one: as it is, logarithmic
    from small values on, and normal scores of ranks. The scale with the smallest held-out loss replaces it if
    the difference exceeds its standard error (:func:`selective_labels.nuisance.models.scales.best_scales`).

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
        skewed = np.flatnonzero(skewness(columns[:, : X.shape[1]]) > LARGEST_SKEWNESS)
        chosen = self._chosen(columns, skewed, y)
        self.scales_ = {
            int(column): scale for column, scale in zip(skewed, chosen, strict=True) if scale.name != RAW
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

    def _chosen(self, columns: np.ndarray, skewed: np.ndarray, y: Any) -> list[Scale]:
        return best_scales(columns[:, skewed], y)

    def _squashed(self, columns: np.ndarray) -> np.ndarray:
        for column, scale in self.scales_.items():
            columns[:, column] = scale(columns[:, column])
        return columns

    def _filled(self, X: np.ndarray) -> np.ndarray:
        holes = np.isnan(X)
        if not holes.any() and not len(self.marked_):
            return X.copy()
        return np.hstack([np.where(holes, self.fill_, X), holes[:, self.marked_]])


class LearnerNumbers(Numbers):
    """Numeric features for a learner, with one scale for all skewed columns: as they are, squashed, or ranks.

    Another scale than the columns' own is taken if it lowers the held-out log-loss of a logistic regression
    on all numeric columns, among rows with a label, by more than the standard error of the difference.

    Examples
    --------
    >>> amount = np.exp(2.0 * np.random.default_rng(0).normal(size=(500, 1)))
    >>> likely = np.log(amount[:, 0]) > np.random.default_rng(1).normal(size=500)
    >>> LearnerNumbers().fit(amount, likely).scales_[0].name
    'ranks'
    """

    def _chosen(self, columns: np.ndarray, skewed: np.ndarray, y: Any) -> list[Scale]:
        if y is None or not len(skewed):
            return super()._chosen(columns, skewed, y)
        codes = np.asarray(y)
        seen = ~np.isnan(codes) if codes.dtype.kind == "f" else np.ones(len(codes), dtype=bool)
        return common_scale(columns, skewed, codes, seen)


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
        happened = outcome_indicators(np.asarray(y))
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
        if y is None or _has_holes(y):
            return np.hstack(indicators)
        happened = outcome_indicators(np.asarray(y))
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


def _has_holes(y: Any) -> bool:
    values = np.asarray(y)
    return values.dtype.kind == "f" and bool(np.isnan(values).any())


def _encoder() -> OneHotEncoder:
    return OneHotEncoder(
        handle_unknown="infrequent_if_exist",
        max_categories=MOST_INDICATORS,
        min_frequency=FEWEST_ROWS,
        sparse_output=False,
    )


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
