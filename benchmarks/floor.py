"""The floor: five bare fits of the model that was chosen, with nothing around them."""

import warnings
from typing import Any

import numpy as np
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression
from sklearn.preprocessing import PolynomialFeatures, StandardScaler

from benchmarks.ratios import timed
from selective_labels.datasets import make_decision_makers
from selective_labels.nuisance.cross_fit import CrossFit
from selective_labels.nuisance.models.logistic import IndexLogistic, PooledLogistic
from selective_labels.nuisance.models.ridge import feature_lines


def make_table(
    n_samples: int,
    n_decision_makers: int,
    n_features: int = 20,
    n_classes: int = 3,
    random_state: int = 0,
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Cases of made-up decision-makers, with features that mean nothing added."""
    sample = make_decision_makers(n_samples, n_classes, n_decision_makers, random_state=random_state)
    noise = np.random.default_rng(random_state + 1).normal(size=(n_samples, n_features - sample.X.shape[1]))
    return np.hstack([sample.X, noise]), sample.y, sample.decision_maker


def some_probabilities(X: np.ndarray, n_classes: int = 3) -> np.ndarray:
    """Probabilities of a classifier that nobody would use."""
    odds = np.exp(X[:, :n_classes])
    return odds / odds.sum(axis=1, keepdims=True)


def floor_seconds(fit: CrossFit, X: np.ndarray, y: np.ndarray, decision_maker: np.ndarray) -> float:
    """Fit what was chosen to the same rows, five times, with scikit-learn alone.

    The columns of a logistic model are prepared before the clock starts; of fits from zero and fits from the
    solution of the fold before, the cheaper count.
    """
    codes = np.unique(decision_maker, return_inverse=True)[1]
    held_out = fit.held_out if len(fit.held_out) else np.arange(len(y)) % len(fit.folds)
    parts = [(held_out != number, fold) for number, fold in enumerate(fit.folds)]
    outcome = y + 1
    total = {True: 0.0, False: 0.0}
    warm = None
    for train, fold in parts:
        model, arm = fold.models[0], fold.lookup[codes][train]
        if not isinstance(model, PooledLogistic | IndexLogistic):
            design = model._design(model.encoder_.transform(X[train]), arm)
            boosting = HistGradientBoostingClassifier(**model.classifier_.get_params())
            cost, _ = timed(lambda b=boosting, d=design, o=outcome[train]: b.fit(d, o))
            total = {start: each + cost for start, each in total.items()}
            continue
        design = written_out(model, X[train], arm)
        cold = LogisticRegression(C=model.settings.variance, max_iter=500)
        total[False] += timed(lambda c=cold, d=design, o=outcome[train]: fit_quietly(c, d, o))[0]
        if warm is None:
            warm = LogisticRegression(C=model.settings.variance, max_iter=500, warm_start=True)
        total[True] += timed(lambda c=warm, d=design, o=outcome[train]: fit_quietly(c, d, o))[0]
    return min(total.values())


def fit_quietly(model: Any, design: np.ndarray, outcome: np.ndarray) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        model.fit(design, outcome)


def written_out(model: PooledLogistic | IndexLogistic, X: np.ndarray, arm: np.ndarray) -> np.ndarray:
    """The columns of a pooled logistic model, so scaled that one ridge means all its prior variances."""
    features = model.scale_.transform(X)
    blocks = [features, np.eye(model.n_arms)[arm]]
    if isinstance(model, IndexLogistic):
        blocks[0] = model._terms(feature_lines(model.scale_, X))[1:].T
        features = blocks[0][:, : model.directions_.shape[1]]
    elif model.settings.products:
        products = PolynomialFeatures(include_bias=False).fit_transform(features)
        blocks[0] = StandardScaler().fit_transform(products)
    if model.settings.slope_variance:
        scale = np.sqrt(model.settings.slope_variance / model.settings.variance)
        slopes = blocks[1][:, :, None] * features[:, None, :]
        blocks.append(scale * slopes.reshape(len(X), -1))
    return np.hstack(blocks)
