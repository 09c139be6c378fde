"""The balance test of predictions against slow oracles: held-out regressions, permutations, p-values."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.stats import chi2, kstest, norm

from selective_labels import SelectiveLabels
from selective_labels.evaluation.prediction_check import (
    PENALTIES,
    HeldOutRidge,
    PredictionBalance,
    chi_square_p,
    columns_of_codes,
    normal_p,
    smooth_functions,
)


def test_residuals_are_those_of_ridge_regressions_without_the_fold():
    rng = np.random.default_rng(0)
    X, fold, weight = rng.normal(size=(120, 2)), np.arange(120) % 3, rng.uniform(0.5, 2.0, 120)
    values = np.sin(2 * X[:, :1]) + rng.normal(size=(120, 1))
    columns = smooth_functions(X, np.random.default_rng(1))
    ridge, weight = HeldOutRidge(columns, fold, weight), weight / weight.mean()
    columns = columns - np.average(columns, axis=0, weights=weight)
    centred = values - np.average(values, axis=0, weights=weight)
    tried = []
    for penalty in PENALTIES:
        left = np.empty((120, 1))
        for number in range(3):
            seen = fold != number
            gram = (columns[seen] * weight[seen, None]).T @ columns[seen] + penalty * np.eye(columns.shape[1])
            slopes = np.linalg.solve(gram, (columns[seen] * weight[seen, None]).T @ centred[seen])
            left[~seen] = centred[~seen] - columns[~seen] @ slopes
        tried.append(left)
    best = min(tried, key=lambda left: float(weight @ left[:, 0] ** 2))
    assert_allclose(ridge.residuals(values), best, atol=1e-8)


def test_tails_are_those_of_scipy():
    mean, variance = 5.0, 10.0  # χ² with five degrees of freedom
    assert_allclose(chi_square_p(np.array(11.0), np.array(mean), np.array(variance)), chi2.sf(11.0, 5))
    assert chi_square_p(np.array(0.0), np.array(0.0), np.array(0.0)) == 1.0
    assert_allclose(normal_p(np.array(-3.0), np.array(4.0)), 2 * norm.sf(1.5))


@pytest.mark.parametrize("how", ["by lot", "strata", "weights", "groups", "known"])
def test_p_values_of_balanced_predictions_are_not_too_small(how):
    """Twice the smaller of two p-values is at least uniform: a one-sided Kolmogorov test at 1e-4."""
    rng, found = np.random.default_rng(5), []
    for seed in range(40):
        n_samples, roles = 300, {}
        X, maker = rng.normal(size=(n_samples, 2)), rng.integers(0, 5, n_samples)
        hidden = rng.normal(size=n_samples)
        if how == "strata":
            roles["strata"] = rng.integers(0, 40, n_samples)
            maker = (roles["strata"] + rng.integers(0, 2, n_samples)) % 5
        if how == "weights":
            roles["sample_weight"] = np.array([1.0, 1.0, 2.0, 4.0, 8.0])[maker]
        if how == "groups":
            roles["groups"] = np.arange(n_samples) // 4
            X, maker, hidden = (each[::4].repeat(4, axis=0) for each in (X, maker, hidden))
        if how == "known":
            chances = np.exp(X[:, :1] * np.linspace(-1, 1, 5))
            roles["assignment"] = chances = chances / chances.sum(axis=1, keepdims=True)
            maker = (rng.random(n_samples)[:, None] > chances.cumsum(axis=1)).sum(axis=1).clip(max=4)
        prediction = X[:, 0] ** 3 + hidden
        accepted = rng.random(n_samples) < 1 / (1 + np.exp(prediction - 0.5 * maker + 1.0))
        y = np.where(accepted, (X[:, 0] > 0).astype(int), -1)
        data = SelectiveLabels.from_arrays(X, y, decision_maker=maker, **roles)
        found.append(PredictionBalance(data, None, seed).p_value(prediction[:, None]))
    assert kstest(found, "uniform", alternative="greater").pvalue > 1e-4


def test_features_that_tell_who_decides_are_found_and_courts_are_not():
    rng = np.random.default_rng(0)
    codes = rng.integers(0, 8, 600)
    court, cells = codes // 2, np.zeros(600, dtype=int)
    leniency = rng.normal(size=8)[codes]
    X = np.column_stack([rng.normal(size=600), court, leniency])
    assert columns_of_codes(X, codes, cells).tolist() == [1, 2]  # together they identify
    assert columns_of_codes(X[:, :2], codes, cells).tolist() == []
    indicators = np.eye(8)[codes]
    assert columns_of_codes(indicators, codes, cells).tolist() == list(range(8))
    assert columns_of_codes(X[:, :1], codes, cells).tolist() == []
    # In a court of its own, a decision-maker has no comparison, with or without an id.
    assert columns_of_codes(X[:, 1:2], codes, court).tolist() == []


def test_missing_features_and_many_columns_do_no_harm():
    rng = np.random.default_rng(2)
    X = np.where(rng.random((300, 250)) < 0.1, np.nan, rng.normal(size=(300, 250)))
    data = SelectiveLabels.from_arrays(X, rng.integers(-1, 2, 300), decision_maker=rng.integers(0, 3, 300))
    assert 0.0 < PredictionBalance(data, None, 0).p_value(rng.normal(size=(300, 1))) <= 1.0


def test_large_tables_are_sampled_with_their_groups():
    rng = np.random.default_rng(1)
    maker = rng.integers(0, 30, 30_000)
    y = np.where(rng.random(30_000) < 0.3 + 0.01 * maker, rng.integers(0, 2, 30_000), -1)
    data = SelectiveLabels.from_arrays(rng.normal(size=(30_000, 2)), y, decision_maker=maker)
    balance = PredictionBalance(data, None, 0)
    assert len(balance.rows) == 10_000
    assert balance.p_value((y < 0)[:, None].astype(float)) < 1e-10
