"""Coverage of NUCEM intervals from no instrument to a strong one."""

import os
import warnings

import numpy as np
import pytest
from scipy.stats import binom

from selective_labels import DiagnosticWarning, evaluate
from selective_labels.datasets import make_decision_makers
from tests.evaluation.samples import population, rule

pytestmark = pytest.mark.statistical

# Fewer make a smoke run; the limit below follows.
N_REPLICATIONS = int(os.environ.get("REPLICATIONS", "1000"))
FALSE_ALARM = 1e-6
LEVEL = 0.95


def replicate(spread, seed):
    """Ends of the interval of one sample, and its share of bounded rows."""
    sample = make_decision_makers(2000, leniency_spread=spread, random_state=seed)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DiagnosticWarning)  # that it is weak is the point
        result = evaluate(
            rule(sample.X),
            sample.X,
            sample.y,
            decision_maker=sample.decision_maker,
            assumption="nucem",
            nuisance="logistic",
            n_jobs=1,
            random_state=int(seed.generate_state(1)[0]),
        )
    return result.ci_lower, result.ci_upper, result.sample.bounded_share


@pytest.mark.parametrize("spread", [0.0, 0.1, 0.3, 0.5, 1.0])
def test_nucem_covers_whatever_the_strength(spread):
    oracle = make_decision_makers(1, leniency_spread=spread, random_state=0).oracle
    X, _ = population(oracle)
    truth = np.mean(oracle.probabilities(X)[np.arange(len(X)), rule(X)])
    seeds = np.random.SeedSequence([20261116, int(100 * spread)]).spawn(N_REPLICATIONS)
    low, high, bounded = np.array([replicate(spread, seed) for seed in seeds]).T
    covered = np.mean((low <= truth) & (truth <= high))
    print(f"{spread}: coverage {covered:.3f}, width {np.mean(high - low):.3f}, bounded {bounded.mean():.2f}")
    assert covered >= binom.ppf(FALSE_ALARM, N_REPLICATIONS, LEVEL) / N_REPLICATIONS
    if spread == 1.0:
        assert bounded.mean() < 0.05  # the usual design is decided by slopes
