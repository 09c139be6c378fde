"""Tilt mode: what it learns where the tilt holds, and the plain fit to the labeled rows where it cannot."""

import warnings

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.linear_model import LogisticRegression

import selective_labels as sl
from selective_labels import DiagnosticWarning, InputError
from selective_labels.datasets import make_decision_makers, make_tilted
from tests.estimators.samples import fit, quick

pytestmark = pytest.mark.remembers

RECORDED_TILT = [-0.463200733257824, 0.10818793416328566, 0.35501279909453815]
RECORDED_PROBABILITIES = [0.25016532205775, 0.7049359126759829]
COST = np.array([[0.0, 1.0, 4.0], [2.0, 0.0, 1.0], [1.0, 3.0, 0.0]])


def centred(tilt):
    return np.asarray(tilt) - np.mean(tilt)


def closed(sample, mode="tilt", estimator="plug-in", **settings):
    with pytest.warns(DiagnosticWarning, match="SL105 .*labeled rows alone"):
        return fit(quick(mode, estimator, **settings), sample)


@pytest.mark.parametrize("n_classes", [2, 3, 4])
def test_the_tilt_is_found_where_it_holds(n_classes):
    sample = make_tilted(4000, n_classes, random_state=0)
    model = fit(quick("tilt", nuisance=sample.oracle.joint), sample)
    assert model.gate_open_
    assert model.mode_ == "tilt"
    assert model.concentration_ > 25
    # Four standard deviations: with a false alarm below 1e-3 for all classes of the three designs.
    assert (np.abs(model.tilt_.mean - centred(sample.oracle.design.tilt)) < 4 * model.tilt_.spread).all()
    eta = sample.oracle.probabilities(sample.X)
    seen = sample.oracle.joint(sample.X)[:, :, 1:].mean(axis=1)
    answer = seen / seen.sum(axis=1, keepdims=True)
    error = np.abs(model.predict_proba(sample.X) - eta).mean()
    assert error < np.abs(answer - eta).mean() / 2, "half of what the labeled cases' answer is off, or less"


@pytest.fixture(scope="module")
def sample():
    return make_decision_makers(1500, random_state=0)


@pytest.fixture(scope="module")
def fitted(sample):
    return fit(quick("tilt"), sample)


def test_probabilities_are_probabilities_inside_the_bounds(sample, fitted):
    found, bounds = fitted.predict_proba(sample.X), fitted.predict_bounds(sample.X)
    assert_allclose(found.sum(axis=1), 1.0, atol=1e-9)
    assert (found >= bounds.lower - 1e-9).all()
    assert (found <= bounds.upper + 1e-9).all()
    assert_array_equal(fitted.predict(sample.X), found.argmax(axis=1))


def test_a_known_label_range_holds_for_the_estimate(sample):
    model = fit(quick("tilt", label_range=(0.1, 0.7)), sample)
    bounds = model.predict_bounds(sample.X)
    found = model.predict_proba(sample.X)
    assert (found <= bounds.upper + 1e-9).all()
    assert (found >= bounds.lower - 1e-9).all()


def test_costs_enter_as_expected_costs(sample):
    model = fit(quick("tilt", cost=COST), sample)
    expected = (model.predict_proba(sample.X) @ COST).argmin(axis=1)
    assert_array_equal(model.predict(sample.X), expected)


@pytest.mark.parametrize("estimator", ["linear", LogisticRegression(), None])
def test_learners_learn_from_the_tilted_probabilities(sample, fitted, estimator):
    model = fit(quick("tilt", estimator), sample)
    assert np.mean(model.predict(sample.X) == fitted.predict(sample.X)) > 0.75
    assert_allclose(model.predict_proba(sample.X), fitted.predict_proba(sample.X))


def test_unseen_labels_are_never_read(sample, fitted):
    garbage = np.where(sample.decision == 1, sample.y, np.random.default_rng(0).integers(0, 3, 1500))
    again = quick("tilt").fit(
        sample.X, garbage, decision_maker=sample.decision_maker, decision=sample.decision
    )
    assert_array_equal(again.predict_proba(sample.X), fitted.predict_proba(sample.X))


def test_many_decision_makers_and_groups_and_weights():
    many = make_decision_makers(2000, 2, 100, random_state=0)
    rng = np.random.default_rng(0)
    model = quick("tilt").fit(
        many.X,
        many.y,
        decision_maker=many.decision_maker,
        groups=rng.integers(0, 1500, 2000),
        sample_weight=rng.uniform(0.5, 2.0, 2000),
    )
    assert model.nuisance_report_.banded
    assert_allclose(model.predict_proba(many.X).sum(axis=1), 1.0)


def test_a_repeated_case_is_one_unit():
    """Every row three times, as one group: nothing more is known than from the rows once."""
    once = make_tilted(700, 2, random_state=0)
    thrice = np.repeat(np.arange(700), 3)

    def statistic(rows, groups):
        model = quick("tilt", nuisance=once.oracle.joint)
        model.fit(once.X[rows], once.y[rows], decision_maker=once.decision_maker[rows], groups=groups)
        return model.concentration_, model.tilt_.statistic

    alone, repeated = statistic(np.arange(700), None), statistic(thrice, thrice)
    assert_allclose(alone[0], repeated[0])
    # The last grids differ where weights do; the first has the same points.
    assert_allclose(alone[1][:61], repeated[1][:61], rtol=1e-6)


def test_without_an_allowance_for_skill_a_closed_gate_is_the_plain_learner():
    weak = make_decision_makers(800, leniency_spread=0.0, random_state=1)
    model = closed(weak, estimator="linear", skill_range=0.0)
    assert model.mode_ == "labeled-only"
    assert not model.gate_open_
    assert model.tilt_ is None
    assert model.concentration_ < 25
    plain = sl.SelectedSampleClassifier("linear", random_state=0).fit(weak.X, weak.y)
    assert_array_equal(model.predict_proba(weak.X), plain.predict_proba(weak.X))


def test_tilt_mode_says_where_the_instrument_says_little():
    weak = make_decision_makers(800, leniency_spread=0.0, random_state=1)
    with pytest.warns(DiagnosticWarning, match="SL105 .*little more than the prior"):
        model = fit(quick("tilt"), weak)
    assert model.mode_ == "tilt", "and has no fallback"


def test_no_skill_range_is_the_tilt_that_is_the_same_for_all(sample):
    """Recorded before the allowance for skill was made, on these rows."""
    model = fit(quick("tilt", skill_range=0.0, cv=5), sample)
    assert_allclose(model.tilt_.mean, RECORDED_TILT, rtol=1e-8)
    assert_allclose(model.predict_proba(sample.X[:2])[:, 0], RECORDED_PROBABILITIES, rtol=1e-8)


def test_an_allowance_for_skill_widens_what_is_supported(sample, fitted):
    plain = fit(quick("tilt", skill_range=0.0), sample)
    (low, high), (least, most) = fitted.tilt_.confidence_range(), plain.tilt_.confidence_range()
    assert (low <= least + 0.25).all()
    assert (high >= most - 0.25).all(), "up to the steps of the grid"
    assert (high - low).sum() > (most - least).sum()


def test_one_decision_maker(sample):
    everybody = np.zeros(len(sample.y))
    with pytest.raises(InputError, match="tilt mode needs two or more"):
        quick("tilt").fit(sample.X, sample.y, decision_maker=everybody)
    model = quick("auto").fit(sample.X, sample.y, decision_maker=everybody)
    assert model.mode_ == "labeled-only"


def test_all_labels_seen_is_a_plain_classifier(sample):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model = quick("auto", LogisticRegression()).fit(sample.X, sample.y_true)
    plain = LogisticRegression().fit(sample.X, sample.y_true)
    assert_array_equal(model.predict(sample.X), plain.predict(sample.X))


def test_known_assignment_is_asked_for_at_new_rows(sample):
    def chances(X):
        return np.full((len(X), 8), 1 / 8)

    model = fit(quick("tilt"), sample, assignment=chances)
    assert_allclose(model.predict_proba(sample.X[:5]).sum(axis=1), 1.0)


def test_a_saved_model_predicts_the_same(tmp_path, sample, fitted):
    sl.save_model(fitted, tmp_path / "model.skops")
    again = sl.load_model(tmp_path / "model.skops").model
    assert_array_equal(again.predict_proba(sample.X), fitted.predict_proba(sample.X))
    assert_array_equal(again.tilt_.mean, fitted.tilt_.mean)


def test_point_mode_falls_back_to_the_labeled_rows():
    weak = make_decision_makers(2000, leniency_spread=0.0, random_state=0)
    with pytest.warns(UserWarning, match="SL101"):
        model = fit(quick("point", LogisticRegression()), weak)
    assert model.mode_ == "labeled-only"
    assert np.isinf(model.shrinkage_)
    seen = weak.y >= 0
    plain = LogisticRegression().fit(weak.X[seen], weak.y[seen])
    assert_array_equal(model.predict(weak.X), plain.predict(weak.X))


def test_point_estimates_lie_in_the_identified_set():
    strong = make_decision_makers(3000, additive=False, random_state=0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DiagnosticWarning)
        model = fit(quick("point"), strong)
    assert model.mode_ == "point"
    found, bounds = model.predict_proba(strong.X), model.predict_bounds(strong.X)
    assert (found >= bounds.lower - 1e-9).all()
