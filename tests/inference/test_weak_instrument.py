"""Intervals under the event tilt: how a mean becomes events, the statistics, what the interval promises."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.stats import chi2

import selective_labels as sl
from selective_labels import SelectiveLabels
from selective_labels._errors import UndefinedError
from selective_labels.assumptions import EventTilt, names
from selective_labels.datasets import make_tilted
from selective_labels.evaluation.metrics import named_metrics
from selective_labels.evaluation.predictions import ArrayPredictions
from selective_labels.identification.odds_ratio import event_odds, event_scores, refused
from selective_labels.inference import weak_instrument
from selective_labels.inference.evidence import Evidence
from selective_labels.inference.weak_instrument import TiltRows, TriedTilts, event_groups, try_tilts


def functional(name, predicted, n_classes, other=None):
    classes = np.arange(n_classes)
    (metric,) = named_metrics(name, classes, None, None)
    first = ArrayPredictions(predicted, classes, "a")
    if other is None:
        return metric.functional(first)
    return metric.difference(first, ArrayPredictions(other, classes, "b"))


def as_mean(base, groups, truth):
    """What the decomposition says a mean is, where all labels are known."""
    values = base.copy()
    for group in groups:
        values[group.rows] += group.worth * group.event[np.arange(len(group.rows)), truth[group.rows]]
    return values


RNG = np.random.default_rng(0)
CASES = {
    "accuracy of two": ("accuracy", 2, False, 2),
    "accuracy of three": ("accuracy", 3, False, 3),
    "accuracy of five": ("accuracy", 5, False, 1),
    "error": ("error", 3, False, 3),
    "share": ("share", 3, False, 1),
    "difference, two classes": ("accuracy", 2, True, 2),
    "difference, three classes": ("accuracy", 3, True, 2),
    "difference of errors": ("error", 3, True, 2),
}


@pytest.mark.parametrize("case", CASES)
def test_a_mean_is_a_known_part_and_events(case):
    name, n_classes, two, n_groups = CASES[case]
    predicted, other, truth = RNG.integers(0, n_classes, (3, 200))
    given = functional(name, predicted, n_classes, other if two else None)
    base, groups = event_groups(given, np.ones(200))
    assert len(groups) == n_groups
    assert_allclose(as_mean(base, groups, truth), given.numerator[np.arange(200), truth])


def test_what_is_not_an_event_is_refused():
    predicted = RNG.integers(0, 2, 50)
    for name in ("tpr", "ppv", "f1", "balanced_accuracy", "regret"):
        with pytest.raises(UndefinedError, match="accuracy, error, share, and differences of accuracies"):
            event_groups(functional(name, predicted, 2), np.ones(50))


def test_rows_without_weight_have_no_event():
    predicted = np.repeat([0, 1], 25)
    _, groups = event_groups(functional("accuracy", predicted, 2), np.repeat([1.0, 0.0], 25))
    assert len(groups) == 1
    assert groups[0].rows.max() == 24


def tilt_rows(sample, moves=None):
    """All that the tilt needs, from the truth."""
    joint = sample.oracle.joint(sample.X)
    leniency = 1 - joint[:, :, 0]
    rows = np.arange(len(sample.y))
    away = (leniency - leniency.mean(axis=1, keepdims=True))[rows, sample.decision_maker]
    return TiltRows(
        Evidence.from_labels(sample.y, joint.shape[2] - 1),
        joint[rows, sample.decision_maker, 1:],
        joint[:, :, 1:].mean(axis=1),
        away if moves is None else moves,
        sample.y,
        float("nan"),
    )


def test_statistics_of_one_tilt_by_hand():
    sample = make_tilted(400, 3, random_state=0)
    rows = tilt_rows(sample)
    given = functional("share", np.zeros(400, dtype=int), 3)
    base, groups = event_groups(given, np.ones(400))
    tried = try_tilts(rows, base, groups, np.ones(400), None)
    chance, leniency, y = rows.own[:, 2], rows.own.sum(axis=1), sample.y
    found = []
    for gamma in np.linspace(-5, 5, 41):
        ratio = float(np.exp(-gamma))
        score = event_scores(chance, leniency, y == 2, y >= 0, ratio)
        mean = np.column_stack([rows.mean[:, :2].sum(axis=1), rows.mean[:, 2]])
        center = mean[:, 1] + (1 - mean.sum(axis=1)) * refused(mean, event_odds(ratio))[:, 1]
        moment = rows.moves * (score - center)
        joint = np.cov(score, moment, bias=True)
        statistic = 400 * moment.mean() ** 2 / joint[1, 1]
        value = score.mean() - joint[0, 1] / joint[1, 1] * moment.mean()
        found.append((statistic, value, (joint[0, 0] - joint[0, 1] ** 2 / joint[1, 1]) / 400))
    inside = [each for each in found if each[0] <= 30]
    assert inside
    for statistic, value, variance in inside:
        place = np.abs(tried.statistic - statistic).argmin()
        assert_allclose(tried.statistic[place], statistic, rtol=1e-6, atol=1e-9)
        assert_allclose(tried.value[place], value, rtol=1e-6)
        assert_allclose(tried.variance[place], variance, rtol=1e-6)


def test_the_interval_is_the_union_over_what_is_not_rejected():
    tried = TriedTilts(np.array([0.0, 3.0, 50.0]), np.array([0.5, 0.6, 0.9]), np.full(3, 1e-4), 1)
    critical = chi2.ppf(0.95, 2)
    found = tried.interval(0.95)
    assert_allclose(found.lower, min(0.5 - 0.01 * critical**0.5, 0.6))
    assert_allclose(found.upper, 0.6 + 0.01 * (critical - 3.0) ** 0.5)
    assert TriedTilts(np.array([50.0]), np.zeros(1), np.ones(1), 1).interval(0.95) is None
    assert tried.best == (0.5, 0.5)


def test_without_strength_nothing_is_cut_off():
    """Every tilt fits, those at infinity too: from nobody to everybody of the refused."""
    sample = make_tilted(600, 2, leniency_spread=0.0, random_state=0)
    rows = tilt_rows(sample, moves=np.random.default_rng(0).normal(size=600) * 1e-3)
    predicted = (sample.X[:, 0] < 0).astype(int)
    base, groups = event_groups(functional("accuracy", predicted, 2), np.ones(600))
    found = try_tilts(rows, base, groups, np.ones(600), None).interval(0.95)
    right = np.mean((sample.y == predicted) & (sample.y >= 0))
    assert found.lower < right + 0.05
    assert found.upper > right + np.mean(sample.y < 0) - 0.05


def test_a_strong_instrument_in_a_large_sample_leaves_an_interval():
    """A grid that is too coarse would step over all that fits."""
    sample = make_tilted(60_000, 2, random_state=0)
    predicted = (sample.X[:, 0] < 0).astype(int)
    base, groups = event_groups(functional("accuracy", predicted, 2), np.ones(60_000))
    found = try_tilts(tilt_rows(sample), base, groups, np.ones(60_000), None).interval(0.999)
    truth = np.mean(sample.oracle.probabilities(sample.X)[np.arange(60_000), predicted])
    assert found.lower < truth < found.upper
    assert found.upper - found.lower < 0.08


def test_weights_are_rows_that_stand_there_several_times():
    sample = make_tilted(300, 2, random_state=0)
    times = np.random.default_rng(1).integers(1, 4, 300)
    rows, again = tilt_rows(sample), np.repeat(np.arange(300), times)
    repeated = TiltRows(
        rows.instrument, rows.own[again], rows.mean[again], rows.moves[again], rows.y[again], 0.0
    )
    predicted = (sample.X[:, 0] < 0).astype(int)
    once = event_groups(functional("accuracy", predicted, 2), times.astype(float))
    often = event_groups(functional("accuracy", predicted[again], 2), np.ones(len(again)))
    one = try_tilts(rows, *once, times.astype(float), None)
    other = try_tilts(repeated, *often, np.ones(len(again)), again)
    assert_allclose(one.statistic, other.statistic, rtol=1e-6, atol=1e-9)
    assert_allclose(one.value, other.value, rtol=1e-6)
    assert_allclose(one.variance, other.variance, rtol=1e-6)


@pytest.fixture(scope="module")
def judged():
    sample = make_tilted(1500, 2, random_state=1)
    data = SelectiveLabels.from_arrays(sample.X, sample.y, decision_maker=sample.decision_maker)
    return sample, data, (sample.X[:, 0] < 0).astype(int)


EQUAL_SKILL = EventTilt(skill_range=0.0)


def evaluate(judged, **settings):
    sample, data, predicted = judged
    given = {"assumption": EQUAL_SKILL, "nuisance": sample.oracle.joint, "propensity": "shares", **settings}
    return sl.evaluate(predicted, data, **given)


def test_the_interval_lies_in_that_of_the_instrument_and_is_narrower(judged):
    tilt, bounds = evaluate(judged), evaluate(judged, assumption="instrument", confidence_level=0.975)
    assert bounds.ci_lower <= tilt.ci_lower < tilt.lower == tilt.upper < tilt.ci_upper <= bounds.ci_upper
    assert tilt.ci_upper - tilt.ci_lower < 0.8 * (bounds.ci_upper - bounds.ci_lower)
    sample, _, predicted = judged
    truth = sample.oracle.probabilities(sample.X)[np.arange(1500), predicted].mean()
    assert tilt.ci_lower < truth < tilt.ci_upper
    assert "No test is known to notice" in str(tilt)


def test_error_is_what_accuracy_leaves(judged):
    accuracy, error = evaluate(judged, metric=["accuracy", "error"])
    assert_allclose(
        [error.lower, error.ci_lower, error.ci_upper],
        1 - np.array([accuracy.lower, accuracy.ci_upper, accuracy.ci_lower]),
        atol=1e-6,
    )


def test_other_metrics_say_why_they_have_no_number(judged):
    for metric in ("tpr", "auc", "regret"):
        found = evaluate(judged, metric=metric)
        assert np.isnan([found.lower, found.upper, found.ci_lower, found.ci_upper]).all()
        assert "the tilt is of one event" in found.reason


def test_subgroups_have_intervals_and_gaps_have_none(judged):
    found = evaluate(judged, by=np.where(judged[0].X[:, 1] > 0, "a", "b"))
    assert all(np.isfinite(each.ci_lower) for each in found)
    assert "gap" in found.gaps[0].reason


def test_other_levels_are_other_intervals_of_the_same_tilts(judged):
    wide, narrow = evaluate(judged, confidence_level=0.99), evaluate(judged, confidence_level=0.8)
    assert wide.ci_lower < narrow.ci_lower < narrow.ci_upper < wide.ci_upper


def test_differences_of_accuracy_under_the_tilt(judged):
    sample, data, predicted = judged
    how = {"assumption": "tilt", "nuisance": sample.oracle.joint, "propensity": "shares"}
    found = sl.compare(predicted, np.zeros(1500, dtype=int), data, **how)
    eta = sample.oracle.probabilities(sample.X)
    truth = np.mean(eta[np.arange(1500), predicted] - eta[:, 0])
    assert found.ci_lower < truth < found.ci_upper
    human = sl.compare(predicted, "human", data, **how)
    assert "the tilt is of one event" in human.reason
    assert human.verdict == "undecided"


def test_thresholds_under_the_tilt(judged):
    sample, data, _ = judged
    curve = sl.threshold_curve(
        -sample.X[:, 0],
        data,
        thresholds=[0.0, 1.0],
        metric=["accuracy", "tpr"],
        assumption=EventTilt(),
        nuisance=sample.oracle.joint,
        propensity="shares",
    ).to_frame()
    assert np.isfinite(curve[["acceptance_ci_lower", "accuracy_ci_lower"]]).all(axis=None)
    assert np.isnan(curve["tpr_lower"]).all()


def test_all_labels_seen_need_no_tilt(judged):
    sample, _, predicted = judged
    found = sl.evaluate(
        predicted, sample.X, sample.y_true, decision_maker=sample.decision_maker, assumption="tilt"
    )
    assert_allclose(found.lower, np.mean(predicted == sample.y_true))


def test_the_tilt_is_asked_for_by_name_only():
    assert "tilt" not in names()
    assert sl.assumptions.named("tilt") == EventTilt()


def test_an_allowance_for_skill_widens_the_estimate_and_the_interval(judged):
    value, some, usual = (evaluate(judged, assumption=EventTilt(c)) for c in (0.0, 0.75, 1.5))
    for narrow, wide in ((value, some), (some, usual)):
        assert wide.ci_lower <= narrow.ci_lower
        assert wide.ci_upper >= narrow.ci_upper
        assert wide.lower < narrow.lower + 1e-9
        assert wide.upper > narrow.upper - 1e-9
    assert value.lower == value.upper
    assert usual.upper - usual.lower > 0.01, "a range, not a value"
    assert usual.assumption != value.assumption


def test_intervals_over_a_few_slopes_are_those_over_many(judged, monkeypatch):
    few = evaluate(judged, assumption="tilt")
    monkeypatch.setitem(weak_instrument.SLOPES, 2, np.linspace(-1.0, 1.0, 15))
    many = evaluate(judged, assumption="tilt")
    assert_allclose(
        [few.ci_lower, few.ci_upper, few.lower, few.upper],
        [many.ci_lower, many.ci_upper, many.lower, many.upper],
        atol=2e-3,
    )


@pytest.mark.parametrize("skill_range", [-1.0, np.inf, "much"])
def test_a_skill_range_is_a_number_from_zero_on(skill_range):
    with pytest.raises(sl.InputError, match="skill_range must be a finite number"):
        EventTilt(skill_range)


def test_the_skill_range_is_an_axis_of_the_sensitivity_curve(judged):
    sample, data, predicted = judged
    how = {"nuisance": sample.oracle.joint, "propensity": "shares"}
    curve = sl.sensitivity_curve(
        predicted,
        data,
        metric="accuracy",
        parameter="skill_range",
        values=[0, 0.75, 1.5],
        limit="instrument",
        **how,
    )
    one = evaluate(judged, assumption="tilt")
    assert_allclose([curve.lower[2], curve.ci_upper[2]], [one.lower, one.ci_upper])
    assert (np.diff(curve.ci_upper) >= 0).all()
    with pytest.raises(sl.InputError, match="needs limit='instrument'"):
        sl.sensitivity_curve(predicted, data, parameter="skill_range", limit="none", **how)


def test_a_share_has_a_tilt_for_given_probabilities_too(judged):
    """Probabilities add up to one but for rounding; the share of a class does not depend on them."""
    sample, data, _ = judged
    chances = np.random.default_rng(0).dirichlet(np.ones(2), len(sample.y))
    one, other = (
        evaluate((sample, data, each), metric="share", pos_label=1) for each in (judged[2], chances)
    )
    assert_allclose([one.ci_lower, one.ci_upper], [other.ci_lower, other.ci_upper])
