"""SL102: effective F."""

import numpy as np
from numpy.testing import assert_allclose

from selective_labels.diagnostics.strength import EFFECTIVE_F_CHECK, adjusted_leniency
from tests.diagnostics import designs
from tests.diagnostics.contexts import context_of, seed


def slow_f(decision, codes):
    """D'PD / Σ_i P_ii σ_i² with the projection on demeaned indicators written out."""
    indicators = (codes[:, None] == np.unique(codes)).astype(float)
    centred = indicators - indicators.mean(axis=0)
    projection = centred @ np.linalg.pinv(centred.T @ centred) @ centred.T
    shares = np.array([decision[codes == code].mean() for code in np.unique(codes)])
    counts = np.bincount(codes)
    variances = (shares * (1 - shares) * counts / (counts - 1))[codes]
    return decision @ projection @ decision / np.sum(np.diag(projection) * variances)


def test_formula_is_the_projection():
    drawn = designs.plain(300, 5, seed())
    context = context_of(drawn)
    expected = slow_f((drawn.y >= 0).astype(float), drawn.decision_maker)
    assert_allclose(EFFECTIVE_F_CHECK(context).statistic, expected, rtol=1e-6)


def test_leniency_without_strata_is_the_acceptance_rate():
    drawn = designs.plain(500, 4, seed(1))
    rates = [np.mean(drawn.y[drawn.decision_maker == code] >= 0) for code in range(4)]
    assert_allclose(adjusted_leniency(context_of(drawn)).mean, rates)


def test_weak_average_does_not_outvote_conditional_strength():
    from selective_labels.datasets import make_paper_synthetic

    sample = make_paper_synthetic(5000, selection="uc", random_state=3)
    result = EFFECTIVE_F_CHECK(context_of(designs.Drawn(sample.X, sample.y, sample.decision_maker)))
    assert result.statistic < 10
    assert result.status == "ok"
