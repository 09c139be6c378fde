"""What curves over one knob assume at a value: scores against linear programs, and double robustness."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from scipy.special import expit

from selective_labels.assumptions import NearNucem, Refused
from selective_labels.assumptions.instrument import LARGEST, slope_leverage
from selective_labels.datasets import make_decision_makers
from selective_labels.evaluation.sensitivity import read_family
from selective_labels.inference.evidence import Evidence
from selective_labels.nuisance.score_formulas import Rows, aipw_scores, manski_scores
from tests.reference.confounding import outcome_extremes

LIMIT = 4.5  # standard errors of a false alarm of 7e-6


def population(rng, n_rows, n_classes, n_makers=3):
    """Joint laws (decision-makers, rows, unlabeled and classes) of what is seen, fit for an instrument."""
    truth = rng.dirichlet(np.ones(n_classes), n_rows)
    seen = truth[None] * rng.random((n_makers, n_rows, n_classes))
    return np.concatenate([1.0 - seen.sum(axis=2, keepdims=True), seen], axis=2)


def rows_of(joint, y, arm=None):
    """Rows whose probabilities are known, decision-makers assigned evenly."""
    n_makers, n_rows = joint.shape[:2]
    arm = np.zeros(n_rows, dtype=int) if arm is None else arm
    shares = np.full((n_rows, n_makers), 1.0 / n_makers)
    return Rows(joint, joint, arm, y, shares, 0.0, classes=np.arange(joint.shape[2] - 1))


def without_noise(assumption, joint):
    """What the models say, as if it were scores: the mean is that of the population."""
    scores = assumption.score(rows_of(joint, np.full(joint.shape[1], -1)), 0.0)
    values, laminar_scores = scores.plug_in, scores.laminar_scores
    if laminar_scores is not None:
        laminar_scores = type(laminar_scores)(
            laminar_scores.events,
            laminar_scores.plug_in,
            laminar_scores.plug_in,
            laminar_scores.ceiling_plug_in,
            laminar_scores.ceiling_plug_in,
        )
    exact = type(scores)(values, values, scores.clipped, None, None, laminar_scores)
    return Evidence.from_scores(exact, point=False)


def ends_of(evidence, coefficients):
    high, low = (evidence.extreme(sign * coefficients) for sign in (1.0, -1.0))
    return np.column_stack([(coefficients * each).sum(axis=1) for each in (low, high)])


def gamma_at(value, n_classes, limit):
    return read_family("gamma", None, 1, np.arange(n_classes), limit).at(value)


@settings(deadline=None, max_examples=25)
@given(st.integers(2, 4), st.integers(0, 10_000), st.floats(1.0, 20.0))
def test_gamma_equals_the_linear_program(n_classes, seed, gamma):
    rng = np.random.default_rng(seed)
    joint = population(rng, 6, n_classes)
    labeled = joint.mean(axis=0)[:, 1:]
    coefficients = rng.normal(size=(6, n_classes)).round(1)  # ties too
    ours = ends_of(without_noise(gamma_at(gamma, n_classes, "none"), joint), coefficients)
    gamma = float(f"{gamma:.6g}")
    solved = [outcome_extremes(*row, gamma) for row in zip(coefficients, labeled, strict=True)]
    assert_allclose(ours, solved, atol=1e-8)


@settings(deadline=None, max_examples=25)
@given(st.integers(2, 4), st.integers(0, 10_000), st.floats(1.0, 20.0))
def test_gamma_with_the_instrument_equals_the_linear_program(n_classes, seed, gamma):
    rng = np.random.default_rng(seed)
    joint = population(rng, 6, n_classes)
    labeled, lower = joint.mean(axis=0)[:, 1:], joint[:, :, 1:].max(axis=0)
    coefficients = rng.normal(size=(6, n_classes)).round(1)
    evidence = without_noise(gamma_at(gamma, n_classes, "instrument"), joint)
    ours, gamma = ends_of(evidence, coefficients), float(f"{gamma:.6g}")
    for row in range(6):
        solved = outcome_extremes(coefficients[row], labeled[row], gamma, lower[row])
        assert evidence.empty[row] == (solved is None)  # empty if and only if the program has no solution
        if solved is not None:
            assert_allclose(ours[row], solved, atol=1e-8)


def one_arm(labeled):
    return np.column_stack([1.0 - labeled.sum(axis=1), labeled])[None]


def test_gamma_one_is_aipw_and_infinity_is_manski():
    rng = np.random.default_rng(0)
    labeled = rng.dirichlet(np.ones(4), 50)[:, :3]
    y = rng.integers(-1, 3, 50)
    none, unconfounded = manski_scores(y, labeled), aipw_scores(labeled, y)
    coefficients = rng.normal(size=(50, 3))
    rows = rows_of(one_arm(labeled), y)
    first, last = (
        ends_of(Evidence.from_scores(gamma_at(value, 3, "none").score(rows, 0.0), point=False), coefficients)
        for value in (1.0, 1e9)
    )
    for end in first.T:
        assert_allclose(end, (coefficients * unconfounded.values).sum(axis=1), atol=1e-9)
    seen, hole = (coefficients * none.values).sum(axis=1), y < 0
    assert_allclose(last[:, 0], seen + hole * coefficients.min(axis=1), atol=1e-6)
    assert_allclose(last[:, 1], seen + hole * coefficients.max(axis=1), atol=1e-6)


def upper_scores(labeled, y, gamma):
    """Scores of the upper end of class 1, of two, where its chance among the refused is gamma times μ."""
    rows = rows_of(one_arm(labeled), y)
    assumed = Refused(1, at_most=gamma, given="features")
    return 1.0 - assumed.score(rows, 0.0).values[:, 0]


def test_score_is_that_of_the_paper_for_two_classes():
    rng = np.random.default_rng(0)
    labeled, y, gamma = rng.dirichlet(np.ones(3), 40)[:, :2], rng.integers(-1, 2, 40), 1.7
    chance = labeled.sum(axis=1)
    posterior, decided, seen = labeled[:, 1] / chance, (y >= 0).astype(float), (y == 1).astype(float)
    correction = decided * (seen - posterior)
    score = posterior + correction / chance
    score += (gamma - 1) * ((1 - decided) * posterior + (1 - chance) / chance * correction)
    possible = (gamma * posterior < 1.0) & (chance > 0.01)  # else the chance ends at one
    assert possible.sum() > 15
    assert_allclose(upper_scores(labeled, y, gamma)[possible], score[possible], atol=1e-12)


@pytest.mark.parametrize(
    ("chance_right", "posterior_right"), [(True, True), (True, False), (False, True), (False, False)]
)
def test_debiased_score_is_doubly_robust(chance_right, posterior_right):
    rng = np.random.default_rng(0)
    n_samples, gamma = 200_000, 2.0
    x = np.clip(rng.standard_normal(n_samples), -2.0, 2.0)
    chance, posterior = expit(0.5 + x), expit(-1.5 + 0.5 * x)  # twice of it is below one
    decided = rng.random(n_samples) < chance
    y = np.where(decided, rng.random(n_samples) < posterior, -1).astype(int)
    chance_model = chance if chance_right else np.full(n_samples, 0.6)
    posterior_model = posterior if posterior_right else np.full(n_samples, 0.3)
    labeled = chance_model[:, None] * np.column_stack([1 - posterior_model, posterior_model])
    truth = np.mean(chance * posterior + (1 - chance) * gamma * posterior)
    scores = upper_scores(labeled, y, gamma)
    error = scores.std() / np.sqrt(n_samples)
    off = abs(scores.mean() - truth)
    assert (off < LIMIT * error) == (
        chance_right or posterior_right
    )  # one right model is enough, none is not


def strong_rows(n_samples, seed):
    sample = make_decision_makers(n_samples, n_classes=3, additive=False, random_state=seed)
    joint = np.moveaxis(sample.oracle.joint(sample.X), 1, 0)
    return sample, joint


def test_near_nucem_holds_for_every_law_within_rho():
    sample, joint = strong_rows(400, 0)
    eta = sample.oracle.probabilities(sample.X)
    confounding = joint[:, :, 1:] - eta * (1.0 - joint[:, :, :1])
    rho = np.ptp(confounding, axis=0).max() / 2  # of the midpoint between the extreme decision-makers
    rows = rows_of(joint, sample.y, sample.decision_maker)

    def holds(value):
        evidence = without_noise(NearNucem(value), joint)
        return evidence.bounds.contains(eta, 1e-9)[~evidence.empty].all()

    leniency = 1.0 - joint[:, :, 0]
    spread = np.abs(leniency - leniency.mean(axis=0))
    assert_allclose(slope_leverage(rows), spread.mean(axis=0) / np.maximum((spread**2).mean(axis=0), 1e-3))
    assert holds(rho)
    assert not holds(rho / 20)  # it can fail


def test_near_nucem_of_one_quarter_assumes_nothing_but_the_instrument():
    _, joint = strong_rows(300, 1)
    lower = joint[:, :, 1:].max(axis=0)
    bounds = without_noise(NearNucem(LARGEST), joint).bounds
    assert_allclose(bounds.lower, lower, atol=1e-12)
    for corner in range(3):  # every corner of the instrument's set
        eta = lower.copy()
        eta[:, corner] += 1 - lower.sum(axis=1)
        assert bounds.contains(eta, 1e-9).all()
    with pytest.raises(ValueError, match=r"rho=0\.3 must lie between"):
        NearNucem(0.3)
