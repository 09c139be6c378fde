"""An insurer's table: adjusters in offices, who refuse claims for reasons that the table does not hold."""

from functools import cache

import numpy as np
from scipy.special import expit

import selective_labels as sl
from study.attacks.tables import Generator, Table

N_OFFICES, N_EACH = 7, 5
COEFFICIENTS = np.array([1.2, -0.8, 0.0, 0.0])
HIDDEN_IN_OUTCOME, HIDDEN_IN_DECISION = 1.2, 1.2


def _leniency() -> np.ndarray:
    """One row for each office: adjusters differ, and offices do."""
    return np.linspace(-0.4, 0.4, N_OFFICES)[:, None] + np.linspace(-1.4, 1.4, N_EACH)


def draw(n: int, rng: Generator) -> Table:
    """Claims reach an office by lot, and there an adjuster by lot; class 1 is the adverse one."""
    X, hidden = rng.normal(size=(n, 4)), rng.normal(size=n)
    office, adjuster = rng.integers(0, N_OFFICES, n), rng.integers(0, N_EACH, n)
    y_true = (rng.random(n) < expit(X @ COEFFICIENTS + HIDDEN_IN_OUTCOME * hidden)).astype(int)
    chance = expit(_leniency()[office, adjuster] - 0.5 * X[:, 0] - HIDDEN_IN_DECISION * hidden)
    maker = office * N_EACH + adjuster
    rule = (X @ COEFFICIENTS > 0).astype(int)
    return Table(X, y_true, rng.random(n) < chance, maker, rule, {"strata": office})


@cache
def _hidden() -> tuple[np.ndarray, np.ndarray]:
    """Nodes and weights of a standard normal hidden reason; errors are below 1e-6."""
    nodes, weights = np.polynomial.hermite_e.hermegauss(40)
    return nodes, weights / weights.sum()


def _outcome(table: Table) -> np.ndarray:
    """P(Y=1 | x, u) at the nodes."""
    return np.asarray(expit((table.X @ COEFFICIENTS)[:, None] + HIDDEN_IN_OUTCOME * _hidden()[0]))


def probabilities(table: Table) -> np.ndarray:
    """P(Y=k | x), (n, 2)."""
    event = _outcome(table) @ _hidden()[1]
    return np.column_stack([1.0 - event, event])


def population_bounds(table: Table, informed: bool) -> sl.Bounds:
    """Sharp bounds from the adjusters of the row's own office."""
    nodes, weights = _hidden()
    event, office = _outcome(table), table.roles["strata"]
    lower = np.zeros((len(office), 2))
    for adjuster in range(N_EACH):
        lenient = _leniency()[office, adjuster] - 0.5 * table.X[:, 0]
        chance = expit(lenient[:, None] - HIDDEN_IN_DECISION * nodes)
        seen = np.column_stack([((1.0 - event) * chance) @ weights, (event * chance) @ weights])
        lower = np.maximum(lower, seen)
        if informed:
            lower[:, 1] = np.maximum(lower[:, 1], seen[:, 1] / seen.sum(axis=1))
    return sl.Bounds(lower, 1.0 - lower[:, ::-1])
