import csv
from pathlib import Path

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.special import expit, softmax
from scipy.stats import chi2_contingency, chisquare, f_oneway, kstest

from selective_labels.datasets import make_paper_synthetic, paper
from tests.datasets.frequencies import (
    N_DRAWS,
    STANDARD_ERRORS,
    feature_bins,
    joint_deviations,
    truth_deviations,
)

LIMITS = Path(__file__).parents[3] / "shared" / "published" / "limits.csv"
FALSE_ALARM = 1e-6


def published_limits():
    if not LIMITS.exists():
        skip = pytest.mark.skip(reason="file: the table of published limits is not beside the project")
        return [pytest.param({}, marks=skip)]
    with LIMITS.open() as file:
        rows = list(csv.DictReader(file))
    names = ("constants", "selection", "alpha_y", "alpha_d")
    return [pytest.param(row, id="-".join(row[name] for name in names)) for row in rows]


@pytest.mark.parametrize("row", published_limits())
def test_limits_agree_with_an_independent_quadrature(row):
    oracle = make_paper_synthetic(
        n_samples=1,
        selection=row["selection"],
        alpha_y=float(row["alpha_y"]),
        alpha_d=float(row["alpha_d"]),
        constants=row["constants"],
        random_state=0,
    ).oracle
    computed = [oracle.bayes_accuracy, oracle.minimax_accuracy, oracle.selected_accuracy]
    published = [row["bayes_accuracy"], row["minimax_accuracy"], row["selected_sample_accuracy"]]
    # The table has four decimals and was itself checked to 0.001; we find at most 0.00013.
    assert_allclose(computed, [float(value) for value in published], atol=3e-4)


@pytest.mark.parametrize("selection", ["nucem", "uc"])
def test_limits_have_converged(monkeypatch, selection):
    def limits():
        oracle = make_paper_synthetic(1, selection, random_state=0).oracle
        return [oracle.bayes_accuracy, oracle.minimax_accuracy, oracle.selected_accuracy]

    usual = limits()
    monkeypatch.setattr(paper, "_INNER_STEP", 0.02)
    monkeypatch.setattr(paper, "_OUTER_STEP", 0.05)
    assert_allclose(usual, limits(), atol=3e-5)  # four times the nodes change nothing that is reported


def test_limits_table_is_complete():
    if not LIMITS.exists():
        pytest.skip("file: the table of published limits is not beside the project")
    assert len(published_limits()) == 54, "three constants, two selections, nine strengths"


DESIGNS = [
    {"selection": "nucem"},
    {"selection": "uc", "alpha_y": 0.3, "alpha_d": 0.7},
    {"selection": "uc", "mirrored": True, "constants": "released_notebook"},
    {"selection": "nucem", "mirrored": True, "constants": "released_scripts", "n_classes": 4},
]


@pytest.mark.parametrize("design", DESIGNS, ids=str)
def test_oracle_agrees_with_frequencies(design):
    sample = make_paper_synthetic(N_DRAWS, random_state=1, **design)
    X = sample.X
    bins = feature_bins(X.sum(axis=1), X @ np.arange(X.shape[1]))
    assert abs(joint_deviations(sample, bins)).max() < STANDARD_ERRORS, "what is seen follows oracle.joint"
    assert abs(truth_deviations(sample, bins)).max() < STANDARD_ERRORS, "truth follows oracle.probabilities"


def brute_force(X, selection, alpha_y, alpha_d, n_classes, n_decision_makers):
    """Probabilities and joint by a plain grid over two hidden variables, from the paper's own equation."""
    # The nearest pole is that of expit(18 e), at pi / 18: a step of 0.04 leaves an error of exp(-27).
    grid = np.arange(-8, 8.005, 0.04)
    first, second = (part.ravel() for part in np.meshgrid(grid, grid))
    weight = np.exp(-(first**2 + second**2) / 2)
    weight /= weight.sum()
    hidden = 2 * np.column_stack([first, second])
    classes = np.arange(1, n_classes + 1)

    def coefficients(size):
        return np.arange(1, size + 1)[:, None] + classes

    by_hidden = 3 * hidden @ (1 + np.arange(1, 3))
    probabilities, joint = [], []
    for x in X:
        logits = (1 - alpha_y) * x @ coefficients(len(x)) + alpha_y * 4 * hidden @ coefficients(2)
        outcome = softmax(logits, axis=1)
        by_features = 2 * (x @ (2 - np.arange(1, len(x) + 1))) * np.arange(1, n_decision_makers + 1)
        if selection == "uc":
            decision = expit((1 - alpha_d) * by_features + alpha_d * by_hidden[:, None])
        else:
            decision = (1 - alpha_d) * expit(by_features) + alpha_d * expit(by_hidden)[:, None]
        labeled = (decision * weight[:, None]).T @ outcome
        probabilities.append(weight @ outcome)
        joint.append(np.column_stack([1 - labeled.sum(axis=1), labeled]))
    return np.array(probabilities), np.array(joint)


@pytest.mark.parametrize("n_classes", [2, 3, 5])
@pytest.mark.parametrize("selection", ["nucem", "uc"])
def test_oracle_agrees_with_brute_force(selection, n_classes):
    design = {"selection": selection, "alpha_y": 0.4, "alpha_d": 0.6, "n_decision_makers": 3}
    oracle = make_paper_synthetic(
        1, n_features=3, n_hidden=2, n_classes=n_classes, random_state=0, **design
    ).oracle
    X = 2 * np.random.default_rng(0).standard_normal((4, 3))
    probabilities, joint = brute_force(X, n_classes=n_classes, **design)
    assert_allclose(oracle.probabilities(X), probabilities, atol=1e-7)  # reduction to sums is exact
    assert_allclose(oracle.joint(X), joint, atol=1e-7)
    assert_allclose(oracle.lower(X), joint[:, :, 1:].max(axis=1), atol=1e-7)


@pytest.mark.parametrize("selection", ["nucem", "uc"])
@pytest.mark.parametrize(("alpha_y", "alpha_d"), [(0.0, 0.0), (1.0, 1.0), (0.0, 1.0)])
@pytest.mark.parametrize(("n_hidden", "n_decision_makers"), [(1, 1), (4, 3)])
def test_joint_is_a_law_at_the_corners_of_the_design(
    selection, alpha_y, alpha_d, n_hidden, n_decision_makers
):
    sample = make_paper_synthetic(
        200,
        selection,
        alpha_y,
        alpha_d,
        n_hidden=n_hidden,
        n_decision_makers=n_decision_makers,
        random_state=0,
    )
    joint = sample.oracle.joint(sample.X)
    eta = sample.oracle.probabilities(sample.X)
    assert joint.shape == (200, n_decision_makers, 4)
    assert joint.min() >= 0, "probabilities are not negative"
    assert_allclose(joint.sum(axis=2), 1, atol=1e-7)
    assert_allclose(eta.sum(axis=1), 1, atol=1e-7)
    assert (sample.oracle.lower(sample.X) <= eta + 1e-7).all(), "lower bounds hold for the truth"


def test_without_hidden_influence_selection_does_no_harm():
    oracle = make_paper_synthetic(1, alpha_d=0.0, random_state=0).oracle
    # If u has no part in the decision, all three rules see the same ranking of classes.
    assert_allclose(oracle.selected_accuracy, oracle.bayes_accuracy, atol=1e-6)
    assert_allclose(oracle.minimax_accuracy, oracle.bayes_accuracy, atol=1e-6)


def test_nucem_holds_in_the_additive_selection_only():
    def deviation(selection):
        sample = make_paper_synthetic(500, selection, random_state=0)
        joint = sample.oracle.joint(sample.X)
        labeled, leniency = joint[:, :, 1:], 1 - joint[:, :, :1]
        eta = sample.oracle.probabilities(sample.X)[:, None]
        return abs((labeled - labeled[:, :1]) - eta * (leniency - leniency[:, :1])).max()

    assert deviation("nucem") < 1e-12, "p_kz is linear in leniency with slope eta_k"
    assert deviation("uc") > 0.05, "and is not when the hidden variable changes what leniency means"


def test_mirrored_turns_the_direction_and_nothing_else():
    plain, mirrored = (make_paper_synthetic(20000, mirrored=flag, random_state=3) for flag in (False, True))
    for name in ("X", "decision_maker", "y_true"):
        assert_array_equal(getattr(plain, name), getattr(mirrored, name), err_msg=name)
    last = plain.y_true == 2
    assert last[plain.decision == 1].mean() > last.mean() + 0.1, "selection favours the last class"
    assert last[mirrored.decision == 1].mean() < last.mean() - 0.1, "and, mirrored, disfavours it"


def test_mirrored_oracle_is_the_mirror_image():
    # With u turned to -u and x to -x the classes change places; the decision by x does not follow, so this
    # holds where alpha_d = 1 only.
    plain, mirrored = (
        make_paper_synthetic(50, alpha_d=1.0, mirrored=flag, random_state=3) for flag in (False, True)
    )
    expected = plain.oracle.joint(-plain.X)[:, :, [0, 3, 2, 1]]
    assert_allclose(mirrored.oracle.joint(plain.X), expected, atol=1e-9)


def test_claimed_independence():
    sample = make_paper_synthetic(50_000, random_state=4)
    counts = np.bincount(sample.decision_maker)[1:]
    groups = [sample.decision_maker == z for z in range(1, 6)]
    table = [np.bincount(sample.y_true[group], minlength=3) for group in groups]
    # 13 tests, each with a false alarm of 1e-6.
    assert chisquare(counts).pvalue > FALSE_ALARM, "decision-makers are assigned evenly"
    assert chi2_contingency(table).pvalue > FALSE_ALARM, "assignment does not know x and u, hence not y_true"
    for column in sample.X.T:
        assert f_oneway(*(column[group] for group in groups)).pvalue > FALSE_ALARM, "assignment ignores x"
        assert kstest(column / 2, "norm").pvalue > FALSE_ALARM, "features are N(0, 4)"
    correlation = np.corrcoef(sample.X.T)[np.triu_indices(5, 1)]
    assert abs(correlation).max() < 5.3 / np.sqrt(50_000), "features are independent (10 pairs, 1e-6)"


def test_labels_are_hidden_exactly_where_the_decision_is_zero():
    sample = make_paper_synthetic(1000, random_state=0)
    assert_array_equal(sample.y, np.where(sample.decision == 1, sample.y_true, -1))
    assert set(sample.decision_maker) == {1, 2, 3, 4, 5}, "ids are the numbers of the formula"


@pytest.mark.parametrize(
    ("constants", "n_features"), [("paper", 5), ("released_notebook", 5), ("released_scripts", 6)]
)
def test_constants_bring_their_own_number_of_features(constants, n_features):
    assert make_paper_synthetic(2, constants=constants, random_state=0).X.shape == (2, n_features)
    assert make_paper_synthetic(2, constants=constants, n_features=3, random_state=0).X.shape == (2, 3)


@pytest.mark.parametrize(
    ("argument", "value"),
    [
        ("selection", "random"),
        ("constants", "mine"),
        ("alpha_y", 1.5),
        ("alpha_d", float("nan")),
        ("n_samples", 0),
        ("n_classes", 1),
        ("n_features", 1),
        ("n_hidden", 0),
        ("n_decision_makers", 2.5),
    ],
)
def test_bad_arguments_are_named(argument, value):
    with pytest.raises(ValueError, match=argument):
        make_paper_synthetic(**{argument: value})


def test_oracle_refuses_features_of_another_width():
    oracle = make_paper_synthetic(1, random_state=0).oracle
    with pytest.raises(ValueError, match=r"\(n_samples, 5\)"):
        oracle.joint(np.zeros((3, 4)))
    assert oracle.joint(np.zeros((0, 5))).shape == (0, 5, 4), "no rows are fine"
