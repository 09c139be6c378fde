"""The structured first stage: strong where decision-makers differ, and nothing where they do not."""

import numpy as np
from numpy.testing import assert_allclose
from scipy.optimize import minimize
from scipy.special import expit
from scipy.stats import gamma

from selective_labels import SelectiveLabels
from selective_labels.datasets import make_decision_makers
from selective_labels.nuisance.cross_fit import cross_fit
from selective_labels.nuisance.first_stage import HeldOutRows, first_stage, fit_deviations


def stage_of(sample, nuisance="logistic", **roles):
    data = SelectiveLabels.from_arrays(sample.X, sample.y, decision_maker=sample.decision_maker, **roles)
    rows = HeldOutRows(cross_fit(data, nuisance, cv=3, random_state=0), data)
    return first_stage(rows), rows, data


def test_deviations_are_the_ridge_solution_centred():
    rng = np.random.default_rng(0)
    terms = np.column_stack([np.ones(300), rng.normal(size=300)])
    offset, arm, weight = rng.normal(size=300), rng.integers(0, 3, 300), rng.uniform(0.5, 2, 300)
    decision = (rng.random(300) < expit(offset + (arm - 1) * terms[:, 1])).astype(int)
    found = fit_deviations(terms, offset, arm, decision, 0.3, 3, weight)

    def loss(beta, rows):
        logits = offset[rows] + terms[rows] @ beta
        return np.sum(weight[rows] * (np.logaddexp(0, logits) - decision[rows] * logits)) + beta @ beta / 0.6

    raw = np.stack([minimize(loss, np.zeros(2), args=(arm == each,), tol=1e-12).x for each in range(3)])
    share = np.bincount(arm, weight) / weight.sum()
    assert_allclose(found.coefficients, raw - share @ raw, atol=1e-5)
    assert_allclose(share @ found.coefficients, 0.0, atol=1e-12)
    own = found.own(terms, offset, arm)
    assert_allclose(own, found.leniency(terms, offset)[arm, np.arange(300)])


def test_the_instrument_has_mean_zero_over_who_might_have_decided():
    sample = make_decision_makers(600, random_state=0)
    stage, _, data = stage_of(sample, nuisance=sample.oracle.joint)
    leniency = 1 - sample.oracle.joint(sample.X)[:, :, 0]
    shares = np.bincount(sample.decision_maker) / 600
    away = leniency - (leniency @ shares)[:, None]
    assert_allclose(stage.instrument, away[np.arange(600), sample.decision_maker], atol=1e-12)
    assert_allclose(stage.strength, (away * leniency) @ shares, atol=1e-12)
    moved = stage.instrument * (data.decision - leniency @ shares)
    assert_allclose(stage.concentration, moved.sum() ** 2 / (moved**2).sum())


def test_decision_makers_who_differ_are_seen():
    assert stage_of(make_decision_makers(1500, random_state=0))[0].concentration > 50


def test_equal_decision_makers_have_the_concentration_of_noise():
    """χ² with one degree: the sum of 25 exceeds this limit with probability 1e-4."""
    draws = [make_decision_makers(500, leniency_spread=0.0, random_state=seed) for seed in range(25)]
    total = sum(stage_of(each)[0].concentration for each in draws)
    assert total < gamma.ppf(1 - 1e-4, 25 / 2, scale=2)
