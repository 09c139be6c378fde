"""Coverage under the tilt where it holds, from no instrument to a strong one; and of the set of tilts."""

import numpy as np
import pytest
from scipy.special import expit, logit, softmax
from scipy.stats import binom, chi2

import selective_labels as sl
from selective_labels import SelectiveLabels
from selective_labels._validation import SKILL_RANGE
from selective_labels.datasets import make_decision_makers, make_tilted
from selective_labels.nuisance.cross_fit import cross_fit
from selective_labels.nuisance.first_stage import HeldOutRows, first_stage
from selective_labels.nuisance.tilts import SkillMoments, fit_tilt, tilt_statistics

pytestmark = pytest.mark.statistical

N_REPEATS = 200
# So many misses of a nominal 95 % interval happen once in a million studies.
MOST_MISSES = binom.ppf(1 - 1e-6, N_REPEATS, 0.05)
TILT = np.array([-0.5, 0.5])


@pytest.mark.parametrize("spread", [0.0, 0.15, 0.4, 1.0])
def test_the_interval_covers_accuracy_and_share(spread):
    misses, truth = np.zeros(2), population_values()
    for seed in range(N_REPEATS):
        sample = make_tilted(1000, 2, tilt=TILT, leniency_spread=spread, random_state=seed)
        predicted = (sample.X[:, 0] < 0).astype(int)
        data = SelectiveLabels.from_arrays(sample.X, sample.y, decision_maker=sample.decision_maker)
        found = sl.evaluate(
            predicted,
            data,
            metric=["accuracy", "share"],
            assumption="tilt",
            nuisance=sample.oracle.joint,
            propensity="shares",
        )
        misses += [not low <= value <= high for (low, high), value in zip(ends(found), truth, strict=True)]
    assert (misses <= MOST_MISSES).all(), misses


@pytest.mark.parametrize("spread", [0.15, 1.0])
def test_the_interval_covers_where_refusal_depends_on_being_right(spread):
    misses = 0
    for seed in range(N_REPEATS):
        rng = np.random.default_rng([5, seed])
        X, maker = rng.normal(size=(1000, 2)), rng.integers(0, 6, 1000)
        predicted, lenient = X.argmax(axis=1), spread * np.linspace(-2, 2, 6)
        truth = (rng.random(1000) < softmax(X, axis=1)[:, 1]).astype(int)

        def joint(X, lenient=lenient):
            eta, right = softmax(X, axis=1), np.eye(2)[X.argmax(axis=1)]
            seen = eta[:, None] * expit(lenient[:, None] + 1.2 * right[:, None])
            return np.concatenate([1 - seen.sum(axis=2, keepdims=True), seen], axis=2)

        accepted = rng.random(1000) < expit(lenient[maker] + 1.2 * (truth == predicted))
        found = sl.evaluate(
            predicted,
            X,
            np.where(accepted, truth, -1),
            decision_maker=maker,
            assumption="tilt",
            nuisance=joint,
            propensity="shares",
        )
        # E max(p, 1 - p), p = expit of a normal variable of variance two.
        grid = np.linspace(-12, 12, 20001)
        density = np.exp(-(grid**2) / 4)
        value = np.average(np.maximum(expit(grid), expit(-grid)), weights=density)
        misses += not found.ci_lower <= value <= found.ci_upper
    assert misses <= MOST_MISSES, misses


@pytest.mark.parametrize("spread", [0.0, 0.3, 1.0])
def test_the_set_of_tilts_covers_the_tilt(spread):
    misses = 0
    for seed in range(N_REPEATS):
        sample = make_tilted(1000, 2, tilt=TILT, leniency_spread=spread, random_state=seed)
        data = SelectiveLabels.from_arrays(sample.X, sample.y, decision_maker=sample.decision_maker)
        rows = HeldOutRows(cross_fit(data, sample.oracle.joint), data)
        statistic = tilt_statistics(rows, first_stage(rows), TILT[None])[0]
        misses += statistic > chi2.ppf(0.95, 1)
    assert misses <= MOST_MISSES, misses


# Coverage that was asked for beforehand, .93.
MOST_MISSES_OF_SKILL = 0.07 * N_REPEATS


@pytest.mark.parametrize("slope", [1.0, -1.0], ids=["the lenient sort better", "the strict sort better"])
@pytest.mark.parametrize("additive", [True, False], ids=["additive", "not additive"])
def test_both_cover_where_skill_varies(additive, slope):
    """With fitted models, half of the draws mirrored; the truth of θ_0 is that of the closest model."""
    misses = np.zeros(3)
    known = {mirrored: closest_model(skilled(1, additive, slope, mirrored, 0)) for mirrored in (False, True)}
    for seed in range(N_REPEATS):
        mirrored = bool(seed % 2)
        sample = skilled(2000, additive, slope, mirrored, [30, seed])
        ratio, *truth = known[mirrored]
        data = SelectiveLabels.from_arrays(sample.X, sample.y, decision_maker=sample.decision_maker)
        rows = HeldOutRows(cross_fit(data, "logistic", random_state=seed), data)
        moments = SkillMoments.fit(rows, first_stage(rows), np.array([[ratio, -ratio]]) / 2, SKILL_RANGE)
        found = sl.evaluate(
            (sample.X[:, 0] < 0).astype(int),
            data,
            metric=["accuracy", "share"],
            assumption="tilt",
            nuisance="logistic",
            random_state=seed,
        )
        outside = [not low <= value <= high for (low, high), value in zip(ends(found), truth, strict=True)]
        misses += [moments.smallest() > chi2.ppf(0.95, 1), *outside]
    print(
        f"additive {additive}, slope {slope:+.0f}: coverage of θ_0, accuracy, share", 1 - misses / N_REPEATS
    )
    assert (misses <= MOST_MISSES_OF_SKILL).all(), misses


def skilled(n_samples, additive, slope, mirrored, seed):
    return make_decision_makers(
        n_samples, 2, additive=additive, mirrored=mirrored, skill_slope=slope, random_state=seed
    )


def closest_model(sample):
    """Log odds ratio of the second class between refused and accepted at mean leniency; accuracy, share."""
    X = np.random.default_rng(99).standard_normal((50_000, 4))
    joint, eta = sample.oracle.joint(X), sample.oracle.probabilities(X)
    leniency = 1.0 - joint[:, :, 0]
    refused = (eta[:, None, 1] - joint[:, :, 2]) / joint[:, :, 0]
    log_ratio = logit(refused) - logit(joint[:, :, 2] / leniency)
    return log_ratio.mean(), eta[np.arange(len(X)), (X[:, 0] < 0).astype(int)].mean(), eta[:, 1].mean()


@pytest.mark.parametrize("spread", [0.3, 1.0])
def test_the_spread_is_what_tilts_vary_by_from_draw_to_draw(spread):
    """With a fitted model, of three classes: errors of nuisances and of folds must not be left out of it."""
    n_draws, gamma = 60, np.array([-0.6, 0.0, 0.6])
    away = np.empty((n_draws, 3))
    for seed in range(n_draws):
        sample = make_tilted(2000, 3, tilt=gamma, leniency_spread=spread, random_state=seed)
        data = SelectiveLabels.from_arrays(sample.X, sample.y, decision_maker=sample.decision_maker)
        rows = HeldOutRows(cross_fit(data, "index", random_state=seed), data)
        found = fit_tilt(rows, first_stage(rows)).refused
        away[seed] = (found.mean - gamma) / found.spread
    squares = np.mean(away**2, axis=0)
    print(f"leniency spread {spread}: mean squared error in spreads {squares.round(2)}")
    # A larger mean happens once in a million studies where the spread is right; the prior makes it smaller.
    assert (squares <= chi2.ppf(1 - 1e-6, n_draws) / n_draws).all(), squares


def ends(found):
    return [(each.ci_lower, each.ci_upper) for each in found]


def population_values():
    """Accuracy of 1{x_1 < 0} and share of the second class, over a large population."""
    oracle = make_tilted(1, 2, tilt=TILT, random_state=0).oracle
    X = np.random.default_rng(99).standard_normal((400_000, 4))
    eta = oracle.probabilities(X)
    return np.array([eta[np.arange(len(X)), (X[:, 0] < 0).astype(int)].mean(), eta[:, 1].mean()])
