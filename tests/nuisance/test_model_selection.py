"""The choice of a model on few rows: who falls out, who is given more rows, and what is kept."""

from dataclasses import replace
from functools import partial

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from selective_labels import SelectiveLabels
from selective_labels._parallel import Workers
from selective_labels.datasets import make_decision_makers
from selective_labels.nuisance import model_selection
from selective_labels.nuisance.cross_fit import cross_fit, one_arm_each
from selective_labels.nuisance.folds import make_folds, outcome_codes
from selective_labels.nuisance.model_selection import Candidate, Fitter, candidates

N_SAMPLES = 4000


class Pretender:
    """Gives what happened (the first feature) a probability that depends on the rows it was fitted to."""

    def __init__(self, n_arms, n_outcomes, loss, counts):
        self.n_outcomes, self.loss, self.counts = n_outcomes, loss, counts

    def fit(self, X, arm, outcome, sample_weight=None):
        self.counts.append(len(X))
        self.probability = np.exp(-self.loss(len(X)))
        return self

    def own(self, X, arm):
        rest = (1.0 - self.probability) / (self.n_outcomes - 1)
        return np.where(X[:, :1] == np.arange(self.n_outcomes), self.probability, rest)


@pytest.fixture
def fitter():
    outcome = np.arange(N_SAMPLES) % 3
    noise = np.random.default_rng(0).integers(0, 3, N_SAMPLES)
    shown = np.where(np.arange(N_SAMPLES) % 10 == 0, noise, outcome)  # not always right: losses vary
    data = SelectiveLabels.from_arrays(shown[:, None], outcome - 1, decision_maker=np.zeros(N_SAMPLES, int))
    folds = make_folds(outcome, 5, random_state=0)
    arms = [one_arm_each(data.decision_maker_codes[train], 1) for train, _ in folds]
    return Fitter(data, outcome, folds, arms)


def pretend(**losses):
    """Candidates, and the numbers of rows that each was fitted to."""
    counts = {name: [] for name in losses}
    options = [
        Candidate(name, "as given", partial(Pretender, loss=loss, counts=counts[name]))
        for name, loss in losses.items()
    ]
    return options, counts


def run(fitter, options):
    with Workers(1) as workers:
        return model_selection.choose(fitter, options, workers, seed=0)


def test_with_few_rows_the_race_is_on_whole_folds_and_ends_when_one_is_left(fitter):
    options, counts = pretend(good=lambda n: 0.3, bad=lambda n: 0.6)
    choice = run(fitter, options)
    assert choice.candidate.family == "good"
    assert list(choice.models) == [0], "the model of the first fold is kept"
    assert counts == {"good": [3200], "bad": [3200]}, "one fold was enough"
    assert 0.1 < choice.behind["bad"] < 0.3


def test_a_tie_is_run_to_the_end(fitter):
    options, counts = pretend(one=lambda n: 0.3, other=lambda n: 0.3)
    choice = run(fitter, options)
    assert counts == {"one": [3200] * 5, "other": [3200] * 5}
    assert sorted(choice.models) == [0, 1, 2, 3, 4]
    assert choice.behind == {"other": 0.0}, "the first of equals"


def test_a_tie_ends_where_rows_enough_were_compared(fitter, monkeypatch):
    monkeypatch.setattr(model_selection, "MOST_ROWS", 1000)
    options, counts = pretend(one=lambda n: 0.3, other=lambda n: 0.3)
    run(fitter, options)
    assert counts["one"] == [1000, 250, 3200, 3200], "few rows, a quarter of them, then 800 rows a fold"


def test_many_rows_are_spent_on_the_winner_only(fitter, monkeypatch):
    monkeypatch.setattr(model_selection, "MOST_ROWS", 1000)
    options, counts = pretend(good=lambda n: 0.3, bad=lambda n: 0.6)
    choice = run(fitter, options)
    assert choice.candidate.family == "good"
    assert not choice.models
    assert counts == {"good": [1000, 250], "bad": [1000, 250]}


def test_who_learns_fast_is_given_all_rows_before_the_verdict(fitter, monkeypatch):
    monkeypatch.setattr(model_selection, "MOST_ROWS", 1000)
    options, counts = pretend(steady=lambda n: 0.45, eager=lambda n: 0.2 + 12.0 / np.sqrt(n))
    choice = run(fitter, options)
    assert counts["eager"] == [1000, 250, 3200], "behind on few rows, ahead on all"
    assert choice.candidate.family == "eager"
    assert choice.behind["steady"] > 0.0


def test_settings_are_compared_within_a_family(fitter):
    counts = []
    options = [
        Candidate("one", f"loss {loss}", partial(Pretender, loss=lambda n, loss=loss: loss, counts=counts))
        for loss in (0.6, 0.3, 0.5)
    ]
    choice = run(fitter, options)
    assert choice.candidate.settings == "loss 0.3"
    assert list(choice.models) == [0]
    assert not choice.behind


@pytest.mark.parametrize(
    ("plain", "costly", "chosen", "fitted"),
    [(0.6, 0.2, "good", 0), (0.28, 0.2, "costly", 5), (0.28, 0.4, "plain", 1)],
    ids=["its family is behind: never tried", "better: taken", "worse: left"],
)
def test_costly_settings_are_tried_of_families_that_are_still_running(fitter, plain, costly, chosen, fitted):
    options, counts = pretend(good=lambda n: 0.3, plain=lambda n: plain, costly=lambda n: costly)
    options[1:] = [replace(options[1], family="slow"), replace(options[2], family="slow", later=True)]
    choice = run(fitter, options)
    found = {id(each.factory): name for name, each in zip(counts, options, strict=True)}
    assert found[id(choice.candidate.factory)] == chosen
    assert len(counts["costly"]) in ((fitted, 1) if fitted else (0,))


def test_groups_count_as_one(fitter):
    values = np.random.default_rng(0).normal(size=1000)
    rows = np.arange(1000)
    data = fitter.data
    alone = fitter.difference(values, rows)
    assert_allclose(alone, (values.mean(), values.std() / np.sqrt(1000)), rtol=1e-9)
    grouped = SelectiveLabels.from_arrays(
        data.X, data.y, decision_maker=data.decision_maker_codes, groups=np.arange(N_SAMPLES) // 10
    )
    repeated = Fitter(grouped, fitter.outcome, fitter.folds, fitter.arms).difference(
        np.repeat(values[:100], 10), rows
    )
    assert_allclose(repeated[1], values[:100].std() / np.sqrt(100), rtol=1e-9)  # no ten cases


@pytest.mark.parametrize("nuisance", [None, "logistic"])
def test_the_chosen_model_is_fitted_to_all_rows(nuisance, monkeypatch):
    monkeypatch.setattr(model_selection, "MOST_ROWS", 400)
    sample = make_decision_makers(1500, 2, 4, random_state=0)
    data = SelectiveLabels.from_arrays(sample.X, sample.y, decision_maker=sample.decision_maker)
    fit = cross_fit(data, nuisance, cv=3, random_state=0)
    options, _ = candidates(nuisance, 4, int(np.random.SeedSequence(0).generate_state(1)[0]))
    (used,) = (
        each for each in options if (each.family, each.settings) == (fit.report.chosen, fit.report.settings)
    )
    for number, fold in enumerate(fit.folds):
        train = fit.held_out != number
        again = used.factory(4, 3).fit(
            sample.X[train], sample.decision_maker[train], outcome_codes(data.y[train])
        )
        assert_allclose(fold.joint(sample.X), again.joint(sample.X), atol=1e-9)
    assert fit.report.losses[fit.report.chosen] == min(fit.report.losses.values())


def test_the_few_rows_have_the_outcomes_in_their_shares(fitter):
    few = model_selection._few_rows(fitter, 0, 999)
    train = fitter.folds[0][0]
    for part, size in ((few.train, 333), (few.quarter, 83)):
        counts = np.bincount(fitter.outcome[train[part]])
        assert np.abs(counts - size).max() <= 2
    assert len(np.unique(few.train)) == 999
    assert_array_equal(np.isin(few.quarter, few.train), True)
