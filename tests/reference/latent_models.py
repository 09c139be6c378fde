"""Small worlds with known hidden features: every observable law in them is an exact sum."""

from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True)
class LatentModel:
    """A population at one x with finitely many values of the hidden feature U.

    weights: P(U=u), shape (n_hidden,); labels: P(Y*=k | u), shape (n_hidden, n_classes);
    decisions: P(D=1 | u, z), shape (n_hidden, n_decision_makers); shares: P(Z=z), shape (n_decision_makers,).
    """

    weights: np.ndarray
    labels: np.ndarray
    decisions: np.ndarray
    shares: np.ndarray

    @property
    def probabilities(self):
        """P(Y*=k), shape (n_classes,)."""
        return self.weights @ self.labels

    @property
    def leniency(self):
        """P(D=1 | z), shape (n_decision_makers,)."""
        return self.weights @ self.decisions

    @property
    def joint(self):
        """P(D=0 | z), P(Y=k, D=1 | z), shape (n_decision_makers, n_classes + 1)."""
        labeled = np.einsum("u,uk,uz->zk", self.weights, self.labels, self.decisions)
        return np.column_stack([1 - self.leniency, labeled])

    @property
    def stream(self):
        """The joint as the library reads it: one array of shape (1, n_classes + 1) per decision-maker."""
        return list(self.joint[:, None, :])

    def covariance(self, first, second):
        """Covariance over U of two functions of U, given as values per u."""
        return self.weights @ ((first - self.weights @ first) * (second - self.weights @ second))

    def compliance(self, codes):
        """Cov(D, Z | u) for a numeric coding of the decision-makers, shape (n_hidden,)."""
        return self.decisions @ (self.shares * (codes - self.shares @ codes))

    def nucem_violation(self, codes):
        """Cov(Cov(D, Z | U), P(Y*=k | U)) of Assumption 4.2, shape (n_classes,)."""
        compliance = self.compliance(codes)
        return np.array([self.covariance(compliance, label) for label in self.labels.T])


def random_model(rng, n_classes=3, n_decision_makers=4, n_hidden=5, lowest=0.0, highest=1.0):
    """Draw a model whose label probabilities lie between lowest and highest."""
    labels = label_probabilities(rng, n_hidden, n_classes, lowest, highest)
    # Beta(.5, .5): decision-makers disagree case by case, so that no one of them is best for all classes.
    decisions = rng.beta(0.5, 0.5, size=(n_hidden, n_decision_makers))
    return LatentModel(
        rng.dirichlet(np.ones(n_hidden)), labels, decisions, rng.dirichlet(np.full(n_decision_makers, 5.0))
    )


def additive_model(rng, n_classes=3, n_decision_makers=4, n_hidden=5):
    """Draw a model with P(D=1 | u, z) = g_z + q(u), where NUCEM holds for every coding."""
    model = random_model(rng, n_classes, n_decision_makers, n_hidden)
    own, common = rng.uniform(0.1, 0.5, n_decision_makers), rng.uniform(0.0, 0.4, n_hidden)
    return LatentModel(model.weights, model.labels, own + common[:, None], model.shares)


def label_probabilities(rng, size, n_classes, lowest, highest):
    """Probability vectors between lowest and highest: corners of that set, and midpoints of two corners."""
    lowest, highest = np.broadcast_to(lowest, n_classes), np.broadcast_to(highest, n_classes)
    points = np.empty((size, n_classes))
    for point in points:
        point[:] = lowest
        for k in rng.permutation(n_classes):
            point[k] += min(highest[k] - lowest[k], 1.0 - point.sum())
    mix = rng.choice([0.0, 0.5], size=(size, 1))
    return (1 - mix) * points + mix * points[rng.permutation(size)]


def random_label_range(rng, n_classes):
    """Draw a_k and b_k that both bind but leave room for a probability vector."""
    lowest = rng.dirichlet(np.ones(n_classes)) * rng.uniform(0.0, 0.6)
    highest = lowest + (1 - lowest.sum()) * rng.uniform(1.2 / n_classes, 1.0, n_classes)
    return lowest, np.minimum(highest, 1.0)
