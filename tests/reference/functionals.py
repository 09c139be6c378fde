"""Slow, obvious oracles: linear programs over class probabilities, exhaustive search of a box."""

from collections.abc import Callable
from itertools import product
from typing import NamedTuple

import numpy as np
from scipy.optimize import linprog


class Population(NamedTuple):
    """Points with weights, bounds of their class probabilities, and a classifier."""

    lower: np.ndarray
    upper: np.ndarray
    prediction: np.ndarray
    weights: np.ndarray


def random_population(seed, n_samples=6, n_classes=3, hard=False, box=False):
    """A population with one row fully known, one fully unknown, and a better than random classifier.

    Without ``box`` the upper bounds are lower + slack; with it they are tighter, and may bind.
    """
    rng = np.random.default_rng([seed, n_samples, n_classes, hard, box])
    parts = rng.dirichlet(np.ones(n_classes + 1), size=n_samples)
    parts[0] /= parts[0, 1:].sum()
    parts[0, 0] = 0.0
    parts[1] = np.eye(n_classes + 1)[0]
    slack, lower = parts[:, :1], parts[:, 1:]
    room = np.ones_like(lower)
    if box:
        room = rng.uniform(size=lower.shape)
        room /= np.minimum(1.0, room.sum(axis=1, keepdims=True))
    prediction = lower + 0.3 * rng.dirichlet(np.ones(n_classes), size=n_samples)
    prediction /= prediction.sum(axis=1, keepdims=True)
    if hard:
        prediction = np.eye(n_classes)[prediction.argmax(axis=1)]
    return Population(lower, lower + room * slack, prediction, rng.uniform(0.2, 1.0, size=n_samples))


def random_member(population, seed):
    """Class probabilities of the identified set: a random mixture of vertices found by linear programs."""
    rng = np.random.default_rng(seed)
    vertices = [_linear_vertex(rng.normal(size=population.lower.shape), population) for _ in range(3)]
    return np.tensordot(rng.dirichlet(np.ones(3)), vertices, axes=1)


def _linear_vertex(coefficients, population):
    rows = zip(coefficients, population.lower, population.upper, strict=True)
    return np.array(
        [
            linprog(c, A_eq=np.ones((1, len(c))), b_eq=[1.0], bounds=np.column_stack([low, high])).x
            for c, low, high in rows
        ]
    )


def fractional_program(numerator, denominator, offset, population):
    """Extremes of E[Σ a_k η_k] / (offset + E[Σ b_k η_k]) by the transformation of Charnes and Cooper.

    Unknowns are y = scale · η and scale = 1 / denominator, which makes the ratio linear.
    """
    n_samples, n_classes = population.lower.shape
    weights = (population.weights / population.weights.sum())[:, None]
    objective = np.append((weights * numerator).ravel(), 0.0)
    identity = np.eye(n_samples * n_classes)
    within_bounds = np.vstack(
        [
            np.column_stack([-identity, population.lower.ravel()]),
            np.column_stack([identity, -population.upper.ravel()]),
        ]
    )
    sums_to_scale = np.column_stack([np.kron(np.eye(n_samples), np.ones(n_classes)), -np.ones(n_samples)])
    unit_denominator = np.append((weights * denominator).ravel(), offset)
    ends = [
        linprog(
            sign * objective,
            A_ub=within_bounds,
            b_ub=np.zeros(len(within_bounds)),
            A_eq=np.vstack([sums_to_scale, unit_denominator]),
            b_eq=np.append(np.zeros(n_samples), 1.0),
            bounds=(0, None),
            method="highs",
        )
        for sign in (1, -1)
    ]
    assert all(end.status == 0 for end in ends)
    return ends[0].fun, -ends[1].fun


def linear_program(coefficients, population):
    """Extremes of E[Σ_k c_k η_k]: the ratio with denominator one."""
    return fractional_program(coefficients, np.zeros_like(coefficients), 1.0, population)


def regret_program(prediction, lower, upper):
    """Extremes of max_j η_j - Σ_a π_a η_a in one row: minimize τ - π η with η ≤ τ; maximize over each j."""
    n_classes = len(prediction)
    bounds = np.column_stack([lower, upper])
    smallest = linprog(
        np.append(-prediction, 1.0),
        A_ub=np.column_stack([np.eye(n_classes), -np.ones(n_classes)]),
        b_ub=np.zeros(n_classes),
        A_eq=[np.append(np.ones(n_classes), 0.0)],
        b_eq=[1.0],
        bounds=[*bounds, (None, None)],
        method="highs",
    ).fun
    largest = max(
        -linprog(prediction - rival, A_eq=np.ones((1, n_classes)), b_eq=[1.0], bounds=bounds).fun
        for rival in np.eye(n_classes)
    )
    return smallest, largest


def edge_search(value: Callable[[np.ndarray], np.ndarray], lower, upper, n_rounds=7):
    """Extremes of a function of (E[g η], E[η]) over lower ≤ η ≤ upper, by search of all edges of the box.

    For fixed E[η], E[g η] is extreme at a vertex of {lower ≤ η ≤ upper, E[η] fixed}, where one entry at most
    is off its bounds: an edge. Each edge is searched by a grid that closes in on its best point; ``value``
    maps (..., n) to (...).
    """
    n_samples = len(lower)
    grid = np.linspace(0.0, 1.0, 41)
    smallest, largest = np.inf, -np.inf
    for free, rest in product(range(n_samples), product([0.0, 1.0], repeat=n_samples - 1)):
        for sign in (1.0, -1.0):
            start, stop = 0.0, 1.0
            for _ in range(n_rounds):
                points = start + (stop - start) * grid
                position = np.insert(np.tile(rest, (len(grid), 1)), free, points, axis=1)
                values = sign * value(lower + position * (upper - lower))
                best = values.argmin()
                start, stop = points[max(best - 1, 0)], points[min(best + 1, len(grid) - 1)]
            if sign > 0:
                smallest = min(smallest, values[best])
            else:
                largest = max(largest, -values[best])
    return smallest, largest


def rate_value(prediction, eta, weights):
    """P(t=a | event), by its definition."""
    return (weights * prediction * eta).sum(-1) / (weights * eta).sum(-1)


def f1_value(prediction, eta, weights):
    """Harmonic mean of precision and recall; of two zeros, zero."""
    precision = (weights * prediction * eta).sum(-1) / (weights * prediction).sum()
    recall = rate_value(prediction, eta, weights)
    return 2 * precision * recall / np.where(precision + recall > 0, precision + recall, 1.0)


def balanced_accuracy_value(prediction, eta, weights):
    """Mean of the two rates of correct predictions."""
    return (rate_value(prediction, eta, weights) + rate_value(1 - prediction, 1 - eta, weights)) / 2


def auc_value(score, eta, weights):
    """Σ over pairs of points: who wins, times the chance that the first has the event, the second not."""
    wins = (score[:, None] > score) + 0.5 * (score[:, None] == score)
    positive, negative = weights * eta, weights * (1 - eta)
    won = np.einsum("...i,ij,...j->...", positive, wins, negative)
    return won / (positive.sum(-1) * negative.sum(-1))
