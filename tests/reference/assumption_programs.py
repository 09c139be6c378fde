"""Assumptions as linear programs over response types: nothing is taken from the closed forms.

The unknowns are the probabilities of a label and a whole vector of potential decisions in every cell of
a small population. Each assumption is a linear constraint on them, written as it is said in words.
"""

from itertools import product

import numpy as np
from scipy.optimize import linprog
from scipy.sparse import csr_matrix, vstack

PRECISION = {"primal_feasibility_tolerance": 1e-10, "dual_feasibility_tolerance": 1e-10}


def matrix(rows, n_columns):
    """Rows of (columns, values), as one sparse matrix."""
    columns, values = ([row[part] for row in rows] for part in (0, 1))
    ends = np.cumsum([0, *map(len, columns)])
    return csr_matrix((np.concatenate(values), np.concatenate(columns), ends), (len(rows), n_columns))


def solution(objective, equal, at_most):
    """The least objective · x with x >= 0 and lists of (row, right-hand side), as scipy returns it."""
    sides = [
        (matrix([row for row, _ in pairs], len(objective)), np.array([right for _, right in pairs]))
        if pairs
        else (None, None)
        for pairs in (equal, at_most)
    ]
    return solved(objective, *sides)


def solved(objective, equal, at_most):
    """The same with a (matrix, right-hand sides) pair each."""
    result = linprog(
        objective,
        A_ub=at_most[0],
        b_ub=at_most[1],
        A_eq=equal[0],
        b_eq=equal[1],
        bounds=(0, None),
        method="highs",
        options=PRECISION,
    )
    assert result.status == 0, result.message
    return result


def minimise(objective, equal, at_most):
    """Only the value of the least objective."""
    return solution(objective, equal, at_most).fun


def joined(rows):
    """The sum of rows, whose columns differ."""
    return tuple(np.concatenate(parts) for parts in zip(*rows, strict=True))


def widened(rows, place, value):
    """Rows with one more variable, whose coefficients are a function of the right-hand side."""
    return [(joined([row, ([place], [value(right)])]), right) for row, right in rows]


class Population:
    """Cells of features, with what is seen in each.

    joint has shape (n_cells, n_decision_makers, n_classes + 1), the unlabeled class first; mass sums to one.
    """

    def __init__(self, joint, mass):
        self.joint, self.mass = np.asarray(joint), np.asarray(mass)
        self.n_cells, self.n_makers, outcomes = self.joint.shape
        self.n_classes = outcomes - 1
        self.responses = np.array(list(product([0, 1], repeat=self.n_makers)))
        self.label = np.repeat(np.arange(self.n_classes), len(self.responses))
        self.decided = np.tile(self.responses, (self.n_classes, 1))
        self.n_types = len(self.label)
        self.equal, self.at_most, self.kept = [], [], None
        for cell in range(self.n_cells):
            self.add_equal(cell, np.ones(self.n_types), 1.0)
            for z, k in product(range(self.n_makers), range(self.n_classes)):
                self.add_equal(cell, self.seen(z) * (self.label == k), self.joint[cell, z, k + 1])

    def seen(self, z):
        return (self.decided[:, z] == 1).astype(float)

    def row(self, cell, values):
        """Columns that are not zero, and their values."""
        (places,) = np.nonzero(values)
        return cell * self.n_types + places, np.asarray(values)[places]

    def add_equal(self, cell, values, right):
        self.equal.append((self.row(cell, values), right))

    def add_at_least(self, cell, values, right):
        self.at_most.append((self.row(cell, -values), -right))

    def leniency(self, cell, z):
        return 1.0 - self.joint[cell, z, 0]

    def chance(self, cell, z, event):
        return self.joint[cell, z, 1:][list(event)].sum()

    def in_event(self, event):
        return np.isin(self.label, event).astype(float)

    def refused_at_least(self, event, limit):
        """P(A, D(z)=0) >= limit(m) P(D(z)=0), whoever z is."""
        for cell, z in product(range(self.n_cells), range(self.n_makers)):
            share = self.chance(cell, z, event) / self.leniency(cell, z)
            refused = (self.decided[:, z] == 0) * self.in_event(event)
            self.add_at_least(cell, refused, limit(share) * (1.0 - self.leniency(cell, z)))

    def refused_at_most(self, event, limit):
        for cell, z in product(range(self.n_cells), range(self.n_makers)):
            share = self.chance(cell, z, event) / self.leniency(cell, z)
            refused = (self.decided[:, z] == 0) * self.in_event(event)
            self.add_at_least(cell, -refused, -limit(share) * (1.0 - self.leniency(cell, z)))

    def similar_bias(self, radius):
        """The bias p_kz - λ_z η_k differs by twice the radius at most between any two."""
        counted = [self.in_event([k]) for k in range(self.n_classes)]
        for cell, k in product(range(self.n_cells), range(self.n_classes)):
            for first, second in product(range(self.n_makers), repeat=2):
                moved = self.chance(cell, first, [k]) - self.chance(cell, second, [k])
                gap = self.leniency(cell, first) - self.leniency(cell, second)
                self.add_at_least(cell, gap * counted[k], moved - 2.0 * radius)

    def rising_risk(self, event):
        """One order of leniency, and those whom nobody accepts are as risky as those at every margin."""
        for cell in range(self.n_cells):
            order = np.argsort([self.leniency(cell, z) for z in range(self.n_makers)])
            steps = np.diff(self.decided[:, order], axis=1)
            self.add_equal(cell, (steps < 0).any(axis=1).astype(float), 0.0)
            never = (self.decided.sum(axis=1) == 0) * self.in_event(event)
            share = 1.0 - self.leniency(cell, order[-1])
            before = (0.0, 0.0)
            for z in order:
                here = self.chance(cell, z, event), self.leniency(cell, z)
                risk = (here[0] - before[0]) / (here[1] - before[1])
                self.add_at_least(cell, never, risk * share)
                before = here

    def share_between(self, event, low, high, cells=None):
        """E[η_A | cells] in [low, high]."""
        cells = range(self.n_cells) if cells is None else cells
        total = sum(self.mass[cell] for cell in cells)
        columns, values = joined(
            [self.row(cell, self.mass[cell] / total * self.in_event(event)) for cell in cells]
        )
        self.at_most += [((columns, values), high), ((columns, -values), -low)]

    def probabilities(self, objective):
        """Map from types to class probabilities of each cell: (n_cells, n_classes) coefficients to a row."""
        return np.concatenate([objective[cell][self.label] for cell in range(self.n_cells)])

    def extremes(self, coefficients):
        """min and max of E[c · η], c of shape (n_cells, n_classes)."""
        row = self.probabilities(np.asarray(coefficients) * self.mass[:, None])
        return minimise(row, self.equal, self.at_most), -minimise(-row, self.equal, self.at_most)

    def stacked(self):
        """Constraints as matrices and right-hand sides, kept for many programs of one population."""
        size = len(self.equal), len(self.at_most)
        if self.kept is None or self.kept[0] != size:
            pairs = [
                (
                    matrix([row for row, _ in rows], self.n_cells * self.n_types),
                    np.array([right for _, right in rows]),
                )
                if rows
                else (None, None)
                for rows in (self.equal, self.at_most)
            ]
            self.kept = size, pairs
        return self.kept[1]

    def optimal_probabilities(self, coefficients, *, equal_shares=()):
        """Class probabilities of every cell with the smallest sum of coefficients · η, by one program.

        Cells are tied to each other by shares alone, so a sum over many small populations is smallest where
        each of them is. `equal_shares` are (event, cells, value): further constraints for this program only.
        """
        extra = []
        for event, cells, value in equal_shares:
            mass = self.mass[cells] / self.mass[cells].sum()
            parts = [
                self.row(cell, each * self.in_event(event)) for cell, each in zip(cells, mass, strict=True)
            ]
            extra.append((joined(parts), value))
        (equal, to), (at_most, limits) = self.stacked()
        if extra:
            equal = vstack([equal, matrix([row for row, _ in extra], equal.shape[1])], format="csr")
            to = np.append(to, [right for _, right in extra])
        result = solved(self.probabilities(np.asarray(coefficients)), (equal, to), (at_most, limits))
        types = result.x.reshape(self.n_cells, self.n_types)
        return types @ (self.label[:, None] == np.arange(self.n_classes))

    def ratio_extremes(self, numerator, denominator):
        """min and max of E[c · η] / E[g · η] by the transformation of Charnes and Cooper.

        Types are scaled by t >= 0, one more variable, so that the denominator is one.
        """
        above = self.probabilities(np.asarray(numerator) * self.mass[:, None])
        below = self.probabilities(np.asarray(denominator) * self.mass[:, None])
        size = len(above)
        equal = [(row, 0.0) for row, _ in widened(self.equal, size, lambda right: -right)]
        equal.append(((np.arange(size), below), 1.0))
        at_most = [(row, 0.0) for row, _ in widened(self.at_most, size, lambda right: -right)]
        low, high = (sign * minimise(np.append(sign * above, 0.0), equal, at_most) for sign in (1.0, -1.0))
        return low, high

    def smallest_regrets(self, actions):
        """Of each cell, min max_j η_j - η_action: one more variable for each cell, all in one program."""
        size = self.n_cells * self.n_types
        at_most = list(self.at_most)
        for cell, j in product(range(self.n_cells), range(self.n_classes)):
            contrast = self.row(cell, (self.label == j).astype(float) - (self.label == actions[cell]))
            at_most.append((joined([contrast, ([size + cell], [-1.0])]), 0.0))
        objective = np.append(np.zeros(size), np.ones(self.n_cells))
        return solution(objective, self.equal, at_most).x[size:]
