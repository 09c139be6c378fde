"""What is given arrives: options, weights and directions that would be missed nowhere else."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

import selective_labels as sl
from selective_labels import Metric, calibration_bins
from selective_labels.evaluation.metrics import named_metrics
from selective_labels.evaluation.policy import accept_lowest
from selective_labels.evaluation.predictions import ArrayPredictions
from selective_labels.nuisance.models.boosting import ClassifierJoint

CLASSES = np.array([0, 1])
QUICK = {"nuisance": "logistic", "cv": 2}


@pytest.fixture(scope="module")
def sample():
    return sl.datasets.make_decision_makers(500, n_classes=2, n_decision_makers=4, random_state=5)


@pytest.mark.parametrize(
    ("name", "direction"),
    [("accuracy", True), ("tpr", True), ("fpr", False), ("cost", False), ("auc", True), ("log_loss", False)],
)
def test_what_is_better(name, direction):
    (metric,) = named_metrics(name, CLASSES, cost=[[0, 1], [2, 0]])
    assert metric.greater_is_better is direction


def test_a_rate_is_good_if_prediction_and_truth_agree():
    assert sl.conditional_rate(1, truth=1).greater_is_better
    assert not sl.conditional_rate(1, truth=0).greater_is_better


@pytest.mark.parametrize(
    "given", [lambda y, t: -1.0 * (y == t), lambda y, t: 0.0 * (y == t)], ids=["negative", "nowhere"]
)
def test_an_impossible_condition_is_refused(given):
    with pytest.raises(sl.InputError, match="non-negative and somewhere positive"):
        Metric("odd", lambda y, t: y == t, given).tables(CLASSES)


def test_the_last_bin_of_calibration_holds_certainty():
    chance = np.array([0.0, 0.49, 0.5, 1.0])
    subject = ArrayPredictions(np.column_stack([1 - chance, chance]), CLASSES, "chances")
    low, high = calibration_bins(1, n_bins=2)
    assert_array_equal(low.rows(subject), [True, True, False, False])
    assert_array_equal(high.rows(subject), [False, False, True, True])


def test_acceptance_counts_weights():
    policy, near = accept_lowest(np.array([0.1, 0.2, 0.9]), 0.5, np.array([1.0, 4.0, 5.0]))
    assert_allclose(policy, [1.0, 1.0, 0.0])
    assert_array_equal(near, [0.0, 4.0, 5.0])  # at the cut-off lie the second and the third


def test_the_failure_may_be_the_first_class(sample):
    """Failures of the human are seen: their shares among all cases, one class and the other."""
    options = {"decision_maker": sample.decision_maker, "assumption": "none", "random_state": 0} | QUICK
    refuse_nobody = np.zeros(500)
    for label in (0, 1):
        result = sl.compare(refuse_nobody, "human", sample.X, sample.y, pos_label=label, **options)
        share = np.mean(sample.y == label)
        # Equal scores are accepted with equal chance, at the rate of the human.
        assert result.lower == pytest.approx(np.mean(sample.decision) * share - share, abs=1e-9)


def test_repeats_are_made(sample):
    options = {"decision_maker": sample.decision_maker, "random_state": 0} | QUICK
    rule, other = (sample.X[:, 0] < 0).astype(int), (sample.X[:, 1] < 0).astype(int)
    once, thrice = (
        sl.compare(rule, other, sample.X, sample.y, n_repeats=number, **options) for number in (1, 3)
    )
    # An end alone may be the same, if the first of three is the median.
    assert (once.lower, once.upper) != (thrice.lower, thrice.upper)


def test_a_curve_has_the_level_that_was_asked_for(sample):
    options = {"decision_maker": sample.decision_maker, "random_state": 0, "thresholds": [0.0]} | QUICK
    narrow, wide = (
        sl.threshold_curve(sample.X[:, 0], sample.X, sample.y, confidence_level=level, **options).to_frame()
        for level in (0.6, 0.99)
    )
    assert (wide["accuracy_ci_lower"] < narrow["accuracy_ci_lower"]).all()


def test_an_argument_is_blamed_by_its_name(sample):
    with pytest.raises(sl.InputError) as caught:
        sl.evaluate(np.zeros(3), sample.X, sample.y, decision_maker=sample.decision_maker)
    assert caught.value.argument == "classifier"
    with pytest.raises(sl.InputError) as caught:
        sl.compare(np.zeros(500), np.zeros(3), sample.X, sample.y, decision_maker=sample.decision_maker)
    assert caught.value.argument == "b"


def test_a_decision_maker_is_one_column_of_a_classifier():
    seen = []

    class Recorder:
        def predict_proba(self, design):
            seen.append(design)
            return np.full((len(design), 2), 0.5)

    model = ClassifierJoint(3, 2, Recorder())
    model.encoder_, model.classifier_ = model._encoder().fit(np.zeros((2, 1))), Recorder()
    model.classifier_.classes_ = CLASSES
    model.own(np.array([[7.0], [8.0]]), np.array([2, 0]))
    assert_array_equal(seen[0], [[7.0, 0.0, 0.0, 1.0], [8.0, 1.0, 0.0, 0.0]])
