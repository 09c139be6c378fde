"""SL1002: how often a stated prevalence is rejected where it is right, on the edge, and where it is wrong."""

import numpy as np
import pandas as pd
import pytest
from scipy.stats import binom

import selective_labels as sl
from selective_labels.assumptions import Informed, Instrument, Prevalence
from selective_labels.datasets.decision_makers import population
from selective_labels.diagnostics.combinations import algebra_results
from selective_labels.diagnostics.context import Context
from selective_labels.nuisance.cross_fit import FittingSettings

pytestmark = pytest.mark.statistical

N, N_DRAWS = 3000, 200
LAW = {"n_classes": 2, "n_decision_makers": 4, "mirrored": True}
INSTRUMENT = Instrument()
# Rejections in 200 draws that a test of size .07 exceeds once in a thousand times.
MOST = int(binom.ppf(0.999, N_DRAWS, 0.07))


def stated():
    """What is stated: the share of the law, that at the floor of informed, and the wrong direction."""
    oracle = sl.datasets.make_decision_makers(10, random_state=0, **LAW).oracle
    joint = oracle.joint(population())
    share = round(float(oracle.probabilities(population())[:, 1].mean()), 3)
    floor = float(np.max(joint[:, :, 2] / joint[:, :, 1:].sum(axis=2), axis=1).mean())
    known = Prevalence(1, share)
    return {
        "instrument, inside": INSTRUMENT & known,
        "informed, inside": INSTRUMENT & Informed(1) & known,
        "informed, on the edge": INSTRUMENT & Informed(1) & Prevalence(1, floor),
        "wrong direction": INSTRUMENT & Informed(0) & known,
    }


def rejected(seed):
    sample = sl.datasets.make_decision_makers(N, random_state=seed, **LAW)
    data = sl.SelectiveLabels.from_arrays(sample.X, sample.y, decision_maker=sample.decision_maker)
    context = Context(data, FittingSettings("logistic", n_jobs=1, seed=seed, propensity="shares"))
    found = {}
    for name, assumption in stated().items():
        (check,) = [each for each in algebra_results(context, data, [assumption]) if each.code == "SL1002"]
        found[name] = check.p_value < context.level
    return found


def test_size_and_power_of_the_prevalence_check():
    rates = pd.DataFrame([rejected(50_000 + number) for number in range(N_DRAWS)]).mean()
    print(rates.to_string())
    assert rates["instrument, inside"] * N_DRAWS <= MOST
    assert rates["informed, inside"] * N_DRAWS <= MOST
    assert rates["wrong direction"] > 0.9
