"""Assumptions as an algebra: values, words, laws, and what is refused."""

import pickle
from dataclasses import FrozenInstanceError
from itertools import permutations

import numpy as np
import pytest
from sklearn.base import clone

import selective_labels as sl
from selective_labels import InputError
from selective_labels.assumptions import (
    Informed,
    Instrument,
    LabelRange,
    NoAssumption,
    Nucem,
    Prevalence,
    Refused,
    RisingRisk,
    SameRanking,
    SimilarBias,
    Unconfounded,
    combined,
    named,
)
from tests.assumptions.dummy import HalfAsBad

PARTS = (
    Instrument(),
    Informed("bad"),
    Informed(("bad", "worse"), given="features"),
    Refused("bad", at_most=3.0),
    Refused("bad", at_least=1.0, at_most=4.0, scale="odds"),
    Refused("bad", at_least=0.1, scale="share"),
    Prevalence("bad", 0.1),
    Prevalence("bad", (0.1, 0.2), standard_error=0.01),
    Prevalence("bad", (("north", 0.1), ("south", (0.2, 0.3))), by="region"),
    SimilarBias(0.02),
    RisingRisk("bad"),
    SameRanking(),
    LabelRange(0.05, [0.9, 0.95]),
    Instrument() & Informed("bad") & Prevalence("bad", 0.1),
)
every = pytest.mark.parametrize("assumption", PARTS, ids=lambda each: each.name)


@every
def test_values_that_are_frozen_hashable_clonable_and_picklable(assumption):
    again = pickle.loads(pickle.dumps(assumption))
    assert again == assumption
    assert hash(again) == hash(assumption)
    assert clone(assumption, safe=False) == assumption
    with pytest.raises(FrozenInstanceError):
        assumption.other = 1


@every
def test_each_has_a_sentence_a_formula_and_what_refutes_it(assumption):
    assert assumption.name == assumption.name.lower()
    for words in (assumption.sentence, assumption.meaning, assumption.refuted_by):
        assert words.endswith(".")
    assert assumption.formula
    assert assumption.title


@pytest.mark.parametrize("assumption", [NoAssumption(), Instrument(), Nucem(), Unconfounded()], ids=str)
def test_the_present_ones_say_so_too(assumption):
    assert assumption.formula
    assert assumption.refuted_by.endswith(".")


def test_all_names_differ():
    assert len({each.name for each in PARTS}) == len(PARTS)


def test_order_and_doubles_do_not_matter():
    parts = Instrument(), Informed("bad"), Prevalence("bad", 0.1), Refused("bad", at_most=2.0)
    whole = {combined(*order) for order in permutations(parts)}
    assert len(whole) == 1
    (one,) = whole
    assert one & one == one
    assert one & parts[0] == one
    assert one.name == "instrument & informed(bad) & refused(bad, ratio at most 2) & prevalence(bad, 0.1)"
    assert (parts[0] & parts[1]) & (parts[2] & parts[3]) == one


def test_nothing_is_the_neutral_element():
    assert combined() == NoAssumption()
    assert NoAssumption() & NoAssumption() == NoAssumption()
    assert (NoAssumption() & Instrument()) == Instrument()
    assert named(combined()).name == "none"


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: Nucem() & Informed("bad"), "leaves one value"),
        (lambda: Prevalence("bad", 0.1) & Unconfounded(), "leaves one value"),
        (lambda: Prevalence("bad", 0.1) & Prevalence("bad", 0.2), "two prevalences"),
        (lambda: LabelRange(0.1, 0.9) & LabelRange(0.2, 0.9), "two ranges"),
        (lambda: named(Informed("bad")), "needs the instrument"),
        (lambda: named(RisingRisk("bad") & Prevalence("bad", 0.1)), "needs the instrument"),
        (lambda: Refused("bad"), "at_least, at_most or both"),
        (lambda: Refused("bad", at_least=3.0, at_most=2.0), "at_least <= at_most"),
        (lambda: Refused("bad", at_most=2.0, scale="share"), "<= 1"),
        (lambda: Refused("bad", at_most=2.0, scale="logit"), "'ratio'"),
        (lambda: Informed("bad", given="faith"), "'features'"),
        (lambda: Prevalence("bad", (0.3, 0.2)), "low <= high"),
        (lambda: Prevalence("bad", "many"), "a share or a pair"),
        (lambda: Prevalence("bad", 0.1, standard_error=-1.0), "standard_error"),
        (lambda: SimilarBias(-0.1), "rho >= 0"),
    ],
)
def test_what_makes_no_sense_is_refused_in_one_sentence(make, words):
    with pytest.raises(InputError, match=words) as caught:
        make()
    assert str(caught.value).count(". ") == 0


@pytest.mark.parametrize("other", ["informed", None, 1])
def test_other_things_do_not_combine(other):
    with pytest.raises(TypeError):
        Instrument() & other


@pytest.fixture(scope="module")
def data():
    sample = sl.datasets.make_decision_makers(400, n_classes=2, n_decision_makers=3, random_state=0)
    return sl.SelectiveLabels.from_arrays(sample.X, sample.y, decision_maker=sample.decision_maker)


QUICK = {"nuisance": "logistic", "propensity": "shares", "cv": 2, "random_state": 0}


def test_a_label_that_is_no_class_is_named(data):
    with pytest.raises(InputError, match="'late' is not one of the classes 0, 1"):
        sl.evaluate(0, data, assumption=Instrument() & Informed("late"), **QUICK)


def test_a_range_of_labels_twice_is_an_error(data):
    with pytest.raises(InputError, match="twice"):
        sl.evaluate(0, data, assumption=Instrument() & LabelRange(0.1, 0.9), label_range=(0.1, 0.9), **QUICK)


def test_a_range_of_labels_is_the_keyword(data):
    one = sl.evaluate(0, data, assumption=Instrument() & LabelRange(0.1, 0.9), **QUICK)
    other = sl.evaluate(0, data, label_range=(0.1, 0.9), **QUICK)
    assert (one.lower, one.upper) == (other.lower, other.upper)
    assert one.assumption == "instrument & label range(0.1 to 0.9)"


def test_an_assumption_of_ones_own_takes_ten_lines(data):
    own = sl.evaluate(0, data, assumption=Instrument() & HalfAsBad(1), **QUICK)
    ours = sl.evaluate(0, data, assumption=Instrument() & Refused(1, at_least=0.5), **QUICK)
    np.testing.assert_allclose((own.lower, own.ci_upper), (ours.lower, ours.ci_upper), atol=1e-9)
    assert own.assumption == "instrument & half as bad"
    assert "half as often" in repr(own)
