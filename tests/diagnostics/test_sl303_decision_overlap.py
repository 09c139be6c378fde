"""SL303: kinds of cases that nobody decides in favour of."""

import numpy as np
import pytest
from scipy.special import expit

from selective_labels.diagnostics.overlap import DECISION_OVERLAP_CHECK
from tests.diagnostics import designs
from tests.diagnostics.contexts import context_of, seed


def by_one_feature(strength):
    generator = np.random.default_rng(seed())
    X, makers = generator.standard_normal((2000, 2)), generator.integers(4, size=2000)
    decided = generator.random(2000) < expit(strength * X[:, 0] + 0.5 * (makers - 1.5))
    return designs.Drawn(X, np.where(decided, generator.integers(2, size=2000), -1), makers)


def test_cases_that_are_hardly_ever_accepted_are_counted():
    result = DECISION_OVERLAP_CHECK(context_of(by_one_feature(5.0)))
    assert result.status == "warning"
    assert 0.2 < result.statistic < 0.4  # P(5 x < logit .05) is about .28
    assert "labels stand for" in result.message


def test_overlap_is_left_alone():
    assert DECISION_OVERLAP_CHECK(context_of(by_one_feature(0.5))).status == "ok"


def test_every_label_seen():
    drawn = by_one_feature(0.5)
    whole = designs.Drawn(drawn.X, np.abs(drawn.y), drawn.decision_maker)
    assert DECISION_OVERLAP_CHECK(context_of(whole)).status == "not applicable"


@pytest.mark.parametrize("shape", ["product", "band"])
def test_cases_that_are_never_accepted_are_seen_whatever_their_shape(shape):
    """A third of the cases, of which a linear model sees nothing; every sample warns."""
    for number in range(3):
        result = DECISION_OVERLAP_CHECK(
            context_of(designs.never_accepted(2000, 6, seed(number), shape=shape))
        )
        assert result.status == "warning"
        assert 0.15 < result.statistic < 0.4


def test_chances_that_are_rare_for_all_are_no_kind_of_case():
    """Overfit trees call some cases hopeless; the rows that they have not seen say otherwise."""
    for number in range(3):
        drawn = designs.plain(500, 8, seed(number))
        assert DECISION_OVERLAP_CHECK(context_of(drawn)).status == "ok"
