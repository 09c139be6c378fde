"""SL801: leniency apart from skill."""

import numpy as np
from scipy.special import ndtri

from selective_labels.diagnostics.nucem import SKILL_CHECK, biserial, slope_test
from tests.diagnostics import designs
from tests.diagnostics.contexts import context_of


def test_biserial_does_not_depend_on_the_threshold():
    generator = np.random.default_rng(0)
    index = generator.standard_normal(200_000)
    latent = 0.6 * index + 0.8 * generator.standard_normal(200_000)
    codes = np.arange(200_000) % 3
    decision = (latent > ndtri([0.2, 0.5, 0.8])[codes]).astype(float)
    # Standard errors are about .003 each: 4.5 of them.
    np.testing.assert_allclose(biserial(codes, decision, index, 3), 0.6, atol=0.0135)


def test_slope_test_finds_no_slope_in_noise():
    generator = np.random.default_rng(1)
    drawn = [
        slope_test(generator.standard_normal(20), generator.standard_normal(20), np.ones(20))[1]
        for _ in range(1000)
    ]
    # Jackknife-like errors keep or undercut the level: .05 plus 4.5 standard errors.
    assert np.mean(np.array(drawn) < 0.05) < 0.05 + 4.5 * np.sqrt(0.05 * 0.95 / 1000)


def threshold_rules(n_samples, generator, care_rises):
    """Decisions follow the first feature; with `care_rises` the more, the more lenient the decision-maker."""
    makers = generator.integers(12, size=n_samples)
    X = generator.standard_normal((n_samples, 2))
    lenient = np.linspace(-1.0, 1.0, 12)[makers]
    y = (X[:, 0] + 0.5 * generator.standard_normal(n_samples) > 0).astype(int)
    care = 1.0 + lenient if care_rises else 1.0
    decided = lenient + care * X[:, 0] + generator.standard_normal(n_samples) > 0
    return designs.Drawn(X, np.where(decided, y, -1), makers)


def test_skill_that_goes_with_leniency_is_found():
    result = SKILL_CHECK(context_of(threshold_rules(6000, np.random.default_rng(2), care_rises=True)))
    assert result.status == "warning"
    assert result.message.startswith("Lenient")


def test_equal_skill_is_left_alone():
    assert (
        SKILL_CHECK(context_of(threshold_rules(6000, np.random.default_rng(2), care_rises=False))).status
        == "ok"
    )
