"""Rows that models are fitted to: rare classes with their weights, as many as the learning curve asks for."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from selective_labels import UCLClassifier, evaluate
from selective_labels.nuisance import learning_curve
from selective_labels.nuisance.cross_fit import FittingSettings
from selective_labels.nuisance.learning_curve import draw_rows
from tests.evaluation.partitioned.tables import FEATURES, from_folder, make_table, write

QUICK = {"nuisance": "logistic", "propensity": "shares", "random_state": 0}
SETTINGS = FittingSettings.read("logistic", random_state=0)


@pytest.fixture
def rare(tmp_path):
    """4,000 rows, 40 of them of a third class."""
    frame = make_table(4000)
    frame.loc[np.flatnonzero(frame["released"])[:40], "failed"] = 2.0
    return frame, write(frame, tmp_path, 4)


def test_a_rare_class_is_drawn_more_often_and_weighs_less(rare):
    frame, folder = rare
    drawn = draw_rows(from_folder(folder, fit_rows=500), 0)
    label = drawn.frame["failed"]
    # One in twenty of 500 (and the surplus) is asked for; chance alone would give 5.
    assert 15 <= (label == 2.0).sum() <= 40
    assert abs(len(label) - 500) <= 1
    for code in (0.0, 1.0, 2.0, None):
        here = label.isna() if code is None else label == code
        there = frame["failed"].isna() if code is None else frame["failed"] == code
        assert_allclose(drawn.factors[here].sum() / len(label), there.mean(), rtol=1e-12)


def test_weights_of_the_table_are_kept_in_the_sample(rare):
    frame, folder = rare
    lazy = from_folder(folder, "sample_weight", fit_rows=500)
    data = draw_rows(lazy, 0).data()
    seen = frame["failed"] == 2.0
    assert_allclose(
        data.weights[data.y == 2].sum() / data.weights.sum(),
        frame["weight"][seen].sum() / frame["weight"].sum(),
        rtol=1e-12,
    )


def test_without_a_rare_class_all_rows_have_the_same_chance(tmp_path):
    lazy = from_folder(write(make_table(2000), tmp_path), fit_rows=500)
    drawn = draw_rows(lazy, 3)
    assert drawn.factors is None
    assert_array_equal(drawn.frame.index, lazy.sample_frame(500, 3).index)


def test_groups_stay_together_so_their_rows_are_drawn_alike(rare):
    lazy = from_folder(rare[1], "groups", fit_rows=500)
    drawn = draw_rows(lazy, 0)
    assert drawn.factors is None
    assert (drawn.frame.groupby("person").size() == 2).all()


@pytest.mark.parametrize(("falls_until", "chosen"), [(100, 100), (400, 400), (10_000, 2000)])
def test_rows_are_doubled_while_the_loss_falls(tmp_path, monkeypatch, falls_until, chosen):
    monkeypatch.setattr(learning_curve, "FEWEST", 100)
    asked = []

    def losses(data, fold, nuisance, **how):
        asked.append(len(fold[0]))
        noise = np.resize([-1e-3, 1e-3], len(fold[1])) * (-1) ** len(asked)
        return 1.0 / min(50 * 2 ** len(asked), falls_until) + noise

    monkeypatch.setattr(learning_curve, "held_out_losses", losses)
    lazy = from_folder(write(make_table(2000), tmp_path))
    drawn = draw_rows(lazy, 0).by_curve(SETTINGS)
    assert len(drawn.frame) == chosen
    assert len(asked) == {100: 2, 400: 4, 2000: 6}[chosen]  # 100, 200, 400, 800, 1600 and all


def test_the_curve_of_real_models_and_what_results_say(tmp_path, monkeypatch):
    monkeypatch.setattr(learning_curve, "FEWEST", 500)
    folder = write(make_table(4000), tmp_path)
    result = evaluate("guess", from_folder(folder), **QUICK)
    assert result.sample.n_fitted in (500, 1000, 2000, 4000)
    assert f"Models were fitted to {result.sample.n_fitted:,} of the cases; all are scored" in str(result)
    assert result.sample.n == 4000
    model = UCLClassifier(estimator="linear", nuisance="logistic", random_state=0).fit(from_folder(folder))
    assert model.n_rows_ == 4000
    assert model.n_fitted_ in (500, 1000, 2000, 4000)
    given = evaluate("guess", from_folder(folder, fit_rows=700), **QUICK)
    assert given.sample.n_fitted == 700


def test_kept_scores_need_no_curve(tmp_path, monkeypatch):
    monkeypatch.setattr(learning_curve, "FEWEST", 500)
    folder, scores = tmp_path / "files", tmp_path / "scores"
    folder.mkdir()
    write(make_table(1500), folder)
    first = evaluate("guess", from_folder(folder, keep_scores=scores), **QUICK)

    def losses(*given, **how):
        raise AssertionError("no model is fitted")

    monkeypatch.setattr(learning_curve, "held_out_losses", losses)
    again = evaluate("guess", from_folder(folder, keep_scores=scores), **QUICK)
    assert (again.lower, again.sample.n_fitted) == (first.lower, first.sample.n_fitted)


def test_a_learner_counts_the_weights_of_a_rare_class(rare):
    lazy = from_folder(rare[1], fit_rows=1000)
    model = UCLClassifier(estimator="plug-in", nuisance="logistic", random_state=0).fit(lazy)
    rate = model.predict_bounds(rare[0][FEATURES]).lower[:, 2].mean()
    # One in a hundred: drawn five times as often, it would be .05 without its weights.
    assert rate < 0.02
