"""Comparison: narrower than two evaluations, right about who is better, honest about the human."""

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression

from selective_labels import compare, evaluate
from selective_labels.datasets import make_decision_makers
from selective_labels.evaluation.policy import accept_lowest
from tests.evaluation.samples import LIMIT, lottery, other_rule, population, rule
from tests.reference.population_bounds import mean_extremes


@pytest.fixture(scope="module")
def sample():
    return make_decision_makers(2000, random_state=21)


def options(sample, **others):
    """Assignment is random: no model of who decides is compared, which costs more than all the rest."""
    quick = {"nuisance": "logistic", "propensity": "shares", "random_state": 0}
    return {"decision_maker": sample.decision_maker} | quick | others


def test_difference_is_the_sharp_one(sample):
    result = compare(
        rule(sample.X),
        other_rule(sample.X),
        sample.X,
        sample.y,
        **options(sample, nuisance=sample.oracle.joint),
    )
    X, bounds = population(sample.oracle)
    sharp = mean_extremes(np.eye(3)[rule(X)] - np.eye(3)[other_rule(X)], bounds)
    gaps = np.array([result.lower, result.upper]) - sharp
    assert np.abs(gaps / result.standard_errors).max() < LIMIT
    np.testing.assert_allclose(result.disagreement, np.mean(rule(sample.X) != other_rule(sample.X)))


def test_paired_interval_is_three_times_narrower():
    """Two classifiers that disagree on a tenth of the cases, in the mean over samples."""
    paired, separate = [], []
    for seed in range(4):
        sample = make_decision_makers(2000, random_state=seed)
        both = rule(sample.X), other_rule(sample.X)
        difference = compare(*both, sample.X, sample.y, **options(sample))
        one, other = (evaluate(each, sample.X, sample.y, **options(sample)) for each in both)
        paired.append(difference.ci_upper - difference.ci_lower)
        separate.append((one.ci_upper - other.ci_lower) - (one.ci_lower - other.ci_upper))
    assert np.mean(separate) / np.mean(paired) >= 3


def test_a_classifier_equals_itself(sample):
    result = compare(rule(sample.X), rule(sample.X), sample.X, sample.y, **options(sample))
    assert (result.lower, result.upper) == (0.0, 0.0)
    assert result.verdict == "undecided"
    # Predictions that are the same in 2,000 rows may differ in a share of others that 2,000 can miss.
    unmet = 1 - 0.025 ** (1 / 2000)
    np.testing.assert_allclose([result.ci_lower, result.ci_upper], [-unmet, unmet])


def test_swapping_swaps_the_verdict(sample):
    good = LogisticRegression().fit(sample.X, sample.y_true)
    bad = (good.predict(sample.X) + 1) % 3
    forth = compare(good, bad, sample.X, sample.y, **options(sample, assumption="unconfounded"))
    back = compare(bad, good, sample.X, sample.y, **options(sample, assumption="unconfounded"))
    assert (forth.verdict, back.verdict) == ("a", "b")
    np.testing.assert_allclose([forth.lower, forth.ci_lower], [-back.upper, -back.ci_upper], atol=1e-9)


def test_lower_is_better_for_an_error(sample):
    good = LogisticRegression().fit(sample.X, sample.y_true)
    bad = (good.predict(sample.X) + 1) % 3
    result = compare(
        good, bad, sample.X, sample.y, **options(sample, assumption="unconfounded", metric="error")
    )
    assert result.upper < 0
    assert result.verdict == "a"


def test_difference_of_regrets_is_that_of_errors(sample):
    both = lottery(sample.X), rule(sample.X)
    regret, error = (
        compare(*both, sample.X, sample.y, **options(sample, metric=metric)) for metric in ("regret", "error")
    )
    np.testing.assert_allclose([regret.lower, regret.upper], [error.lower, error.upper])


def test_f1_says_that_it_is_not_sharp(sample):
    result = compare(rule(sample.X), other_rule(sample.X), sample.X, sample.y, **options(sample, metric="f1"))
    assert not result.sharp
    assert "not sharp" in repr(result)


def test_constant_is_a_class_label(sample):
    constant, array = (
        compare(rule(sample.X), each, sample.X, sample.y, **options(sample)) for each in (1, np.full(2000, 1))
    )
    assert constant.lower == array.lower
    with pytest.raises(ValueError, match="9 is predicted in 2000 rows"):
        compare(rule(sample.X), 9, sample.X, sample.y, **options(sample))


class TestHuman:
    def test_failures_at_the_same_acceptance(self, sample):
        """With the law as nuisance: bounds of E[d η_2] minus what is seen of the decisions."""
        risk = lottery(sample.X)
        result = compare(risk, "human", sample.X, sample.y, **options(sample, nuisance=sample.oracle.joint))
        X, bounds = population(sample.oracle)
        joint = sample.oracle.joint(X).mean(axis=1)
        policy, _ = accept_lowest(lottery(X)[:, 2], 1 - joint[:, 0].mean(), np.ones(len(X)))
        human = joint[:, 3].mean()
        sharp = [np.mean(policy * end[:, 2]) - human for end in (bounds.lower, bounds.upper)]
        gaps = np.array([result.lower, result.upper]) - sharp
        assert np.abs(gaps / result.standard_errors).max() < LIMIT

    @pytest.mark.parametrize(
        ("n_samples", "factor"),
        [(20, 2.0), pytest.param(60, 1.6, marks=pytest.mark.statistical)],
        ids=["few", "many"],
    )
    def test_standard_error_knows_the_cut_off(self, n_samples, factor):
        """Spread of the estimates over samples against the reported error.

        By the chi-square law either end is off by the factor in one run of 2,500 (few) or 140,000 (many).
        """
        ends, errors = [], []
        for seed in range(n_samples):
            sample = make_decision_makers(500, random_state=seed)
            # The same law every time: the permutation of decision-makers does not matter to it.
            result = compare(
                lottery(sample.X),
                "human",
                sample.X,
                sample.y,
                **options(sample, nuisance=sample.oracle.joint),
            )
            ends.append([result.lower, result.upper])
            errors.append(result.standard_errors)
        ratio = np.std(ends, axis=0) / np.mean(errors, axis=0)
        assert (ratio < factor).all()
        assert (ratio > 1 / factor).all()

    def test_copying_the_human_changes_nothing_seen(self):
        """Every label seen and everybody accepted: the policy is the human's."""
        sample = make_decision_makers(300, random_state=0)
        result = compare(lottery(sample.X), "human", sample.X, sample.y_true)
        np.testing.assert_allclose([result.lower, result.upper], 0.0, atol=1e-12)

    def test_labels_count_as_risk(self, sample):
        labels, indicator = (
            compare(each, "human", sample.X, sample.y, **options(sample))
            for each in (rule(sample.X), (rule(sample.X) == 2) + 0.5)
        )
        np.testing.assert_allclose(labels.lower, indicator.lower)

    def test_a_metric_of_policies_is_not_chosen(self, sample):
        with pytest.raises(ValueError, match="leave metric out"):
            compare(rule(sample.X), "human", sample.X, sample.y, **options(sample, metric="failures"))


def test_ties_at_the_cut_off_share_what_is_left():
    policy, _ = accept_lowest(np.array([0.2, 0.2, 0.1, 0.9]), 0.5, np.array([1.0, 1.0, 1.0, 1.0]))
    np.testing.assert_allclose(policy, [0.5, 0.5, 1.0, 0.0])


def test_one_assumption_and_one_metric(sample):
    with pytest.raises(ValueError, match="compare takes one assumption"):
        compare(rule(sample.X), 1, sample.X, sample.y, **options(sample, assumption="all"))
    with pytest.raises(ValueError, match="compare takes one metric"):
        compare(rule(sample.X), 1, sample.X, sample.y, **options(sample, metric=["tpr", "fpr"]))
