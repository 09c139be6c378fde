"""Algorithm 1 as the paper states it: a model for each class, asked about every decision-maker."""

import numpy as np
from scipy.optimize import minimize
from scipy.special import softmax
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.model_selection import GridSearchCV, KFold

N_FOLDS = 5
# Few of the hyper-parameters that one may search over.
GRID = {"learning_rate": [0.03, 0.1], "max_leaf_nodes": [6, 31]}


def plain_partial(
    X: np.ndarray, y: np.ndarray, decision_maker: np.ndarray, n_classes: int, *, searched: bool = False
) -> np.ndarray:
    """Coefficients of linear scores, (n_features + 1, n_classes), learned from partial identification.

    Step 1: K-fold; P(D=1 | x, z) and P(D=1, Y=k | x, z) by gradient boosting, a model each. Step 2: bounds
    by the maximum over decision-makers. Step 3: worst-case weights. Step 4: the softmax surrogate.

    `searched`: hyper-parameters of each model are chosen by cross-validation first, as the paper's
    experiments do.
    """
    makers = np.unique(decision_maker)
    everything = np.column_stack([X, decision_maker])
    settings = {k: search(everything, y >= 0 if k < 0 else y == k) for k in range(-1, n_classes) if searched}
    lower, upper = np.empty((len(y), n_classes)), np.empty((len(y), n_classes))
    for train, test in KFold(N_FOLDS, shuffle=True, random_state=0).split(X):
        with_maker = np.column_stack([X[train], decision_maker[train]])
        decided = HistGradientBoostingClassifier(random_state=0, **settings.get(-1, {}))
        decided.fit(with_maker, y[train] >= 0)
        leniency = predict_all(decided, X[test], makers)
        for label in range(n_classes):
            model = HistGradientBoostingClassifier(random_state=0, **settings.get(label, {}))
            model.fit(with_maker, y[train] == label)
            labeled = predict_all(model, X[test], makers)
            lower[test, label] = labeled.max(axis=0)
            upper[test, label] = (labeled + 1.0 - leniency).min(axis=0)
    others = np.where(np.eye(n_classes, dtype=bool), -np.inf, upper[:, None, :]).max(axis=2)
    weights = others - lower
    design = np.column_stack([X, np.ones(len(X))])

    def risk(flat: np.ndarray) -> tuple[float, np.ndarray]:
        shares = softmax(design @ flat.reshape(-1, n_classes), axis=1)
        values = np.sum(weights * shares, axis=1)
        return values.mean(), (design.T @ (shares * (weights - values[:, None]))).ravel() / len(X)

    start = np.random.default_rng(0).normal(scale=0.01, size=design.shape[1] * n_classes)
    return minimize(risk, start, jac=True, method="L-BFGS-B").x.reshape(-1, n_classes)


def search(design: np.ndarray, happened: np.ndarray) -> dict[str, float]:
    """Hyper-parameters with the smallest log-loss in five-fold cross-validation."""
    model = HistGradientBoostingClassifier(random_state=0)
    found = GridSearchCV(model, GRID, scoring="neg_log_loss", refit=False).fit(design, happened)
    return found.best_params_


def predict_all(model: HistGradientBoostingClassifier, X: np.ndarray, makers: np.ndarray) -> np.ndarray:
    """Probabilities under every decision-maker, (n_decision_makers, n_samples)."""
    return np.stack(
        [model.predict_proba(np.column_stack([X, np.full(len(X), maker)]))[:, 1] for maker in makers]
    )
