"""The one-step ratio of section 6.2, weighted by an honest forest, beside the ratio of two fits.

With f = Z - E[Z | x], and expectations by out-of-bag regression forests, the forest solves the local moment

    η_k(x) = Σ_i α_i(x) f_i (D Y_k - E[D Y_k | x])_i / Σ_i α_i(x) f_i (D - E[D | x])_i

where α_i(x) is how often row i shares a leaf with x, over the size of the leaf (Athey, Tibshirani and Wager,
2019). Trees are grown on one half of a subsample by the gradient of the moment, and filled with the other.
Run it with ``python -m study.forest_ratio``.
"""

import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from scipy.special import softmax
from sklearn.ensemble import RandomForestRegressor
from sklearn.tree import DecisionTreeRegressor

import selective_labels as sl
from selective_labels.identification.point import project_to_simplex

N_TRAIN, N_TEST, REPETITIONS, FIRST_SEED = 10_000, 10_000, 8, 1000
LEAVES, N_TREES = (50, 150, 400), 300
NODES, WEIGHTS = np.polynomial.hermite_e.hermegauss(40)


@dataclass(frozen=True)
class Draw:
    """Features, labels with holes (-1), the instrument, and the true class probabilities."""

    X: np.ndarray
    y: np.ndarray
    z: np.ndarray
    truth: np.ndarray


def smooth_logits(X: np.ndarray, u: Any) -> list[np.ndarray]:
    """Logits of three classes that are linear in the features."""
    return [0.8 * X[:, 0] + 0.8 * u, 0.6 * X[:, 1] + 0.0 * u, -0.8 * u + 0.0 * X[:, 0]]


def rough_logits(X: np.ndarray, u: Any) -> list[np.ndarray]:
    """Logits with steps and an interaction, which suit trees."""
    corner, band = np.sign(X[:, 0] * X[:, 1]), 2.0 * (np.abs(X[:, 2]) > 0.7) - 1.0
    return [0.9 * corner + 0.8 * u, 0.9 * band + 0.0 * u, -0.8 * u + 0.0 * corner]


def additive(
    logits: Callable[..., list[np.ndarray]], shape: Callable[..., np.ndarray]
) -> Callable[[int, int], Draw]:
    """A design in which NUCEM holds: P(D=1 | x, z, u) = .5 + .2 tanh(u) + (.2 + shape(x_1)) z / 2."""

    def draw(n: int, seed: int) -> Draw:
        generator = np.random.default_rng(seed)
        X, u = generator.normal(size=(n, 3)), generator.normal(size=n)
        z = generator.uniform(-2.0, 2.0, n)
        chances = softmax(np.column_stack(logits(X, u)), axis=1)
        labels = (generator.random(n)[:, None] > chances.cumsum(axis=1)[:, :-1]).sum(axis=1)
        seen = generator.random(n) < 0.5 + 0.2 * np.tanh(u) + (0.2 + shape(X[:, 0])) * z / 2.0
        truth = sum(
            weight * softmax(np.column_stack(logits(X, node)), axis=1)
            for node, weight in zip(NODES, WEIGHTS / WEIGHTS.sum(), strict=True)
        )
        return Draw(X, np.where(seen, labels, -1), z, np.asarray(truth))

    return draw


def weak(n: int, seed: int) -> Draw:
    """The paper's synthetic design under NUCEM, with the numbers of its five decision-makers."""
    sample = sl.datasets.make_paper_synthetic(n, "nucem", alpha_y=0.5, alpha_d=0.5, random_state=seed)
    X = np.asarray(sample.X, dtype=float)
    return Draw(X, sample.y, sample.decision_maker.astype(float), sample.oracle.probabilities(X))


DESIGNS: dict[str, Callable[[int, int], Draw]] = {
    "smooth": additive(smooth_logits, lambda x: 0.05 * np.tanh(x)),
    "rough": additive(rough_logits, lambda x: 0.08 * np.sign(x)),
    "weak (the paper's)": weak,
}


def forest_ratio(train: Draw, X: np.ndarray, leaf: int, seed: int) -> np.ndarray:
    """Class probabilities at new rows by the forest-weighted ratio, projected onto the simplex."""
    n, n_classes = len(train.X), train.truth.shape[1]
    seen = train.y[:, None] == np.arange(n_classes)
    targets = np.column_stack([train.z, train.y >= 0, seen]).astype(float)
    means = RandomForestRegressor(
        200, min_samples_leaf=20, max_features=1 / 3, oob_score=True, random_state=seed
    ).fit(train.X, targets)
    centred = targets - means.oob_prediction_
    instrument, decided, labeled = centred[:, :1], centred[:, 1:2], centred[:, 2:]
    constant = (instrument.T @ labeled) / (instrument.T @ decided)
    gradient = instrument * (labeled - decided * constant)
    moments = np.column_stack([instrument * decided, instrument * labeled])
    generator, total = np.random.default_rng(seed), np.zeros((len(X), 1 + n_classes))
    for number in range(N_TREES):
        half = generator.permutation(n)[: n // 2]
        grow, fill = half[: len(half) // 2], half[len(half) // 2 :]
        tree = DecisionTreeRegressor(min_samples_leaf=leaf, random_state=number)
        leaves = tree.fit(train.X[grow], gradient[grow]).apply(train.X[fill])
        counts = np.bincount(leaves, minlength=tree.tree_.node_count)
        sums = [np.bincount(leaves, each, tree.tree_.node_count) for each in moments[fill].T]
        total += (np.column_stack(sums) / np.maximum(counts, 1)[:, None])[tree.apply(X)]
    sign = np.where(total[:, :1] < 0.0, -1.0, 1.0)
    return project_to_simplex(sign * total[:, 1:] / np.maximum(np.abs(total[:, :1]), 1e-12))


def measure(name: str, repetition: int) -> Iterator[dict[str, Any]]:
    """Error of the class probabilities, and accuracy of the rule that they make, of every method."""
    both = DESIGNS[name](N_TRAIN + N_TEST, FIRST_SEED + repetition)
    train = Draw(both.X[:N_TRAIN], both.y[:N_TRAIN], both.z[:N_TRAIN], both.truth[:N_TRAIN])
    X, truth = both.X[N_TRAIN:], both.truth[N_TRAIN:]
    ours = sl.UCLClassifier("point", "plug-in", instrument="numeric", random_state=repetition)
    ours.fit(train.X, train.y, decision_maker=train.z)
    estimates = {"true": truth, "ours": ours.predict_proba(X)}
    estimates |= {f"forest, leaf {leaf}": forest_ratio(train, X, leaf, repetition) for leaf in LEAVES}
    for method, estimate in estimates.items():
        right = np.take_along_axis(truth, estimate.argmax(axis=1)[:, None], axis=1)
        error = np.sqrt(np.mean((estimate - truth) ** 2))
        yield {"design": name, "method": method, "error": error, "accuracy": right.mean()}


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    rows = [row for name in DESIGNS for number in range(REPETITIONS) for row in measure(name, number)]
    print(pd.DataFrame(rows).groupby(["design", "method"]).agg(["mean", "sem"]).round(4).to_string())
