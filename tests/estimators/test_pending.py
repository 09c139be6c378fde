"""Learning from tables with pending outcomes."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

import selective_labels as sl
from selective_labels import assumptions as a
from selective_labels.io.model_file import load_model, save_model
from tests.pending_designs import delayed

FAST = {"estimator": "plug-in", "nuisance": "logistic", "cv": 3, "random_state": 0}


@pytest.fixture(scope="module")
def drawn():
    return delayed(2500, 6)


def bounds_of(drawn, pending, **settings):
    model = sl.UCLClassifier(**FAST, **settings).fit(drawn.labels(pending))
    return model.predict_bounds(drawn.X[:300])


def test_bounds_of_rows_are_near_those_of_the_complete_table_or_contain_them(drawn):
    complete, at_random, worst = (bounds_of(drawn, each) for each in (None, "at-random", "worst-case"))
    assert np.abs(at_random.lower - complete.lower).mean() < 0.03
    assert worst.lower.mean() < complete.lower.mean() - 0.03
    assert_allclose(worst.upper[:, 0], 1.0 - worst.lower[:, 1], atol=1e-9)


@pytest.mark.parametrize("mode", ["point", "tilt", "auto"])
def test_modes_that_name_a_value_take_at_random_only(drawn, mode):
    model = sl.UCLClassifier(mode, **FAST)
    with pytest.raises(sl.InputError, match=f"mode='{mode}' needs the label of every accepted case"):
        model.fit(drawn.labels("worst-case"))
    near = model.fit(drawn.labels("at-random")).predict_proba(drawn.X[:300])[:, 1]
    complete = sl.UCLClassifier(mode, **FAST).fit(drawn.labels(None)).predict_proba(drawn.X[:300])[:, 1]
    assert np.abs(near - complete).mean() < 0.06


def test_assumptions_and_label_ranges_in_the_worst_case(drawn):
    data = drawn.labels("worst-case")
    informed = a.Instrument() & a.Informed(1.0, direction_known=True)
    assert sl.UCLClassifier(**FAST, assumption=informed).fit(data).crossed_share_ < 0.2
    for settings in ({"label_range": (0.1, 0.9)}, {"assumption": a.Instrument() & a.SimilarBias(0.1)}):
        with pytest.raises(sl.InputError, match="needs the label of every accepted case"):
            sl.UCLClassifier(**FAST, **settings).fit(data)


def test_baselines_refuse_and_the_labeled_rows_do_not(drawn):
    data = drawn.labels("at-random")
    assert sl.SelectedSampleClassifier("linear").fit(data).classes_.tolist() == [0.0, 1.0]
    for baseline in (sl.IPWClassifier(), sl.DoublyRobustClassifier(), sl.ExpertConsistencyClassifier()):
        with pytest.raises(sl.InputError, match=rf"{type(baseline).__name__} needs the label"):
            baseline.fit(data)


def test_score_and_file(drawn, tmp_path):
    data = drawn.labels("at-random")
    model = sl.UCLClassifier(**FAST).fit(data)
    found = sl.evaluate(model, data, nuisance="logistic", random_state=0)
    assert abs(model.score(data) - found.lower) < 0.05
    save_model(model, tmp_path / "model.skops")
    again = load_model(tmp_path / "model.skops").model
    assert_allclose(again.predict_bounds(drawn.X[:9]).lower, model.predict_bounds(drawn.X[:9]).lower)
