"""Samples and classifiers that the evaluation tests share."""

import numpy as np
from scipy.special import ndtri
from scipy.stats import qmc

from selective_labels import Bounds

# |estimate - limit| / standard error exceeds this with probability 7e-6.
LIMIT = 4.5


def rule(X):
    """A hard classifier of three classes."""
    return np.argmax(X[:, :3] + [0.3, 0.0, -0.3], axis=1)


def other_rule(X):
    """Differs from `rule` on a tenth of the cases, chosen by the feature that is noise."""
    return np.where(X[:, 3] > ndtri(0.9), (rule(X) + 1) % 3, rule(X))


def lottery(X, n_classes=3):
    """Probabilities, never zero."""
    weight = np.exp(X[:, :n_classes])
    return weight / weight.sum(axis=1, keepdims=True)


def population(oracle):
    """Evenly spread features of everybody and their identified sets."""
    X = ndtri(qmc.Sobol(4, rng=1).random_base2(14))
    lower = oracle.lower(X)
    return X, Bounds(lower, lower + 1.0 - lower.sum(axis=1, keepdims=True))


def fully_labeled(n_samples=400, n_classes=2, seed=0):
    """Features, labels of everybody and weights."""
    generator = np.random.default_rng(seed)
    X = generator.standard_normal((n_samples, 4))
    chance = lottery(X, n_classes)
    y = (chance.cumsum(axis=1) < generator.random((n_samples, 1))).sum(axis=1)
    return X, y, generator.uniform(0.5, 2.0, n_samples)
