"""Encoders of features for linear models and trees: imputation, scales of skewed columns, standardisation."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.special import ndtri
from sklearn import config_context
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.compose import ColumnTransformer
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import StratifiedKFold, cross_val_predict
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import OrdinalEncoder
from sklearn.utils.validation import has_fit_parameter

from selective_labels._errors import InputError
from selective_labels._validation import require_weight
from selective_labels.nuisance.models.categories import (
    MOST_INDICATORS,
    MOST_VALUES_IN_PRODUCTS,
    Categories,
    PooledShares,
    outcome_indicators,
)
from selective_labels.nuisance.models.weighted_bins import sorting_once

# Transformations are compared on at most this many rows.
SCALE_ROWS = 2_000
# Standardised values are clipped at this many standard deviations from the mean.
FARTHEST = 10.0
SQUASHED, RAW, LOGARITHM, RANKS = "squashed", "raw", "logarithm", "ranks"
N_KNOTS = 200
# Folds by which the scale of a learner is chosen.
N_FOLDS = 5
# The logarithmic scale is linear below this quantile of the distances from zero.
SMALL = 0.05


@dataclass(frozen=True, eq=False)
class Scale:
    """A scale of a skewed column, fitted to its values.

    squashed: asinh((x - median) / distance)   logarithm: asinh(x / small)   ranks: normal scores

    Attributes
    ----------
    name : "squashed", "raw", "logarithm" or "ranks"
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
    happened = outcome_indicators(np.asarray(y))[rows]
    happened = happened / np.sqrt(np.maximum(happened.mean(axis=0), 1.0 / len(rows)))
    found = []
    for column, plain in zip(columns.T, squashed, strict=True):
        scales = [plain, *(Scale.of(name, column) for name in (RAW, LOGARITHM, RANKS))]
        losses = [_held_out_losses(scale(column[rows]), happened) for scale in scales]
        best = int(np.argmin([loss.mean() for loss in losses]))
        lead = losses[0] - losses[best]
        found.append(scales[best] if lead.mean() > lead.std() / np.sqrt(len(lead)) else plain)
    return found


def common_scale(columns: np.ndarray, skewed: np.ndarray, y: np.ndarray, seen: np.ndarray) -> list[Scale]:
    """One kind of scale for all skewed columns, by the held-out log-loss of a logistic regression.

    loss = mean of -log P(y | columns with the scale), on five folds of the rows with an outcome

    Raw columns are kept unless another kind (squashed, ranks) has a smaller loss, by more than the standard
    error of the difference.

    Parameters
    ----------
    columns : (n_samples, n_columns) array
        All numeric columns, without holes.
    skewed : (n_skewed,) int array
        Columns whose scale is chosen.
    y : (n_samples,) array
        Classes.
    seen : (n_samples,) bool array
        Rows with an outcome.

    Returns
    -------
    list of Scale
        One for each skewed column, fitted to all rows.
    """
    rows = np.flatnonzero(seen)
    rows = rows[np.linspace(0, len(rows) - 1, min(len(rows), SCALE_ROWS)).astype(int)]
    y = y[rows]
    losses, kinds = [], []
    for name in (RAW, SQUASHED, RANKS):
        scales = [Scale.of(name, columns[:, column]) for column in skewed]
        trial = columns[rows]
        for column, scale in zip(skewed, scales, strict=True):
            trial[:, column] = scale(trial[:, column])
        kinds.append(scales)
        losses.append(_log_losses(trial, y))
    best = int(np.argmin([loss.mean() for loss in losses]))
    lead = losses[0] - losses[best]
    return kinds[best if lead.mean() > lead.std() / np.sqrt(len(lead)) else 0]


def _log_losses(columns: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Held-out log-losses of a logistic regression, (n,); zero where folds cannot be made."""
    fewest = np.unique(y, return_counts=True)[1].min()
    if fewest < N_FOLDS:
        return np.zeros(len(y))
    mean, spread = columns.mean(axis=0), columns.std(axis=0)
    unit = np.clip((columns - mean) / np.where(spread > 0.0, spread, 1.0), -FARTHEST, FARTHEST)
    folds = StratifiedKFold(N_FOLDS, shuffle=True, random_state=0)
    chances = cross_val_predict(LogisticRegression(max_iter=300), unit, y, cv=folds, method="predict_proba")
    own = chances[np.arange(len(y)), np.searchsorted(np.unique(y), y)]
    return -np.log(np.maximum(own, 1e-12))


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


def skewness(columns: np.ndarray) -> np.ndarray:
    """Absolute skewness of each column; zero for a constant column."""
    centred = columns - columns.mean(axis=0)
    spread = np.sqrt(np.mean(centred**2, axis=0))
    varies = spread > len(columns) * np.finfo(float).eps * np.abs(columns).max(axis=0, initial=0.0)
    unit = np.divide(centred, spread, out=np.zeros_like(centred), where=varies)
    return np.abs(np.mean(unit * unit * unit, axis=0))  # many times faster than unit**3


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
    columns = _indicators(categorical, "passthrough")
    return columns.set_output(transform="default")  # arrays, even if the user configured data frames


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
    the difference exceeds its standard error (:func:`selective_labels.nuisance.models.encoders.best_scales`).

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


def fit_weighted(classifier: Any, X: np.ndarray, y: np.ndarray, sample_weight: np.ndarray | None) -> Any:
    """Fit a classifier in place, and pass the weights to the step of a pipeline or search that takes them."""
    last = classifier.steps[-1][1] if isinstance(classifier, Pipeline) else classifier
    if isinstance(last, HistGradientBoostingClassifier):
        X = without_empty_columns(X, sample_weight)
    if sample_weight is None:
        return classifier.fit(X, y)
    require_weight(sample_weight)
    # Metadata routing applies to our estimator, not to the classifier inside it, which gets weights directly.
    with config_context(enable_metadata_routing=False), sorting_once():
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
