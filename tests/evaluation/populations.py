"""Finite populations whose joint law is known, and what a linear program says of policies in them."""

from itertools import product

import numpy as np
from scipy.optimize import linprog

from selective_labels import SelectiveLabels
from selective_labels.evaluation.scored_rows import ScoredSample
from selective_labels.inference.evidence import Evidence

PRECISION = {"primal_feasibility_tolerance": 1e-10, "dual_feasibility_tolerance": 1e-10}


class Population:
    """Kinds of cases x; each with a law of (Y*, D(1), ..., D(J)), of which the data show p_kz only.

    Rows are kinds by outcomes (refused, or accepted with a label), weighted by their probability.
    """

    def __init__(self, generator, n_kinds=6, n_classes=2, n_makers=3):
        self.n_kinds, self.n_classes, self.n_makers = n_kinds, n_classes, n_makers
        self.responses = np.array(list(product([0.0, 1.0], repeat=n_makers)))
        shape = n_kinds, n_classes, len(self.responses)
        law = generator.exponential(size=shape) * (generator.random(shape) < 0.5) + 1e-3
        self.law = law / law.sum(axis=(1, 2), keepdims=True)
        self.kind_weights = generator.dirichlet(np.ones(n_kinds))
        self.joint = np.einsum("xkr,rz->xkz", self.law, self.responses)
        self.lower = self.joint.max(axis=2)
        self.slack = 1.0 - self.lower.sum(axis=1)
        seen = self.joint.mean(axis=2)
        outcomes = np.column_stack([1.0 - seen.sum(axis=1), seen])
        self.kind = np.repeat(np.arange(n_kinds), n_classes + 1)
        self.y = np.tile(np.arange(-1, n_classes), n_kinds)
        self.weights = (self.kind_weights[:, None] * outcomes).ravel()
        self.weights = self.weights / self.weights.mean()

    @property
    def evidence(self):
        lower = self.lower[self.kind]
        return Evidence(lower, self.slack[self.kind], lower)

    @property
    def sample(self):
        """Rows that are scored: the scores are the truth."""
        decision = (self.y >= 0).astype(int)
        data = SelectiveLabels.from_arrays(
            self.kind[:, None].astype(float),
            np.where(decision == 1, self.y, 0),
            decision=decision,
            decision_maker=np.arange(len(self.y)) % 2,
            sample_weight=self.weights,
        )
        none = {"instrument": 0.0}
        return ScoredSample(data, [{"instrument": self.evidence}], none, none, none, {}, None)

    def extremes(self, objective):
        """Smallest and largest Σ_x w_x Σ_kr objective[x, k, r] law[x, k, r] over all laws that give p_kz."""
        seen = np.kron(np.eye(self.n_classes), self.responses.T)
        equal = np.vstack([seen, np.ones(seen.shape[1])])
        ends = []
        for sign in (1.0, -1.0):
            total = 0.0
            for weight, goal, joint in zip(self.kind_weights, objective, self.joint, strict=True):
                right = np.append(joint.ravel(), 1.0)
                found = linprog(sign * goal.ravel(), A_eq=equal, b_eq=right, options=PRECISION)
                assert found.status == 0
                total += weight * sign * found.fun
            ends.append(total)
        return np.array(ends)

    def objective(self, accept, human, accepted, refused):
        """What each (x, k, r) adds; the human, any decision-maker, accepts with probability mean r."""
        taken = accept[:, None] + human[:, None] * self.responses.mean(axis=1)
        return (
            accepted[None, :, None] * taken[:, None, :] + refused[None, :, None] * (1.0 - taken)[:, None, :]
        )

    def acceptance(self, accept, human):
        return self.kind_weights @ (accept + human * self.joint.sum(axis=1).mean(axis=1))
