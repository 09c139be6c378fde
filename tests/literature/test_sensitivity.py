"""Bounded confounding: boxes against linear programs, double robustness, curves and break-even values."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from matplotlib.figure import Figure
from numpy.testing import assert_allclose, assert_array_equal
from scipy.special import expit
from sklearn.linear_model import LogisticRegression

from selective_labels.assumptions import Nucem
from selective_labels.data import SelectiveLabels
from selective_labels.datasets import make_decision_makers
from selective_labels.evaluation.evaluate import evaluate
from selective_labels.identification.bounds import Bounds
from selective_labels.literature.sensitivity import sensitivity_curve
from selective_labels.nuisance.confounding import (
    LARGEST_KAPPA,
    ScoredBox,
    linear_scores,
    outcome_box,
    slope_box,
    slope_leverage,
    with_lower_bounds,
)
from selective_labels.nuisance.cross_fit import cross_fit
from selective_labels.nuisance.score_formulas import Scores, aipw_scores, manski_scores
from selective_labels.nuisance.scores import cross_fit_scores
from tests.reference.clusters import clustered_mean
from tests.reference.confounding import extremes, outcome_extremes

LIMIT = 4.5  # standard errors of a false alarm of 7e-6


def known(values):
    """Scores without noise: what is averaged is what is chosen with."""
    return Scores(values, values, np.zeros(len(values), dtype=bool))


def population(rng, n_rows, n_classes, n_makers=3):
    """Joint laws (rows, decision-makers, classes) of what is seen, compatible with an instrument."""
    truth = rng.dirichlet(np.ones(n_classes), n_rows)
    seen = truth[:, None, :] * rng.random((n_rows, n_makers, n_classes))
    return seen.mean(axis=1), seen.max(axis=1), truth


@settings(deadline=None, max_examples=25)
@given(st.integers(2, 4), st.integers(0, 10_000), st.floats(1.0, 20.0))
def test_outcome_box_equals_the_linear_program(n_classes, seed, gamma):
    rng = np.random.default_rng(seed)
    labeled, _, _ = population(rng, 6, n_classes)
    posterior = labeled / labeled.sum(axis=1, keepdims=True)
    coefficients = rng.normal(size=(6, n_classes)).round(1)  # ties too
    ours = linear_scores(outcome_box(known(labeled), known(posterior), gamma), coefficients)
    solved = [outcome_extremes(*row, gamma) for row in zip(coefficients, labeled, strict=True)]
    assert_allclose(np.transpose(ours), solved, atol=1e-8)


@settings(deadline=None, max_examples=25)
@given(st.integers(2, 4), st.integers(0, 10_000), st.floats(1.0, 20.0))
def test_intersection_with_the_instrument_equals_the_linear_program(n_classes, seed, gamma):
    rng = np.random.default_rng(seed)
    labeled, instrument, _ = population(rng, 6, n_classes)
    posterior = labeled / labeled.sum(axis=1, keepdims=True)
    coefficients = rng.normal(size=(6, n_classes)).round(1)
    base = outcome_box(known(labeled), known(posterior), gamma)
    box, crossed = with_lower_bounds(base, known(instrument))
    ours, alone = (
        np.transpose(linear_scores(box, coefficients)),
        np.transpose(linear_scores(base, coefficients)),
    )
    for row in range(6):
        solved = outcome_extremes(coefficients[row], labeled[row], gamma, instrument[row])
        assert crossed[row] == (solved is None)  # empty if and only if the program has no solution
        assert_allclose(ours[row], alone[row] if solved is None else solved, atol=1e-8)


@settings(deadline=None, max_examples=25)
@given(st.integers(2, 4), st.integers(0, 10_000))
def test_any_box_equals_the_linear_program(n_classes, seed):
    rng = np.random.default_rng(seed)
    inside = rng.dirichlet(np.ones(n_classes), 6)
    lower, upper = inside - rng.random((6, n_classes)) * 0.3, inside + rng.random((6, n_classes)) * 0.3
    coefficients = rng.normal(size=n_classes).round(1)
    ours = linear_scores(ScoredBox(lower, upper, Bounds(lower, upper)), coefficients)
    solved = [extremes(coefficients, *row) for row in zip(lower, upper, strict=True)]
    assert_allclose(np.transpose(ours), solved, atol=1e-8)


@settings(deadline=None, max_examples=25)
@given(st.integers(2, 4), st.integers(0, 10_000))
def test_ends_are_valid_whatever_the_models_say(n_classes, seed):
    rng = np.random.default_rng(seed)
    inside, wrong = rng.dirichlet(np.ones(n_classes), (2, 6))
    reach = rng.random((2, 6, n_classes)) * 0.3
    lower, upper = inside - reach[0], inside + reach[1]
    coefficients = rng.normal(size=(6, n_classes))
    best = linear_scores(ScoredBox(lower, upper, Bounds(lower, upper)), coefficients)
    misled = linear_scores(ScoredBox(lower, upper, Bounds(wrong - reach[1], wrong + reach[0])), coefficients)
    assert (misled[0] <= best[0] + 1e-12).all()  # wider, never wrong
    assert (misled[1] >= best[1] - 1e-12).all()


def test_gamma_one_is_aipw_and_infinity_is_manski():
    rng = np.random.default_rng(0)
    labeled = rng.dirichlet(np.ones(4), 50)[:, :3]
    y = rng.integers(-1, 3, 50)
    none, unconfounded = manski_scores(y, labeled), aipw_scores(labeled, y)
    coefficients = rng.normal(size=(50, 3))
    for end in linear_scores(outcome_box(none, unconfounded, 1.0), coefficients):
        assert_allclose(end, (coefficients * unconfounded.values).sum(axis=1), atol=1e-12)
    low, high = linear_scores(outcome_box(none, unconfounded, 1e12), coefficients)
    seen, hole = (coefficients * none.values).sum(axis=1), y < 0
    assert_allclose(low, seen + hole * coefficients.min(axis=1), atol=1e-8)
    assert_allclose(high, seen + hole * coefficients.max(axis=1), atol=1e-8)


def test_score_is_that_of_the_paper_for_two_classes():
    rng = np.random.default_rng(0)
    labeled, y, gamma = rng.dirichlet(np.ones(3), 40)[:, :2], rng.integers(-1, 2, 40), 1.7
    box = outcome_box(manski_scores(y, labeled), aipw_scores(labeled, y), gamma)
    chance = labeled.sum(axis=1)
    posterior, decided, seen = labeled[:, 1] / chance, (y >= 0).astype(float), (y == 1).astype(float)
    correction = decided * (seen - posterior)
    score = posterior + correction / chance
    score += (gamma - 1) * ((1 - decided) * posterior + (1 - chance) / chance * correction)
    assert_allclose(box.upper[:, 1], score, atol=1e-12)


@pytest.mark.parametrize(
    ("chance_right", "posterior_right"), [(True, True), (True, False), (False, True), (False, False)]
)
def test_debiased_score_is_doubly_robust(chance_right, posterior_right):
    rng = np.random.default_rng(0)
    n_samples, gamma = 200_000, 2.0
    x = rng.standard_normal(n_samples)
    chance, posterior = expit(0.5 + x), expit(-0.3 + x)
    decided = rng.random(n_samples) < chance
    y = np.where(decided, rng.random(n_samples) < posterior, -1).astype(int)
    chance_model = chance if chance_right else np.full(n_samples, 0.6)
    posterior_model = posterior if posterior_right else np.full(n_samples, 0.5)
    labeled = chance_model[:, None] * np.column_stack([1 - posterior_model, posterior_model])
    box = outcome_box(manski_scores(y, labeled), aipw_scores(labeled, y), gamma)
    truth = np.mean(chance * posterior + (1 - chance) * gamma * posterior)
    scores = box.upper[:, 1]
    error = scores.std() / np.sqrt(n_samples)
    off = abs(scores.mean() - truth)
    assert (off < LIMIT * error) == (
        chance_right or posterior_right
    )  # one right model is enough, none is not


def test_slope_box_holds_for_every_law_within_kappa():
    sample = make_decision_makers(400, n_classes=3, additive=False, random_state=0)
    joint, eta = sample.oracle.joint(sample.X), sample.oracle.probabilities(sample.X)
    leniency = 1.0 - joint[:, :, 0]
    confounding = joint[:, :, 1:] - eta[:, None, :] * leniency[:, :, None]
    kappa = np.ptp(confounding, axis=1).max() / 2  # of the midpoint between the extreme decision-makers
    data = SelectiveLabels.from_arrays(sample.X, sample.y, decision_maker=sample.decision_maker)
    fit = cross_fit(data, sample.oracle.joint)
    scores = cross_fit_scores(fit, data, [Nucem()])["nucem"]
    leverage = slope_leverage(fit, data)
    shares = np.bincount(sample.decision_maker) / 400
    spread = leniency - (leniency @ shares)[:, None]
    strength = (shares * spread**2).sum(axis=1)
    usable = ~scores.bounded
    assert usable.mean() > 0.9
    assert_allclose(leverage[usable], ((shares * np.abs(spread)).sum(axis=1) / strength)[usable], rtol=1e-9)
    slope = np.einsum("nz,nzk->nk", shares * spread, joint[:, :, 1:]) / strength[:, None]
    exact = Scores(slope, slope, scores.clipped, scores.bounded)
    assert slope_box(exact, leverage, kappa).plug_in.contains(eta, 1e-9)[usable].all()
    assert not slope_box(exact, leverage, kappa / 20).plug_in.contains(eta, 1e-9)[usable].all()  # it can fail


def test_kappa_of_one_quarter_assumes_nothing():
    sample = make_decision_makers(300, n_classes=3, additive=False, random_state=1)
    joint = sample.oracle.joint(sample.X)
    lower = joint[:, :, 1:].max(axis=1)
    shares = np.full(8, 1 / 8)
    leniency = 1.0 - joint[:, :, 0]
    spread = leniency - leniency.mean(axis=1, keepdims=True)
    strength = (shares * spread**2).sum(axis=1)
    slope = np.einsum("nz,nzk->nk", shares * spread, joint[:, :, 1:]) / strength[:, None]
    box = slope_box(known(slope), (shares * np.abs(spread)).sum(axis=1) / strength, LARGEST_KAPPA)
    for corner in range(3):  # every corner of the instrument's set
        eta = lower.copy()
        eta[:, corner] += 1 - lower.sum(axis=1)
        assert box.plug_in.contains(eta).all()


@pytest.fixture(scope="module")
def sample():
    return make_decision_makers(3000, n_classes=3, random_state=0)


@pytest.fixture(scope="module")
def predictions(sample):
    labeled = sample.decision == 1
    first = LogisticRegression().fit(sample.X[labeled], sample.y[labeled]).predict(sample.X)
    second = np.where(sample.X[:, 1] > 1.0, 1, first)
    return first, second


def run(sample, prediction, **options):
    """A curve with known nuisances, so that nothing has to be fitted."""

    def average(X):
        return sample.oracle.joint(X).mean(axis=1, keepdims=True)

    known_joint = average if options.get("decision_maker") is None else sample.oracle.joint
    options = {"nuisance": known_joint, "random_state": 0} | options
    return sensitivity_curve(prediction, sample.X, sample.y, **options)


def exact_ends(sample, coefficients, gamma, instrument):
    """Ends in this sample's features by linear programs on the oracle's probabilities."""
    joint = sample.oracle.joint(sample.X)
    labeled, lower = joint[:, :, 1:].mean(axis=1), joint[:, :, 1:].max(axis=1)
    ends = []
    for row in range(len(labeled)):
        bound = lower[row] if instrument else None
        found = outcome_extremes(coefficients[row], labeled[row], gamma, bound)
        if found is None:  # the assumption is false at this x: the box alone
            found = outcome_extremes(coefficients[row], labeled[row], gamma)
        ends.append(found)
    return np.mean(ends, axis=0)


@pytest.mark.parametrize("instrument", [False, True])
def test_ends_are_consistent(instrument):
    small = make_decision_makers(150, n_classes=3, random_state=7)
    coefficients = np.eye(3)[(small.X[:, 1] > 0).astype(int)]
    expected = exact_ends(small, coefficients, 2.0, instrument)
    # Many draws of decisions and labels at the same features: the mean of scores meets the programs.
    joint = small.oracle.joint(small.X)
    rng = np.random.default_rng(0)
    found = []
    for _ in range(40):
        maker = rng.integers(8, size=150)
        outcome = (rng.random((150, 1)) > np.cumsum(joint[np.arange(150), maker], axis=1)).sum(axis=1) - 1
        curve = sensitivity_curve(
            coefficients[:, 1].astype(int),
            small.X,
            outcome,
            decision_maker=maker if instrument else None,
            nuisance=small.oracle.joint
            if instrument
            else lambda X: small.oracle.joint(X).mean(1, keepdims=True),
            values=[2.0],
        )
        found.append((curve.lower[0], curve.upper[0]))
    error = np.std(found, axis=0) / np.sqrt(40)
    assert (np.abs(np.mean(found, axis=0) - expected) < LIMIT * error).all()


def test_curve_widens_from_the_point_to_the_limit(sample, predictions):
    for options in ({}, {"decision_maker": sample.decision_maker}):
        curve = run(sample, predictions[0], values=[1, 1.5, 3, 10, 1e9], **options)
        assert_allclose(curve.lower[0], curve.upper[0], atol=1e-12)  # a point assumption
        width = curve.upper - curve.lower
        assert (np.diff(width) > -0.02).all()  # up to the noise of a changing selector
        assert width[3] > width[0]
        assert_allclose([curve.lower[-1], curve.upper[-1]], [curve.limit_lower, curve.limit_upper], atol=0.01)
        assert ((curve.ci_lower <= curve.lower) & (curve.upper <= curve.ci_upper)).all()


def test_kappa_runs_from_nucem_to_the_instrument(sample, predictions):
    curve = run(
        sample, predictions[0], decision_maker=sample.decision_maker, parameter="kappa", values=[0, 0.25]
    )
    assert curve.lower[0] <= curve.upper[0] < curve.lower[0] + 0.01  # of few rows there are bounds only
    assert_allclose([curve.lower[1], curve.upper[1]], [curve.limit_lower, curve.limit_upper], atol=0.01)
    truth = np.mean(predictions[0] == sample.y_true)  # NUCEM holds in this design
    assert curve.ci_lower[0] < truth < curve.ci_upper[0]


@pytest.mark.parametrize(("parameter", "start"), [("gamma", "unconfounded"), ("kappa", "nucem")])
def test_ends_of_the_curve_are_what_evaluate_says(sample, predictions, parameter, start):
    options = {"decision_maker": sample.decision_maker, "nuisance": sample.oracle.joint}
    curve = run(
        sample, predictions[0], parameter=parameter, values=[1.0 if parameter == "gamma" else 0.0], **options
    )
    first, last = (
        evaluate(predictions[0], sample.X, sample.y, assumption=name, **options)
        for name in (start, "instrument")
    )
    assert_allclose([curve.lower[0], curve.upper[0]], [first.lower, first.upper], atol=1e-12)
    assert_allclose([curve.ci_lower[0], curve.ci_upper[0]], [first.ci_lower, first.ci_upper], atol=1e-9)
    assert_allclose([curve.limit_lower, curve.limit_upper], [last.lower, last.upper], atol=1e-12)


def test_instrument_narrows(sample, predictions):
    alone = run(sample, predictions[0], values=[5.0])
    both = run(sample, predictions[0], decision_maker=sample.decision_maker, values=[5.0])
    assert both.upper[0] - both.lower[0] < alone.upper[0] - alone.lower[0]
    assert (alone.limit, both.limit) == ("none", "instrument")


@pytest.mark.parametrize("parameter", ["gamma", "kappa"])
@pytest.mark.parametrize("threshold", [0.45, 0.8])
def test_break_even_is_found_by_brute_force_too(sample, predictions, threshold, parameter):
    options = {"parameter": parameter, "decision_maker": sample.decision_maker, "threshold": threshold}
    if parameter == "gamma":
        del options["decision_maker"]
    curve = run(sample, predictions[0], values=[1.0] if parameter == "gamma" else [0.0], **options)
    assert curve.conclusion == f"accuracy is {'at least' if threshold < 0.6 else 'below'} {threshold:g}"
    share = np.linspace(0, 0.98, 150)
    fine = run(
        sample, predictions[0], values=1 / (1 - share) if parameter == "gamma" else 0.25 * share, **options
    )
    for found, ends in (
        (curve.break_even, (fine.lower, fine.upper)),
        (curve.break_even_ci, (fine.ci_lower, fine.ci_upper)),
    ):
        stands = ends[0] >= threshold if threshold < 0.6 else ends[1] <= threshold
        if stands.all():
            assert found == np.inf
        elif not stands[0]:
            assert found is None
        else:
            # The grid's first failure, up to its step and to jumps where the selector changes.
            assert stands[fine.x < found * 0.97].mean() > 0.97
            beyond = stands[fine.x > found * 1.03]
            assert not beyond.all() or len(beyond) == 0


def test_compare_to_is_the_difference_of_coefficients(sample, predictions):
    a, b = predictions
    curve = run(sample, a, compare_to=b, values=[1, 3])
    assert curve.threshold == 0.0  # which of the two is better
    single = [run(sample, each, values=[1.0]).lower[0] for each in predictions]
    assert_allclose(curve.lower[0], single[0] - single[1], atol=1e-12)  # linear at a point
    widths = [np.ptp([c.lower[1], c.upper[1]]) for c in (run(sample, each, values=[1, 3]) for each in (a, b))]
    assert curve.upper[1] - curve.lower[1] < sum(widths) / 3  # cases where both agree cancel
    same = run(sample, a, compare_to=a, values=[1, 3])
    assert_allclose([same.lower, same.upper], 0.0, atol=1e-12)


def test_metrics_are_related(sample, predictions):
    accuracy, error = (run(sample, predictions[0], metric=m, values=[2.0]) for m in ("accuracy", "error"))
    cost = run(sample, predictions[0], metric="cost", cost=1 - np.eye(3), values=[2.0])
    assert_allclose(error.lower, 1 - accuracy.upper, atol=1e-12)
    assert_allclose(cost.lower, error.lower, atol=1e-12)
    share = run(sample, None, metric="share", pos_label=0, values=[1.0])
    constant = run(sample, np.zeros(3000, dtype=int), values=[1.0])
    assert_allclose(share.lower, constant.lower, atol=1e-12)  # who always says 0 is right where it is 0


def test_unseen_labels_are_never_read(sample, predictions):
    garbage = np.random.default_rng(1).integers(-1, 9, len(sample.y))
    filled = np.where(sample.decision == 1, sample.y, garbage)
    options = {"decision": sample.decision, "values": [1, 3], "nuisance": "logistic", "random_state": 0}
    clean, dirty = (
        sensitivity_curve(
            predictions[0], sample.X, y, decision_maker=sample.decision_maker, threshold=0.4, **options
        )
        for y in (sample.y, filled)
    )
    assert_array_equal(clean.ci_lower, dirty.ci_lower)
    assert clean.break_even == dirty.break_even


def test_clusters_and_weights_enter(sample, predictions):
    groups = np.arange(3000) // 2
    plain = run(sample, predictions[0], values=[2.0])
    doubled = sensitivity_curve(
        np.repeat(predictions[0], 2),
        np.repeat(sample.X, 2, axis=0),
        np.repeat(sample.y, 2),
        groups=np.repeat(np.arange(3000), 2),
        cluster="groups",
        values=[2.0],
        nuisance=lambda X: sample.oracle.joint(X).mean(axis=1, keepdims=True),
    )
    ratio = np.ptp([doubled.ci_lower[0], doubled.lower[0]]) / np.ptp([plain.ci_lower[0], plain.lower[0]])
    assert_allclose(ratio, 1.0, rtol=1e-3)  # cases that are repeated carry no news
    weight = np.where(sample.X[:, 0] > 0, 1.0, 0.0)
    weighted = run(
        sample, predictions[0], values=[1.0], sample_weight=weight, groups=groups, cluster="groups"
    )
    truth = np.mean(predictions[0][weight > 0] == sample.y_true[weight > 0])
    assert abs(weighted.lower[0] - truth) < 0.15


@pytest.mark.parametrize("cluster", ["decision_maker", "groups", "none"])
@pytest.mark.parametrize("level", [0.9, 0.95])
def test_with_all_labels_seen_the_interval_is_the_textbook_one(cluster, level):
    """Few clusters widen it: a t quantile, and sums over clusters."""
    rng = np.random.default_rng(0)
    y, prediction = rng.integers(2, size=(2, 90))
    maker, case = np.arange(90) % 5, np.arange(90) // 3
    curve = sensitivity_curve(
        prediction,
        rng.normal(size=(90, 1)),
        y,
        decision_maker=maker,
        groups=case,
        limit="none",
        values=[1.0],
        cluster=cluster,
        confidence_level=level,
        nuisance=lambda X: np.broadcast_to([0.0, 0.5, 0.5], (len(X), 5, 3)),
    )
    clusters = {"decision_maker": maker, "groups": case, "none": np.arange(90)}[cluster]
    expected = clustered_mean(y == prediction, clusters, level)
    assert_allclose([curve.lower[0], curve.upper[0]], expected.mean)
    # Solving for the constant of an interval is good to 1e-5.
    assert_allclose([curve.ci_lower[0], curve.ci_upper[0]], [expected.lower, expected.upper], atol=1e-5)


def test_text_and_plot_state_the_conclusion(sample, predictions):
    curve = run(sample, predictions[0], decision_maker=sample.decision_maker, values=[1, 2, 4], threshold=0.5)
    text = str(curve)
    for part in (
        "gamma = 1 is no unobserved confounding",
        "With the instrument alone",
        "3000 cases",
        "Conclusion",
    ):
        assert part in text
    assert list(curve.to_frame())[-1] == "crossed"
    axes = curve.plot(Figure().subplots())
    assert len(axes.lines) >= 5  # two ends, two limits, the threshold


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"metric": "auc"}, "metric='auc' is not one of"),
        ({"parameter": "rho"}, "parameter='rho' is not one of"),
        ({"limit": "nucem"}, "limit='nucem' is not one of"),
        ({"cluster": "rows"}, "cluster='rows' is not one of"),
        ({"limit": "instrument"}, "decision_maker is missing"),
        ({"parameter": "kappa"}, "it needs limit='instrument'"),
        ({"values": [0.5]}, "values of gamma must lie between 1 and"),
        ({"values": [np.nan]}, "values of gamma must lie between 1 and"),
        ({"metric": "cost"}, "needs cost of shape"),
        ({"metric": "share", "compare_to": np.zeros(3000)}, "the same for every classifier"),
        ({"metric": "share", "pos_label": 9}, "pos_label=9 is not among"),
        ({"cluster": "groups"}, "needs groups"),
        ({"compare_to": np.full(3000, 9)}, "9 is predicted in 3000 rows"),
        ({"compare_to": np.full((3000, 3), 0.5)}, "sum to one"),
    ],
)
def test_bad_input_gets_one_clear_sentence(sample, predictions, options, message):
    with pytest.raises(ValueError, match=message):
        run(sample, predictions[0], **options)


def test_parameters_of_the_boxes_are_checked():
    scores = known(np.full((1, 2), 0.5))
    with pytest.raises(ValueError, match=r"gamma=0\.5 must be 1"):
        outcome_box(scores, scores, 0.5)
    with pytest.raises(ValueError, match=r"kappa=0\.3 must lie between"):
        slope_box(scores, np.ones(1), 0.3)


@pytest.mark.parametrize("parameter", ["gamma", "kappa"])
@pytest.mark.parametrize("seed", range(4))
def test_ends_come_in_order_on_samples_so_small_that_they_cross(seed, parameter):
    sample = make_decision_makers(90, n_classes=2, n_decision_makers=3, random_state=seed)
    curve = sensitivity_curve(
        (sample.X[:, 0] < 0).astype(int),
        sample.X,
        sample.y,
        decision_maker=sample.decision_maker,
        parameter=parameter,
        groups=np.arange(90) // 2,
        nuisance="logistic",
        threshold=0.5,
        random_state=seed,
    )
    there = ~np.isnan(curve.lower)
    assert (curve.ends_crossed | there).all(), "NaN only where the ends crossed"
    numbers = np.array([curve.ci_lower, curve.lower, curve.upper, curve.ci_upper])[:, there]
    assert (np.diff(numbers, axis=0) >= 0.0).all()
    assert (numbers >= 0.0).all()
    assert (numbers <= 1.0).all()
    assert "standard errors by 45 clusters (groups: rows of one group are not independent)" in str(curve)
