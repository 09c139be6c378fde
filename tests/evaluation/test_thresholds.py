"""A cut score is a classifier like any other: the curve must say what `evaluate` says of it."""

import json

import numpy as np
import pytest

from selective_labels import evaluate, threshold_curve
from selective_labels.datasets import make_decision_makers
from selective_labels.evaluation.display import ENDS
from selective_labels.evaluation.metrics import default_thresholds
from tests.evaluation.samples import fully_labeled

QUICK = {"nuisance": "logistic", "propensity": "shares", "cv": 2, "random_state": 0}


def drawn(n_classes=2):
    return make_decision_makers(900, n_classes=n_classes, n_decision_makers=4, random_state=3)


def score(X):
    return -X[:, 0] + 0.3 * X[:, 1]


def curve_of(sample, **options):
    options = {"decision_maker": sample.decision_maker} | QUICK | options
    return threshold_curve(score(sample.X), sample.X, sample.y, **options)


@pytest.mark.parametrize("assumption", ["instrument", "none", "nucem"])
@pytest.mark.parametrize("metric", ["accuracy", "error", "tpr", "fpr"])
def test_each_point_is_what_evaluate_says_of_the_cut_score(metric, assumption):
    sample = drawn()
    cut = 0.4
    curve = curve_of(sample, thresholds=[-1.0, cut], metric=[metric], assumption=assumption)
    expected = evaluate(
        (score(sample.X) >= cut).astype(int),
        sample.X,
        sample.y,
        decision_maker=sample.decision_maker,
        metric=metric,
        assumption=assumption,
        **QUICK,
    )
    point = curve.evaluations[metric][1]
    for end in ENDS:
        assert getattr(point, end) == pytest.approx(getattr(expected, end), abs=1e-12)


@pytest.mark.parametrize("event", [0, 1, 2])
def test_with_three_classes_rates_are_those_of_the_event(event):
    sample = drawn(3)
    cut = 0.0
    curve = curve_of(sample, thresholds=[cut], pos_label=event, metric=["tpr", "fpr"])
    other = 0 if event else 1
    for metric in ("tpr", "fpr"):
        expected = evaluate(
            np.where(score(sample.X) >= cut, event, other),
            sample.X,
            sample.y,
            decision_maker=sample.decision_maker,
            metric=metric,
            pos_label=event,
            **QUICK,
        )
        assert curve.evaluations[metric][0].lower == pytest.approx(expected.lower, abs=1e-12)


def test_with_three_classes_the_event_against_the_rest_needs_no_right_rest():
    """Taking one other class for another is no mistake here, so accuracy cannot be below that of classes."""
    sample = drawn(3)
    curve = curve_of(sample, thresholds=[0.0], metric=["accuracy"], assumption="none")
    labels = np.where(score(sample.X) >= 0.0, 2, 0)
    classes = evaluate(
        labels, sample.X, sample.y, decision_maker=sample.decision_maker, assumption="none", **QUICK
    )
    assert curve.evaluations["accuracy"][0].lower > classes.lower


def test_acceptance_is_the_share_below_and_known_without_labels():
    sample = drawn()
    curve = curve_of(sample)
    below = [np.mean(score(sample.X) < cut) for cut in curve.thresholds]
    for end in ("lower", "upper"):
        found = [getattr(point, end) for point in curve.evaluations["acceptance"]]
        np.testing.assert_allclose(found, below, atol=1e-12)


def test_default_thresholds_go_from_flagging_all_to_flagging_nobody():
    curve = curve_of(drawn(), metric=[])
    acceptance = curve.to_frame()["acceptance_lower"]
    assert acceptance.iloc[0] == pytest.approx(0.0, abs=1e-12)
    assert acceptance.iloc[-1] == pytest.approx(1.0, abs=1e-12)
    assert (np.diff(acceptance) > 0.0).all(), "a higher threshold accepts more"
    assert len(curve) == 42, "41 quantiles of a score without ties, and one above all"


def test_a_higher_threshold_finds_fewer_events():
    """Under "none" scores are counts, so this holds in the sample too."""
    frame = curve_of(drawn(), assumption="none").to_frame()
    for column in ("tpr_lower", "tpr_upper", "fpr_lower", "fpr_upper"):
        assert (np.diff(frame[column]) <= 1e-12).all()


def test_labels_behind_a_decision_against_are_never_read():
    sample = drawn()
    generator = np.random.default_rng(0)
    frames = []
    for _ in range(2):
        y = np.where(sample.decision == 1, sample.y, generator.integers(0, 9, len(sample.y)))
        curve = threshold_curve(
            score(sample.X),
            sample.X,
            y,
            decision=sample.decision,
            decision_maker=sample.decision_maker,
            thresholds=[0.0],
            **QUICK,
        )
        frames.append(curve.to_frame())
    np.testing.assert_array_equal(*frames)


def test_with_every_label_seen_it_is_plain_counting():
    X, y, weight = fully_labeled()
    curve = threshold_curve(X[:, 1], X, y, thresholds=[0.2], sample_weight=weight, assumption="none")
    flagged = X[:, 1] >= 0.2
    expected = {
        "accuracy": np.average(flagged == y, weights=weight),
        "tpr": np.average(flagged[y == 1], weights=weight[y == 1]),
        "fpr": np.average(flagged[y == 0], weights=weight[y == 0]),
    }
    for metric, value in expected.items():
        assert curve.evaluations[metric][0].lower == pytest.approx(value, abs=1e-12)


def test_a_fitted_classifier_is_cut_by_its_own_score():
    class Scorer:
        classes_ = np.array([0, 1])

        def predict(self, X):
            return (score(X) > 0).astype(int)

        def decision_function(self, X):
            return score(X)

    sample = drawn()
    options = {"decision_maker": sample.decision_maker, "thresholds": [0.1]} | QUICK
    of_classifier = threshold_curve(Scorer(), sample.X, sample.y, **options).to_frame()
    np.testing.assert_array_equal(of_classifier, curve_of(sample, thresholds=[0.1]).to_frame())


def test_ties_are_cut_once():
    assert default_thresholds([0.0, 0.0, 1.0]).tolist() == [0.0, 1.0, np.nextafter(1.0, 2.0)]


def test_json_has_every_number_and_the_assumption():
    curve = curve_of(drawn(), thresholds=[0.0], metric=["tpr"])
    kept = json.loads(curve.to_json())
    assert list(kept["table"][0]) == list(curve.to_frame().columns)
    assert any("(instrument)" in each for each in kept["sentences"])
    assert "acceptance_lower" in str(curve)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"metric": ["ppv"]}, "metric 'ppv' is not one of"),
        ({"thresholds": [np.nan]}, "thresholds must be finite"),
        ({"thresholds": []}, "thresholds must be finite"),
        ({"pos_label": "x"}, "pos_label='x' is not among the labels"),
        ({"assumption": ["none", "instrument"]}, "one assumption"),
    ],
)
def test_wrong_options_are_named(options, message):
    with pytest.raises(ValueError, match=message):
        curve_of(drawn(), **options)


def test_words_are_not_scores():
    sample = drawn()
    with pytest.raises(ValueError, match="scores are needed"):
        threshold_curve(
            np.full(len(sample.y), "high"), sample.X, sample.y, decision_maker=sample.decision_maker, **QUICK
        )
