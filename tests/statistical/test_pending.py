"""Coverage with a fifth of the outcomes pending, at the end of what complete labels identify."""

import os

import numpy as np
import pytest
from scipy.stats import binom

import selective_labels as sl
from tests.pending_designs import BY_LABEL, DATED, RANDOM, delayed, truths

pytestmark = pytest.mark.statistical

# Fewer make a smoke run; the limit below follows.
N_REPLICATIONS = int(os.environ.get("REPLICATIONS", "400"))
N_SAMPLES = 1500
LEAST, FALSE_ALARM = 0.93, 1e-6
# At random, intervals are at most this much wider than those of the same table without pending rows.
WIDER = 1.3
FIGURES = ("accuracy", "share", "human accuracy")


def intervals(how, pending, edge, seed):
    """Confidence limits of the figures, (3, 2)."""
    drawn = delayed(N_SAMPLES, seed, how, edge)
    data = drawn.labels(pending, dated=how == DATED and pending == "at-random")
    ev = sl.Evaluator(data, nuisance="logistic", cv=3, random_state=0)
    found = ev.evaluate(drawn.predictions), ev.evaluate(np.ones(N_SAMPLES)), ev.evaluate("human")
    return np.array([[each.ci_lower, each.ci_upper] for each in found])


@pytest.mark.parametrize(
    ("how", "pending", "edge"),
    [
        (RANDOM, "at-random", 1),
        (RANDOM, "worst-case", 1),
        (DATED, "at-random", 1),
        (DATED, "worst-case", 1),
        (BY_LABEL, "worst-case", None),
    ],
)
def test_intervals_cover_and_are_not_much_wider(how, pending, edge):
    known = truths(edge)
    truth = np.array([known[each] for each in FIGURES])
    found = np.array([intervals(how, pending, edge, seed) for seed in range(N_REPLICATIONS)])
    covered = ((found[:, :, 0] <= truth) & (truth <= found[:, :, 1])).sum(axis=0)
    assert (covered >= binom.ppf(FALSE_ALARM, N_REPLICATIONS, LEAST)).all(), covered / N_REPLICATIONS
    if (how, pending) == (RANDOM, "at-random"):
        few = range(min(N_REPLICATIONS, 40))
        complete = np.array([intervals(how, None, edge, seed) for seed in few])
        ratio = np.diff(found[: len(few)]).mean(axis=0) / np.diff(complete).mean(axis=0)
        assert (ratio <= WIDER).all(), ratio
