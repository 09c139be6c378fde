"""Bounds of single rows in designs whose truth is known: coverage, width, decided cases, regret.

`python -m tests.statistical.row_study --out rows.csv --reps 10 --nuisance default` makes the table of the
documentation. Here a few draws of each design have to meet what the documentation promises.
"""

import numpy as np
import pandas as pd
import pytest
from joblib import Parallel, delayed

from tests.statistical.row_designs import DESIGNS
from tests.statistical.row_study import draw

pytestmark = pytest.mark.statistical

SEEDS = range(2_950, 2_954)
N = 10_000
# Draws of one design vary: standard deviations of .05 (inside) and .01 (right decided) in the study. Four
# draws fall three standard errors below the promise with probability .001.
INSIDE, RIGHT, WIDTH = 0.87 - 3 * 0.05 / 2, 0.97 - 3 * 0.01 / 2, 1.2


@pytest.mark.parametrize("design", DESIGNS)
def test_rows_are_as_honest_as_their_level(design):
    lines = Parallel(n_jobs=2)(delayed(draw)(design, N, "plug-in", "default", seed) for seed in SEEDS)
    table = pd.DataFrame(lines)
    print(table.mean(numeric_only=True).round(3).to_dict())
    assert table["inside"].mean() >= INSIDE, "level .9 holds on average over rows"
    assert table["width_plain"].mean() <= WIDTH, "without a margin, bounds are about as wide as the truth"
    if table["n_decided"].mean() >= 0.02 * 4_000:
        right = table["n_right"].sum() / table["n_decided"].sum()
        assert right >= RIGHT, "the class of a decided row is the best one"
    assert np.mean(table["regret_true"] <= table["regret_upper"]) >= 0.75, "at most one of four misses"
