import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.integrate import quad
from scipy.special import expit, softmax
from scipy.stats import chi2_contingency, chisquare, f_oneway, kstest, norm

from selective_labels import InputError
from selective_labels.datasets import make_decision_makers
from tests.datasets.frequencies import (
    N_DRAWS,
    STANDARD_ERRORS,
    feature_bins,
    joint_deviations,
    truth_deviations,
)

FALSE_ALARM = 1e-6

DESIGNS = [
    {},
    {"additive": False},
    {"mirrored": True, "n_classes": 4},
    {"slack_class": 0, "mirrored": True, "n_decision_makers": 4},
    {"skill_slope": 2.0, "n_classes": 2},
    {"skill_slope": -1.0, "additive": False},
]


@pytest.mark.parametrize("design", DESIGNS, ids=str)
def test_oracle_agrees_with_frequencies(design):
    sample = make_decision_makers(N_DRAWS, random_state=1, **design)
    bins = feature_bins(sample.X[:, 0], sample.X[:, 1])
    assert abs(joint_deviations(sample, bins)).max() < STANDARD_ERRORS, "what is seen follows oracle.joint"
    assert abs(truth_deviations(sample, bins)).max() < STANDARD_ERRORS, "truth follows oracle.probabilities"


@pytest.mark.parametrize("design", [{}, {"additive": False}, {"slack_class": 1, "mirrored": True}], ids=str)
def test_limits_agree_with_plain_monte_carlo(design):
    sample = make_decision_makers(20_000, random_state=2, **design)
    oracle = sample.oracle
    eta = oracle.probabilities(sample.X)
    rows = np.arange(len(eta))
    rules = {
        "bayes_accuracy": eta,
        "minimax_accuracy": oracle.lower(sample.X),
        "selected_accuracy": oracle.joint(sample.X)[:, :, 1:].sum(axis=1),
    }
    for name, gains in rules.items():
        accuracy = eta[rows, gains.argmax(axis=1)]
        # Five standard errors of the simulation, 5.7e-7 each.
        assert abs(getattr(oracle, name) - accuracy.mean()) < 5 * accuracy.std() / np.sqrt(len(eta)), name
    assert oracle.bayes_accuracy >= max(oracle.minimax_accuracy, oracle.selected_accuracy), "Bayes is best"


@pytest.mark.parametrize("additive", [True, False])
def test_joint_agrees_with_adaptive_quadrature(additive):
    sample = make_decision_makers(2, additive=additive, random_state=0)
    slopes = np.array([[1, 0, -1], [0, 1, -1], [0.5, -0.5, 0], [0, 0, 0]])
    leniency = sample.oracle.design.leniency
    joint, eta = sample.oracle.joint(sample.X), sample.oracle.probabilities(sample.X)

    def decision(x, u, z):
        index = leniency[z] + 0.8 * x[0]
        if additive:
            return 0.5 + 0.225 * np.tanh(index) + 0.25 * (2 * expit(2 * u) - 1)
        return expit(index + 1.5 * u)

    def outcome(x, u, k):
        return softmax(x @ slopes + u * np.array([-1.2, 0, 1.2]))[k]

    for row, x in enumerate(sample.X):
        for k in range(3):
            value = quad(lambda u, x=x, k=k: outcome(x, u, k) * norm.pdf(u), -9, 9, epsabs=1e-11)[0]
            assert_allclose(eta[row, k], value, atol=1e-9)
            z = (row + k) % 8
            value = quad(
                lambda u, x=x, k=k, z=z: outcome(x, u, k) * decision(x, u, z) * norm.pdf(u),
                -9,
                9,
                epsabs=1e-11,
            )[0]
            assert_allclose(joint[row, z, 1 + k], value, atol=1e-9)


def departure_from_nucem(sample):
    """Largest deviation from p_kz = kappa_k + eta_k leniency_z."""
    joint = sample.oracle.joint(sample.X)
    labeled, leniency = joint[:, :, 1:], 1 - joint[:, :, :1]
    eta = sample.oracle.probabilities(sample.X)[:, None]
    return abs((labeled - labeled[:, :1]) - eta * (leniency - leniency[:, :1])).max()


@pytest.mark.parametrize("n_classes", [2, 3, 5])
@pytest.mark.parametrize("mirrored", [False, True])
def test_nucem_holds_in_the_additive_design_only(n_classes, mirrored):
    additive, other = (
        make_decision_makers(1000, n_classes, additive=flag, mirrored=mirrored, random_state=0)
        for flag in (True, False)
    )
    assert departure_from_nucem(additive) < 1e-8, "p_kz is linear in leniency with slope eta_k"
    assert departure_from_nucem(other) > 0.03, "and is not when u changes what leniency means"


@pytest.mark.parametrize("additive", [True, False])
@pytest.mark.parametrize("slope", [-1.0, 0.0, 1.0])
def test_odds_ratio_of_the_refused_changes_with_leniency_as_documented(additive, slope):
    design = {"n_classes": 2, "additive": additive, "skill_slope": slope}
    sample = make_decision_makers(500, random_state=0, mirrored=True, **design)
    labeled = sample.oracle.joint(sample.X)[:, :, 1:]
    eta, leniency = sample.oracle.probabilities(sample.X)[:, None], labeled.sum(axis=2)
    refused = eta - labeled
    log_ratio = np.log(refused[..., 1] / refused[..., 0]) - np.log(labeled[..., 1] / labeled[..., 0])
    away = leniency - leniency.mean(axis=1, keepdims=True)
    assert_allclose(np.sum(log_ratio * away) / np.sum(away**2), 1.1 * slope, atol=0.1)
    assert (log_ratio > 0.0).all(), "mirrored: the refused are of the second class more often"


def test_skill_slope_keeps_all_other_draws():
    plain, other = (make_decision_makers(200, random_state=0, skill_slope=b) for b in (0.0, 1.0))
    assert_array_equal(plain.X, other.X)
    assert_array_equal(plain.y_true, other.y_true)
    assert_array_equal(plain.oracle.design.skill, 1.0)
    skill = other.oracle.design.skill[np.argsort(other.oracle.design.leniency)]
    assert_allclose(skill, np.linspace(0.5, 1.0, 8))


@pytest.mark.parametrize("slope", [2.1, -2.1, np.nan])
def test_skill_slope_out_of_range_is_refused(slope):
    with pytest.raises(InputError, match="skill_slope must lie between -2 and 2"):
        make_decision_makers(10, skill_slope=slope)


@pytest.mark.parametrize("design", [{}, {"additive": False, "mirrored": True}], ids=str)
@pytest.mark.parametrize("slack_class", [0, 2])
def test_slack_class_puts_the_truth_on_the_edge(design, slack_class):
    plain = make_decision_makers(500, random_state=0, **design)
    edge = make_decision_makers(500, slack_class=slack_class, random_state=0, **design)
    lower, eta = edge.oracle.lower(edge.X), edge.oracle.probabilities(edge.X)
    others = np.delete(np.arange(3), slack_class)
    assert_array_equal(edge.oracle.joint(edge.X), plain.oracle.joint(plain.X))  # what is seen is the same
    assert_array_equal(eta[:, others], lower[:, others])  # other classes sit on their lower bounds
    assert_allclose(eta.sum(axis=1), 1, atol=1e-12)  # and the class itself on its upper bound
    assert (eta[:, slack_class] > lower[:, slack_class] + 0.01).all(), "there is slack everywhere"


def test_leniency_is_a_shuffled_even_grid():
    leniency = make_decision_makers(1, random_state=0).oracle.design.leniency
    assert_allclose(np.sort(leniency), np.linspace(-2, 2, 8))
    orders = {tuple(make_decision_makers(1, random_state=s).oracle.design.leniency) for s in range(20)}
    assert len(orders) > 15, "ids tell nothing about leniency"


def test_spread_of_zero_makes_all_decision_makers_alike():
    sample = make_decision_makers(100, leniency_spread=0, random_state=0)
    joint = sample.oracle.joint(sample.X)
    assert_array_equal(joint, np.broadcast_to(joint[:, :1], joint.shape))
    # Then the best of the decision-makers is any of them, and both rules are the same.
    assert_allclose(sample.oracle.minimax_accuracy, sample.oracle.selected_accuracy, atol=1e-12)


@pytest.mark.parametrize(("spread", "deviation"), [(1.0, 0.170), (0.1, 0.029)])
def test_spread_is_the_strength_of_the_instrument(spread, deviation):
    usual, sample = (
        make_decision_makers(50, random_state=4, **options) for options in ({}, {"leniency_spread": spread})
    )
    assert_array_equal(sample.oracle.design.leniency, spread * usual.oracle.design.leniency)
    leniency = 1 - sample.oracle.joint(np.zeros((1, 4)))[0, :, 0]
    assert_allclose(leniency.std(), deviation, atol=5e-4)
    # The rest of the law is not touched, and the oracle knows: NUCEM holds whatever the spread.
    assert_array_equal(sample.X, usual.X)
    assert_array_equal(sample.y_true, usual.y_true)
    labeled = sample.oracle.joint(sample.X)[:, :, 1:]
    change = labeled - labeled[:, :1]
    leniency = labeled.sum(axis=2, keepdims=True)
    slope = sample.oracle.probabilities(sample.X)[:, None]
    assert_allclose(change, slope * (leniency - leniency[:, :1]), atol=1e-10)


@pytest.mark.parametrize("spread", [-0.1, np.inf, np.nan])
def test_a_spread_that_is_none_is_refused(spread):
    with pytest.raises(InputError, match="leniency_spread"):
        make_decision_makers(10, leniency_spread=spread)


def test_mirrored_turns_the_direction_and_nothing_else():
    plain, mirrored = (make_decision_makers(20000, mirrored=flag, random_state=3) for flag in (False, True))
    for name in ("X", "decision_maker", "y_true"):
        assert_array_equal(getattr(plain, name), getattr(mirrored, name), err_msg=name)
    last = plain.y_true == 2
    assert last[plain.decision == 1].mean() > last.mean() + 0.03, "selection favours the last class"
    assert last[mirrored.decision == 1].mean() < last.mean() - 0.03, "and, mirrored, disfavours it"


def test_claimed_independence():
    sample = make_decision_makers(50_000, random_state=4)
    groups = [sample.decision_maker == z for z in range(8)]
    table = [np.bincount(sample.y_true[group], minlength=3) for group in groups]
    # 10 tests, each with a false alarm of 1e-6.
    assert chisquare([group.sum() for group in groups]).pvalue > FALSE_ALARM, "evenly assigned"
    assert chi2_contingency(table).pvalue > FALSE_ALARM, "assignment does not know x and u, hence not y_true"
    for column in sample.X.T:
        assert f_oneway(*(column[group] for group in groups)).pvalue > FALSE_ALARM, "assignment ignores x"
        assert kstest(column, "norm").pvalue > FALSE_ALARM, "features are standard normal"
    correlation = np.corrcoef(sample.X.T)[np.triu_indices(4, 1)]
    assert abs(correlation).max() < 5.3 / np.sqrt(50_000), "features are independent (6 pairs, 1e-6)"


def test_leniency_range_is_wide():
    sample = make_decision_makers(2000, random_state=0)
    leniency = 1 - sample.oracle.joint(sample.X)[:, :, 0]
    assert np.median(np.ptp(leniency, axis=1)) > 0.35, (
        "the instrument is strong, unlike in the paper's design"
    )


def test_one_decision_maker_and_two_classes_work():
    sample = make_decision_makers(50, n_classes=2, n_decision_makers=1, random_state=0)
    assert sample.oracle.joint(sample.X).shape == (50, 1, 3)
    assert set(sample.decision_maker) == {0}


@pytest.mark.parametrize(
    ("argument", "value"),
    [("n_samples", 0), ("n_classes", 1), ("n_decision_makers", 0), ("slack_class", 3), ("slack_class", -1)],
)
def test_bad_arguments_are_named(argument, value):
    with pytest.raises(ValueError, match=argument):
        make_decision_makers(**{argument: value})
