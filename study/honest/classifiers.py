"""The classifiers of the study, and the settings that they may have."""

from collections.abc import Mapping
from typing import Any

import numpy as np
from scipy.special import expit
from sklearn.ensemble import AdaBoostClassifier, HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV, StratifiedKFold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC


class ScoredSVC(SVC):
    """A support vector machine of two classes whose scores, squashed to (0, 1), can be averaged.

    The baselines have the decision-maker among their features and average over decision-makers, which
    needs numbers of one scale; they need not be calibrated.

    Examples
    --------
    >>> machine = ScoredSVC().fit([[0.0], [1.0], [2.0], [3.0]], [0, 0, 1, 1])
    >>> machine.predict_proba([[0.0], [3.0]]).argmax(axis=1)
    array([0, 1])
    """

    def predict_proba(self, X: Any) -> np.ndarray:
        """Squashed scores, (n_samples, 2)."""
        second = expit(self.decision_function(X))
        return np.column_stack([1.0 - second, second])


# At most six settings each; a name before two underscores is a step of a pipeline.
GRIDS: dict[str, dict[str, list[Any]]] = {
    "linear": {"logisticregression__C": [0.001, 0.01, 0.1, 1.0, 10.0]},
    "boosting": {"learning_rate": [0.1, 0.2], "max_leaf_nodes": [4, 8, 16]},
    "adaboost": {"n_estimators": [50, 100], "learning_rate": [0.3, 1.0]},
    "forest": {"min_samples_leaf": [5, 20, 50]},
    "svm": {"scoredsvc__C": [0.1, 1.0, 10.0]},
}
CLASSIFIERS = tuple(GRIDS)
N_FOLDS = 5
# With weights, scikit-learn takes a quantile at a time: 255 bins cost more than the trees of these samples.
# Left to itself, it would stop early above 10,000 rows, which is some methods and not others.
BOOSTING = {"max_iter": 50, "max_bins": 63, "early_stopping": False}


def make_classifier(name: str, settings: Mapping[str, Any], random_state: int) -> Any:
    """Make a classifier with chosen settings.

    Examples
    --------
    >>> make_classifier("boosting", {"max_leaf_nodes": 8}, 0).max_leaf_nodes
    8
    """
    classifier = {
        "linear": lambda: make_pipeline(StandardScaler(), LogisticRegression(max_iter=1000)),
        "boosting": lambda: HistGradientBoostingClassifier(**BOOSTING, random_state=random_state),
        "adaboost": lambda: AdaBoostClassifier(random_state=random_state),
        "forest": lambda: RandomForestClassifier(random_state=random_state),
        "svm": lambda: make_pipeline(StandardScaler(), ScoredSVC(cache_size=500)),
    }[name]()
    return classifier.set_params(**settings)


def choose_settings(name: str, X: np.ndarray, y: np.ndarray, random_state: int) -> dict[str, Any]:
    """Choose settings by five-fold cross-validation on labeled rows; no unseen label is ever read.

    Parameters
    ----------
    name : str
    X, y : arrays
        Labeled rows only.
    random_state : int

    Returns
    -------
    dict
    """
    folds = StratifiedKFold(N_FOLDS, shuffle=True, random_state=random_state)
    search = GridSearchCV(make_classifier(name, {}, random_state), GRIDS[name], cv=folds, refit=False)
    return search.fit(X, y).best_params_
