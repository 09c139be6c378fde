"""Curves over one knob: against linear programs and evaluate, double robustness, break-even values."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from matplotlib.figure import Figure
from numpy.testing import assert_allclose, assert_array_equal
from scipy.special import expit
from scipy.stats import binomtest
from sklearn.linear_model import LogisticRegression

from selective_labels.assumptions import Informed, Instrument, NearNucem, Prevalence, Refused, SimilarBias
from selective_labels.assumptions.near_nucem import LARGEST, slope_leverage
from selective_labels.datasets import make_decision_makers, make_tilted
from selective_labels.evaluation.evaluate import evaluate
from selective_labels.inference.evidence import Evidence
from selective_labels.literature.families import read_family
from selective_labels.literature.sensitivity import sensitivity_curve
from selective_labels.nuisance.score_formulas import Rows, aipw_scores, manski_scores
from tests.reference.clusters import clustered_mean
from tests.reference.confounding import outcome_extremes

LIMIT = 4.5  # standard errors of a false alarm of 7e-6


def population(rng, n_rows, n_classes, n_makers=3):
    """Joint laws (decision-makers, rows, unlabeled and classes) of what is seen, fit for an instrument."""
    truth = rng.dirichlet(np.ones(n_classes), n_rows)
    seen = truth[None] * rng.random((n_makers, n_rows, n_classes))
    return np.concatenate([1.0 - seen.sum(axis=2, keepdims=True), seen], axis=2)


def rows_of(joint, y, arm=None):
    """Rows whose probabilities are known, decision-makers dealt out evenly."""
    n_makers, n_rows = joint.shape[:2]
    arm = np.zeros(n_rows, dtype=int) if arm is None else arm
    shares = np.full((n_rows, n_makers), 1.0 / n_makers)
    return Rows(joint, joint, arm, y, shares, 0.0, classes=np.arange(joint.shape[2] - 1))


def without_noise(assumption, joint):
    """What the models say, as if it were scores: the mean is that of the population."""
    scores = assumption.score(rows_of(joint, np.full(joint.shape[1], -1)), 0.0)
    values, earmarks = scores.plug_in, scores.earmarks
    if earmarks is not None:
        earmarks = type(earmarks)(
            earmarks.events,
            earmarks.plug_in,
            earmarks.plug_in,
            earmarks.ceiling_plug_in,
            earmarks.ceiling_plug_in,
        )
    exact = type(scores)(values, values, scores.clipped, None, None, earmarks)
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
        ends.append(outcome_extremes(coefficients[row], labeled[row], gamma, bound))
    return np.mean(ends, axis=0)


@pytest.mark.parametrize("instrument", [False, True])
def test_ends_are_consistent(instrument):
    small = make_decision_makers(150, n_classes=3, random_state=7)
    coefficients = np.eye(3)[(small.X[:, 1] > 0).astype(int)]
    expected = exact_ends(small, coefficients, 12.0, instrument)
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
            values=[12.0],
        )
        found.append((curve.lower[0], curve.upper[0]))
    error = np.std(found, axis=0) / np.sqrt(40)
    assert (np.abs(np.mean(found, axis=0) - expected) < LIMIT * error).all()


def test_curve_widens_from_the_point_to_the_limit(sample, predictions):
    for options in ({}, {"decision_maker": sample.decision_maker}):
        curve = run(sample, predictions[0], values=[1, 1.5, 3, 10, 1e9], **options)
        width = curve.upper - curve.lower
        assert_allclose(width[0], 0.0, atol=1e-12)  # a point assumption
        assert (np.diff(width) > -0.02).all()  # up to the noise of a changing selector
        assert_allclose([curve.lower[-1], curve.upper[-1]], [curve.limit_lower, curve.limit_upper], atol=0.01)
        there = ~np.isnan(curve.lower)
        assert (curve.ci_lower <= curve.lower)[there].all()
        assert (curve.upper <= curve.ci_upper)[there].all()


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
        sample,
        predictions[0],
        parameter=parameter,
        limit="none" if parameter == "gamma" else "instrument",
        values=[1.0 if parameter == "gamma" else 0.0],
        **options,
    )
    first, last = (
        evaluate(predictions[0], sample.X, sample.y, assumption=name, **options)
        for name in (start, curve.limit)
    )
    assert_allclose([curve.lower[0], curve.upper[0]], [first.lower, first.upper], atol=1e-12)
    assert_allclose([curve.ci_lower[0], curve.ci_upper[0]], [first.ci_lower, first.ci_upper], atol=1e-9)
    assert_allclose([curve.limit_lower, curve.limit_upper], [last.lower, last.upper], atol=1e-12)


def test_instrument_narrows(sample, predictions):
    alone = run(sample, predictions[0], values=[5.0])
    both = run(sample, predictions[0], decision_maker=sample.decision_maker, values=[5.0])
    assert both.crossed[0] < 0.2
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
    if cluster == "none":  # labels are counts then
        exact = binomtest(int((y == prediction).sum()), 90).proportion_ci(level)
        assert_allclose([curve.ci_lower[0], curve.ci_upper[0]], [exact.low, exact.high])
        return
    expected = clustered_mean(y == prediction, {"decision_maker": maker, "groups": case}[cluster], level)
    assert_allclose([curve.lower[0], curve.upper[0]], expected.mean)
    # Solving for the constant of an interval is good to 1e-5.
    assert_allclose([curve.ci_lower[0], curve.ci_upper[0]], [expected.lower, expected.upper], atol=1e-5)


# A known share can be used in two ways here that cannot be told apart, which both sides say.
@pytest.mark.filterwarnings("ignore:two ways to use the known share")
@pytest.mark.parametrize(
    ("parameter", "value", "assumed"),
    [
        ("odds", 2.0, Refused(2, 2.0, 2.0, "odds")),
        ("ratio", 1.5, Refused(2, 1.5, 1.5, "ratio")),
        ("share", 0.4, Refused(2, 0.4, 0.4, "share")),
        ("rho", 0.1, Instrument() & SimilarBias(0.1)),
        ("prevalence", 0.35, Instrument() & Prevalence(2, 0.35)),
    ],
)
def test_every_value_is_what_evaluate_says_under_its_assumption(
    sample, predictions, parameter, value, assumed
):
    options = {"decision_maker": sample.decision_maker, "nuisance": sample.oracle.joint, "random_state": 0}
    curve = run(sample, predictions[0], parameter=parameter, values=[value], **options)
    found = evaluate(predictions[0], sample.X, sample.y, assumption=assumed, **options)
    for end in ("lower", "upper", "ci_lower", "ci_upper"):
        assert_allclose(getattr(curve, end)[0], getattr(found, end), atol=1e-12)


def test_any_function_of_a_value_will_do(sample, predictions):
    options = {"decision_maker": sample.decision_maker}

    def known(value):
        return Instrument() & Informed(2) & Prevalence(2, value)

    with pytest.raises(ValueError, match="values are missing"):
        run(sample, predictions[0], assumption=known, **options)
    curve = run(sample, predictions[0], assumption=known, values=[0.2, 0.4], parameter="bureau", **options)
    found = evaluate(
        predictions[0],
        sample.X,
        sample.y,
        assumption=known(0.4),
        nuisance=sample.oracle.joint,
        random_state=0,
        **options,
    )
    assert curve.x_name == "bureau"
    assert_allclose(curve.lower[1], found.lower, atol=1e-12)
    with pytest.raises(ValueError, match="one name"):
        run(sample, predictions[0], assumption=lambda v: NamedAlike(v), values=[1, 2], **options)


class NamedAlike(NearNucem):
    """Another assumption at every value, always of one name."""

    name = "alike"

    def __init__(self, value):
        super().__init__(value / 100)


def test_supported_odds_hold_the_true_ratio_and_conclusions_flip_at_it():
    """The tilt is the truth here: the odds of class 1 among the refused are e^{-γ} times those accepted."""
    tilted = make_tilted(6000, 2, tilt=(0.0, -1.0), random_state=0)
    truth = np.exp(1.0)
    options = {"decision_maker": tilted.decision_maker, "nuisance": tilted.oracle.joint, "random_state": 0}
    curve = sensitivity_curve(
        None, tilted.X, tilted.y, metric="share", parameter="odds", threshold=tilted.y_true.mean(), **options
    )
    assert any(low <= truth <= high for low, high in curve.supported)
    assert not any(low <= 1.0 <= high for low, high in curve.supported), "strong enough to tell"
    assert curve.concluded_at == 1.0
    assert_allclose(np.log(curve.break_even), 1.0, atol=0.25)
    text = str(curve)
    assert "the refused have x times the odds of 1" in text
    assert "the instrument supports" in text
    assert curve.plot(Figure().subplots()).get_xscale() == "log"


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
    axes = curve.plot(Figure().subplots())
    assert len(axes.lines) >= 5  # two ends, two limits, the threshold


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"metric": "size"}, "'size'"),
        ({"metric": ["accuracy", "error"]}, "one metric"),
        ({"parameter": "theta"}, "parameter='theta' is not one of"),
        ({"parameter": "rho"}, "it needs limit='instrument'"),
        ({"limit": "nucem"}, "limit='nucem' is not one of"),
        ({"cluster": "rows"}, "cluster='rows' is not one of"),
        ({"limit": "instrument"}, "decision_maker is missing"),
        ({"parameter": "kappa"}, "it needs limit='instrument'"),
        ({"values": [0.5]}, "values of gamma must lie between 1 and"),
        ({"values": [np.nan]}, "values must be one column of finite numbers"),
        ({"metric": "cost"}, "cost"),
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
