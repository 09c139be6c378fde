"""How features enter models: numbers filled and standardised, categories encoded by what the model saw."""

from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.compose import ColumnTransformer
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import OneHotEncoder, OrdinalEncoder

# A linear model gets a column for each of so many categories, with so many rows or more; one for the rest.
MOST_INDICATORS = 20
FEWEST_ROWS = 10
# Trees cut groups of categories; histograms have room for 255.
MOST_TREE_CATEGORIES = 100
# Standard deviations from the mean beyond which a number says no more.
FARTHEST = 10.0
# Skewness beyond which a column is squashed: that of an exponential law, which light tails do not reach.
LARGEST_SKEWNESS = 2.0


def standardised(categorical: tuple[int, ...] = ()) -> Pipeline:
    """Fill holes with the mean, mark where they were, and bring every column to unit scale.

    Categories become indicators, first the `categorical` columns and then the numbers: of the 19 most
    frequent ones with ten rows or more, and of all others together. Missing is a category; one that was not
    seen in fitting counts among the others.

    Parameters
    ----------
    categorical : tuple of int
        Columns that hold codes of categories.

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
    return scale.set_output(transform="default")  # arrays, also where a user has set all output to frames


def standardised_numbers(scale: Pipeline) -> slice:
    """Which columns of what a fitted :func:`standardised` returns come from numbers.

    Examples
    --------
    >>> standardised_numbers(standardised((0,)).fit(np.ones((20, 3))))
    slice(1, 3, None)
    """
    first = scale[0]
    return first.output_indices_["remainder"] if isinstance(first, ColumnTransformer) else slice(None)


def n_standardised(X: np.ndarray, categorical: tuple[int, ...]) -> int:
    """How many columns a linear model makes of features, at most; marks of holes are not counted.

    Examples
    --------
    >>> n_standardised(np.column_stack([np.arange(30.0), np.arange(30.0) % 3]), (0, 1))
    23
    """
    indicators = (min(len(np.unique(X[:, column])), MOST_INDICATORS) for column in categorical)
    return X.shape[1] - len(categorical) + sum(indicators)


def one_hot_columns(categorical: tuple[int, ...]) -> ColumnTransformer:
    """Indicators of categories, as in :func:`standardised`, then the numbers as they are."""
    return _indicators(categorical, "passthrough")


def one_hot_before(model: Any, categorical: tuple[int, ...]) -> Any:
    """Put indicators of categories before a model that takes numbers only.

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
    """Numbers for linear models: holes filled with the mean and marked, unit scale, outliers drawn in.

    A column of marks is added for each column with holes in fitting. A column without a single value is zero.
    What lies more than ten standard deviations out is held there: a single outlier (an income of ten million)
    must not steer a linear predictor at every other row. A column that is more skewed than an exponential law
    (counts, amounts) is first squashed, x -> asinh((x - median) / distance), the distance being the mean one
    from the median: about linear in the middle and logarithmic in the tail, where one unit more says little.

    Examples
    --------
    >>> Numbers().fit_transform(np.array([[1.0], [3.0], [np.nan]]))
    array([[-1.22474487, -0.70710678],
           [ 1.22474487, -0.70710678],
           [ 0.        ,  1.41421356]])
    """

    def fit(self, X: np.ndarray, y: Any = None) -> "Numbers":
        """Learn means and scales."""
        X = np.asarray(X, dtype=float)
        holes = np.isnan(X)
        self.marked_ = np.flatnonzero(holes.any(axis=0))
        counts = len(X) - np.count_nonzero(holes, axis=0)
        self.fill_ = np.where(holes, 0.0, X).sum(axis=0) / np.maximum(counts, 1)
        columns = self._filled(X)
        self.skewed_ = np.flatnonzero(_skewness(columns[:, : X.shape[1]]) > LARGEST_SKEWNESS)
        self.median_ = np.median(columns[:, self.skewed_], axis=0)
        self.distance_ = np.abs(columns[:, self.skewed_] - self.median_).mean(axis=0)
        columns = self._squashed(columns)
        self.mean_ = columns.mean(axis=0)
        columns -= self.mean_
        variance = np.einsum("ij,ij->j", columns, columns) / len(X)
        rounding = len(X) * np.finfo(float).eps
        constant = variance <= rounding * variance + (rounding * self.mean_) ** 2
        self.scale_ = np.where(constant, 1.0, np.sqrt(variance))
        return self

    def transform(self, X: np.ndarray) -> np.ndarray:
        """Standardise, (n_samples, n_features + n_marks)."""
        columns = self._squashed(self._filled(np.asarray(X, dtype=float)))
        columns -= self.mean_
        columns /= self.scale_
        return np.clip(columns, -FARTHEST, FARTHEST, out=columns)

    def set_output(self, *, transform: Any = None) -> "Numbers":
        """Return arrays always, also where a user has set all output to frames."""
        return self

    def _squashed(self, columns: np.ndarray) -> np.ndarray:
        if len(self.skewed_):
            away = columns[:, self.skewed_] - self.median_
            columns[:, self.skewed_] = np.arcsinh(away / self.distance_)
        return columns

    def _filled(self, X: np.ndarray) -> np.ndarray:
        holes = np.isnan(X)
        if not holes.any() and not len(self.marked_):
            return X.copy()
        return np.hstack([np.where(holes, self.fill_, X), holes[:, self.marked_]])


def _skewness(columns: np.ndarray) -> np.ndarray:
    """Absolute standardised third moment of each column; zero for one that does not vary."""
    centred = columns - columns.mean(axis=0)
    spread = np.sqrt(np.mean(centred**2, axis=0))
    varies = spread > len(columns) * np.finfo(float).eps * np.abs(columns).max(axis=0, initial=0.0)
    unit = np.divide(centred, spread, out=np.zeros_like(centred), where=varies)
    return np.abs(np.mean(unit * unit * unit, axis=0))  # many times faster than a power of three


class TreeColumns(TransformerMixin, BaseEstimator):
    """Features for histogram gradient boosting: categories as small whole numbers, in their places.

    The 99 most frequent categories keep a number of their own; one not seen in fitting is missing. A column
    without a single value, of which no histogram can be made, becomes zero.

    Parameters
    ----------
    categorical : tuple of int
        Columns that hold codes of categories.

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
        """Learn the categories, and which columns are empty."""
        self.empty_ = np.isnan(X).all(axis=0)
        self.encoder_ = OrdinalEncoder(
            handle_unknown="use_encoded_value", unknown_value=np.nan, max_categories=MOST_TREE_CATEGORIES
        )
        if self.categorical:
            self.encoder_.fit(X[:, list(self.categorical)])
        return self

    def transform(self, X: np.ndarray) -> np.ndarray:
        """Encode, (n_samples, n_features)."""
        columns = np.where(self.empty_, 0.0, X)
        if self.categorical:
            chosen = list(self.categorical)
            columns[:, chosen] = self.encoder_.transform(X[:, chosen])
        return columns


def boosting(model: Any, categorical: tuple[int, ...] = ()) -> Pipeline:
    """Put :class:`TreeColumns` before histogram gradient boosting, which is told of the categories.

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
    encoder = OneHotEncoder(
        handle_unknown="infrequent_if_exist",
        max_categories=MOST_INDICATORS,
        min_frequency=FEWEST_ROWS,
        sparse_output=False,
    )
    return ColumnTransformer(
        [("categories", encoder, list(categorical))], remainder=numbers, sparse_threshold=0.0
    )
