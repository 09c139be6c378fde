"""Contexts that the tests of single checks share."""

import numpy as np

from selective_labels.data import SelectiveLabels
from selective_labels.diagnostics.context import Context

# A violation must be found beyond any doubt, and a valid design left alone, at fixed seeds.
SEED = 20261115


def context_of(drawn, **options):
    """What checks read, of a drawn design."""
    roles = {"decision_maker": drawn.decision_maker, "strata": drawn.strata}
    data = SelectiveLabels.from_arrays(drawn.X, drawn.y, **roles)
    return Context(data, **{"cv": 2, "random_state": 0, "n_permutations": 99} | options)


def seed(number=0):
    return np.random.SeedSequence(SEED, spawn_key=(number,))
