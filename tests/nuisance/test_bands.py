"""Groups by leniency are a valid instrument: no row chooses its own group."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.stats import norm

from selective_labels import InputError, SelectiveLabels, UCLClassifier
from selective_labels.datasets import make_decision_makers
from selective_labels.diagnostics.context import identified_bounds
from selective_labels.nuisance.bands import Arms, inner_folds, leniency_bands, shrunken_means
from selective_labels.nuisance.cross_fit import cross_fit, one_arm_each

N_ROWS, N_MAKERS, N_BANDS = 6000, 300, 20


def flat_table(seed=0, n_rows=N_ROWS):
    """Decision-makers who are all alike: the decision is a coin."""
    rng = np.random.default_rng(seed)
    return rng.normal(size=(n_rows, 2)), rng.integers(0, 2, n_rows), rng.integers(0, N_MAKERS, n_rows)


def top_group_surplus(rows, decision):
    """Decision rate of the most lenient group above the average, in binomial standard errors."""
    top = rows == rows.max()
    return (decision[top].mean() - decision.mean()) / np.sqrt(0.25 / top.sum())


LIMIT = norm.isf(1e-6 / 2)  # two-sided false-alarm rate of 1e-6


@pytest.mark.parametrize("seed", range(5))
def test_groups_are_flat_if_decision_makers_are(seed):
    X, decision, maker = flat_table(seed)
    arms = leniency_bands(X, decision, maker, N_MAKERS, random_state=seed)
    assert abs(top_group_surplus(arms.rows, decision)) < LIMIT


def test_groups_by_in_sample_leniency_would_not_be_flat():
    X, decision, maker = flat_table()
    arms = leniency_bands(X, decision, maker, N_MAKERS, random_state=0)
    in_sample = arms.lookup[maker]  # right for new rows only: each of these rows helped to choose its group
    assert top_group_surplus(in_sample, decision) > LIMIT


def test_strata_are_compared_within():
    rng = np.random.default_rng(0)
    maker = rng.integers(0, N_MAKERS, N_ROWS)
    strata = maker % 2  # decision-makers of the even stratum see cases that are released more
    decision = (rng.random(N_ROWS) < np.where(strata == 0, 0.8, 0.2)).astype(int)
    X = np.zeros((N_ROWS, 1))
    arms = leniency_bands(X, decision, maker, N_MAKERS, strata=strata, random_state=0)
    top_is_even = np.mean(strata[arms.rows == arms.rows.max()] == 0)
    without = leniency_bands(X, decision, maker, N_MAKERS, random_state=0)
    assert 0.2 < top_is_even < 0.8  # within strata all are alike
    assert np.mean(strata[without.rows == without.rows.max()] == 0) == 1.0  # across them they are not


def test_groups_are_ordered_by_leniency_and_of_like_size():
    sample = make_decision_makers(8000, 2, N_MAKERS, random_state=0)
    arms = leniency_bands(sample.X, sample.decision, sample.decision_maker, N_MAKERS, random_state=0)
    rates = np.bincount(arms.rows, sample.decision) / np.bincount(arms.rows)
    assert rates[-1] - rates[0] > 0.25  # the design's own range is .45
    assert np.corrcoef(np.arange(N_BANDS), rates)[0, 1] > 0.9
    sizes = np.bincount(arms.rows, minlength=N_BANDS)
    assert sizes.min() > 0.5 * sizes.mean()


def test_groups_of_many_decision_makers_in_cross_fitting():
    sample = make_decision_makers(2000, 3, N_MAKERS, random_state=0)
    data = SelectiveLabels.from_arrays(sample.X, sample.y, decision_maker=sample.decision_maker)
    fit = cross_fit(data, "logistic", cv=3, random_state=0)
    assert fit.report.banded
    assert fit.report.n_arms == fit.n_arms == N_BANDS
    assert_allclose(fit.shares.sum(), 1.0)
    bounds, _ = identified_bounds(fit, sample.X, 3)
    assert not bounds.crossed.any()


@pytest.mark.parametrize(("n_makers", "grouped"), [(64, False), (65, True)])
def test_grouping_begins_beyond_64(n_makers, grouped):
    sample = make_decision_makers(1300, 2, n_makers, random_state=0)
    data = SelectiveLabels.from_arrays(sample.X, sample.y, decision_maker=sample.decision_maker)
    report = cross_fit(data, "logistic", cv=2, random_state=0).report
    assert (report.banded, report.n_arms) == (grouped, N_BANDS if grouped else n_makers)


@pytest.mark.parametrize("instrument", ["leniency", "numeric"])
def test_point_mode_with_many_decision_makers(instrument):
    sample = make_decision_makers(2000, 2, 100, random_state=0)
    classifier = UCLClassifier(
        "point", "plug-in", nuisance="logistic", instrument=instrument, cv=3, random_state=0
    ).fit(sample.X, sample.y, decision_maker=sample.decision_maker)
    assert_allclose(classifier.predict_proba(sample.X).sum(axis=1), 1.0)


def test_an_empty_group_and_one_maker_with_most_rows_are_no_problem():
    X, decision, maker = flat_table(n_rows=1000)
    maker[:900] = 0
    arms = leniency_bands(X, decision, maker, N_MAKERS, random_state=0)
    assert arms.rows.max() < N_BANDS


def test_one_arm_each():
    arms = one_arm_each(np.array([2, 0, 1]), 4)
    assert isinstance(arms, Arms)
    assert_array_equal(arms.lookup, np.arange(4))  # also of a decision-maker without a row


def test_shrunken_means():
    rng = np.random.default_rng(0)
    code = np.repeat(np.arange(200), 20)
    truth = rng.normal(scale=0.3, size=200)
    values = truth[code] + rng.normal(size=len(code))
    raw = np.bincount(code, values) / 20
    shrunken = shrunken_means(values, code, 201)
    assert np.mean((shrunken[:200] - truth) ** 2) < np.mean((raw - truth) ** 2)  # what shrinking is for
    assert_allclose(shrunken[200], values.mean())  # an id without a row is average
    assert_allclose(shrunken_means(np.ones(6), np.arange(6) % 2, 2), 1.0)  # no variance at all


def test_shrunken_means_of_two_codes_by_hand():
    # Means 1/2 of two rows and 1 of four, in all 5/6; variance within 1/12, so noise 1/24 and 1/48 of the
    # means; between, by rows: (2 (1/9 - 1/24) + 4 (1/36 - 1/48)) / 6 = 1/36; factors 2/5 and 4/7.
    found = shrunken_means(np.array([0.0, 1.0, 1.0, 1.0, 1.0, 1.0]), np.array([0, 0, 1, 1, 1, 1]), 2)
    assert_allclose(found, [5 / 6 - 2 / 5 / 3, 5 / 6 + 4 / 7 / 6])


def test_a_code_with_a_single_row_is_heard():
    values, code = np.array([0.0, 0.1, 5.0, 5.1, 9.0]), np.array([0, 0, 1, 1, 2])
    found = shrunken_means(values, code, 3)
    assert found[1] < found[2] < 9.0, "drawn to the mean, not put there"


def test_no_row_of_a_case_helps_to_choose_the_group_of_another():
    # One case came again and again before the first decision-maker, who else decides for a tenth of the
    # cases; the second does so for half of them.
    maker = np.repeat([0, 1, 0], [60, 60, 120])
    decision = np.concatenate([np.arange(60) % 10 == 0, np.arange(60) % 2, np.ones(120)]).astype(int)
    case = np.minimum(np.arange(240), 120)
    groups = [
        leniency_bands(
            np.zeros((240, 1)),
            decision,
            maker,
            2,
            strata=np.zeros(240, dtype=int),
            cases=cases,
            n_bands=2,
            random_state=0,
        ).rows[120:]
        for cases in (case, None)
    ]
    assert_array_equal(groups[0], 0)  # by all other cases the first is the stricter
    assert_array_equal(groups[1], 1)  # and a case that votes for itself makes it the more lenient


def test_leniency_is_measured_against_what_the_features_lead_one_to_expect():
    rng = np.random.default_rng(0)
    maker = rng.integers(2, size=4000)
    x = rng.normal(size=4000) + np.where(maker == 1, 0.5, -0.5)  # the second gets the easy cases
    chance = np.clip(0.5 + 0.3 * x + np.where(maker == 1, -0.1, 0.1), 0.0, 1.0)  # and is the stricter one
    decision = (rng.random(4000) < chance).astype(int)
    assert decision[maker == 1].mean() > decision[maker == 0].mean()
    arms = leniency_bands(x[:, None], decision, maker, 2, n_bands=2, random_state=0)
    assert_array_equal(arms.lookup, [1, 0])


def test_names_of_categories_do_not_matter_to_leniency():
    rng = np.random.default_rng(0)
    job, maker = rng.integers(5, size=1000), rng.integers(30, size=1000)
    decision = (rng.random(1000) < np.array([0.1, 0.9, 0.2, 0.8, 0.5])[job]).astype(int)
    renamed = np.array([3.0, 0.0, 4.0, 2.0, 1.0])[job]
    first, second = (
        leniency_bands(codes[:, None], decision, maker, 30, categorical=(0,), n_bands=6, random_state=0)
        for codes in (job.astype(float), renamed)
    )
    assert_array_equal(first.lookup, second.lookup)


def test_groups_are_cut_at_the_middle_of_a_decision_makers_rows():
    # Three quarters of the rows are those of the stricter one: their middle lies in the first half.
    maker = np.repeat([0, 1], [30, 10])
    decision = np.concatenate([np.arange(30) % 5 == 0, np.arange(10) > 0]).astype(int)
    strata = np.repeat(2, 40)  # codes of strata without a row are no problem
    arms = leniency_bands(np.zeros((40, 1)), decision, maker, 2, strata=strata, n_bands=2, random_state=0)
    assert_array_equal(arms.lookup, [0, 1])


def test_a_decision_maker_without_rows_has_a_group_all_the_same():
    # All are equally lenient, so that the last one, who decided nothing, stays behind all rows.
    arms = leniency_bands(
        np.zeros((20, 1)),
        np.ones(20),
        np.arange(20) % 4,
        5,
        strata=np.zeros(20, int),
        n_bands=3,
        random_state=0,
    )
    assert arms.lookup[4] == 2


def test_weights_decide_who_is_lenient():
    """Weighted leniency: a decision-maker is lenient by the cases that count."""
    rng = np.random.default_rng(0)
    maker, decision = np.repeat([0, 1], 1000), np.tile([0, 1], 1000)
    X = rng.normal(size=(2000, 1))
    weight = np.where((maker == 0) == (decision == 1), 3.0, 1.0)  # the first decides in favour by weight
    assert_array_equal(leniency_bands(X, decision, maker, 2, sample_weight=weight, n_bands=2).lookup, [1, 0])
    assert_array_equal(
        leniency_bands(X, decision, maker, 2, sample_weight=4 - weight, n_bands=2).lookup, [0, 1]
    )
    assert_allclose(shrunken_means(1.0 * decision, maker, 2, weight), [0.75, 0.25], atol=0.01)


@pytest.mark.parametrize("n_groups", [2, 3])
def test_a_training_part_of_one_group_is_refused_in_words(n_groups):
    """Broke: ZeroDivisionError from the inner folds, which had no other case to tell leniency by."""
    sample = make_decision_makers(300, n_classes=2, n_decision_makers=100, random_state=0)
    groups = np.arange(300) % n_groups
    model = UCLClassifier(estimator="plug-in", nuisance="logistic", cv=2, random_state=0)
    with pytest.raises(InputError, match=r"groups has one value only .*; use finer groups"):
        model.fit(sample.X, sample.y, decision_maker=sample.decision_maker, groups=groups)


def test_few_cases_among_many_codes_fall_into_two_folds():
    """Broke: codes with gaps could all meet in one inner fold."""
    for seed in range(50):
        assert len(set(inner_folds(np.array([3, 8]), seed))) == 2


def test_bands_where_the_other_rows_weigh_nothing():
    """Broke: ZeroDivisionError, weights sum to zero."""
    rng = np.random.default_rng(0)
    weight = np.zeros(50)
    weight[0] = 1.0
    arms = leniency_bands(
        rng.normal(size=(50, 1)), np.arange(50) % 2, np.arange(50), 50, sample_weight=weight, random_state=0
    )
    assert ((arms.rows >= 0) & (arms.rows < arms.n_arms)).all()
