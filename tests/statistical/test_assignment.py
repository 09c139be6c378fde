"""Coverage where assignment depends on the features, and where weights depend on who decides.

The outcome model is logistic and wrong: it lacks the product that moves labels, decisions and, in two of the
designs, assignment. Only probabilities of decision-makers that are right keep the interval right.
"""

import os
from dataclasses import dataclass

import numpy as np
import pytest
from joblib import Parallel, delayed
from scipy.special import expit, softmax
from scipy.stats import binom

import selective_labels as sl

pytestmark = pytest.mark.statistical

# Fewer make a smoke run; the limit below follows.
N_REPLICATIONS = int(os.environ.get("REPLICATIONS", "1000"))
N_SAMPLES = 2000
N_TRUTH = 2_000_000
LEVEL = 0.95
FALSE_ALARM = 1e-6


@dataclass(frozen=True)
class Design:
    """Cases go to decision-makers by a product of features, in so far as `strength` says."""

    name: str
    n_decision_makers: int
    leniency: tuple[float, float]
    strength: float
    farthest: float = np.inf
    # Sampling rates by decision-maker, which weights undo.
    rates: tuple[float, ...] = ()

    def draw(self, n_samples, seed):
        rng = np.random.default_rng(seed)
        X = rng.normal(size=(n_samples, 4))
        product = np.clip(X[:, 0] * X[:, 1], -self.farthest, self.farthest)
        chances = softmax(
            self.strength * np.outer(product, np.linspace(-1, 1, self.n_decision_makers)), axis=1
        )
        if self.rates:
            chances = chances * self.rates
            chances /= chances.sum(axis=1, keepdims=True)
        z = (rng.random(n_samples)[:, None] > chances.cumsum(axis=1)).sum(axis=1)
        z = z.clip(max=self.n_decision_makers - 1)
        u = rng.normal(size=n_samples)
        label = (rng.random(n_samples) < expit(-2.4 * product + 1.6 * u)).astype(int)
        leniency = np.linspace(*self.leniency, self.n_decision_makers)
        decided = rng.random(n_samples) < expit(leniency[z] + 1.2 * product + u)
        weight = 1 / np.array(self.rates)[z] if self.rates else np.ones(n_samples)
        return X, np.where(decided, label, -1), z, weight, label, (product < 0).astype(int)


DESIGNS = (
    Design("product", 8, (-1.5, 1.5), 2.0),
    Design("product, truth near an end", 4, (-1.0, 2.5), 1.5, farthest=1.5),
    Design("weights by decision-maker", 4, (-1.5, 1.5), 0.0, rates=(1.0, 1.0, 0.5, 0.125)),
)


def covered(design, truth, seed):
    X, y, z, weight, _, guess = design.draw(N_SAMPLES, np.random.SeedSequence([seed, 1]))
    results = sl.evaluate(
        guess,
        X,
        y,
        decision_maker=z,
        sample_weight=weight,
        metric=["accuracy", "share"],
        nuisance="logistic",
        n_jobs=1,
        random_state=seed,
    )
    return [each.ci_lower <= value <= each.ci_upper for each, value in zip(results, truth, strict=True)]


@pytest.mark.parametrize("design", DESIGNS, ids=lambda each: each.name)
def test_the_truth_is_covered(design):
    _, _, _, weight, label, guess = design.draw(N_TRUTH, np.random.SeedSequence([0, 0]))
    truth = [np.average(guess == label, weights=weight), np.average(label == 1, weights=weight)]
    found = np.array(
        Parallel(n_jobs=-1)(delayed(covered)(design, truth, seed) for seed in range(N_REPLICATIONS))
    )
    least = binom.ppf(FALSE_ALARM, N_REPLICATIONS, LEVEL) / N_REPLICATIONS
    for metric, share in zip(("accuracy", "share"), found.mean(axis=0), strict=True):
        assert share >= least, f"{design.name}: {metric} is covered {share:.3f} of the time"
