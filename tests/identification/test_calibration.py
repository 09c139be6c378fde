"""Section 6 and Appendix D of the paper: surrogate risks, from first principles, with E9, E10b and E11."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.integrate import quad
from scipy.special import softmax
from scipy.stats import binom

from selective_labels.identification.costs import MARGIN_LOSSES, margin_loss, softmax_cost

POINTS, CLASSES = 6, 4


def risk(scores, costs, weight):
    """Mean cost of the class with the largest score."""
    return weight @ np.take_along_axis(costs, scores.argmax(axis=1)[:, None], axis=1)[:, 0]


def softmax_risk(scores, costs, weight):
    return weight @ softmax_cost(scores, costs)[0]


def draw(rng, scale=2.0):
    weight, costs = rng.dirichlet(np.ones(POINTS)), rng.exponential(size=(POINTS, CLASSES))
    return rng.normal(scale=scale, size=(POINTS, CLASSES)), costs, weight


@pytest.mark.parametrize("seed", range(50))
def test_theorem_6_1_calibration_of_the_softmax_risk(seed):
    scores, costs, weight = draw(np.random.default_rng(seed))
    least = weight @ costs.min(axis=1)  # the infimum over all scores, of either risk
    excess, surrogate = risk(scores, costs, weight) - least, softmax_risk(scores, costs, weight) - least
    # The excess risk is at most K times the excess surrogate risk.
    assert excess <= CLASSES * surrogate + 1e-12


def test_theorem_6_1_needs_the_factor_k():
    # Nearly equal scores, and a cost on the predicted class alone: the ratio comes as close to K as wished.
    scores = np.array([[1e-6, 0.0, 0.0, 0.0]])
    costs, weight = np.array([[1.0, 0.0, 0.0, 0.0]]), np.ones(1)
    ratio = risk(scores, costs, weight) / softmax_risk(scores, costs, weight)
    assert_allclose(ratio, CLASSES, rtol=1e-5)


def test_theorem_6_1_infimum_is_not_attained():
    _, costs, weight = draw(np.random.default_rng(61))
    towards_best = np.eye(CLASSES)[costs.argmin(axis=1)]
    values = [softmax_risk(scale * towards_best, costs, weight) for scale in (1.0, 5.0, 20.0)]
    least = weight @ costs.min(axis=1)
    # The surrogate falls towards the least risk and never reaches it.
    assert values[0] > values[1] > values[2] > least
    assert_allclose(values[2], least, rtol=1e-6)


def test_theorem_6_1_domain_of_the_exchange():
    predicted, best = 1.0, -2.0  # scores of the predicted and of the cheapest class

    def exchanged(mu):
        """New scores of the cheapest and the predicted class, with the same sum of exponentials."""
        return np.log(np.exp(predicted) - mu), np.log(np.exp(best) + mu)

    left, right = -np.exp(best), np.exp(predicted)
    # E11: both logarithms are defined between -exp(h_best) and exp(h_predicted) ...
    for mu in (left + 1e-9, 0.0, right - 1e-9):
        assert np.isfinite(exchanged(mu)).all()
        assert_allclose(np.exp(exchanged(mu)).sum(), np.exp(predicted) + np.exp(best), rtol=1e-12)
    # ... and not on the paper's interval, whose left end is -exp(h_predicted).
    assert np.exp(best) - np.exp(predicted) < 0


@pytest.mark.parametrize("surrogate", MARGIN_LOSSES)
@pytest.mark.parametrize("seed", range(10))
def test_proposition_6_2_calibration_of_the_weighted_risk(surrogate, seed):
    rng = np.random.default_rng(seed)
    scores, signed, weight = rng.normal(size=40), rng.normal(size=40), rng.dirichlet(np.ones(40))
    target = weight @ (np.abs(signed) * (np.sign(scores) != np.sign(signed)))
    phi_risk = weight @ (np.abs(signed) * margin_loss(surrogate)(scores * np.sign(signed))[0])
    # Both infima over all scores are zero, so the inequality is between the risks themselves.
    assert target <= phi_risk


def test_proposition_6_2_needs_the_binary_logarithm():
    margin = -0.01
    # E9: with the natural logarithm a wrong sign can cost less than one.
    assert np.log1p(np.exp(-margin)) < 1
    assert margin_loss("logistic")(np.array([margin]))[0][0] > 1


def test_generalization_bound_needs_all_scores():
    # E10b: two score functions only; class 0 is right everywhere.
    costs, weight = np.array([[0.0, 1.0], [0.0, 1.0]]), np.array([0.7, 0.3])
    timid = np.array([[0.49, 0.0], [0.49, 0.0]])
    bold = np.array([[20.0, 0.0], [0.0, 0.15]])
    # The bold one has the smaller surrogate risk ...
    assert_allclose(softmax_risk(timid, costs, weight), 0.380, atol=5e-4)
    assert_allclose(softmax_risk(bold, costs, weight), 0.161, atol=5e-4)
    # ... and the larger risk: over a restricted class the calibration bound does not hold.
    assert risk(bold, costs, weight) - risk(timid, costs, weight) == pytest.approx(0.3)


@pytest.mark.parametrize("seed", range(20))
def test_lemma_d_1_decomposition_of_the_excess_surrogate_risk(seed):
    rng = np.random.default_rng(seed)
    _, costs, weight = draw(rng)
    candidates = rng.normal(size=(30, POINTS, CLASSES))
    folds = [rng.integers(POINTS, size=25) for _ in range(4)]
    estimated = [costs + rng.normal(scale=0.2, size=costs.shape) for _ in folds]

    def mean_of(values):
        return np.mean(values, axis=0)

    true = np.array([softmax_risk(h, costs, weight) for h in candidates])
    population = np.array([[softmax_risk(h, w, weight) for h in candidates] for w in estimated])
    shares = [np.bincount(rows, minlength=POINTS) / len(rows) for rows in folds]
    empirical = np.array(
        [[softmax_risk(h, w, share) for h in candidates] for w, share in zip(estimated, shares, strict=True)]
    )
    chosen = mean_of(empirical).argmin()
    nuisance_error = np.abs(population - true).max(axis=1).mean()
    process_error = np.abs(empirical - population).max(axis=1).mean()
    # What the empirical minimiser loses is at most twice both suprema.
    assert true[chosen] - true.min() <= 2 * nuisance_error + 2 * process_error + 1e-12


@pytest.mark.parametrize("seed", range(20))
def test_proposition_d_4_nuisance_estimation_error(seed):
    rng = np.random.default_rng(seed)
    scores, costs, weight = draw(rng, scale=5.0)
    estimated = costs + rng.normal(size=costs.shape)
    difference = abs(softmax_risk(scores, estimated, weight) - softmax_risk(scores, costs, weight))
    # A softmax is at most one, so costs that are wrong by E‖·‖₁ move the risk by no more.
    assert difference <= weight @ np.abs(estimated - costs).sum(axis=1)


def test_appendix_d_bound_on_the_loss():
    rng = np.random.default_rng(4)
    values = [
        (softmax(h, axis=1) * w).sum(axis=1).max() / w.max() for h, w, _ in (draw(rng) for _ in range(200))
    ]
    # E10b: a softmax is a mean, so |f| <= C_w; the paper's K·C_w is K times too large.
    assert max(values) <= 1.0


def test_lemma_d_5_symmetrization_bound():
    rng = np.random.default_rng(5)
    n_samples, n_repetitions, chance = 50, 400, 0.2
    costs, scores = rng.uniform(size=(POINTS, CLASSES)), rng.normal(size=(10, POINTS, CLASSES))
    losses = (costs * softmax(scores, axis=2)).sum(axis=2)  # (functions, points), at most 1
    rows = rng.integers(POINTS, size=(n_repetitions, n_samples))
    signs = rng.choice([-1.0, 1.0], size=(200, n_samples))
    failures = 0
    for sample in losses[:, rows].swapaxes(0, 1):
        deviation = np.abs(sample.mean(axis=1) - losses.mean(axis=1)).max()
        rademacher = np.abs(signs @ sample.T / n_samples).max(axis=1).mean()
        failures += deviation > 2 * rademacher + np.sqrt(2 * np.log(1 / chance) / n_samples)
    # The bound may fail with this chance; the binomial limit has a false-alarm rate of 1e-6.
    assert failures <= binom.isf(1e-6, n_repetitions, chance)


def test_lemma_d_6_dudley_integral():
    rng = np.random.default_rng(6)
    n_samples = 200
    slopes, x = rng.normal(size=(300, 2)), rng.normal(size=(n_samples, 2))
    losses = 1.0 / (1.0 + np.exp(-slopes @ x.T))  # (functions, samples)
    signs = rng.choice([-1.0, 1.0], size=(500, n_samples))
    rademacher = (signs @ losses.T / n_samples).max(axis=1).mean()
    distances = np.sqrt(np.mean((losses[:, None] - losses) ** 2, axis=2))

    def packed(radius):
        """Number of functions that lie farther apart: with twice the radius, no more than cover the class."""
        centres = []
        for function in range(len(losses)):
            if (distances[function, centres] > radius).all():
                centres.append(function)
        return len(centres)

    radii = np.linspace(0.0, distances.max(), 60)
    integral = np.sum(np.diff(radii) * np.sqrt(np.log([packed(2 * radius) for radius in radii[1:]])))
    # A left-out piece of the integral and packing in place of covering make it smaller, not larger.
    assert 0.0 < rademacher <= 12.0 * integral / np.sqrt(n_samples)


@pytest.mark.parametrize("complexity", [0.5, 1.0, 1.5])
def test_lemma_d_6_closed_form(complexity):
    bound = 0.4
    integral, _ = quad(lambda epsilon: epsilon ** (-complexity / 2), 0, 2 * bound)
    # ∫ ε^(-τ/2) dε from 0 to 2C is finite only for τ < 2.
    assert_allclose(integral, 2 * (2 * bound) ** (1 - complexity / 2) / (2 - complexity), rtol=1e-6)
