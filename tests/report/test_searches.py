"""A report about tests: people say yes where they expect to find something."""

from dataclasses import replace

import pytest

import selective_labels as sl
from selective_labels.evaluation.policy import otherwise
from tests.evaluation.test_policy import COST, drawn
from tests.report.samples import QUICK


def page(means="accept", **options):
    risk, data = drawn(500)
    data = replace(data, vocabulary=sl.Vocabulary(means=means))
    flagged = (risk > 0.5).astype(int)
    return sl.assess(data, predictions=flagged, cost=COST, **QUICK, **options)


@pytest.fixture(scope="module")
def as_usual():
    return page()


def test_no_table_says_that_testing_predicts_a_negative(as_usual):
    assert as_usual["team"]["reversed"]
    assert otherwise(drawn()[1]) in as_usual["team"]["missing"]
    assert "--decision-means inspect" in as_usual["team"]["missing"]


def test_the_first_screen_says_so_in_place_of_a_share_to_accept(as_usual):
    steps = as_usual["summary"]["next"]
    assert any("--decision-means inspect" in each for each in steps)
    assert not any(each.startswith("With these costs, accepting") for each in steps)


def test_the_table_is_there_once_the_meaning_is_stated():
    assert "missing" not in page(means="inspect")["team"]


def test_what_was_said_is_not_asked_for_again(as_usual):
    known = [sl.assumptions.Informed(0)]
    stated = page(assumptions=known)["summary"]
    assert any("The range narrows if you know more" in each for each in as_usual["summary"]["next"])
    assert not any("The range narrows if you know more" in each for each in stated["next"])
    assert "and what you state below holds." in stated["headline"]
    assert any(each.startswith("You state: ") for each in stated["assumed"])
