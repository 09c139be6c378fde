"""Intervals of a policy curve, where the truth sits on an end of what is identified."""

import numpy as np
import pytest
from scipy.stats import binom

import selective_labels as sl
from selective_labels.datasets import make_decision_makers

pytestmark = pytest.mark.statistical

RATES = [0.3, 0.5, 0.7]
N_SAMPLES, N_REPLICATIONS = 1000, 500


def test_coverage_at_three_rates():
    """slack_class=1 puts the unseen mass into failures: the truth is the upper end."""
    options = {"n_classes": 2, "n_decision_makers": 5, "slack_class": 1}
    everybody = make_decision_makers(400_000, random_state=10**6, **options)
    risk = -everybody.X[:, 0]
    truth = np.array([np.mean((risk < np.quantile(risk, rate)) * (everybody.y_true == 1)) for rate in RATES])
    inside = np.zeros((N_REPLICATIONS, len(RATES)), dtype=bool)
    for seed in range(N_REPLICATIONS):
        sample = make_decision_makers(N_SAMPLES, random_state=seed, **options)
        curve = sl.policy_curve(
            -sample.X[:, 0],
            sample.X,
            sample.y,
            decision_maker=sample.decision_maker,
            rates=RATES,
            nuisance=sample.oracle.joint,
            propensity="shares",
            cv=2,
            random_state=seed,
        )
        frame = curve.to_frame()
        inside[seed] = (frame["failures_ci_lower"] <= truth) & (truth <= frame["failures_ci_upper"])
    coverage = inside.mean(axis=0)
    print("coverage", coverage)
    # False alarm one in a million for each rate.
    assert (inside.sum(axis=0) >= binom.ppf(1e-6, N_REPLICATIONS, 0.95)).all()
