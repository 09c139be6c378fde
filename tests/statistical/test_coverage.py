"""Coverage of the intervals where it is hardest: at the ends, in wide and in flat designs."""

import os
from dataclasses import dataclass

import numpy as np
import pytest
from joblib import Parallel, delayed
from scipy.special import ndtri
from scipy.stats import binom, qmc

from selective_labels import Bounds, Evaluator, Metric, SelectiveLabels, evaluate
from selective_labels.datasets import make_decision_makers
from selective_labels.evaluation.compare import compare_sample, paired_difference
from selective_labels.evaluation.evaluate import evaluate_sample
from selective_labels.evaluation.metrics import read_metrics
from selective_labels.evaluation.predictions import read_predictions
from tests.reference.population_bounds import accuracy_coefficients, mean_extremes, rate_extremes

pytestmark = pytest.mark.statistical

# Fewer make a smoke run; the limit below follows.
N_REPLICATIONS = int(os.environ.get("REPLICATIONS", "1000"))
N_SAMPLES = 2000
LEVEL = 0.95
FALSE_ALARM = 1e-6
LEAST_MEAN = 0.94
# All unseen labels are of this class, which `first` never predicts and `second` predicts where they differ:
# the accuracy of `first` and the difference of the two then sit on their lower ends.
SLACK_CLASS = 2
POS_LABEL = 1
DIFFER = 0.1


@dataclass(frozen=True)
class Design:
    name: str
    n_decision_makers: int
    leniency_spread: float

    def draw(self, n_samples, seed):
        return make_decision_makers(
            n_samples,
            n_decision_makers=self.n_decision_makers,
            slack_class=SLACK_CLASS,
            leniency_spread=self.leniency_spread,
            random_state=seed,
        )


DESIGNS = (
    Design("J=8", 8, 1.0),
    Design("J=8 flat", 8, 0.0),
    Design("J=40", 40, 1.0),
    Design("J=40 flat", 40, 0.0),
)


def first(X):
    """The better of classes 0 and 1, for nobody class 2."""
    return (X[:, 1] > X[:, 0] + X[:, 2]).astype(int)


def second(X):
    """Class 2 for a tenth of the cases, chosen by the feature that is noise."""
    return np.where(X[:, 3] > ndtri(1 - DIFFER), SLACK_CLASS, first(X))


def population_ends(design):
    """Sharp ends of accuracy, rate and difference, and the true accuracy and difference, by quadrature."""
    X = ndtri(qmc.Sobol(4, rng=0).random_base2(15))
    oracle = design.draw(1, 0).oracle
    lower = oracle.lower(X)
    bounds = Bounds(lower, lower + 1.0 - lower.sum(axis=1, keepdims=True))
    one, other = np.eye(3)[first(X)], np.eye(3)[second(X)]
    rate = rate_extremes(one[:, POS_LABEL], bounds.lower[:, POS_LABEL], bounds.upper[:, POS_LABEL])
    ends = {
        "accuracy": mean_extremes(accuracy_coefficients(one), bounds),
        "tpr": (rate.minimum, rate.maximum),
        "difference": mean_extremes(one - other, bounds),
    }
    eta = oracle.probabilities(X)
    truth = {
        "accuracy": (one * eta).sum(axis=1).mean(),
        "difference": ((one - other) * eta).sum(axis=1).mean(),
    }
    return ends, truth


def replicate(design, seed):
    """Intervals of one sample: {metric: (parameter interval, set interval, estimated width)}."""
    sample = design.draw(N_SAMPLES, seed)
    data = SelectiveLabels.from_arrays(sample.X, sample.y, decision_maker=sample.decision_maker)
    evaluator = Evaluator(data, nuisance="logistic", random_state=int(seed.generate_state(1)[0]))
    scored = evaluator.scores()
    subjects = [read_predictions(rule(sample.X), scored.data) for rule in (first, second)]
    metrics = read_metrics(["accuracy", "tpr"], subjects[0], POS_LABEL, None)
    contest = paired_difference(*subjects, Metric("difference", lambda truth, predicted: truth == predicted))
    results = [
        *evaluate_sample(scored, subjects[0], metrics, interval="set", confidence_level=LEVEL),
        compare_sample(scored, contest, "instrument", "set", LEVEL),
        *evaluate_sample(scored, subjects[0], metrics, interval="parameter", confidence_level=LEVEL),
        compare_sample(scored, contest, "instrument", "parameter", LEVEL),
    ]
    return {(each.metric, each.interval): (each.ci_lower, each.ci_upper, each.width) for each in results}


def coverage_rows(design, seeds, n_jobs):
    ends, truth = population_ends(design)
    for metric, value in truth.items():
        # The design does what it is for: the true value is an end of the identified interval.
        np.testing.assert_allclose(value, ends[metric][0], atol=1e-6)
    drawn = Parallel(n_jobs=n_jobs)(delayed(replicate)(design, seed) for seed in seeds)
    for metric, (low, high) in ends.items():
        value_low, value_high, width = np.array([each[metric, "parameter"] for each in drawn]).T
        set_low, set_high, _ = np.array([each[metric, "set"] for each in drawn]).T
        yield {
            "design": design.name,
            "metric": metric,
            "value at lower end": np.mean((value_low <= low) & (low <= value_high)),
            "value at upper end": np.mean((value_low <= high) & (high <= value_high)),
            "set": np.mean((set_low <= low) & (high <= set_high)),
            "mean width": width.mean(),
            "population width": high - low,
        }


CELLS = ("value at lower end", "value at upper end", "set")


def test_coverage():
    """Every cell within the binomial limit, and their mean near the nominal level."""
    seeds = np.random.SeedSequence(20260715).spawn(len(DESIGNS) * N_REPLICATIONS)
    table = []
    for number, design in enumerate(DESIGNS):
        own = seeds[number * N_REPLICATIONS : (number + 1) * N_REPLICATIONS]
        table += coverage_rows(design, own, n_jobs=os.cpu_count())
    columns = list(table[0])
    print("  ".join(f"{column:>18s}" for column in columns))
    for row in table:
        print(
            "  ".join(f"{row[c]:>18.3f}" if isinstance(row[c], float) else f"{row[c]:>18s}" for c in columns)
        )
    covered = np.array([[row[cell] for cell in CELLS] for row in table])
    limit = binom.ppf(FALSE_ALARM, N_REPLICATIONS, LEVEL) / N_REPLICATIONS
    assert covered.min() >= limit
    assert covered.mean() >= LEAST_MEAN


def test_ends_at_large_n():
    """At n=20,000 the mean of each estimated end over 20 seeds is within .015 of the sharp end."""
    n_samples, n_seeds, tolerance = 20_000, 20, 0.015
    design = make_decision_makers(1, random_state=0).oracle
    X = ndtri(qmc.Sobol(4, rng=0).random_base2(15))
    lower = design.lower(X)
    sharp = mean_extremes(np.eye(3)[first(X)], Bounds(lower, lower + 1.0 - lower.sum(axis=1, keepdims=True)))

    def ends(seed):
        sample = make_decision_makers(n_samples, random_state=seed)
        result = evaluate(
            first(sample.X), sample.X, sample.y, decision_maker=sample.decision_maker, random_state=0
        )
        return result.lower, result.upper

    seeds = np.random.SeedSequence(20260716).spawn(n_seeds)
    estimated = Parallel(n_jobs=os.cpu_count())(delayed(ends)(seed) for seed in seeds)
    mean = np.mean(estimated, axis=0)
    print(f"sharp {np.round(sharp, 4)}, mean of estimates {mean.round(4)}")
    np.testing.assert_allclose(mean, sharp, atol=tolerance)
