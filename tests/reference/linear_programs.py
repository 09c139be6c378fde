"""Identification by linear programs: slow, obvious, and independent of every closed form."""

from dataclasses import dataclass
from itertools import product

import numpy as np
from scipy.optimize import linprog
from scipy.sparse import block_diag, coo_array

PRECISION = {"primal_feasibility_tolerance": 1e-10, "dual_feasibility_tolerance": 1e-10}


@dataclass(frozen=True)
class Program:
    """min objective·x subject to equal[0] x = equal[1], at_most[0] x <= at_most[1], x >= 0."""

    objective: np.ndarray
    equal: tuple[np.ndarray, np.ndarray]
    at_most: tuple[np.ndarray, np.ndarray]

    @property
    def feasible(self):
        return _solve([self]).status == 0


def minima(programs):
    """Value of each program. They share no variable, so that one call solves them all."""
    result = _solve(programs)
    assert result.status == 0, result.message
    ends = np.cumsum([len(program.objective) for program in programs])[:-1]
    parts = np.split(result.x, ends)
    return np.array([program.objective @ part for program, part in zip(programs, parts, strict=True)])


def _solve(programs):
    return linprog(
        np.concatenate([program.objective for program in programs]),
        A_eq=block_diag([coo_array(program.equal[0]) for program in programs], format="csr"),
        b_eq=np.concatenate([program.equal[1] for program in programs]),
        A_ub=block_diag([coo_array(program.at_most[0]) for program in programs], format="csr"),
        b_ub=np.concatenate([program.at_most[1] for program in programs]),
        bounds=(0, None),
        method="highs",
        options=PRECISION,
    )


def over_response_types(coefficients, joint):
    """Smallest Σ_k c_k P(Y*=k) over all joint laws of (Y*, D(1), ..., D(J)) that give this joint.

    joint has shape (n_decision_makers, n_classes + 1). The variables are the probabilities of a label and of
    a whole vector of potential decisions, as in Balke and Pearl; nothing else is assumed.
    """
    n_decision_makers, n_classes = joint.shape[0], joint.shape[1] - 1
    responses = np.array(list(product([0.0, 1.0], repeat=n_decision_makers)))
    seen = np.kron(np.eye(n_classes), responses.T)  # rows: class k labeled by decision-maker z
    equal = (np.vstack([seen, np.ones(seen.shape[1])]), np.append(joint[:, 1:].T.ravel(), 1.0))
    return Program(np.repeat(coefficients, len(responses)), equal, _nothing(seen.shape[1]))


class LabelRangeSet:
    """The set of one row with a label range.

    {η : a_k <= η_k <= b_k, p_kz + a_k (1-λ_z) <= η_k <= p_kz + b_k (1-λ_z) for every z, Σ_k η_k = 1}
    """

    def __init__(self, joint, lowest, highest):
        self.n_classes = joint.shape[1] - 1
        eye = np.tile(np.eye(self.n_classes), (joint.shape[0] + 1, 1))
        own = [np.broadcast_to(end, self.n_classes) for end in (lowest, highest)]
        least = np.append((joint[:, 1:] + lowest * joint[:, :1]).ravel(), own[0])
        most = np.append((joint[:, 1:] + highest * joint[:, :1]).ravel(), own[1])
        self.at_most = (np.vstack([-eye, eye]), np.append(-least, most))

    def smallest(self, coefficients):
        """Smallest Σ_k c_k η_k."""
        return Program(coefficients, (np.ones((1, self.n_classes)), np.ones(1)), self.at_most)

    def smallest_regret(self, action, cost):
        """Smallest expected cost of an action above the least one: the regret is one more variable."""
        matrix = np.column_stack([self.at_most[0], np.zeros(len(self.at_most[0]))])
        contrasts = np.column_stack([(cost[:, [action]] - cost).T, -np.ones(self.n_classes)])
        at_most = (np.vstack([matrix, contrasts]), np.append(self.at_most[1], np.zeros(self.n_classes)))
        equal = (np.append(np.ones(self.n_classes), 0.0)[None], np.ones(1))
        return Program(np.append(np.zeros(self.n_classes), 1.0), equal, at_most)


def over_hidden_features(joint, coefficient, lowest, highest):
    """Smallest coefficient · P(Y*=1) of two classes, hidden features u with P(Y*=1 | u) in [lowest, highest].

    The variables are the mass of each vector of decisions among features with each of the two extreme
    probabilities: what lies between is a mixture of these. Nothing else is assumed.
    """
    responses = np.array(list(product([0.0, 1.0], repeat=len(joint))))
    chances = np.repeat([lowest, highest], len(responses))
    decided = np.tile(responses, (2, 1)).T  # (decision-makers, variables)
    equal = np.vstack([decided * chances, decided * (1 - chances), np.ones(len(chances))])
    values = np.concatenate([joint[:, 2], joint[:, 1], [1.0]])
    return Program(coefficient * chances, (equal, values), _nothing(len(chances)))


def largest_regrets(sets, cost):
    """Largest expected cost of each action above that of any rival, over the set; (rows, actions)."""
    contrasts = [rival - action for action in cost.T for rival in cost.T]
    values = minima([row.smallest(contrast) for row in sets for contrast in contrasts])
    return -values.reshape(len(sets), len(cost), len(cost)).min(axis=2)


def smallest_regrets(sets, cost):
    """Smallest expected cost of each action above the least one, over the set; (rows, actions)."""
    actions = range(len(cost))
    return minima([row.smallest_regret(a, cost) for row in sets for a in actions]).reshape(len(sets), -1)


def lottery(lower):
    """Smallest worst-case zero-one regret of a lottery q over predictions, on {η >= lower, Σ η = 1}.

    The worst case sits at a corner of the set: one constraint per corner and best class.
    """
    n_classes = len(lower)
    corners = lower + (1 - lower.sum()) * np.eye(n_classes)
    matrix = np.array([np.append(-corner, -1.0) for corner in corners for _ in range(n_classes)])
    equal = (np.append(np.ones(n_classes), 0.0)[None], np.ones(1))
    return Program(np.append(np.zeros(n_classes), 1.0), equal, (matrix, -corners.ravel()))


def label_range_model(probabilities, joint, vertices):
    """Feasible if hidden features with P(Y*=. | u) in the hull of the vertices give η and the joint (E13).

    Variables: the mass of each vertex, and the part of it that each decision-maker labels.
    """
    n_decision_makers, n_vertices = joint.shape[0], len(vertices)
    labeled = n_decision_makers * n_vertices
    within = np.hstack([np.tile(-np.eye(n_vertices), (n_decision_makers, 1)), np.eye(labeled)])
    seen = np.kron(np.eye(n_decision_makers), vertices.T)
    equal = np.block(
        [
            [vertices.T, np.zeros((vertices.shape[1], labeled))],
            [np.zeros((len(seen), n_vertices)), seen],
        ]
    )
    vector = np.concatenate([probabilities, joint[:, 1:].ravel()])
    return Program(np.zeros(equal.shape[1]), (equal, vector), (within, np.zeros(labeled)))


def _nothing(n_variables):
    return np.zeros((0, n_variables)), np.zeros(0)
