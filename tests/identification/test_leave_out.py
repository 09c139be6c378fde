"""Leave-out leniency: against regressions with dense indicators, and against published figures."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose

from selective_labels.identification.leave_out import FirstStage, first_stage_tests

SHARED = Path(__file__).parents[3] / "shared" / "data"
PHILADELPHIA = SHARED / "philadelphia_bail_stevenson_2018" / "tidy.csv.gz"


def iv_slope(outcome, treatment, instrument, error_of=None):
    """Slope β = P'Y / P'T with one constructed instrument, and its robust error √(Σ P² ε²) / |P'T|.

    ε = M_W Y - β M_W T; `error_of` holds M_W Y and M_W T, if the first two are not adjusted already.
    """
    strength = float(instrument @ treatment)
    slope = float(instrument @ outcome) / strength
    adjusted = (outcome, treatment) if error_of is None else error_of
    error = np.sqrt(np.sum((instrument * (adjusted[0] - slope * adjusted[1])) ** 2)) / abs(strength)
    return slope, float(error)


@pytest.fixture
def drawn():
    generator = np.random.default_rng(7)
    maker, cell = generator.integers(0, 5, 150), generator.integers(0, 12, 150)
    covariates = generator.normal(size=(150, 2))
    covariates = np.column_stack([covariates, covariates.sum(axis=1)])  # one is collinear
    decision = (generator.normal(size=150) + 0.3 * maker > 0.5).astype(float)
    return maker, cell, covariates, decision, decision * generator.normal(size=150)


def dense(maker, cell, covariates):
    controls = np.column_stack([np.eye(12)[cell], covariates])
    return np.column_stack([controls, np.eye(5)[maker]]), controls


def hat(columns):
    return columns @ np.linalg.pinv(columns)


def test_projections_are_those_of_dense_indicators(drawn):
    *design, decision, _ = drawn
    stage = FirstStage(*design)
    everything, controls = map(hat, dense(*design))
    assert_allclose(stage.fitted(decision), everything @ decision, atol=1e-10)
    assert_allclose(stage.residual(decision), decision - controls @ decision, atol=1e-10)
    assert_allclose(stage.leverage, np.diag(everything), atol=1e-10)
    assert_allclose(stage.control_leverage, np.diag(controls), atol=1e-10)
    assert stage.n_instruments == 4
    assert stage.n_controls == 14


def test_jackknife_refits_without_each_row(drawn):
    *design, decision, _ = drawn
    both, found = dense(*design), []
    for row in range(len(decision)):
        others = np.arange(len(decision)) != row
        fits = [each[row] @ np.linalg.pinv(each[others]) @ decision[others] for each in both]
        found.append(fits[0] - fits[1])
    assert_allclose(FirstStage(*design).jackknife(decision), found, atol=1e-9)


def test_leave_cluster_out_refits_without_each_cluster(drawn):
    maker, cell, covariates, decision, _ = drawn
    stage = FirstStage(maker, cell, covariates)
    controls = hat(dense(maker, cell, covariates)[1])
    adjusted, own = np.eye(5)[maker] - controls @ np.eye(5)[maker], decision - controls @ decision
    for cluster in (cell, np.arange(150)):
        found = np.zeros(150)
        for each in np.unique(cluster):
            inside = cluster == each
            found[inside] = adjusted[inside] @ np.linalg.pinv(adjusted[~inside], rcond=1e-9) @ own[~inside]
        assert_allclose(stage.leave_cluster_out(decision, cluster), found, atol=1e-8)
    assert_allclose(stage.leave_one_out(decision), found, atol=1e-8)


def test_f_and_sargan_of_two_stage_least_squares(drawn):
    *design, decision, outcome = drawn
    everything, controls = map(hat, dense(*design))
    explained = decision @ (everything - controls) @ decision / 4
    rest = decision @ (np.eye(150) - everything) @ decision / (150 - 18)
    found = first_stage_tests(FirstStage(*design), outcome, decision)
    assert_allclose(found.f, explained / rest, rtol=1e-9)
    # The smallest eigenvalue is a minimum over slopes, as of limited-information maximum likelihood.
    between, within = everything - controls, np.eye(150) - everything
    ratios = []
    for slope in np.linspace(-5, 5, 20001):
        error = outcome - slope * decision
        ratios.append(error @ between @ error / (error @ within @ error))
    smallest = min(ratios) * (150 - 18) / 150
    assert_allclose(found.sargan, 150 * smallest / (1 - 18 / 150 + smallest), rtol=1e-4)


def test_fitted_by_its_own_indicator_means_no_leniency():
    stage = FirstStage(np.array([0, 0, 0, 1, 1]), np.array([0, 0, 0, 0, 1]), np.empty((5, 0)))
    assert stage.jackknife(np.array([1.0, 0.0, 1.0, 1.0, 0.0]))[4] == 0.0


@pytest.mark.skipif(not PHILADELPHIA.exists(), reason="file: the Philadelphia bail data are not here")
def test_philadelphia():
    """Figures that the R package jive prints; its instrument for IJIVE is scaled by all leverage."""
    columns = ["bailDate", "x_white", "x_black", "z", "d", "y_true"]
    frame = pd.read_csv(PHILADELPHIA, usecols=columns)
    race = frame[["x_black", "x_white"]].to_numpy(float)
    stage = FirstStage(pd.factorize(frame.z)[0], pd.factorize(frame.bailDate)[0], race)
    jail, guilt = 1.0 - frame.d.to_numpy(), frame.y_true.to_numpy(float)
    assert (stage.n_instruments, stage.n_controls) == (7, 2352)
    found = first_stage_tests(stage, guilt, jail)
    assert_allclose([found.f, found.sargan, found.p_value], [32.627, 3.342, 0.765], atol=5e-4)
    adjusted = stage.residual(guilt), stage.residual(jail)
    assert_allclose(iv_slope(guilt, jail, stage.jackknife(jail), adjusted), (0.159077, 0.070567), atol=1e-5)
    scaled = stage.leave_one_out(jail) * (1.0 - stage.own_leverage) / (1.0 - stage.leverage)
    assert_allclose(iv_slope(*adjusted, scaled), (0.159527, 0.070533), atol=1e-5)
    by_date = stage.leave_cluster_out(jail, stage.cell)
    assert_allclose(iv_slope(*adjusted, by_date), (0.174206, 0.073553), atol=1e-5)
