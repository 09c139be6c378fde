"""Assumptions as objects: values with words, needs and scores that other rooms can rely on."""

import pickle
from dataclasses import FrozenInstanceError

import numpy as np
import pytest

from selective_labels.assumptions import Findings, Instrument, NoAssumption, Nucem, Unconfounded
from selective_labels.assumptions.parse import NAMED
from selective_labels.nuisance.score_formulas import (
    OVERLAP,
    Rows,
    aipw_scores,
    average_over_arms,
    envelope_scores,
    manski_scores,
    slope_or_bound_scores,
)

every = pytest.mark.parametrize("assumption", NAMED, ids=lambda each: each.name)


@pytest.fixture(scope="module")
def rows():
    """Five cases, two arms, two classes, two models."""
    generator = np.random.default_rng(0)
    first, second = generator.dirichlet(np.ones(3), size=(2, 2, 5))
    propensity = generator.dirichlet(np.full(2, 5.0), size=5)
    return Rows(
        first,
        second,
        np.array([0, 1, 1, 0, 1]),
        np.array([0, 1, -1, -1, 1]),
        propensity,
        np.full((5, 2), 0.1),
    )


@every
def test_equal_by_value_hashable_picklable_and_frozen(assumption):
    again = type(assumption)()
    assert again == assumption
    assert again is not assumption
    assert {again: 1}[assumption] == 1
    assert pickle.loads(pickle.dumps(assumption)) == assumption
    with pytest.raises(FrozenInstanceError):
        assumption.name = "other"


def test_all_differ():
    assert len(set(NAMED)) == len(NAMED)
    assert len({each.name for each in NAMED}) == len(NAMED)


@every
def test_words_are_there_and_end_as_sentences_do(assumption):
    assert assumption.name == assumption.name.lower()
    assert assumption.title
    assert assumption.sentence.endswith(".")
    assert assumption.meaning.endswith(".")
    for given, words in assumption.questions:
        assert given in ("strata", "features")
        assert words.startswith(assumption.name)


def test_what_each_needs_and_gives():
    """The table of docs/evaluation.md."""
    assert [each for each in NAMED if each.needs_decision_makers] == [Instrument(), Nucem()]
    assert [each for each in NAMED if each.identifies_value] == [Nucem(), Unconfounded()]
    assert [each for each in NAMED if each.needs_halves] == [Nucem()]
    assert [each for each in NAMED if not each.questions] == [NoAssumption()]


def test_scores_are_those_of_the_formulas(rows):
    joint = (rows.first + rows.second) / 2
    labeled = average_over_arms(joint, rows.propensity)
    expected = {
        NoAssumption(): manski_scores(rows.y, labeled),
        Instrument(): envelope_scores(joint, rows.arm, rows.y, rows.propensity, rows.lead, 0.3),
        Nucem(): slope_or_bound_scores(rows, 0.3),
        Unconfounded(): aipw_scores(labeled, rows.y, 0.3),
    }
    assert set(expected) == set(NAMED)
    for assumption, scores in expected.items():
        found = assumption.score(rows, 0.3)
        for part in ("values", "plug_in", "clipped"):
            np.testing.assert_array_equal(getattr(found, part), getattr(scores, part), str(assumption))


@pytest.mark.parametrize("assumption", [Instrument(), Unconfounded()], ids=lambda each: each.name)
def test_overlap_reaches_the_formula(assumption, rows):
    """Guards the power of the test above: the limit is felt in these rows."""
    strict, loose = (assumption.score(rows, overlap).clipped for overlap in (0.9, OVERLAP))
    assert strict.sum() > loose.sum()


@every
def test_values_sum_to_one_where_a_value_is_identified(assumption, rows):
    scores = assumption.score(rows, OVERLAP)
    free = scores.by_bounds
    assert not free.all()
    assert np.allclose(scores.slack[~free], 0.0) == assumption.identifies_value


def test_one_model_is_not_averaged_with_itself(rows):
    alone = Rows(rows.first, rows.first, rows.arm, rows.y, rows.propensity, rows.lead)
    assert alone.joint is rows.first


def test_nothing_was_found_is_no_pass():
    """Without a single check only what assumes nothing is allowed."""
    allowed = [each for each in NAMED if each.permission(Findings(()), "strata")]
    assert allowed == [NoAssumption()]
