"""One evaluator answers every question with the numbers of the functions, from models fitted once."""

import numpy as np
import pytest

import selective_labels as sl
from selective_labels.nuisance import cross_fit
from tests.evaluation.partitioned.tables import from_folder, make_table, write

QUICK = {"nuisance": "logistic", "propensity": "shares", "cv": 2, "random_state": 0}


@pytest.fixture(scope="module")
def sample():
    return sl.datasets.make_decision_makers(800, n_classes=2, n_decision_makers=5, random_state=2)


@pytest.fixture(scope="module")
def data(sample):
    return sl.SelectiveLabels.from_arrays(sample.X, sample.y, decision_maker=sample.decision_maker)


@pytest.fixture
def fits(monkeypatch):
    """The number of cross-fits so far."""
    counted = []
    plain = cross_fit.cross_fit

    def counting(*given, **keywords):
        counted.append(keywords["in_halves"])
        return plain(*given, **keywords)

    monkeypatch.setattr(cross_fit, "cross_fit", counting)
    return counted


def ends(result):
    return [result.lower, result.upper, result.ci_lower, result.ci_upper]


def test_models_are_fitted_by_the_constructor_and_never_again(sample, data, fits):
    evaluator = sl.Evaluator(data, **QUICK)
    assert len(fits) == 1
    guess, other = (sample.X[:, :2].T < 0).astype(int)
    evaluator.evaluate(guess, metric=["accuracy", "tpr"])
    evaluator.evaluate(guess, metric="fpr", by=other)
    evaluator.compare(guess, other)
    evaluator.compare(guess, "human")
    evaluator.threshold_curve(-sample.X[:, 0], thresholds=[0.0])
    evaluator.policy_curve(-sample.X[:, 0], rates=[0.5])
    evaluator.ladder(guess, [sl.assumptions.Informed(1)])
    evaluator.sensitivity_curve(guess, values=[1, 2])
    evaluator.drift(guess, period=other)
    evaluator.plan(guess)
    evaluator.plan(guess, other, width=0.2)
    evaluator.evaluate(guess, assumption="unconfounded")
    assert len(fits) == 1


def test_every_question_has_the_numbers_of_its_function(sample, data):
    evaluator = sl.Evaluator(data, **QUICK)
    guess, other = (sample.X[:, :2].T < 0).astype(int)
    score = -sample.X[:, 0]
    pairs = [
        (evaluator.evaluate(guess, metric="tpr"), sl.evaluate(guess, data, metric="tpr", **QUICK)),
        (evaluator.compare(guess, other), sl.compare(guess, other, data, **QUICK)),
        (
            evaluator.evaluate(guess, assumption="none"),
            sl.evaluate(guess, data, assumption="none", **QUICK),
        ),
    ]
    for one, shorthand in pairs:
        assert ends(one) == ends(shorthand)
    frames = [
        (evaluator.threshold_curve(score), sl.threshold_curve(score, data, **QUICK)),
        (evaluator.policy_curve(score, rates=[0.4]), sl.policy_curve(score, data, rates=[0.4], **QUICK)),
        (evaluator.ladder(guess), sl.ladder(guess, data, **QUICK)),
        (evaluator.drift(guess, period=other), sl.drift(guess, data, period=other, **QUICK)),
        (
            evaluator.sensitivity_curve(guess, values=[1, 3]),
            sl.sensitivity_curve(guess, data, values=[1, 3], **QUICK),
        ),
        (evaluator.plan(guess), sl.plan(sl.evaluate(guess, data, **QUICK))),
    ]
    for one, shorthand in frames:
        assert one.to_frame().equals(shorthand.to_frame())


def test_an_assumption_that_needs_halves_has_models_of_its_own(sample, data, fits):
    evaluator = sl.Evaluator(data, **QUICK)
    guess = (sample.X[:, 0] < 0).astype(int)
    found = evaluator.evaluate(guess, assumption="nucem")
    assert fits == [False, True]
    assert ends(found) == ends(sl.evaluate(guess, data, assumption="nucem", **QUICK))


def test_an_answer_does_not_depend_on_what_else_is_scored(sample, data, fits):
    guess = (sample.X[:, 0] < 0).astype(int)
    several = sl.Evaluator(data, assumption="all", **QUICK).evaluate(guess)
    assert fits == [False, True]
    for each in several:
        assert ends(each) == ends(sl.evaluate(guess, data, assumption=each.assumption, **QUICK))


def test_defaults_of_the_constructor_are_those_of_every_question(sample, data):
    cost = [[0.0, 1.0], [5.0, 0.0]]
    evaluator = sl.Evaluator(data, cost=cost, pos_label=0, confidence_level=0.8, **QUICK)
    guess = (sample.X[:, 0] < 0).astype(int)
    how = {"confidence_level": 0.8, **QUICK}
    assert ends(evaluator.evaluate(guess, metric="cost")) == ends(
        sl.evaluate(guess, data, metric="cost", cost=cost, **how)
    )
    assert ends(evaluator.evaluate(guess, metric="share")) == ends(
        sl.evaluate(guess, data, metric="share", pos_label=0, **how)
    )
    assert ends(evaluator.evaluate(guess, metric="share", pos_label=1)) == ends(
        sl.evaluate(guess, data, metric="share", pos_label=1, **how)
    )


def test_without_a_seed_all_questions_share_the_models(sample, data):
    evaluator = sl.Evaluator(data, nuisance="logistic", cv=2, n_repeats=2)
    guess = (sample.X[:, 0] < 0).astype(int)
    assert ends(evaluator.evaluate(guess)) == ends(evaluator.evaluate(guess, metric=["accuracy"])[0])


def test_a_table_in_partitions_is_fitted_once_too(tmp_path, fits):
    folder = write(make_table(900), tmp_path)
    evaluator = sl.Evaluator(from_folder(folder), **QUICK)
    found = evaluator.evaluate("guess")
    curve = evaluator.threshold_curve("score", thresholds=[0.0])
    assert len(fits) == 1
    assert ends(found) == ends(sl.evaluate("guess", from_folder(folder), **QUICK))
    again = sl.threshold_curve("score", from_folder(folder), thresholds=[0.0], **QUICK)
    assert curve.to_frame().equals(again.to_frame())
    with pytest.raises(sl.InputError, match="needs rows in memory"):
        evaluator.deciders()


def test_a_mistake_in_the_only_question_costs_no_fit(sample, data, fits):
    with pytest.raises(sl.InputError):
        sl.evaluate(np.zeros(3), data, **QUICK)
    assert fits == []
