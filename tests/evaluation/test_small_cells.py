"""Intervals hold in small cells, undefined numbers are NaN with a reason, ends come in order.

Coverage is that of 400 samples with every label seen, against the least that 95 % have once in a million.
"""

import json
from functools import cache

import numpy as np
import pytest
from scipy.stats import binom

from selective_labels import SelectiveLabels, compare, evaluate, threshold_curve
from selective_labels.datasets import make_decision_makers
from selective_labels.evaluation.compare import compare_sample, paired_difference
from selective_labels.evaluation.evaluate import evaluate_sample
from selective_labels.evaluation.metrics import named_metrics
from selective_labels.evaluation.predictions import ArrayPredictions
from selective_labels.evaluation.scored_rows import ScoredSample
from selective_labels.inference.evidence import Evidence
from tests.evaluation.samples import lottery

N_REPLICATIONS = 400
FALSE_ALARM = 1e-6
# So many of them at least, if intervals cover 95 % of the times.
REQUIRED = binom.ppf(FALSE_ALARM, N_REPLICATIONS, 0.95)


@cache
def table(n_samples):
    """Rows of which everything but the labels is the same in every replication."""
    rows = np.arange(n_samples)
    return SelectiveLabels.from_arrays(rows[:, None], rows % 2, decision_maker=0 * rows, groups=rows)


def labeled(y, *predictions, cluster=None):
    """A scored sample with every label seen, without the cost of reading a table."""
    data = table(len(y))
    nothing = {"none": 0.0}
    evidence = [{"none": Evidence.from_labels(y, 2)}]
    sample = ScoredSample(data, evidence, nothing, nothing, nothing, {}, cluster)
    return sample, *(ArrayPredictions(each, data.classes, "the classifier") for each in predictions)


def accuracies(right, by=None):
    """Results of a classifier that is right in some rows."""
    y = np.arange(len(right)) % 2
    sample, subject = labeled(y, np.where(right, y, 1 - y))
    return evaluate_sample(sample, subject, named_metrics("accuracy", subject.classes), by)


@pytest.mark.parametrize("size", [8, 15, 30])
def test_groups_of_a_few_rows_cover(size):
    rng = np.random.default_rng(size)
    by = np.repeat(np.arange(5), size)
    results = [each for _ in range(N_REPLICATIONS // 5) for each in accuracies(rng.random(len(by)) < 0.9, by)]
    assert sum(each.ci_lower <= 0.9 <= each.ci_upper for each in results) >= REQUIRED
    assert all(each.ci_lower < each.ci_upper for each in results)


def test_a_gap_with_a_group_without_a_mistake_covers():
    """Nine rows of accuracy .9 against 300 of .8: in most samples the nine have no mistake."""
    rng = np.random.default_rng(9)
    by = np.repeat(["few", "many"], [9, 300])
    truth = np.where(by == "few", 0.9, 0.8)
    gaps = [accuracies(rng.random(309) < truth, by).gaps[0] for _ in range(N_REPLICATIONS)]
    assert sum(gap.ci_lower <= 0.1 <= gap.ci_upper for gap in gaps) >= REQUIRED


def test_a_nearly_perfect_classifier_on_fifty_rows_covers():
    rng = np.random.default_rng(50)
    results = [accuracies(rng.random(50) < 0.98)[0] for _ in range(N_REPLICATIONS)]
    assert sum(each.ci_lower <= 0.98 <= each.ci_upper for each in results) >= REQUIRED
    assert all(each.ci_lower < each.ci_upper for each in results)
    assert all(each.exact for each in results)


@pytest.mark.parametrize("cluster", [None, "groups"])
@pytest.mark.parametrize("n_differ", [4, 5, 8, 12])
def test_equal_rules_that_differ_in_few_rows_have_no_winner(n_differ, cluster):
    rng = np.random.default_rng(n_differ)
    rules, wins = (np.zeros(100, dtype=int), (np.arange(100) < n_differ).astype(int)), 0
    for _ in range(N_REPLICATIONS):
        sample, *subjects = labeled((rng.random(100) < 0.5).astype(int), *rules, cluster=cluster)
        contest = paired_difference(*subjects, named_metrics("accuracy", subjects[0].classes)[0])
        wins += compare_sample(sample, contest, "none").verdict != "undecided"
    assert wins <= binom.isf(FALSE_ALARM, N_REPLICATIONS, 0.05)


def test_a_clear_winner_is_still_found():
    y = np.arange(60) % 2
    first = np.where(np.arange(60) < 55, y, 1 - y)
    second = np.where(np.arange(60) < 40, y, 1 - y)
    assert compare(first, second, np.zeros((60, 1)), y).verdict == "a"
    assert compare(second, first, np.zeros((60, 1)), y).verdict == "b"
    assert compare(second, first, np.zeros((60, 1)), y, metric="error").verdict == "b"


def test_weighted_rows_are_not_counted():
    y, weights = np.arange(40) % 2, np.r_[np.full(20, 3.0), np.ones(20)]
    right = np.where(np.arange(40) % 5 == 0, 1 - y, y)
    plain, weighted, doubled = (
        evaluate(right, np.zeros((40, 1)), y, sample_weight=each)
        for each in (None, weights, np.full(40, 2.0))
    )
    assert (plain.exact, weighted.exact, doubled.exact) == (True, False, True)
    assert (doubled.ci_lower, doubled.ci_upper) == (plain.ci_lower, plain.ci_upper)


def test_without_an_instrument_the_seen_labels_are_counts_too():
    """Manski's ends are shares of rows."""
    sample = make_decision_makers(300, n_classes=2, random_state=0)
    guess = (sample.X[:, 0] < 0).astype(int)
    roles = {"decision_maker": sample.decision_maker, "nuisance": sample.oracle.joint}
    result = evaluate(guess, sample.X, sample.y, assumption="none", **roles)
    assert result.exact
    right, wrong = (np.mean(sample.y == each) for each in (guess, 1 - guess))
    np.testing.assert_allclose([result.lower, result.upper], [right, 1 - wrong])


class TestUndefined:
    """Of 60 cases, the three of one subgroup have no positive among them, and fewer than five rows."""

    y = np.arange(60) % 2
    by = np.where(np.arange(60) % 20 == 0, "none positive", "others")

    def results(self, **options):
        flags = np.where(np.arange(60) % 7 == 0, 1 - self.y, self.y)
        return evaluate(flags, np.zeros((60, 1)), self.y, metric=["accuracy", "tpr"], by=self.by, **options)

    def test_the_rest_of_the_call_stands(self):
        results = self.results()
        empty = results.one(metric="tpr", subgroup="none positive")
        assert np.isnan([empty.lower, empty.upper, empty.ci_lower, empty.ci_upper]).all()
        assert "metric 'tpr' is not defined under assumption 'instrument'" in empty.reason
        assert np.isfinite(results.one(metric="tpr", subgroup="others").ci_lower)
        few = results.one(metric="accuracy", subgroup="none positive")
        assert np.isfinite(few.lower)
        assert np.isnan(few.ci_lower)
        assert "five cases or more" in few.reason
        gap = results.gaps.one(metric="tpr")
        assert np.isnan(gap.lower)
        assert "not defined" in gap.reason
        assert np.isnan(results.gaps.one(metric="accuracy").ci_lower)

    def test_texts_tables_and_json_say_why(self):
        results = self.results()
        text = repr(results)
        assert "No value: metric 'tpr' is not defined" in text
        assert "No interval: an interval needs five cases or more, and there are 3." in text
        assert "nan" not in text
        assert "no value" in repr(results.one(metric="tpr", subgroup="none positive"))
        rows = json.loads(results.to_json())
        assert [row["lower"] for row in rows if row["reason"] and "not defined" in row["reason"]] == [None]
        assert results.to_frame()["reason"].notna().sum() == 2
        assert results.plot() is not None

    def test_a_comparison_without_a_value_is_undecided(self):
        result = compare(0, 1, np.zeros((60, 1)), self.y, metric="ppv")
        assert result.verdict == "undecided"
        assert "metric 'ppv' is not defined" in result.reason
        assert "no value" in repr(result)

    def test_a_subgroup_without_weight_has_no_value(self):
        weights = (self.by == "others").astype(float)
        result = self.results(sample_weight=weights).one(metric="accuracy", subgroup="none positive")
        assert "no case has a positive weight" in result.reason


def found_with_unequal_weights(seed):
    """Results of a sample so small that ends cross, with weights so unequal that means leave their range."""
    sample = make_decision_makers(120, n_classes=2, n_decision_makers=4, random_state=seed)
    rng = np.random.default_rng(seed)
    roles = {
        "decision_maker": sample.decision_maker,
        "sample_weight": np.exp(3.0 * rng.standard_normal(120)),
        "nuisance": "logistic",
        "propensity": "shares",
        "random_state": seed,
    }
    metrics = ["accuracy", "tpr", "regret", "calibration", "brier", "balanced_accuracy", "auc"]
    results = evaluate(lottery(sample.X, 2), sample.X, sample.y, metric=metrics, assumption="all", **roles)
    curve = threshold_curve(lottery(sample.X, 2), sample.X, sample.y, thresholds=[0.2, 0.5], **roles)
    return [*results, *(each for column in curve.evaluations.values() for each in column)]


def test_ends_come_in_order_and_within_what_is_possible():
    found = [each for seed in range(6) for each in found_with_unequal_weights(seed)]
    assert any(each.crossed for each in found), "or there is nothing to put in order"
    for each in found:
        numbers = np.array([each.ci_lower, each.lower, each.upper, each.ci_upper])
        if each.reason is None:
            assert (np.diff(numbers) >= 0.0).all(), each
            assert (numbers >= each.limits[0]).all()
            assert (numbers <= each.limits[1]).all()
            assert each.ci_lower < each.ci_upper, "no interval of zero width"
        else:
            assert np.isnan(numbers).any()
