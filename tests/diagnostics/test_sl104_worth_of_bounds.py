"""SL104: what bounds will be worth."""

from numpy.testing import assert_allclose

from selective_labels.diagnostics.strength import WORTH_OF_BOUNDS_CHECK
from tests.diagnostics import designs
from tests.diagnostics.contexts import context_of, seed


def test_slack_is_near_that_of_the_design():
    from selective_labels.datasets import make_decision_makers

    sample = make_decision_makers(8000, random_state=seed())
    truth = 1.0 - sample.oracle.lower(sample.X).sum(axis=1).mean()
    result = WORTH_OF_BOUNDS_CHECK(context_of(designs.Drawn(sample.X, sample.y, sample.decision_maker)))
    # Five standard errors (.016) of a mean of 8,000 scores: a false alarm in a million.
    assert_allclose(result.statistic, truth, atol=0.08)


def test_one_class_has_no_bounds():
    drawn = designs.plain(500, 4, seed())
    one_class = designs.Drawn(drawn.X, drawn.y.clip(max=0), drawn.decision_maker)
    assert WORTH_OF_BOUNDS_CHECK(context_of(one_class)).status == "not applicable"
