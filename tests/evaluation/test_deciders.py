"""Deciders: truth of a simulation, raters, roles, a score at the same rate, names, texts, bad input."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose

import selective_labels as sl
from selective_labels import InputError
from selective_labels.evaluation.deciders import decider_effects
from selective_labels.inference.empirical_bayes import Shrunken
from selective_labels.nuisance.cross_fit import FittingSettings
from tests.decider_designs import Bench

FAST = {"nuisance": "logistic", "propensity": "shares", "random_state": 0}
RATERS = Path(__file__).parents[3] / "shared" / "data" / "human_compas_dressel_farid_2018" / "tidy.csv.gz"


@pytest.fixture(scope="module")
def bench():
    return Bench.draw(25, np.random.default_rng(8))


@pytest.fixture(scope="module")
def data(bench):
    return bench.data(8000, np.random.default_rng(9))


@pytest.fixture(scope="module")
def evaluator(data):
    return sl.Evaluator(data, **FAST)


@pytest.fixture(scope="module")
def found(data, evaluator):
    return evaluator.deciders(score=data.features[:, 0])


def covered(shrunken, truth):
    return np.mean((shrunken.lower <= truth) & (truth <= shrunken.upper))


def test_numbers_are_near_the_truth(bench, data, found):
    shares = np.bincount(data.decision_maker_codes) / len(data)
    leniency, _, excess, rates = bench.truth(shares)
    effects = found.effects
    for seen, real, error in (
        (effects.leniency, leniency, effects.leniency_error),
        (effects.excess, excess, effects.excess_error),
    ):
        z = (seen - real) / error
        assert np.abs(z).max() < 4.5
        assert 0.5 < np.mean(z**2) < 1.7
    assert covered(found.leniency, leniency) >= 0.9
    assert covered(found.excess, excess) >= 0.9
    assert np.corrcoef(found.excess.value, -bench.skill)[0, 1] > 0.5
    rate, own = effects.adjusted
    assert_allclose(rate, rates[:, 0], atol=0.1)
    assert_allclose(own, rates[:, 1], atol=0.1)


def test_score_at_the_same_rate_has_bounds_that_hold(bench, data, found):
    *_, rates = bench.truth(np.full(25, 1 / 25))
    real = bench.failures_of_a_score(rates[:, 0]) - rates[:, 1]
    score = found.against_score
    assert np.mean((score.ci_lower <= real) & (real <= score.ci_upper)) >= 0.9
    assert (score.lower <= score.upper).all()
    low, high = score.share
    left, right = score.share_interval
    assert left <= low <= high <= right
    assert left - 0.05 <= np.mean(real < 0) <= right + 0.05
    assert not (score.listed & (score.ci_lower > 0)).any()


def test_rates_are_plain_counts(data, found):
    frame = found.to_frame().set_index("decision_maker")
    for name in frame.index[:3]:
        mine = data.decision_maker == name
        assert frame.loc[name, "n"] == mine.sum()
        assert_allclose(frame.loc[name, "rate"], data.decision[mine].mean())
        assert_allclose(frame.loc[name, "failures"], (data.y[mine & (data.decision == 1)] == 1).mean())


def test_function_and_method_agree(data, found):
    alone = sl.deciders(data, score=data.features[:, 0], **FAST)
    pd.testing.assert_frame_equal(alone.to_frame(), found.to_frame())


def test_names_can_be_hidden(evaluator, found):
    hidden = evaluator.deciders(anonymous=True)
    assert sorted(hidden.names.tolist()) == list(range(1, 26))
    assert hidden.names.tolist() != list(range(1, 26))
    assert_allclose(np.sort(hidden.excess.value), np.sort(found.excess.value))


def test_weights_count_as_repeated_rows(data):
    rows, twice = np.arange(1500), np.repeat(np.arange(1500), 2)

    def effects(rows, **more):
        some = sl.SelectiveLabels.from_arrays(
            np.ones((len(rows), 1)),
            data.y[rows],
            decision=data.decision[rows],
            decision_maker=data.decision_maker[rows],
            **more,
        )
        fit = FittingSettings("logistic", seed=0).cross_fit(some, seed=0, in_halves=False)
        return decider_effects(some, fit, 1)

    once, both = effects(rows, sample_weight=np.full(1500, 2.0)), effects(twice)
    assert_allclose(once.leniency, both.leniency, atol=2e-3)  # folds differ
    grouped = effects(twice, groups=twice)
    assert_allclose(grouped.leniency_error, once.leniency_error, rtol=0.1)
    assert (both.leniency_error < 0.8 * once.leniency_error).all()


def test_few_cases_and_few_deciders_are_said():
    bench = Bench.draw(6, np.random.default_rng(2))
    X, maker, decision, label = bench.cases(900, np.random.default_rng(3))
    maker[0] = 99
    data = sl.SelectiveLabels.from_arrays(
        X, np.where(decision == 1, label, -1), decision=decision, decision_maker=maker
    )
    found = sl.deciders(data, **FAST)
    said = found.text()
    assert "1 of 7 decision-makers have fewer than 10 cases" in said
    assert "With 7 decision-makers the spread between them is uncertain" in said
    row = found.to_frame().set_index("decision_maker").loc[99]
    assert abs(row["leniency"]) < 0.2
    assert np.isfinite(row[["leniency_lower", "leniency_upper", "excess_lower", "excess_upper"]]).all()


def test_assignment_that_is_not_random_is_said(bench):
    generator = np.random.default_rng(4)
    X, maker, decision, label = bench.cases(6000, generator)
    maker = np.where(generator.random(6000) < 0.5, np.digitize(X[:, 1], [-0.5, 0.5]), maker)
    data = sl.SelectiveLabels.from_arrays(
        np.column_stack([X[:, 0], np.digitize(X[:, 1], [-0.5, 0.5])]),
        np.where(decision == 1, label, -1),
        decision=decision,
        decision_maker=maker,
    )
    found = sl.deciders(data, **FAST)
    assert found.sample.assignment
    assert found.sample.assignment in found.text()


@pytest.mark.parametrize(
    ("roles", "argument"),
    [
        ({"decision_maker": np.zeros(50)}, "decision_maker"),
        ({}, "decision_maker"),
    ],
)
def test_nobody_to_compare_is_one_sentence(roles, argument):
    seen = np.where(np.arange(50) % 3 == 0, -1, np.arange(50) % 2)
    with pytest.raises(InputError, match="nobody to compare") as error:
        sl.deciders(np.arange(50.0)[:, None], seen, **roles)
    assert error.value.argument == argument


def test_a_decision_maker_without_weight_is_one_sentence_here_and_no_harm_elsewhere():
    cases = sl.datasets.make_decision_makers(600, n_classes=2, n_decision_makers=8, random_state=0)
    data = sl.SelectiveLabels.from_arrays(
        cases.X,
        cases.y,
        decision_maker=cases.decision_maker,
        sample_weight=(cases.decision_maker != 3).astype(float),
    )
    evaluator = sl.Evaluator(data, **FAST)
    assert np.isfinite(evaluator.evaluate((cases.X[:, 0] > 0).astype(int)).ci_upper)
    with pytest.raises(InputError, match="sample_weight is zero in all cases of decision-makers '3';"):
        evaluator.deciders()


def test_one_case_each_is_one_sentence(data):
    with pytest.raises(InputError, match="has one case each"):
        sl.deciders(
            data.features, data.y, decision=data.decision, decision_maker=np.arange(len(data)), **FAST
        )


def test_pictures_and_tables(found):
    assert found.plot().get_title() == "Caterpillar plot"
    assert "Funnel" in found.plot("funnel").get_title()
    assert r"\toprule" in found.to_latex()
    assert "Ranks: fewest first" in found.html()
    with pytest.raises(InputError, match="kind"):
        found.plot("pie")


def test_a_yes_that_inspects_is_best_where_it_finds_most(data):
    words = {"yes": "inspect", "means": "inspect"}
    turned = sl.SelectiveLabels.from_arrays(
        data.features, data.y, decision=data.decision, decision_maker=data.decision_maker, vocabulary=words
    )
    found = sl.deciders(turned, **FAST)
    assert found.to_frame()["excess"].is_monotonic_decreasing
    best = found.to_frame()["p_best_tenth"]
    assert best.iloc[0] == best.max()


@pytest.mark.skipif(not RATERS.exists(), reason="file: the raters of Dressel and Farid are not here")
@pytest.mark.parametrize(
    "n_draws", [10, pytest.param(40, marks=pytest.mark.statistical)], ids=["few", "many"]
)
def test_raters_whose_truth_is_known(n_draws):
    """Each rater's own table of 50 cases is the truth, from which 40 cases are drawn, again and again.

    Nominal .95; the mean over 400 raters has a standard error below .006 (10 draws) or .003 (40 draws).
    """
    frame = pd.read_csv(RATERS, usecols=["condition", "z", "d", "y_true"])
    frame = frame[frame.condition == "no_race"]
    code = pd.factorize(frame.z)[0]
    table = np.stack([frame.d, frame.d * frame.y_true], axis=1)[np.argsort(code, kind="stable")]
    table = table.reshape(-1, 50, 2).astype(float)
    truth = table.mean(axis=1)
    truth = truth - truth.mean(axis=0)
    slope = np.sum(truth[:, 0] * truth[:, 1]) / np.sum(truth[:, 0] ** 2)
    generator, held = np.random.default_rng(6), []
    for draw in range(n_draws):
        rows = generator.integers(0, 50, (len(table), 40))
        drawn = np.take_along_axis(table, rows[:, :, None], axis=1).reshape(-1, 2)
        maker = np.repeat(np.arange(len(table)), 40)
        seen = np.where(drawn[:, 0] == 1, drawn[:, 1], -1).astype(int)
        data = sl.SelectiveLabels.from_arrays(
            np.ones((len(seen), 1)), seen, decision=drawn[:, 0].astype(int), decision_maker=maker
        )
        fit = FittingSettings("logistic", cv=2, seed=draw).cross_fit(
            data, seed=draw, in_halves=False, n_bands=2
        )
        effects = decider_effects(data, fit, 1)
        leniency = Shrunken.of(effects.leniency, effects.leniency_error)
        excess = Shrunken.of(effects.excess, effects.excess_error)
        real = truth[:, 1] - slope * truth[:, 0]
        held.append([covered(leniency, truth[:, 0]), covered(excess, real)])
    assert np.mean(held, axis=0).min() >= 0.93


def test_a_decision_maker_with_one_case_costs_nobody_else(data, found):
    """Sixty more names with one case each, half of which have no yes."""
    rows = np.append(np.arange(len(data)), np.arange(60))
    names = np.append(data.decision_maker.astype(int), 100 + np.arange(60))
    more = sl.SelectiveLabels.from_arrays(
        data.features[rows], data.y[rows], decision=data.decision[rows], decision_maker=names
    )
    frame = sl.deciders(more, score=more.features[:, 0], **FAST).to_frame().set_index("decision_maker")
    before = found.to_frame().set_index("decision_maker")
    for name in ("leniency", "excess", "failures_shrunk"):
        assert_allclose(frame.loc[before.index.astype(int), name], before[name], atol=0.02)
    none = frame["n_yes"] == 0
    assert none.any()
    assert frame.loc[none, ["failures", "failures_shrunk"]].isna().all(axis=None)
    known = np.isfinite(frame.to_numpy(float))
    assert known[~none].all()
    assert known[:, ~frame.columns.str.contains("failures")].all()


def test_errors_along_rates_are_the_same_with_a_cluster_for_each_row():
    from selective_labels.evaluation.deciders import _along_rates

    generator = np.random.default_rng(1)
    scores, risk, weights = generator.random(300), generator.normal(size=300), generator.random(300)
    value, error = _along_rates(scores, risk, weights, None)
    again, slow = _along_rates(scores, risk, weights, np.arange(300))
    assert_allclose(value, again)
    assert_allclose(error, slow, rtol=1e-9)
    assert_allclose(value[-1], np.average(scores, weights=weights))
