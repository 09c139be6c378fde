"""Gradient boosting, or any scikit-learn classifier, as a model of the outcome.

Boosted trees are evaluated under all arms in one pass.
"""

from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from sklearn.base import ClassifierMixin, TransformerMixin, clone
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.preprocessing import SplineTransformer

from selective_labels.nuisance.models.encoders import TreeColumns, fit_weighted, one_hot_columns
from selective_labels.nuisance.models.logistic import PooledLogistic, spread_columns

# Rows that pass through a tree together; their columns fit in the processor cache.
CHUNK_ROWS = 32_768
# Index of missing values in a table of categories; scikit-learn allows 255 categories.
MISSING = 256
NO_COLUMN = -1

# Arms that reach the same leaves, as a mask, and the index of the leaf (per row if it differs by row).
Part = tuple[np.ndarray, Any]


def raw_under_arms(
    classifier: HistGradientBoostingClassifier, design: np.ndarray, n_arms: int, place: int
) -> np.ndarray:
    """Sums of leaf values of every row under every arm, (n_trees_per_iteration, n_arms, n_samples).

    Parameters
    ----------
    classifier : fitted HistGradientBoostingClassifier
    design : (n_samples, n_features) array
        The last column belongs to the arm; its values are ignored.
    place : int
        Number of categorical columns before the arm; scikit-learn moves these to the front.
    """
    each_arm = np.repeat(design[:1], n_arms, axis=0)
    each_arm[:, -1] = np.arange(n_arms)
    codes = _table_places(classifier._preprocess_X(each_arm, reset=False)[:, place])
    return _raw(classifier, design, codes, place)


def raw_sums(classifier: HistGradientBoostingClassifier, design: np.ndarray) -> np.ndarray:
    """Sums of leaf values of every row under its own arm, (n_trees_per_iteration, n_samples)."""
    return _raw(classifier, design, np.zeros(1, dtype=np.intp), NO_COLUMN)[:, 0]


def _raw(
    classifier: HistGradientBoostingClassifier, design: np.ndarray, arms: np.ndarray, place: int
) -> np.ndarray:
    features = classifier._preprocess_X(design, reset=False)
    baseline = np.ravel(classifier._baseline_prediction)
    raw = np.empty((len(baseline), len(arms), len(design)))
    raw[:] = baseline[:, None, None]
    for start in range(0, len(design), CHUNK_ROWS):
        rows = slice(start, start + CHUNK_ROWS)
        chunk = _Chunk(np.asfortranarray(features[rows]), arms, place, {})
        for number, trees in enumerate(zip(*classifier._predictors, strict=True)):
            _add(raw[number, :, rows], [chunk.leaves(tree) for tree in trees], trees)
    return raw


def _add(raw: np.ndarray, found: list[list[Part]], trees: tuple[Any, ...]) -> None:
    """Add leaf values: directly where all arms share a leaf, otherwise by one matrix product."""
    common = np.zeros(raw.shape[1])
    membership, values = [], []
    for parts, tree in zip(found, trees, strict=True):
        for arms, leaf in parts:
            value = tree.nodes["value"][leaf]
            if len(parts) == 1:
                common += value
            else:
                membership.append(arms)
                values.append(np.broadcast_to(value, common.shape))
    raw += common
    if values:
        raw += np.array(membership, dtype=float).T @ np.array(values)


@dataclass(frozen=True)
class _Chunk:
    """A chunk of rows, evaluated under all arms.

    Attributes
    ----------
    features : (n_samples, n_features) array
        Preprocessed by scikit-learn, in column-major order.
    arms : (n_arms,) int array
        Indices of the arms in tables of categories.
    place : int
        Column of the arm.
    categories : dict
        Indices of the values in tables of categories, by column.
    """

    features: np.ndarray
    arms: np.ndarray
    place: int
    categories: dict[int, np.ndarray]

    def leaves(self, tree: Any, node: int = 0) -> list[Part]:
        """Leaves below a node, one part for each set of arms that take the same path."""
        split = tree.nodes[node]
        if split["is_leaf"]:
            return [(np.ones(len(self.arms), dtype=bool), np.uint8(node))]
        left, right = self.leaves(tree, split["left"]), self.leaves(tree, split["right"])
        if split["feature_idx"] == self.place:
            goes_left = _table(tree, split)[self.arms]
            sides = [(arms & goes_left, leaf) for arms, leaf in left]
            sides += [(arms & ~goes_left, leaf) for arms, leaf in right]
            return [(arms, leaf) for arms, leaf in sides if arms.any()]
        rows = self._goes_left(tree, split)
        if len(left) == len(right) == 1:
            return [(left[0][0], np.where(rows, left[0][1], right[0][1]))]
        pairs = [(one & other, a, b) for one, a in left for other, b in right]
        return [(arms, np.where(rows, a, b)) for arms, a, b in pairs if arms.any()]

    def _goes_left(self, tree: Any, split: Any) -> np.ndarray:
        column = int(split["feature_idx"])
        values = self.features[:, column]
        if split["is_categorical"]:
            if column not in self.categories:
                self.categories[column] = _table_places(values)
            return _table(tree, split)[self.categories[column]]
        if split["missing_go_to_left"]:
            return ~(values > split["num_threshold"])
        return values <= split["num_threshold"]


def _table(tree: Any, split: Any) -> np.ndarray:
    """Whether each category goes left; the last entry is for missing values."""
    bits = tree.raw_left_cat_bitsets[split["bitset_idx"]]
    known = (bits[:, None] >> np.arange(32, dtype=np.uint32)) & 1
    return np.append(known.ravel(), split["missing_go_to_left"]).astype(bool)


def _table_places(values: np.ndarray) -> np.ndarray:
    return np.where(np.isnan(values), MISSING, values).astype(np.intp)


# Slow learning with shallow trees, because unregularised boosting overstates maxima over decision-makers.
BOOSTING = {"learning_rate": 0.1, "min_samples_leaf": 20, "l2_regularization": 10.0}
FEW_LEAVES = 6
MAX_ITERATIONS = 200
EARLY_STOPPING_ROWS = 2000
EARLY_STOPPING_CLASS_ROWS = 20
FIXED_ITERATIONS = 100


class ClassifierJoint:
    """Model of the outcome from one scikit-learn classifier of features and decision-maker.

    Categories and the decision-maker are encoded as indicator columns: categories first, then the numeric
    features, then the decision-maker.

    Parameters
    ----------
    classifier : scikit-learn classifier with ``predict_proba``
    categorical : tuple of int
        Columns of the features with category codes.
    """

    def __init__(
        self, n_arms: int, n_outcomes: int, classifier: ClassifierMixin, categorical: tuple[int, ...] = ()
    ):
        self.n_arms = n_arms
        self.n_outcomes = n_outcomes
        self.classifier = classifier
        self.categorical = categorical

    def fit(
        self, X: np.ndarray, arm: np.ndarray, outcome: np.ndarray, sample_weight: np.ndarray | None = None
    ) -> Self:
        """Fit to rows with known decision-maker (`arm`) and outcome."""
        self.encoder_ = self._encoder()
        design = self._design(self.encoder_.fit_transform(X, outcome), arm)
        self.classifier_ = fit_weighted(self._unfitted(design, outcome), design, outcome, sample_weight)
        return self

    def joint(self, X: np.ndarray) -> np.ndarray:
        """Outcome probabilities of every row under every decision-maker, (n_arms, n, n_outcomes)."""
        # One call for all decision-makers, because each call has a large fixed cost.
        features = np.tile(self.encoder_.transform(X), (self.n_arms, 1))
        arms = np.repeat(np.arange(self.n_arms), len(X))
        return self._probabilities(features, arms).reshape(self.n_arms, len(X), self.n_outcomes)

    def own(self, X: np.ndarray, arm: np.ndarray) -> np.ndarray:
        """Outcome probabilities of every row under its own decision-maker, (n, n_outcomes)."""
        return self._probabilities(self.encoder_.transform(X), arm)

    def _probabilities(self, features: np.ndarray, arm: np.ndarray) -> np.ndarray:
        probabilities = self.classifier_.predict_proba(self._design(features, arm))
        return spread_columns(probabilities, self.classifier_.classes_, self.n_outcomes)

    def _unfitted(self, design: np.ndarray, outcome: np.ndarray) -> ClassifierMixin:
        return clone(self.classifier)

    def _encoder(self) -> TransformerMixin:
        return one_hot_columns(self.categorical)

    def _design(self, features: np.ndarray, arm: np.ndarray) -> np.ndarray:
        return np.hstack([features, arm[:, None] == np.arange(self.n_arms)])


class BoostedJoint(ClassifierJoint):
    """Histogram gradient boosting with a low learning rate and the decision-maker as a categorical feature.

    Parameters
    ----------
    n_leaves : int
        Largest number of leaves of a tree.
    """

    def __init__(
        self,
        n_arms: int,
        n_outcomes: int,
        categorical: tuple[int, ...] = (),
        random_state: int | None = None,
        most_iterations: int = MAX_ITERATIONS,
        n_leaves: int = FEW_LEAVES,
    ):
        super().__init__(n_arms, n_outcomes, HistGradientBoostingClassifier(), categorical)
        self.random_state = random_state
        self.most_iterations = most_iterations
        self.n_leaves = n_leaves

    def _unfitted(self, design: np.ndarray, outcome: np.ndarray) -> ClassifierMixin:
        """Early stopping if there are enough rows of every outcome."""
        rarest = np.unique(outcome, return_counts=True)[1].min()
        stop = len(design) >= EARLY_STOPPING_ROWS and rarest >= EARLY_STOPPING_CLASS_ROWS
        return HistGradientBoostingClassifier(
            **BOOSTING,
            max_leaf_nodes=self.n_leaves,
            max_iter=min(MAX_ITERATIONS if stop else FIXED_ITERATIONS, self.most_iterations),
            early_stopping=stop,
            categorical_features=[*self.categorical, design.shape[1] - 1],
            random_state=self.random_state,
        )

    def joint(self, X: np.ndarray) -> np.ndarray:
        """Outcome probabilities of every row under every decision-maker, (n_arms, n, n_outcomes)."""
        design = self._design(self.encoder_.transform(X), np.zeros(len(X)))
        raw = raw_under_arms(self.classifier_, design, self.n_arms, len(self.categorical))
        return self._spread(np.swapaxes(raw, 0, 1))

    def _probabilities(self, features: np.ndarray, arm: np.ndarray) -> np.ndarray:
        return self._spread(raw_sums(self.classifier_, self._design(features, arm)))

    def _spread(self, raw: np.ndarray) -> np.ndarray:
        """Convert leaf sums, (..., n_trees_per_iteration, n), to probabilities, (..., n, n_outcomes)."""
        if raw.shape[-2] == 1:  # with two outcomes, the log-odds of the second
            raw = np.concatenate([np.zeros_like(raw), raw], axis=-2)
        odds = np.exp(raw - raw.max(axis=-2, keepdims=True))
        odds /= odds.sum(axis=-2, keepdims=True)
        return spread_columns(np.swapaxes(odds, -1, -2), self.classifier_.classes_, self.n_outcomes)

    def _encoder(self) -> TransformerMixin:
        return TreeColumns(self.categorical)

    def _design(self, features: np.ndarray, arm: np.ndarray) -> np.ndarray:
        return np.column_stack([features, arm])


N_KNOTS = 5


DEGREE = 3


class SmoothJoint:
    """Model of the outcome with a numeric instrument in place of a category.

    P(outcome = c | x, z) = model(x, z, B_1(z), ..., B_m(z)),   B_1, ..., B_m cubic splines with five knots

    A row is thus informative about nearby values of the instrument. Trees need no splines. In logistic models
    with slopes of decision-makers, products of z with the numeric features replace these slopes.

    Parameters
    ----------
    model : model of the outcome with one arm
    values : (n_arms,) array
        Numeric value of each arm, ascending.
    categorical : tuple of int
        Columns of the features with category codes.

    Examples
    --------
    >>> from selective_labels.nuisance.models.logistic import LogisticSettings
    >>> inner = PooledLogistic(1, 2, LogisticSettings(False, 1.0, 0.0))
    >>> arm, X = np.repeat(np.arange(8), 50), np.zeros((400, 1))
    >>> model = SmoothJoint(inner, np.arange(8.0)).fit(X, arm, (np.arange(400) % 50 < 5 * arm).astype(int))
    >>> model.joint(X[:1])[[1, 6], 0, 1].round(1)
    array([0.1, 0.6])
    """

    def __init__(self, model: Any, values: np.ndarray, categorical: tuple[int, ...] = ()) -> None:
        self.model = model
        self.categorical = categorical
        logistic = isinstance(model, PooledLogistic)
        # A quadratic model contains the products with z already.
        self.with_products = logistic and model.settings.slope_variance > 0.0 and not model.settings.products
        self.columns = spline_columns(values, only_number=isinstance(model, BoostedJoint))

    def fit(
        self, X: np.ndarray, arm: np.ndarray, outcome: np.ndarray, sample_weight: np.ndarray | None = None
    ) -> Self:
        """Fit to rows with known arm and outcome."""
        self.model.fit(self._design(X, arm), np.zeros(len(X), dtype=int), outcome, sample_weight)
        return self

    def joint(self, X: np.ndarray) -> np.ndarray:
        """Outcome probabilities of every row at every value of the instrument, (n_arms, n, n_outcomes)."""
        arms = (np.full(len(X), arm) for arm in range(len(self.columns)))
        return np.stack([self.own(X, arm) for arm in arms])

    def own(self, X: np.ndarray, arm: np.ndarray) -> np.ndarray:
        """Outcome probabilities of every row at its own value of the instrument, (n, n_outcomes)."""
        return np.asarray(self.model.own(self._design(X, arm), np.zeros(len(X), dtype=int)))

    def _design(self, X: np.ndarray, arm: np.ndarray) -> np.ndarray:
        parts = [X, self.columns[arm]]
        if self.with_products:
            numbers = np.delete(X, list(self.categorical), axis=1)
            parts.append(numbers * self.columns[arm, :1])
        return np.hstack(parts)


def spline_columns(values: np.ndarray, *, only_number: bool = False) -> np.ndarray:
    """Standardised values and their spline basis, one row per value.

    Examples
    --------
    >>> spline_columns(np.array([0.0, 1.0, 5.0])).shape, spline_columns(np.arange(20.0)).shape
    ((3, 5), (20, 8))
    """
    number = ((values - values.mean()) / (values.std() or 1.0))[:, None]
    if only_number or len(values) < 3:
        return number
    knots = np.quantile(number, np.linspace(0.0, 1.0, min(N_KNOTS, len(values))))
    splines = SplineTransformer(degree=min(DEGREE, len(values) - 1), knots=knots[:, None])
    return np.hstack([number, np.asarray(splines.fit_transform(number))])
