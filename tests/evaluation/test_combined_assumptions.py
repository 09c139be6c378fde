"""Policies under combinations of assumptions: the same ends as the same sum written as one mean."""

import numpy as np
from numpy.testing import assert_allclose

import selective_labels as sl
from selective_labels import assumptions as a
from selective_labels.datasets import make_decision_makers

SAMPLE = make_decision_makers(1500, n_classes=2, random_state=0)
DATA = sl.SelectiveLabels.from_arrays(SAMPLE.X, SAMPLE.y, decision_maker=SAMPLE.decision_maker)
SCORE = -SAMPLE.X[:, 0]
SETTINGS = {"nuisance": "logistic", "propensity": "shares", "n_jobs": 1, "random_state": 0}


def failures(assumption):
    """A policy with a fixed cut-off, and the same failures as a share of accepted cases by `policy_value`."""
    policy = sl.Policy(SCORE, threshold=0.0)
    found = sl.evaluate(policy, DATA, metric="failures", assumption=assumption, **SETTINGS)
    accepted = (SCORE < 0.0).astype(int)
    metric = sl.policy_value({0: 0.0, 1: 1.0}, act=1)
    same = sl.evaluate(accepted, DATA, metric=metric, assumption=assumption, **SETTINGS)
    return found, same


def test_failures_are_those_of_the_same_mean_under_every_combination():
    informed = a.Instrument() & a.Informed(1)
    for assumption in ("instrument", informed, a.Instrument() & a.Prevalence(1, (0.4, 0.6))):
        found, same = failures(assumption)
        assert_allclose([found.lower, found.upper], [same.lower, same.upper], atol=1e-10)


def test_more_is_known_of_policies_where_more_is_assumed():
    known, _ = failures(a.Instrument() & a.Informed(1))
    less, _ = failures("instrument")
    assert known.upper - known.lower < less.upper - less.lower


def test_a_rate_among_the_accepted_is_not_given_under_a_known_share():
    share = a.Instrument() & a.Prevalence(1, (0.4, 0.6))
    policy = sl.Policy(SCORE, threshold=0.0)
    found = sl.evaluate(policy, DATA, metric="failure_rate", assumption=share, **SETTINGS)
    assert np.isnan(found.lower)
    assert "known share" in found.reason
