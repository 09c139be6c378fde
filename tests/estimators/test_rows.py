"""What follows from bounds of rows: strata of new rows, the limit of the regret, saved models."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal

import selective_labels as sl
from selective_labels import SelectiveLabels
from selective_labels._errors import InputError
from tests.estimators.samples import fit, make_sample, quick

SAMPLE = make_sample(900, n_makers=6)
OFFICE = np.array(["north", "south", "west"])[SAMPLE.decision_maker // 2]
NEW = make_sample(200, n_makers=6, seed=1).X
WHERE = np.resize(["south", "west", "north"], 200)


def with_strata(**settings):
    return fit(quick(**settings), SAMPLE, strata=OFFICE)


def in_one_table(X, strata):
    return SelectiveLabels.from_arrays(X, np.zeros(len(X)), decision_maker=None, strata=strata)


@pytest.fixture(scope="module")
def model():
    return with_strata()


def test_strata_of_new_rows_come_from_the_table_or_the_keyword(model):
    table = in_one_table(NEW, WHERE)
    for level in (None, 0.9):
        by_table, by_word = (
            model.predict_bounds(NEW if words else table, confidence_level=level, **words)
            for words in ({}, {"strata": WHERE})
        )
        assert_array_equal(by_table.lower, by_word.lower)
        assert_array_equal(by_table.upper, by_word.upper)
    assert_array_equal(model.decided(table), model.decided(NEW, strata=WHERE))
    assert_array_equal(model.predict_set(table), model.predict_set(NEW, strata=WHERE))
    assert_array_equal(model.predict(table), model.predict_bounds(table).lower.argmax(axis=1))
    assert (model.predict(table) != model.predict(NEW)).any()  # a mixture of strata is another set
    for X, words, message in (
        (NEW, ["north"], "strata has 1 rows and X has 200"),
        (NEW, "north", "strata must be one column"),
        (table, WHERE, "strata of its own; leave strata= out"),
    ):
        with pytest.raises(InputError, match=message):
            model.predict_bounds(X, strata=words)
    with pytest.raises(InputError, match="fit had no strata; leave it out"):
        fit(quick(), SAMPLE).decided(NEW, strata=WHERE)


def test_a_stratum_that_is_missing_or_that_fit_has_not_seen_is_unknown(model):
    lost, mixture = WHERE == "north", model.predict_bounds(NEW).lower
    missing, elsewhere = (np.where(lost, each, WHERE.astype(object)) for each in (None, "nowhere"))
    assert_array_equal(model.predict_bounds(NEW, strata=missing).lower[lost], mixture[lost])
    words = f"strata: {lost.sum()} rows have values that fit has not seen, such as 'nowhere'"
    for X, given in ((NEW, {"strata": elsewhere}), (in_one_table(NEW, elsewhere), {})):
        with pytest.warns(UserWarning, match=words):
            assert_array_equal(model.predict_bounds(X, **given).lower[lost], mixture[lost])


def test_a_row_does_not_depend_on_the_rows_beside_it(model):
    for settings in ({}, {"strata": WHERE}, {"confidence_level": 0.9}):
        whole = model.predict_bounds(NEW, **settings)
        one = {name: each[7:8] if name == "strata" else each for name, each in settings.items()}
        assert_allclose(model.predict_bounds(NEW[7:8], **one).lower, whole.lower[7:8], atol=1e-12)


def test_evaluate_judges_the_rule_in_the_strata_of_its_rows(model):
    data = SelectiveLabels.from_arrays(
        SAMPLE.X, SAMPLE.y, decision_maker=SAMPLE.decision_maker, strata=OFFICE
    )
    settings = {"nuisance": "logistic", "random_state": 0, "assumption": "none"}
    found, expected = (
        sl.evaluate(each, data, **settings) for each in (model, model.predict(in_one_table(SAMPLE.X, OFFICE)))
    )
    assert (found.lower, found.upper) == (expected.lower, expected.upper)


def test_a_saved_model_knows_its_strata(model, tmp_path):
    sl.save_model(model, tmp_path / "m.skops")
    loaded = sl.load_model(tmp_path / "m.skops").model
    for settings in ({}, {"strata": WHERE}, {"strata": WHERE, "confidence_level": 0.9}):
        again, before = (each.predict_bounds(NEW, **settings) for each in (loaded, model))
        assert_array_equal(again.lower, before.lower)
        assert_array_equal(again.upper, before.upper)
    assert loaded.worst_case_regret_upper_ == model.worst_case_regret_upper_


@pytest.mark.parametrize("assumed", ["informed", "event"])
def test_a_saved_model_with_an_assumption_is_the_same(assumed, tmp_path):
    from selective_labels.assumptions import Informed, Instrument

    adverse = 2 if assumed == "informed" else (1, 2)
    model = with_strata(assumption=Instrument() & Informed(adverse, direction_known=True))
    sl.save_model(model, tmp_path / "m.skops")
    loaded = sl.load_model(tmp_path / "m.skops").model
    assert_array_equal(loaded.predict_bounds(NEW).upper, model.predict_bounds(NEW).upper)
    assert_array_equal(loaded.predict_by_instrument(NEW), model.predict_by_instrument(NEW))


def test_a_model_from_before_says_to_fit_again():
    old = with_strata()
    old._identified = replace(old._identified, rule=None, alone=None)
    with pytest.raises(InputError, match="fit it again"):
        old.predict_bounds(NEW)


@pytest.mark.parametrize("estimator", ["plug-in", "linear"])
@pytest.mark.parametrize("mode", ["partial", "point"])
def test_the_limit_of_the_regret_lies_above_its_estimate(mode, estimator):
    fitted = fit(quick(mode, estimator), SAMPLE)
    assert 0.0 <= fitted.worst_case_regret_ < fitted.worst_case_regret_upper_


def test_clusters_widen_the_limit_and_weights_are_repeated_rows():
    """Every row four times: the same estimate with groups, and a limit as wide as of the rows alone."""
    four, case = np.repeat(np.arange(600), 4), np.repeat(np.arange(600), 4)
    sample = make_sample(600)
    cv = [(np.flatnonzero(np.arange(600) % 2 == f), np.flatnonzero(np.arange(600) % 2 != f)) for f in (0, 1)]
    folds = [tuple(np.flatnonzero(np.isin(four, rows)) for rows in pair) for pair in cv]

    def limit(rows, cv, **roles):
        maker = sample.decision_maker[rows]
        return quick(cv=cv, nuisance=sample.oracle.joint).fit(
            sample.X[rows], sample.y[rows], decision_maker=maker, **roles
        )

    one = limit(np.arange(600), cv)
    grouped = limit(four, folds, groups=case)
    rough = limit(four, folds)
    assert_allclose(grouped.worst_case_regret_, one.worst_case_regret_, atol=1e-9)
    width, width_grouped, width_rough = (
        each.worst_case_regret_upper_ - each.worst_case_regret_ for each in (one, grouped, rough)
    )
    assert_allclose(width_grouped, width, rtol=1e-3)
    assert_allclose(width_rough, width / 2, rtol=1e-2)


def test_costs_scale_the_regret_and_its_limit():
    cost = 1.0 - np.eye(3)
    plain, dear = (fit(quick(cost=each), SAMPLE) for each in (cost, 1000 * cost))
    assert_allclose(dear.worst_case_regret_, 1000 * plain.worst_case_regret_)
    assert_allclose(dear.worst_case_regret_upper_, 1000 * plain.worst_case_regret_upper_)
    zero_one = fit(quick(), SAMPLE)
    assert_allclose(plain.worst_case_regret_upper_, zero_one.worst_case_regret_upper_)


def test_assignment_that_depends_on_features_is_modelled():
    """Half of the decision-makers see cases with a large first feature only, nearly always."""
    sample = make_sample(1500, 2, 4)
    rng = np.random.default_rng(0)
    maker = 2 * ((sample.X[:, 0] > 0) ^ (rng.random(1500) < 0.02)) + rng.integers(2, size=1500)
    model = quick(cv=3).fit(sample.X, sample.y, decision_maker=maker)
    assert model.nuisance_report_.assignment.depends_on_features
    assert not fit(quick(cv=3), sample).nuisance_report_.assignment.depends_on_features


def test_partitions_have_their_strata_in_a_column(tmp_path):
    pytest.importorskip("pyarrow", reason="optional: pyarrow")
    names = ["a", "b", "c", "d"]
    frame = pd.DataFrame(SAMPLE.X, columns=names).assign(office=OFFICE, who=SAMPLE.decision_maker)
    frame["y"] = pd.Series(SAMPLE.y).where(SAMPLE.y >= 0)
    frame.iloc[:500].to_parquet(tmp_path / "1.parquet")
    frame.iloc[500:].to_parquet(tmp_path / "2.parquet")
    roles = {"label": "y", "decision_maker": "who", "features": names, "strata": "office"}
    model = quick().fit(SelectiveLabels.from_frame(frame, **roles))
    data = SelectiveLabels.from_parquet(tmp_path, **roles)
    expected = model.predict_bounds(frame[names], strata=OFFICE, confidence_level=0.9)
    found = model.predict_bounds(data, confidence_level=0.9)
    assert_allclose(found.lower, expected.lower, atol=1e-12)
    assert_array_equal(model.predict(data), model.predict(SelectiveLabels.from_frame(frame, **roles)))
    with pytest.raises(InputError, match="in a column"):
        model.predict_bounds(data, strata=OFFICE)
