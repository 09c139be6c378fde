"""Metrics where every label is seen, against scikit-learn, and what they refuse."""

import numpy as np
import pytest
from sklearn import metrics as reference
from sklearn.linear_model import LogisticRegression

from selective_labels import Metric, calibration_bins, compare, conditional_rate, evaluate, policy_value
from selective_labels.evaluation.metrics import NAMES, named_metrics
from tests.evaluation.samples import fully_labeled, lottery

X, Y, WEIGHT = fully_labeled(n_classes=2)
PROBABILITIES = lottery(X[:, ::-1], 2)
LABELS = PROBABILITIES.argmax(axis=1)
COST = np.array([[0.0, 1.0], [5.0, 0.5]])


def value(predictions, metric, **options):
    result = evaluate(predictions, X, Y, metric=metric, sample_weight=WEIGHT, **options)
    assert result.lower == result.upper  # nothing is missing, so nothing is uncertain
    return result.lower


@pytest.mark.parametrize(
    ("metric", "expected"),
    [
        ("accuracy", reference.accuracy_score(Y, LABELS, sample_weight=WEIGHT)),
        ("error", 1 - reference.accuracy_score(Y, LABELS, sample_weight=WEIGHT)),
        ("tpr", reference.recall_score(Y, LABELS, sample_weight=WEIGHT)),
        ("fpr", 1 - reference.recall_score(Y, LABELS, pos_label=0, sample_weight=WEIGHT)),
        ("ppv", reference.precision_score(Y, LABELS, sample_weight=WEIGHT)),
        ("f1", reference.f1_score(Y, LABELS, sample_weight=WEIGHT)),
        ("balanced_accuracy", reference.balanced_accuracy_score(Y, LABELS, sample_weight=WEIGHT)),
        ("share", np.average(Y == 1, weights=WEIGHT)),
        ("cost", np.average(COST[Y, LABELS], weights=WEIGHT)),
        (conditional_rate(1, 0), 1 - reference.recall_score(Y, LABELS, pos_label=0, sample_weight=WEIGHT)),
        (policy_value({0: 1.0, 1: -5.0}, act=0, default=0.1), None),
    ],
)
def test_predictions(metric, expected):
    if expected is None:
        expected = np.average(np.where(LABELS == 0, np.where(Y == 0, 1.0, -5.0), 0.1), weights=WEIGHT)
    np.testing.assert_allclose(value(LABELS, metric, cost=COST), expected, atol=1e-12)


@pytest.mark.parametrize(
    ("metric", "expected"),
    [
        ("auc", reference.roc_auc_score(Y, PROBABILITIES[:, 1], sample_weight=WEIGHT)),
        ("log_loss", reference.log_loss(Y, PROBABILITIES, sample_weight=WEIGHT)),
        ("brier", 2 * reference.brier_score_loss(Y, PROBABILITIES[:, 1], sample_weight=WEIGHT)),
        ("accuracy", np.average(PROBABILITIES[np.arange(len(Y)), Y], weights=WEIGHT)),  # a lottery
    ],
)
def test_probabilities(metric, expected):
    np.testing.assert_allclose(value(PROBABILITIES, metric), expected, atol=1e-12)


def test_scores_of_one_dimension_are_ranked():
    score = np.round(X[:, 0], 1)  # with ties
    expected = reference.roc_auc_score(Y, score, sample_weight=WEIGHT)
    np.testing.assert_allclose(value(score, "auc"), expected, atol=1e-12)


def test_calibration_is_the_share_in_each_bin():
    results = evaluate(PROBABILITIES, X, Y, metric="calibration")
    number = np.minimum((PROBABILITIES[:, 1] * 10).astype(int), 9)
    shares = [Y[number == each].mean() for each in np.unique(number)]
    np.testing.assert_allclose([each.lower for each in results], shares, atol=1e-12)
    assert [each.n for each in results] == [len(Y)] * len(shares)
    assert len(calibration_bins(1, 4)) == 4


def test_pos_label_chooses_the_class():
    expected = reference.recall_score(Y, LABELS, pos_label=0)
    result = evaluate(LABELS, X, Y, metric="tpr", pos_label=0)
    np.testing.assert_allclose(result.lower, expected)


def test_a_fitted_classifier_is_asked_for_what_a_metric_needs():
    classifier = LogisticRegression().fit(X, Y)
    results = evaluate(classifier, X, Y, metric=["accuracy", "auc", "log_loss"])
    expected = [
        reference.accuracy_score(Y, classifier.predict(X)),
        reference.roc_auc_score(Y, classifier.decision_function(X)),
        reference.log_loss(Y, classifier.predict_proba(X)),
    ]
    np.testing.assert_allclose([each.lower for each in results], expected)


def test_string_classes():
    names = np.array(["good", "bad"])
    result = evaluate(names[LABELS], X, names[Y], metric="tpr", pos_label="bad")
    np.testing.assert_allclose(result.lower, reference.recall_score(Y, LABELS))


def test_true_may_be_predicted_as_one():
    result = evaluate(LABELS, X, Y.astype(bool))
    np.testing.assert_allclose(result.lower, reference.accuracy_score(Y, LABELS))


def test_a_class_that_only_the_classifier_knows_counts():
    """A rare class may be absent among the labels at hand; the fitted classifier still may predict it."""
    labels = np.where(X[:, 0] > 1.5, 2, Y)
    classifier = LogisticRegression().fit(X, labels)
    result = evaluate(classifier, X, Y, metric="accuracy")
    np.testing.assert_allclose(result.lower, np.mean(classifier.predict(X) == Y))


def test_difference_of_metrics_is_the_difference():
    other = lottery(X, 2)
    for metric in (each for each in NAMES if each not in ("calibration", "regret")):
        options = {"metric": metric, "cost": COST}
        separate = [evaluate(each, X, Y, **options).lower for each in (PROBABILITIES, other)]
        difference = compare(PROBABILITIES, other, X, Y, **options)
        np.testing.assert_allclose(difference.lower, separate[0] - separate[1], atol=1e-12)


def test_a_user_defines_a_metric():
    overcaution = Metric(
        "overcaution",
        occurs=lambda truth, predicted: predicted == 1,
        given=lambda truth, predicted: truth == 0,
    )
    np.testing.assert_allclose(value(LABELS, overcaution), value(LABELS, "fpr"))


def test_balanced_accuracy_refuses_three_classes():
    X3, y3, _ = fully_labeled(n_classes=3)
    with pytest.raises(ValueError, match="'balanced_accuracy' needs two classes and there are 3"):
        evaluate(lottery(X3), X3, y3, metric="balanced_accuracy")


def test_auc_of_one_class_against_the_rest():
    X3, y3, _ = fully_labeled(n_classes=3)
    probabilities = lottery(X3)
    expected = reference.roc_auc_score(y3 == 1, probabilities[:, 1])
    result = evaluate(probabilities, X3, y3, metric="auc", pos_label=1)
    np.testing.assert_allclose(result.lower, expected)


@pytest.mark.parametrize(
    ("name", "options", "message"),
    [
        ("sharpness", {}, "metric 'sharpness' is not one of 'accuracy'"),
        ("cost", {}, "metric 'cost' needs cost="),
        ("cost", {"cost": np.eye(3)}, r"cost has shape \(3, 3\); it must be"),
        ("tpr", {"pos_label": 7}, "pos_label=7 is not among the labels '0', '1'"),
    ],
)
def test_names_that_do_not_work(name, options, message):
    with pytest.raises(ValueError, match=message):
        named_metrics(name, np.array([0, 1]), **options)


def test_a_metric_must_be_finite():
    broken = Metric("broken", lambda truth, predicted: np.where(truth == predicted, np.inf, 0.0))
    with pytest.raises(ValueError, match="'broken' gives a value that is not finite"):
        evaluate(LABELS, X, Y, metric=broken)
