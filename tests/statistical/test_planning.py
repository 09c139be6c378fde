"""Does a plan predict the width that more cases, or a lottery, then bring?"""

import numpy as np
import pytest

import selective_labels as sl
from selective_labels.datasets import make_decision_makers

pytestmark = pytest.mark.statistical

N_SIMULATIONS = 20
N_CASES = 1000
DESIGNS = {
    "additive": {"n_decision_makers": 6},
    "not additive": {"n_decision_makers": 6, "additive": False},
    "mirrored": {"n_decision_makers": 4, "mirrored": True},
    "many": {"n_decision_makers": 12},
}
QUICK = {"nuisance": "logistic", "cv": 2, "propensity": "shares", "random_state": 0}


def rule(X):
    return (X[:, 0] < 0).astype(int)


def width(result):
    return result.ci_upper - result.ci_lower


def ratios(options):
    """Predicted over actual width: after doubling, and after a lottery of a fifth of the refused."""
    found = []
    for seed in range(N_SIMULATIONS):
        sample = make_decision_makers(3 * N_CASES, n_classes=2, random_state=seed, **options)
        first, other = np.arange(N_CASES), np.arange(N_CASES, 3 * N_CASES)
        results = [
            sl.evaluate(
                rule(sample.X[rows]),
                sample.X[rows],
                sample.y[rows],
                decision_maker=sample.decision_maker[rows],
                **QUICK,
            )
            for rows in (first, other)
        ]
        taken = sample.decision[first] == 1
        n_refused = int((~taken).sum())
        n_drawn = n_refused // 5
        drawn = np.random.default_rng(seed).choice(np.flatnonzero(~taken), n_drawn, replace=False)
        seen = np.concatenate([np.flatnonzero(taken), drawn])
        weights = np.where(taken[seen], 1.0, n_refused / n_drawn)
        after = sl.evaluate(rule(sample.X[seen]), sample.X[seen], sample.y_true[seen], sample_weight=weights)
        ways = sl.plan(results[0], cases=2, lottery=n_drawn).to_frame().set_index("way")["interval"]
        doubled = ways["2 times the cases"] / width(results[1])
        found.append([doubled, ways[f"{n_drawn:,} refused cases accepted at random"] / width(after)])
    return np.array(found)


@pytest.mark.parametrize("name", DESIGNS)
def test_predicted_widths(name):
    found = ratios(DESIGNS[name])
    mean, error = found.mean(axis=0), found.std(axis=0, ddof=1) / np.sqrt(N_SIMULATIONS)
    print(name, "doubling, lottery:", mean.round(3), "+-", error.round(3))
    assert abs(mean[0] - 1.0) <= 0.15
    assert abs(mean[1] - 1.0) <= 0.20
