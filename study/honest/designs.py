"""The designs of the study: names of cells, and how a cell is drawn."""

from collections.abc import Callable
from functools import cache, lru_cache
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.ensemble import RandomForestRegressor

from selective_labels import datasets
from selective_labels.datasets import SelectiveSample
from study.scoring import population_limits
from study.tasks import Setup, Task

Draw = Callable[[Task, Setup, np.random.SeedSequence], SelectiveSample]

SELECTIONS = ("nucem", "uc")
SYNTHETIC_CELLS: dict[str, dict[str, Any]] = {
    f"{selection}-y{alpha_y}-d{alpha_d}": {"selection": selection, "alpha_y": alpha_y, "alpha_d": alpha_d}
    for selection, alpha_y, alpha_d in product(SELECTIONS, (0.3, 0.5, 0.7), (0.3, 0.5, 0.7))
}
FICO_CELLS: dict[str, dict[str, Any]] = {
    f"{selection}-a{alpha}": {"selection": selection, "strength": alpha}
    for selection, alpha in product(SELECTIONS, (0.5, 0.7, 0.9))
}
STRONG_CELLS: dict[str, dict[str, Any]] = {
    "additive": {"additive": True},
    "not-additive": {"additive": False},
}

N_SYNTHETIC, N_STRONG = 10000, 15000
# The column of HELOC by which decision-makers decide.
EXTERNAL_RISK = "ExternalRiskEstimate"
# The paper's text; the released code has five.
FICO_DECISION_MAKERS = 10
# One forest for the whole study: the hidden variable is a property of the loans, not of a repetition.
FOREST_SEED = 0


def draw_synthetic(task: Task, setup: Setup, seed: np.random.SeedSequence) -> SelectiveSample:
    """Draw the paper's synthetic design with the constants of its text."""
    return datasets.make_paper_synthetic(
        setup.n_samples or N_SYNTHETIC,
        **SYNTHETIC_CELLS[task.cell],
        constants="paper",
        mirrored=task.mirrored,
        random_state=seed,
    )


def draw_strong(task: Task, setup: Setup, seed: np.random.SeedSequence) -> SelectiveSample:
    """Draw a design whose decision-makers differ much in leniency."""
    return datasets.make_decision_makers(
        setup.n_samples or N_STRONG,
        **STRONG_CELLS[task.cell],
        mirrored=task.mirrored,
        random_state=seed,
    )


def draw_fico(task: Task, setup: Setup, seed: np.random.SeedSequence) -> SelectiveSample:
    """Draw decisions about real loans; hidden is the residual of a random forest, ten decision-makers."""
    assert setup.data is not None
    X, y, hidden = _loans(setup.data, setup.n_samples)
    return datasets.make_selective(
        X,
        y,
        **FICO_CELLS[task.cell],
        score=EXTERNAL_RISK,
        hidden=hidden,
        n_decision_makers=FICO_DECISION_MAKERS,
        mirrored=task.mirrored,
        random_state=seed,
    )


@cache
def limits_of(draw: Draw, cell: str, mirrored: bool) -> dict[str, float]:
    """Limits of a cell, once for each process; none where the law of the labels is not known.

    One fixed seed: the limits do not depend on how decision-makers happen to be numbered, but the last
    digits of a sum do.
    """
    if draw is draw_fico:
        return {}
    task = Task("", "", cell, mirrored, "", 0)
    return population_limits(draw(task, Setup(n_samples=2), np.random.SeedSequence(0)).oracle)


@lru_cache(maxsize=1)
def _loans(path: Path, n_samples: int | None) -> tuple[Any, np.ndarray, np.ndarray]:
    """The loans and the forest's residuals on them, once for each process: the forest is slow."""
    X, y = datasets.load_heloc(path)
    X, y = X[:n_samples].astype(float), y[:n_samples]
    forest = RandomForestRegressor(random_state=FOREST_SEED).fit(X, y)
    return X, y, y - forest.predict(X)
