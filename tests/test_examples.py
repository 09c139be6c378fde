"""Every script of the gallery runs as it stands."""

import runpy
from pathlib import Path

import matplotlib
import matplotlib.pyplot as plt
import pytest

matplotlib.use("Agg")
EXAMPLES = sorted((Path(__file__).parents[1] / "examples").glob("plot_*.py"))


def test_there_are_at_least_ten():
    assert len(EXAMPLES) >= 10


# The library's own remarks are part of what an example shows.
@pytest.mark.filterwarnings("ignore::UserWarning")
@pytest.mark.parametrize("path", EXAMPLES, ids=[path.stem for path in EXAMPLES])
def test_example_runs_and_draws(path):
    runpy.run_path(str(path), run_name="__main__")
    drawn = plt.get_fignums()
    plt.close("all")
    assert drawn, "an example has a picture, which the gallery shows"
