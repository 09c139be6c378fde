"""Evaluation with a continuous instrument."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

import selective_labels as sl
from selective_labels import DiagnosticWarning, InputError, SelectiveLabels
from selective_labels.data.reading import with_instrument
from tests import numeric_designs as designs

QUICK = {"nuisance": "logistic", "random_state": 0}
NUMERIC = QUICK | {"instrument": "numeric"}


@pytest.fixture(scope="module")
def drawn():
    return designs.draw(4000, designs.confounded_leniency, 0)


@pytest.fixture(scope="module")
def guess(drawn):
    return drawn.truth.argmax(axis=1)


def given(drawn, **more):
    return SelectiveLabels.from_arrays(drawn.X, drawn.y, decision_maker=drawn.z, **more)


def test_bounds_are_near_those_of_the_population_and_say_what_they_compare(drawn, guess):
    """As names, the width is .50. In 30 samples: mean .193, standard deviation .030; population: .160."""
    found = sl.evaluate(guess, given(drawn), **NUMERIC)
    assert 0.05 < found.width < 0.34
    assert found.lower < np.mean(guess == drawn.labels) < found.upper
    assert "a numeric decision_maker, each case at the nearest of 20 values" in repr(found).replace("\n", " ")
    assert found.sample.numeric


def test_numbers_as_names_are_warned_of_and_say_little(drawn, guess):
    with pytest.warns(DiagnosticWarning, match="SL304"):
        found = sl.evaluate(guess, given(drawn), **QUICK)
    assert found.width > 0.4


def test_only_names_are_refused_where_every_row_has_its_own(drawn, guess):
    names = [f"case {number}" for number in range(len(drawn.z))]
    named = SelectiveLabels.from_arrays(drawn.X, drawn.y, decision_maker=names)
    with pytest.raises(InputError, match="decision_maker has another value in every row"):
        sl.evaluate(guess, named, **QUICK)
    assert sl.evaluate(guess, named, assumption="none", **QUICK).defined


def test_comparison_and_thresholds_take_it(drawn, guess):
    worst = drawn.truth.argmin(axis=1)
    compared = sl.compare(guess, worst, given(drawn), **NUMERIC)
    assert compared.lower < np.mean((guess == drawn.labels) * 1.0 - (worst == drawn.labels)) < compared.upper
    assert compared.sample.numeric
    curve = sl.threshold_curve(drawn.truth[:, 2], given(drawn), thresholds=[0.3], **NUMERIC)
    assert curve.evaluations["accuracy"][0].width < 0.34
    assert "numeric decision_maker" in " ".join(curve.sentences())


def test_diagnosis_takes_it(drawn):
    diagnosis = sl.diagnose(given(drawn), instrument="numeric", random_state=0, n_permutations=19)
    assert diagnosis["SL304"].status == "ok"
    assert "taken as a number" in diagnosis["SL304"].message
    assert diagnosis.n_decision_makers == 20
    assert diagnosis.status("relevance") == "ok"
    assert diagnosis.allows("instrument")


@pytest.mark.parametrize("entry", ["evaluate", "diagnose"])
def test_what_is_no_number_is_refused_in_one_sentence(drawn, entry):
    named = SelectiveLabels.from_arrays(drawn.X, drawn.y, decision_maker=np.round(drawn.z).astype(str))
    predicted = () if entry == "diagnose" else (drawn.labels,)
    with pytest.raises(InputError, match="needs a decision_maker of numbers; use 'leniency' for names"):
        getattr(sl, entry)(*predicted, named, instrument="numeric")
    with pytest.raises(InputError, match="instrument='number' is not one of 'leniency', 'numeric'"):
        getattr(sl, entry)(*predicted, named, instrument="number")


def test_a_weight_of_two_is_a_row_that_occurs_twice(drawn):
    few = slice(300)
    weight = 1.0 + (np.arange(300) % 3 == 0)
    once = SelectiveLabels.from_arrays(drawn.X[few], drawn.y[few], decision_maker=drawn.z[few],
                                       sample_weight=weight)  # fmt: skip
    rows = np.repeat(np.arange(300), weight.astype(int))
    twice = SelectiveLabels.from_arrays(drawn.X[rows], drawn.y[rows], decision_maker=drawn.z[rows])
    first, second = (with_instrument(each, "numeric") for each in (once, twice))
    assert_allclose(first.decision_makers, second.decision_makers)
    assert_allclose(first.decision_maker_codes[rows], second.decision_maker_codes)


def test_known_probabilities_of_numbers_are_added_up():
    z = np.repeat(np.arange(40.0), 5)
    chances = np.random.default_rng(0).dirichlet(np.ones(40), size=200)
    data = SelectiveLabels.from_arrays(np.zeros((200, 1)), [0, 1] * 100, decision_maker=z, assignment=chances)
    numeric = with_instrument(data, "numeric")
    assert numeric.assignment.shape == (200, 20)
    assert_allclose(numeric.assignment.sum(axis=1), 1.0)
    mine = numeric.decision_maker_codes[z == 7.0][0]
    same = [code for code in range(40) if numeric.decision_maker_codes[z == code][0] == mine]
    assert_allclose(numeric.assignment[:, mine], chances[:, same].sum(axis=1))


def test_assignment_that_follows_the_features_is_modelled():
    """z depends on x_1, which moves the label too."""
    drawn = designs.draw(3000, designs.confounded_leniency, 0, follows=4.0)
    found = sl.evaluate(drawn.truth.argmax(axis=1), given(drawn), **NUMERIC)
    assert "Who decides depends on the features" in found.sample.assignment
    truth = np.mean(drawn.truth.max(axis=1))
    assert found.ci_lower < truth < found.ci_upper
