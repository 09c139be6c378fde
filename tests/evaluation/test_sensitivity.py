"""Curves over one knob: against linear programs and evaluate, break-even values, words and plots."""

from functools import partial

import numpy as np
import pytest
from matplotlib.figure import Figure
from numpy.testing import assert_allclose, assert_array_equal
from scipy.stats import binomtest
from sklearn.linear_model import LogisticRegression

from selective_labels import evaluate, sensitivity_curve
from selective_labels.assumptions import (
    EventTilt,
    Informed,
    Instrument,
    NearNucem,
    Prevalence,
    Refused,
    SimilarBias,
)
from selective_labels.datasets import make_decision_makers, make_tilted
from selective_labels.evaluation import sensitivity
from tests.reference.clusters import clustered_mean
from tests.reference.confounding import outcome_extremes

LIMIT = 4.5  # standard errors of a false alarm of 7e-6


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
    options = {"nuisance": known_joint, "propensity": "shares", "random_state": 0} | options
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
            propensity="shares",
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
    known = {"nuisance": sample.oracle.joint, "propensity": "shares"}
    options = {"decision_maker": sample.decision_maker, **known}
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
    known = {"nuisance": sample.oracle.joint, "propensity": "shares", "random_state": 0}
    options = {"decision_maker": sample.decision_maker, **known}
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
        propensity="shares",
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


def test_supported_odds_hold_the_true_ratio_and_conclusions_flip_at_it(monkeypatch):
    """The tilt is the truth here: the odds of class 1 among the refused are e^{-γ} times those accepted."""
    tilted = make_tilted(6000, 2, tilt=(0.0, -1.0), random_state=0)
    truth = np.exp(1.0)
    known = {"nuisance": tilted.oracle.joint, "propensity": "shares", "random_state": 0}
    options = {"decision_maker": tilted.decision_maker, **known}
    options |= {"metric": "share", "parameter": "odds", "threshold": tilted.y_true.mean()}
    curve = sensitivity_curve(None, tilted.X, tilted.y, **options)
    assert any(low <= truth <= high for low, high in curve.supported)
    assert not any(low <= 1.0 / truth <= high for low, high in curve.supported), "and not its reverse"
    assert curve.concluded_at == 1.0
    assert_allclose(np.log(curve.break_even), 1.0, atol=0.25)
    text = str(curve)
    assert "those refused have x times the odds of 1 that those accepted have" in text
    assert "the instrument supports" in text
    assert curve.plot(Figure().subplots()).get_xscale() == "log"
    ((low, high),) = curve.supported
    monkeypatch.setattr(sensitivity, "EventTilt", partial(EventTilt, skill_range=0.0))
    ((strict_low, strict_high),) = sensitivity_curve(None, tilted.X, tilted.y, **options).supported
    assert low < strict_low <= truth <= strict_high < high, "equal skill is the stronger assumption"
    assert strict_low > 1.0, "strong enough to tell, if skill is equal"


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
        propensity="shares",
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


def test_between_two_points_the_curve_has_the_ends_of_both(sample, predictions):
    how = {"limit": "none", "cv": 2}
    rough = run(sample, predictions[0], values=[1.0, 4.0], **how)
    exact = run(sample, predictions[0], values=[1.0, 2.0, 4.0], **how)
    read = rough.at([1.0, 2.0, 4.0])
    # Bounds bend: on a straight line the lower one would be too high at 2.
    assert np.interp(2.0, rough.x, rough.ci_lower) > exact.ci_lower[1] + 0.01
    assert_array_equal(read.ci_lower, rough.ci_lower[[0, 1, 1]])
    assert_array_equal(read.upper, rough.upper[[0, 1, 1]])
    assert read.ci_lower[1] <= exact.ci_lower[1]
    assert read.ci_upper[1] >= exact.ci_upper[1]
