"""Contexts that the tests of single checks share."""

import numpy as np

from selective_labels import SelectiveLabels
from selective_labels.diagnostics.context import Context
from selective_labels.nuisance.cross_fit import FittingSettings

# A violation must be found beyond any doubt, and a valid design left alone, at fixed seeds.
SEED = 20261115
FITTING = FittingSettings("logistic", cv=2, seed=0)


def context_of(drawn, **options):
    """What checks read, of a drawn design."""
    roles = {"decision_maker": drawn.decision_maker, "strata": drawn.strata, "groups": drawn.groups}
    data = SelectiveLabels.from_arrays(drawn.X, drawn.y, **roles)
    return Context(data, FITTING, **{"n_permutations": 99} | options)


def seed(number=0):
    return np.random.SeedSequence(SEED, spawn_key=(number,))
