"""Size and power of the check of predictions, and coverage of the human's intervals."""

import os

import numpy as np
import pytest
from scipy.special import expit, softmax
from scipy.stats import binom

import selective_labels as sl
from selective_labels._parallel import in_processes
from selective_labels.evaluation.prediction_check import PredictionBalance
from selective_labels.nuisance.cross_fit import FittingSettings
from selective_labels.nuisance.scores import selector_bands

pytestmark = pytest.mark.statistical

N_REPLICATIONS = int(os.environ.get("REPLICATIONS", "200"))
N_JOBS = int(os.environ.get("JOBS", os.cpu_count() or 1))
FALSE_ALARM = 1e-6
DOUBTFUL, REFUSED = 0.01, 1e-4
LEAST_POWER = 0.9  # for the designs listed here; 40 decision-makers given a feature have less
INNOCENT = ("rule", "product", "vendor", "vendor's score", "probability")
MADE_OF_DECISIONS = ("decisions", "and", "or", "id", "score with id")
DESIGNS = {
    "6 decision-makers": {},
    "40 decision-makers": {"n_makers": 40},
    "200 decision-makers": {"n_makers": 200, "n_samples": 3000},
    "strata": {"n_makers": 12, "strata": True},
    "assignment linear in X": {"assigned": lambda X: X[:, 0]},
    "assignment by a product": {"assigned": lambda X: X[:, 0] * X[:, 1]},
    "weights by decision": {"n_samples": 4000, "weighted": True},
    "weak instrument": {"spread": 0.15},
}


def draw(seed, n_samples=2500, n_makers=6, spread=1.0, assigned=None, strata=False, weighted=False):
    """Data and predictions by name; people look at the vendor's score, which knows more than the features."""
    rng, roles = np.random.default_rng(seed), {}
    X, hidden, more = rng.normal(size=(n_samples, 4)), *rng.normal(size=(2, n_samples))
    maker = rng.integers(0, n_makers, n_samples)
    if strata:
        roles["strata"] = rng.integers(0, 8, n_samples)
        maker = (roles["strata"] * (n_makers // 4) + maker) % n_makers
    if assigned is not None:
        chances = softmax(1.2 * assigned(X)[:, None] * np.linspace(-1, 1, n_makers), axis=1)
        maker = (rng.random(n_samples)[:, None] > chances.cumsum(axis=1)).sum(axis=1).clip(max=n_makers - 1)
    label = (rng.random(n_samples) < expit(1.2 * X[:, 0] - X[:, 1] + hidden + more)).astype(int)
    vendor = X[:, 0] + 0.7 * X[:, 2] ** 2 + more + 0.5 * rng.normal(size=n_samples)
    lenient = spread * rng.permutation(np.linspace(-1.5, 1.5, n_makers))[maker]
    accepted = rng.random(n_samples) < expit(0.3 + lenient - 0.8 * X[:, 0] - hidden - 0.8 * vendor)
    habit = rng.permutation(np.linspace(-0.6, 0.6, n_makers))[maker]
    line = X[:, 0] - X[:, 1]
    predictions = {
        "rule": line > 0,
        "product": X[:, :3].prod(axis=1) > 0,
        "vendor": vendor > np.median(vendor),
        "vendor's score": vendor,
        "probability": expit(line),
        "decisions": ~accepted,
        "and": (line > 0) | ~accepted,
        "or": (line > 0) & ~accepted,
        "id": line + habit > 0,
        "score with id": expit(line + habit),
    }
    kept = slice(None)
    if weighted:  # one in three of the refused is sampled, so that a vendor's score depends on who decides
        kept = np.flatnonzero(rng.random(n_samples) < np.where(accepted, 1.0, 1 / 3))
        roles["sample_weight"] = np.where(accepted, 1.0, 3.0)[kept]
    y = np.where(accepted, label, -1)[kept]
    data = sl.SelectiveLabels.from_arrays(X[kept], y, decision_maker=maker[kept], **roles)
    return data, {name: each[kept].astype(float) for name, each in predictions.items()}


def p_values(design, seed):
    data, predictions = draw(seed, **DESIGNS[design])
    settings = FittingSettings.read("logistic", n_jobs=1, random_state=seed)
    fit = settings.cross_fit(data, seed=settings.repeated_seeds[0], n_bands=selector_bands(data))
    balance = PredictionBalance(data, fit, seed)
    return {name: balance.p_value(each[:, None]) for name, each in predictions.items()}


@pytest.mark.parametrize("design", DESIGNS)
def test_size_and_power(design):
    """False alarms at most as often as said; what is made of decisions is refused."""
    tasks = [(p_values, design, seed) for seed in range(N_REPLICATIONS)]
    found = list(in_processes(tasks, n_jobs=N_JOBS))
    for name in INNOCENT:
        values = np.array([each[name] for each in found])
        for level in (DOUBTFUL, REFUSED):
            most = binom.isf(FALSE_ALARM, N_REPLICATIONS, level)
            assert np.sum(values < level) <= most, (name, level)
    if design == "weak instrument":  # decisions hardly depend on who decides, nor do teams
        return
    for name in MADE_OF_DECISIONS:
        values = np.array([each[name] for each in found])
        least = binom.ppf(FALSE_ALARM, N_REPLICATIONS, LEAST_POWER)
        assert np.sum(values < REFUSED) >= least, name


METRICS = ["accuracy", "tpr", "fpr", "ppv", "f1", "balanced_accuracy"]


def human(seed):
    """Whether the interval of each metric has the value in it, with the truth on an end of the bounds."""
    sample = sl.datasets.make_decision_makers(2000, n_classes=2, slack_class=1, random_state=seed)
    roles = {"decision_maker": sample.decision_maker, "nuisance": "logistic", "propensity": "shares"}
    found = sl.evaluate("human", sample.X, sample.y, metric=METRICS, n_jobs=1, random_state=seed, **roles)
    return [[each.ci_lower, each.ci_upper] for each in found]


def test_intervals_of_the_human_cover():
    large = sl.datasets.make_decision_makers(400_000, n_classes=2, slack_class=1, random_state=0)
    refused = (large.decision == 0).astype(int)
    truth = sl.evaluate(refused, large.X, large.y_true, metric=METRICS)
    tasks = [(human, seed) for seed in range(N_REPLICATIONS)]
    ends = np.array(list(in_processes(tasks, n_jobs=N_JOBS)))
    for place, each in enumerate(truth):
        covered = np.sum((ends[:, place, 0] <= each.lower) & (each.lower <= ends[:, place, 1]))
        assert covered >= binom.ppf(FALSE_ALARM, N_REPLICATIONS, 0.95), each.metric
