"""What is dealt to decision-makers as one, and moves as one."""

import numpy as np
import pytest
from scipy.stats import binom

from selective_labels.diagnostics.diagnose import CHECKS
from selective_labels.diagnostics.hypothesis_tests import assignment_units
from tests.diagnostics import designs
from tests.diagnostics.contexts import context_of

ASSIGNMENT = [check for check in CHECKS if check.family == "assignment"]
N_SAMPLES = 6


def test_one_divided_group_leaves_the_others_whole():
    maker, groups = np.array([0, 0, 1, 1, 1]), np.array([5, 5, 6, 6, 5])
    units = assignment_units(maker, np.zeros(5, dtype=int), groups)
    assert sorted(units.size) == [1, 2, 2]
    assert units.of_row[0] == units.of_row[1] != units.of_row[4]


def test_who_returns_in_another_stratum_moves_where_first_seen():
    units = assignment_units(np.array([3, 3]), np.array([1, 0]), np.array([5, 5]))
    assert units.size.tolist() == [2.0]
    assert units.cell.tolist() == [1]


@pytest.mark.parametrize("divided", [0.0, 0.1])
def test_persons_who_return_do_not_refute_an_instrument(divided):
    """Six valid samples: more refusals than chance has once in a million at 7 % each would be too many."""
    refused = 0
    for number in range(N_SAMPLES):
        drawn = designs.returning_persons(1500, 8, np.random.SeedSequence([12, number]), divided=divided)
        context = context_of(drawn)
        refused += any(context.result_of(check).status == "violated" for check in ASSIGNMENT)
    assert refused <= binom.isf(1e-6, N_SAMPLES, 0.07)
