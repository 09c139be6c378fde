"""Samples with a continuous instrument, whose truth is known by quadrature over the hidden reason."""

from dataclasses import dataclass

import numpy as np
from scipy.special import expit, softmax

NODES, WEIGHTS = np.polynomial.hermite_e.hermegauss(40)
WEIGHTS = WEIGHTS / WEIGHTS.sum()


@dataclass(frozen=True)
class Numeric:
    """Features, labels with holes, the instrument, and the true class probabilities given the features."""

    X: np.ndarray
    y: np.ndarray
    z: np.ndarray
    truth: np.ndarray
    labels: np.ndarray


def classes_given(X, u):
    """P(Y = k | x, u), (..., 3)."""
    first, second = X[:, 0], X[:, 1]
    shape = np.broadcast_shapes(first.shape, np.shape(u))
    logits = [0.8 * first + 0.8 * u, np.broadcast_to(0.6 * second, shape), -0.8 * u]
    return softmax(np.stack(np.broadcast_arrays(*logits), axis=-1), axis=-1)


def confounded_leniency(X, z, u):
    """No NUCEM: the hidden reason moves the log-odds."""
    return expit(z + 0.4 * X[:, 0] + u)


def additive_leniency(X, z, u):
    """NUCEM: z moves all cases of like features alike, whatever the hidden reason."""
    return 0.5 + 0.2 * np.tanh(u) + (0.2 + 0.05 * np.tanh(X[:, 0])) * z / 2.0


def draw(n, leniency, seed, follows=0.0):
    """z is uniform between -2 and 2, or drawn towards x_1 if it `follows` that."""
    generator = np.random.default_rng(seed)
    X, u = generator.normal(size=(n, 3)), generator.normal(size=n)
    z = 4.0 * generator.beta(1.0 + expit(X[:, 1]) * follows, 1.0 + expit(-X[:, 1]) * follows) - 2.0
    labels = (generator.random(n)[:, None] > classes_given(X, u).cumsum(axis=1)[:, :-1]).sum(axis=1)
    seen = generator.random(n) < leniency(X, z, u)
    truth = sum(w * classes_given(X, node) for node, w in zip(NODES, WEIGHTS, strict=True))
    return Numeric(X, np.where(seen, labels, -1), z, truth, labels)


def population_lower(X, leniency, largest):
    """max over z of P(Y = k, D = 1 | x, z), where leniency rises in z, (n, 3)."""
    z = np.full(len(X), largest)
    return sum(
        w * leniency(X, z, node)[:, None] * classes_given(X, node)
        for node, w in zip(NODES, WEIGHTS, strict=True)
    )
