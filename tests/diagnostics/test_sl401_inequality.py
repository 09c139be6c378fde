"""SL401: the instrumental inequality on average."""

import numpy as np
from numpy.testing import assert_allclose
from scipy.stats import ttest_1samp

from selective_labels.diagnostics.exclusion import INEQUALITY_CHECK
from selective_labels.diagnostics.hypothesis_tests import one_sided
from tests.diagnostics import designs
from tests.diagnostics.contexts import context_of, seed


def test_one_sided_is_the_t_test():
    values = np.random.default_rng(0).standard_normal(500) + 0.1
    expected = ttest_1samp(values, 0.0, alternative="greater")
    assert_allclose(one_sided(values), (expected.statistic, expected.pvalue), rtol=0.02)


def test_valid_design_is_left_alone():
    assert INEQUALITY_CHECK(context_of(designs.plain(3000, 8, seed()))).status == "ok"


def test_boundary_design_is_left_alone():
    assert INEQUALITY_CHECK(context_of(designs.on_the_boundary(3000, 8, seed()))).status == "ok"


def test_labels_made_by_decision_makers_are_found():
    result = INEQUALITY_CHECK(context_of(designs.label_depends_on_decision_maker(3000, 6, seed())))
    assert result.status == "violated"


def test_no_rejected_case():
    drawn = designs.plain(500, 4, seed())
    result = INEQUALITY_CHECK(context_of(designs.Drawn(drawn.X, np.abs(drawn.y), drawn.decision_maker)))
    assert result.status == "not applicable"
    assert "decided against" in result.message
