"""Base classes of all classifiers: input validation, metadata routing, and prediction by partition."""

from abc import ABCMeta, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import wraps
from typing import Any, ClassVar, Self, TypeVar

import numpy as np
import pandas as pd
import sklearn
from scipy.sparse import issparse
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.metrics import accuracy_score
from sklearn.utils import Tags, get_tags
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted, column_or_1d, validate_data

from selective_labels._errors import ROUTING, InputError
from selective_labels.data.coding import (
    as_numbers,
    as_table,
    dense,
    not_numbers,
    refuse_huge_numbers,
    refuse_repeated_names,
)
from selective_labels.data.named_costs import cost_matrix
from selective_labels.data.partition_survey import RoleColumns
from selective_labels.data.partitioned import PartitionedLabels
from selective_labels.data.pending import PENDING
from selective_labels.data.reading import Table, read_data, read_table, refuse_pending
from selective_labels.data.relations import RelationSource
from selective_labels.data.roles import HOLE, ROLES, GivenRoles
from selective_labels.data.selective_labels import SelectiveLabels
from selective_labels.identification.bounds import Bounds
from selective_labels.nuisance.cross_fit import FittingSettings
from selective_labels.nuisance.learning_curve import rows_to_learn_from

# Requested at class level, so that meta-estimators need neither set_fit_request nor set_score_request.
METADATA = dict.fromkeys(ROLES, True)


class SelectiveClassifier(ClassifierMixin, BaseEstimator, metaclass=ABCMeta):
    """Base of classifiers whose training labels are observed only for accepted cases.

    It reads the table and its roles. Subclasses implement `_learn`.
    """

    __metadata_request__fit = METADATA
    __metadata_request__score = METADATA

    def fit(
        self,
        X: Any,
        y: Any = None,
        *,
        decision_maker: Any = None,
        decision: Any = None,
        sample_weight: Any = None,
        groups: Any = None,
        strata: Any = None,
        assignment: Any = None,
    ) -> Self:
        """Fit the classifier to the observed labels and the decision-makers.

        All arguments are validated. The class documents which ones it does not use.

        Parameters
        ----------
        X : SelectiveLabels, array of numbers, or table of numbers, text, categories and dates
            A SelectiveLabels contains labels and roles, so no other argument is allowed with it. Of data in
            partitions, a sample of `fit_rows` rows is used, drawn by hash. Missing values are allowed. Each
            model encodes categories from the rows that it is fitted to. Callables of X (`nuisance`,
            `label_range`) get an array with category codes, in order of first appearance.
        y : (n_samples,) labels of any type
            Missing (-1, NaN, None or NA) where the case was declined. With `decision`, the decision
            determines which labels are observed.
        decision_maker : (n_samples,) ids
            May be omitted if every label is observed, or if the class does not need it.
        decision : (n_samples,) of 0 and 1, optional
            Determines which labels count. -1 may then be a class.
        sample_weight : (n_samples,) array, optional
        groups : (n_samples,) array, optional
            Repeated cases. They stay together in folds.
        strata : (n_samples,) array, optional
            Cells within which assignment is random. Leniency is measured within them.
        assignment : (n_samples, n_decision_makers) array or callable of X, optional
            Known assignment probabilities of decision-makers. In point mode, a callable is also applied to
            new rows. With an array, new rows use a model of the assignment.

        Returns
        -------
        self
        """
        roles = GivenRoles(decision_maker, decision, sample_weight, groups, strata, assignment)
        data = read_training_data(self, X, y, roles)
        reason = self._why_decision_makers(data)
        if not data.decision_makers_given and reason is not None:
            routed = sklearn.get_config()["enable_metadata_routing"]
            advice = "" if routed else f" In a search or cross-validation, {ROUTING}."
            raise InputError(f"decision_maker is missing: {reason}.{advice}", "decision_maker")
        refuse_pending(data, type(self).__name__, self._refused_pending)
        self.classes_ = data.classes
        self.n_ignored_labels_ = data.n_ignored_labels
        self._learn(data)
        return self

    def score(
        self,
        X: Any,
        y: Any = None,
        *,
        decision_maker: Any = None,
        decision: Any = None,
        sample_weight: Any = None,
        groups: Any = None,
        strata: Any = None,
        assignment: Any = None,
    ) -> float:
        """Accuracy, if every label is observed.

        If labels are missing, accuracy on the labeled rows does not estimate accuracy on all cases, and an
        error is raised. :class:`~selective_labels.UCLClassifier` instead returns the estimated lower bound on
        the accuracy on all cases.

        Parameters
        ----------
        X, y, decision_maker, decision, sample_weight, groups, strata, assignment
            As in ``fit``.

        Returns
        -------
        float
        """
        predicted = self.predict(X)  # called first, because it checks that the classifier is fitted
        roles = GivenRoles(decision_maker, decision, sample_weight, groups, strata, assignment)
        return self._score(read_data(X, y, roles), predicted)

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        models = (getattr(self, name, None) for name in ("estimator", "nuisance", "propensity"))
        tags.input_tags.sparse = True
        tags.input_tags.allow_nan = all(
            get_tags(model).input_tags.allow_nan for model in models if hasattr(model, "fit")
        )
        return tags

    @abstractmethod
    def predict(self, X: Any) -> np.ndarray:
        """Class labels, (n_samples,)."""

    @abstractmethod
    def _learn(self, data: SelectiveLabels) -> None:
        """Set the fitted attributes. `classes_` and `n_ignored_labels_` are already set."""

    def _score(self, data: SelectiveLabels, predicted: np.ndarray) -> float:
        """Score the predictions for these rows; see :meth:`score`."""
        return full_label_accuracy(data, predicted)

    @property
    def _refused_pending(self) -> tuple[str, ...]:
        """Values of `pending` with which the classifier cannot learn."""
        return PENDING

    def _why_decision_makers(self, data: SelectiveLabels) -> str | None:
        """Reason why these data require decision-makers, or None."""
        return None


def read_training_data(estimator: BaseEstimator, X: Any, y: Any, roles: GivenRoles) -> SelectiveLabels:
    """Validate the input of ``fit``, set scikit-learn's attributes on the estimator, and return the data.

    The estimator stores the category codes, with which :func:`read_features` codes other tables. Without
    decision-makers, all rows belong to a single one. Data in partitions are sampled: `n_fitted_` is the
    number of rows in the sample and `n_rows_` the number of rows in the table.

    Returns
    -------
    SelectiveLabels
        Data with at least two classes.
    """
    if y is None and not isinstance(X, Table):
        name = type(estimator).__name__
        raise InputError(
            f"This {name} estimator requires y to be passed, but the target y is None.", "y"
        )  # wording of scikit-learn
    if isinstance(y, np.ndarray) and y.ndim == 2 and y.shape[1] == 1:
        y = column_or_1d(y, warn=True)
    data = read_table(X, y, roles)
    estimator.n_fitted_, estimator.n_rows_ = None, None
    if isinstance(data, PartitionedLabels):
        estimator.n_rows_ = len(data)
        data = rows_to_learn_from(data, FittingSettings.read(getattr(estimator, "nuisance", None)))
        estimator.n_fitted_ = len(data)
    try:
        validate_data(estimator, data.X, skip_check_array=True)  # stores names and number of features
    except TypeError:
        raise InputError.about("X", "has columns whose names are not all text; rename them.") from None
    estimator._coding = data.coding
    if len(data) < 2:
        shape = data.features.shape
        raise InputError(
            f"Found array with 1 sample(s) (shape={shape}) while a minimum of 2 is required.", "X"
        )
    if len(data.classes) < 2:
        raise InputError.about(
            "y", f"shows only one class ({data.classes.tolist()[0]!r}); two or more are needed to learn from."
        )
    return data


def read_features(estimator: BaseEstimator, X: Any) -> np.ndarray:
    """Validate features at prediction time against those of ``fit``, and apply the same category codes."""
    kinds = None
    if isinstance(X, SelectiveLabels):
        X, kinds = X.X, None if X.coding is None else X.coding.kinds
    X = dense(X) if issparse(X) else X
    refuse_repeated_names(X)
    coding = estimator._coding
    if coding is not None:
        if as_table(X) is not None:  # names are checked first, because codes are assigned by column
            validate_data(estimator, X, skip_check_array=True, reset=False)
        X = coding.code(X, kinds)
        if coding.calendar:  # more features than columns, whose names and number were checked above
            return as_numbers(X)
    elif named := not_numbers(X):
        raise InputError(
            f"X has columns that are not numbers ({', '.join(map(repr, named))}), unlike in fit.", "X"
        )
    try:
        checked = validate_data(
            estimator, dense(X), dtype="numeric", ensure_all_finite="allow-nan", reset=False
        )
    except (ValueError, TypeError, OverflowError) as error:
        raise InputError(str(error), "X") from None
    refuse_huge_numbers(checked)
    return checked.astype(float, copy=False)


def check_cost(cost: Any, data: SelectiveLabels) -> Any:
    """Costs as a matrix, from a matrix or by name (the event is the last class); None is returned unchanged.

    Raise :class:`InputError` before fitting if they do not match the classes.
    """
    classes = data.classes
    cost = cost_matrix(cost, classes, len(classes) - 1, data.decision_means)
    expected = (len(classes), len(classes))
    if cost is not None and np.shape(cost) != expected:
        raise InputError(
            f"cost has shape {np.shape(cost)}; it must be {expected}, C[true, predicted].", "cost"
        )
    return cost


def full_label_accuracy(data: SelectiveLabels, predicted: np.ndarray) -> float:
    """Accuracy of the predictions. Raise :class:`InputError` if a label is missing.

    Labeled rows are a selected sample, so their accuracy does not estimate accuracy on all cases.
    """
    n_holes = int(np.sum(data.y == HOLE))
    if n_holes:
        raise InputError(
            f"{n_holes} of {len(data)} labels are missing; accuracy on the others is not accuracy on all: "
            "use selective_labels.evaluate for bounds, or scoring=lower_bound_scorer in a search.",
            "y",
        )
    return float(accuracy_score(data.classes[data.y], predicted, sample_weight=data.sample_weight))


Predict = TypeVar("Predict", bound=Callable[..., Any])
# Number of the first row, and the predictions from there on.
Piece = tuple[int, Any]


def takes_partitions(predict: Predict) -> Predict:
    """Let a method accept :class:`PartitionedLabels`. Its result must fit into memory."""

    @wraps(predict)
    def predict_rows(estimator: Any, X: Any, **settings: Any) -> Any:
        if not isinstance(X, PartitionedLabels):
            return predict(estimator, X, **settings)
        if settings.get("strata") is not None:
            raise InputError(
                "a table in partitions has its strata in a column; name it where the table is made.", "strata"
            )
        if isinstance(X.source, RelationSource):
            raise InputError(
                "rows of a relation have no order, so predictions cannot come back as an array; "
                "data.write_predictions(model, table) writes them as a table of the engine.",
                "X",
            )
        task = _Task(estimator, predict.__name__, X.roles, X.features, settings)
        strata = [] if X.roles.strata is None else [X.roles.strata]
        columns = list(dict.fromkeys([*X.roles.key_columns, *strata, *X.features]))
        pieces = X.over_rows(columns, task, _joined, "predicting")
        return _in_order(pieces)

    return predict_rows  # type: ignore[return-value]


@dataclass(frozen=True)
class _Task:
    """Predictions for some rows. Sent to worker processes."""

    estimator: Any
    method: str
    roles: RoleColumns
    features: tuple[str, ...]
    settings: Mapping[str, Any]

    def __call__(self, frame: pd.DataFrame) -> list[Piece] | None:
        frame, _ = self.roles.rows(frame)
        if not len(frame):
            return None
        X: Any = frame[list(self.features)]
        if self.roles.strata is not None:
            none, strata = np.zeros(len(frame), dtype=int), frame[self.roles.strata]
            X = replace(SelectiveLabels.from_arrays(None, none, decision_maker=None, strata=strata), X=X)
        return [(int(frame.index[0]), getattr(self.estimator, self.method)(X, **self.settings))]


def _joined(several: Sequence[list[Piece]]) -> list[Piece]:
    return [piece for each in several for piece in each]


def _in_order(pieces: list[Piece]) -> Any:
    found = [each for _, each in sorted(pieces, key=lambda piece: piece[0])]
    if isinstance(found[0], Bounds):
        lower, upper = (np.concatenate([getattr(each, end) for each in found]) for end in ("lower", "upper"))
        return Bounds(lower, upper)
    return np.concatenate(found)


@dataclass(frozen=True)
class LabeledRowsModel:
    """A fitted classifier that predicts without knowing the decision-maker.

    If the decision-maker is among its features (`shares` given),

        P(Y=k | x, D=1) is replaced by  Σ_z share_z P(Y=k | x, z, D=1),

    where share_z is z's share of the training rows, labeled or not.

    Attributes
    ----------
    classes : (n_classes,) array
    shares : (n_decision_makers,) array or None
    """

    classifier: ClassifierMixin
    classes: np.ndarray
    shares: np.ndarray | None

    def predict(self, X: np.ndarray) -> np.ndarray:
        """Class labels, (n_samples,)."""
        if self.shares is None:
            return self.classifier.predict(X)
        return self.classes[self.predict_proba(X).argmax(axis=1)]

    def predict_proba(self, X: np.ndarray) -> np.ndarray:
        """Probabilities of the classes, (n_samples, n_classes)."""
        if self.shares is None:
            return self.classifier.predict_proba(X)
        # Loop over decision-makers, because all their predictions together may not fit in memory.
        features = np.hstack([X, np.zeros((len(X), len(self.shares)))])
        indicators = features[:, X.shape[1] :]
        average = np.zeros((len(X), len(self.classes)))
        for code, share in enumerate(self.shares):
            indicators[:, code] = 1.0
            average += share * self.classifier.predict_proba(features)
            indicators[:, code] = 0.0
        return average


def has_probabilities(baseline: Any) -> bool:
    """Whether the classifier that a baseline uses can predict probabilities."""
    chosen = baseline.estimator
    return chosen is None or isinstance(chosen, str) or hasattr(chosen, "predict_proba")


class FittedRuleClassifier(SelectiveClassifier):
    """Prediction methods of baselines that hand new rows to what they fitted."""

    _fitted_rule: ClassVar[str] = "model_"

    @property
    def _has_probabilities(self) -> bool:
        return has_probabilities(self)

    def predict(self, X: Any) -> np.ndarray:
        """Class labels, (n_samples,)."""
        check_is_fitted(self)
        return getattr(self, self._fitted_rule).predict(read_features(self, X))

    @available_if(lambda self: self._has_probabilities)
    def predict_proba(self, X: Any) -> np.ndarray:
        """Estimates of P(Y=k | x) of the rows that were fitted, see the class, (n_samples, n_classes)."""
        check_is_fitted(self)
        return getattr(self, self._fitted_rule).predict_proba(read_features(self, X))
