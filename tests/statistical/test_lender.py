"""A lender's table of 12,000 rows, from the shell: true figures lie in their intervals as often as said."""

import pytest
from scipy.stats import binom
from typer.testing import CliRunner

from selective_labels.cli.app import app
from tests.cli.lender_run import run_lender

N_DRAWS = 20
# Chance that a figure with coverage .95 falls below the limit, for any of five.
FALSE_ALARM = 0.001


@pytest.mark.statistical
def test_true_figures_are_covered(tmp_path):
    def run(*arguments):
        return CliRunner().invoke(app, [str(each) for each in arguments])

    covered = {}
    for seed in range(100, 100 + N_DRAWS):
        for name, truth, (low, high) in run_lender(run, tmp_path, 12_000, seed)[1]:
            covered[name] = covered.get(name, 0) + (low <= truth <= high)
    limit = binom.ppf(FALSE_ALARM / 5, N_DRAWS, 0.95)
    assert {name: n for name, n in covered.items() if n < limit} == {}
