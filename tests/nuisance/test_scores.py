"""Scores against populations whose law is known: right in the mean, and robust where they claim to be."""

import numpy as np
import pytest
from scipy.special import expit, softmax

from selective_labels import InputError, SelectiveLabels
from selective_labels.assumptions import Instrument, Unconfounded, named, names
from selective_labels.assumptions.parse import NAMED
from selective_labels.datasets import make_decision_makers
from selective_labels.nuisance.cross_fit import CrossFit, FoldModel, arm_propensity, cross_fit
from selective_labels.nuisance.model_selection import NuisanceReport
from selective_labels.nuisance.models.logistic import InjectedJoint
from selective_labels.nuisance.score_formulas import (
    Scores,
    envelope_scores,
    pooled_envelope_scores,
    required_lead,
)
from selective_labels.nuisance.scores import class_pools, class_surplus, cross_fit_scores, selector_bands

# |mean| / standard error of an unbiased score exceeds this with probability 7e-6 (per class).
LIMIT = 4.5
N_SAMPLES = 8000
N_DECISION_MAKERS = 8


@pytest.fixture(scope="module")
def sample():
    return make_decision_makers(N_SAMPLES, random_state=20)


@pytest.fixture(scope="module")
def joint(sample):
    return sample.oracle.joint(sample.X)


@pytest.fixture(scope="module")
def data(sample):
    return as_data(sample)


@pytest.fixture(scope="module")
def randomised(sample):
    return as_data(sample, assignment=np.full((N_SAMPLES, N_DECISION_MAKERS), 1 / N_DECISION_MAKERS))


def as_data(sample, **roles) -> SelectiveLabels:
    return SelectiveLabels.from_arrays(sample.X, sample.y, decision_maker=sample.decision_maker, **roles)


def scores_with(joint: np.ndarray, data: SelectiveLabels, assumption: str, **options) -> Scores:
    """Scores with the nuisance injected: the law itself, or a wrong one."""
    n_arms, n_outcomes = joint.shape[1:]
    model = InjectedJoint(n_arms, n_outcomes, lambda X: joint)
    shares = np.bincount(data.decision_maker_codes, minlength=n_arms) / len(data)
    report = NuisanceReport("injected", "as given", n_arms, banded=False)
    fold = FoldModel((model,), np.arange(n_arms))
    fit = CrossFit((fold,), np.zeros(len(data), dtype=int), shares, report)
    return cross_fit_scores(fit, data, [named(assumption)], **options)[assumption]


def z_statistics(values: np.ndarray, expected: np.ndarray) -> np.ndarray:
    """Mean of values - E[values | x] in standard errors, by class."""
    gap = values - expected
    return gap.mean(axis=0) / (gap.std(axis=0, ddof=1) / np.sqrt(len(gap)))


def assert_unbiased(values: np.ndarray, expected: np.ndarray) -> None:
    assert np.abs(z_statistics(values, expected)).max() < LIMIT


def assert_biased(values: np.ndarray, expected: np.ndarray) -> None:
    """Guard the power of a test: the same check must fail where the score is known to be wrong."""
    assert np.abs(z_statistics(values, expected)).max() > LIMIT


def scaled(joint: np.ndarray, factor: float) -> np.ndarray:
    """A joint law with every labeled probability times `factor`; the ranking of arms stays."""
    labeled = factor * joint[..., 1:]
    return np.concatenate([1 - labeled.sum(axis=-1, keepdims=True), labeled], axis=-1)


def same_posterior(joint: np.ndarray) -> np.ndarray:
    """A joint law with the right leniency and a wrong, common class distribution among the labeled."""
    leniency = 1 - joint[..., :1]
    return np.concatenate([joint[..., :1], leniency * np.array([0.2, 0.5, 0.3])], axis=-1)


class TestEnvelope:
    @pytest.mark.parametrize("assignment", ["data", "randomised"])
    def test_mean_is_sharp_lower_bound(self, assignment, sample, joint, request):
        data = request.getfixturevalue(assignment)
        scores = scores_with(joint, data, "instrument")
        assert_unbiased(scores.values, sample.oracle.lower(sample.X))

    def test_right_model_needs_no_right_propensity(self, sample, joint):
        tilted = np.linspace(1, 2, N_DECISION_MAKERS) / np.linspace(1, 2, N_DECISION_MAKERS).sum()
        data = as_data(sample, assignment=np.tile(tilted, (N_SAMPLES, 1)))
        scores = scores_with(joint, data, "instrument")
        assert_unbiased(scores.values, sample.oracle.lower(sample.X))

    def test_right_propensity_needs_no_right_model(self, sample, joint, randomised):
        scores = scores_with(scaled(joint, 0.7), randomised, "instrument")
        lower = sample.oracle.lower(sample.X)
        assert_unbiased(scores.values, lower)
        assert_biased(scores.plug_in, lower)

    def test_wrong_selector_widens_and_stays_valid(self, sample, joint, randomised):
        leniency = 1 - joint[..., 0].mean(axis=0)
        reverse = np.empty(N_DECISION_MAKERS, dtype=int)
        reverse[np.argsort(leniency)] = np.argsort(leniency)[::-1]
        scores = scores_with(joint[:, reverse], randomised, "instrument")
        best_of_wrong = joint[:, reverse, 1:].argmax(axis=1)
        chosen = np.take_along_axis(joint[..., 1:], best_of_wrong[:, None], axis=1)[:, 0]
        assert_unbiased(scores.values, chosen)  # what the selected arms really show
        z = z_statistics(scores.values, sample.oracle.lower(sample.X))
        assert (z < -LIMIT).all()  # far below the sharp bound, so valid

    def test_overlap_leaves_rare_arms_out(self):
        joint = np.array([[[0.7, 0.3]], [[0.1, 0.9]]])
        rare = envelope_scores(joint, np.array([1]), np.array([0]), np.array([[0.995, 0.005]]))
        assert rare.plug_in[0, 0] == 0.3  # the second arm is better but hardly anybody goes there
        assert rare.values[0, 0] == 0.3  # so its row carries no weight
        assert rare.clipped[0]

    def test_overlap_never_leaves_all_arms_out(self):
        joint, share = np.full((4, 1, 2), 0.5), np.full((1, 4), 0.25)
        scores = envelope_scores(joint, np.array([0]), np.array([0]), share, overlap=0.9)
        assert np.isfinite(scores.values).all()
        assert not scores.clipped[0]  # all arms are equally likely, so none is left out

    def test_an_arm_that_leads_by_noise_is_not_selected(self):
        joint = np.array([[[0.5, 0.22, 0.28]], [[0.3, 0.2, 0.5]]])  # the strict arm leads by .02 in one class
        share, leniency = np.array([[0.5, 0.5]]), np.array([0.5, 0.7])
        few, many = (required_lead(share, leniency, n_samples) for n_samples in (2000, 20_000))
        arm, y = np.array([0]), np.array([-1])
        assert envelope_scores(joint, arm, y, share, few).plug_in[0, 0] == 0.2  # .02 is within noise
        assert envelope_scores(joint, arm, y, share, many).plug_in[0, 0] == 0.22  # and here it is not

    def test_lead_is_measured_from_the_most_lenient_arm_at_hand(self):
        share = np.array([[0.5, 0.5, 0.0], [0.25, 0.25, 0.5]])
        lead = required_lead(share, np.array([0.2, 0.5, 0.9]), 100)
        np.testing.assert_allclose(lead[0, :2], [0.2, 0.0])  # the third arm never sees the first row
        np.testing.assert_allclose(lead[1], [0.06**0.5, 0.06**0.5, 0.0])

    def test_one_arm_is_the_worst_case_without_instrument(self, sample):
        data = SelectiveLabels.from_arrays(sample.X, sample.y, decision_maker=np.zeros(N_SAMPLES))
        alone = sample.oracle.joint(sample.X).mean(axis=1, keepdims=True)
        instrument = scores_with(alone, data, "instrument")
        none = scores_with(alone, data, "none")
        np.testing.assert_allclose(instrument.values, none.values, atol=1e-12)


@pytest.fixture(scope="module")
def two_strata():
    generator = np.random.default_rng(3)
    strata = generator.integers(2, size=N_SAMPLES)
    X = generator.normal(size=(N_SAMPLES, 1)) + 2 * strata[:, None]
    assignment = np.array([[0.7, 0.3, 0.0], [0.2, 0.4, 0.4]])[strata]
    maker = (generator.random(N_SAMPLES)[:, None] > assignment.cumsum(axis=1)).sum(axis=1)
    leniency = expit(X - 1 + np.array([-1.0, 0.0, 1.0]))
    labeled = leniency[:, :, None] * np.array([0.3, 0.7])
    joint = np.concatenate([1 - leniency[:, :, None], labeled], axis=2)
    decided = generator.random(N_SAMPLES) < leniency[np.arange(N_SAMPLES), maker]
    y = np.where(decided, (generator.random(N_SAMPLES) < 0.7).astype(int), -1)
    present = np.where((strata == 0)[:, None, None] & (np.arange(3) == 2)[:, None], -1, labeled)
    return X, y, maker, strata, joint, present.max(axis=1)


class TestStrata:
    """Two strata that differ in their cases and in who decides; the last arm never works in the first."""

    def test_arm_absent_from_stratum_is_not_selectable(self, two_strata):
        X, y, maker, strata, joint, lower = two_strata
        data = SelectiveLabels.from_arrays(X, y, decision_maker=maker, strata=strata)
        np.testing.assert_allclose(scores_with(joint, data, "instrument").plug_in, lower)

    def test_shares_within_strata_mend_a_wrong_model(self, two_strata):
        X, y, maker, strata, joint, lower = two_strata
        data = SelectiveLabels.from_arrays(X, y, decision_maker=maker, strata=strata)
        scores = scores_with(scaled(joint, 0.3), data, "instrument")
        assert_unbiased(scores.values, lower)

    def test_shares_over_all_rows_do_not(self, two_strata):
        X, y, maker, _, joint, _ = two_strata
        data = SelectiveLabels.from_arrays(X, y, decision_maker=maker)
        scores = scores_with(scaled(joint, 0.3), data, "instrument")
        assert_biased(scores.values, joint[..., 1:].max(axis=1))

    def test_shares_are_counted_within_strata(self, two_strata):
        X, y, maker, strata, _, _ = two_strata
        data = SelectiveLabels.from_arrays(X, y, decision_maker=maker, strata=strata)
        report = NuisanceReport("injected", "as given", 2, banded=True)
        nothing = np.zeros(len(data), dtype=int)
        fit = CrossFit((FoldModel((), np.array([0, 1, 1])),), nothing, np.array([0.3, 0.7]), report)
        shares = arm_propensity(fit, 0, data)(np.array([np.argmax(strata == 1)]))
        assert shares[0, 0] == np.mean(maker[strata == 1] == 0)  # the arm of one decision-maker
        assert shares[0].sum() == 1

    def test_propensity_model_mends_assignment_by_features(self):
        generator = np.random.default_rng(4)
        X = generator.normal(size=(N_SAMPLES, 1))
        maker = (generator.random(N_SAMPLES) < expit(X[:, 0])).astype(int)
        leniency = expit(-2 * X + np.array([-1.0, 1.0]))
        joint = np.stack([1 - leniency, leniency * 0.4, leniency * 0.6], axis=2)
        decided = generator.random(N_SAMPLES) < leniency[np.arange(N_SAMPLES), maker]
        y = np.where(decided, (generator.random(N_SAMPLES) < 0.6).astype(int), -1)
        data = SelectiveLabels.from_arrays(X, y, decision_maker=maker)
        lower = joint[..., 1:].max(axis=1)
        wrong = scaled(joint, 0.3)
        for propensity, check in (
            ("shares", assert_biased),
            ("auto", assert_unbiased),
            ("model", assert_unbiased),
        ):
            rows = {tuple(row): number for number, row in enumerate(X)}
            fit = cross_fit(
                data, lambda X, rows=rows: wrong[[rows[tuple(row)] for row in X]], propensity=propensity
            )
            check(cross_fit_scores(fit, data, [named("instrument")])["instrument"].values, lower)


class TestSlope:
    def test_mean_is_class_probability(self, sample, joint, data):
        scores = scores_with(joint, data, "nucem")
        assert_unbiased(scores.values, sample.oracle.probabilities(sample.X))

    def test_right_propensity_and_strength_suffice(self, sample, joint, randomised):
        eta = sample.oracle.probabilities(sample.X)
        scores = scores_with(same_posterior(joint), randomised, "nucem")
        assert_unbiased(scores.values, eta)
        assert_biased(scores.plug_in, eta)

    def test_right_slope_and_intercept_suffice(self, sample, joint, data):
        shuffled = joint[:, np.roll(np.arange(N_DECISION_MAKERS), 3)]  # everybody gets another's leniency
        scores = scores_with(shuffled, data, "nucem")
        assert_unbiased(scores.values, sample.oracle.probabilities(sample.X))

    def test_both_wrong_is_wrong(self, sample, joint, data):
        shuffled = same_posterior(joint)[:, np.roll(np.arange(N_DECISION_MAKERS), 3)]
        scores = scores_with(shuffled, data, "nucem")
        assert_biased(scores.values, sample.oracle.probabilities(sample.X))

    def test_weak_instrument_is_marked(self):
        flat = make_decision_makers(200, leniency_spread=0.0, random_state=0)
        scores = scores_with(flat.oracle.joint(flat.X), as_data(flat), "nucem")
        assert scores.bounded.all()  # no arm differs from another in any row
        bounds = scores_with(flat.oracle.joint(flat.X), as_data(flat), "instrument")
        np.testing.assert_array_equal(scores.values, bounds.values)
        np.testing.assert_array_equal(scores.plug_in, bounds.plug_in)


@pytest.fixture(scope="module")
def unconfounded():
    generator = np.random.default_rng(5)
    X = generator.normal(size=(N_SAMPLES, 2))
    eta = softmax(X @ np.array([[1.0, 0.0, -1.0], [0.0, 1.0, -1.0]]), axis=1)
    y_true = (generator.random(N_SAMPLES)[:, None] > eta.cumsum(axis=1)).sum(axis=1)
    maker = generator.integers(2, size=N_SAMPLES)
    leniency = expit(X[:, :1] + np.array([-0.5, 0.5]))
    decided = generator.random(N_SAMPLES) < leniency[np.arange(N_SAMPLES), maker]
    data = SelectiveLabels.from_arrays(X, np.where(decided, y_true, -1), decision_maker=maker)
    joint = np.concatenate([1 - leniency[:, :, None], leniency[:, :, None] * eta[:, None]], axis=2)
    return data, joint, eta


class TestUnconfounded:
    """Decisions that depend on the features alone."""

    @pytest.mark.parametrize("wrong", [lambda joint: joint, lambda joint: scaled(joint, 0.6), same_posterior])
    def test_one_right_model_suffices(self, unconfounded, wrong):
        data, joint, eta = unconfounded
        assert_unbiased(scores_with(wrong(joint), data, "unconfounded").values, eta)

    def test_both_wrong_is_wrong(self, unconfounded):
        data, joint, eta = unconfounded
        scores = scores_with(scaled(same_posterior(joint), 0.6), data, "unconfounded")
        assert_biased(scores.values, eta)

    def test_small_decision_probabilities_are_held_at_the_floor(self, unconfounded):
        data, joint, _ = unconfounded
        scores = scores_with(scaled(joint, 1e-6), data, "unconfounded", overlap=0.05)
        assert scores.clipped.all()
        assert np.abs(scores.values).max() <= 1 / 0.05 + 1  # no weight above the inverse of the floor


class TestManski:
    def test_mean_is_share_of_seen_labels(self, sample, joint, data):
        scores = scores_with(joint, data, "none")
        np.testing.assert_array_equal(scores.values.sum(axis=1), sample.decision)  # one label where decided
        assert_unbiased(scores.values, joint[..., 1:].mean(axis=1))


@pytest.fixture(scope="module")
def small():
    return make_decision_makers(600, random_state=6)


@pytest.fixture(scope="module")
def fitted(small):
    data = as_data(small)
    return data, cross_fit(data, "logistic", cv=3, n_bands=4, in_halves=True, random_state=0)


class TestCrossFit:
    def test_each_row_is_scored_by_the_model_that_has_not_seen_it(self, fitted):
        data, fit = fitted
        scores = cross_fit_scores(fit, data, [Instrument()])["instrument"]
        rows = np.flatnonzero(fit.held_out == 1)
        fold = fit.folds[1]
        arm = fold.lookup[data.decision_maker_codes]
        share = np.bincount(arm, minlength=4) / len(arm)
        propensity = np.tile(share, (len(rows), 1))
        joint = fold.joint(data.X[rows])
        others = np.flatnonzero(fit.held_out != 1)  # who bounds which class is decided without these rows
        surplus = class_surplus(data.label_indicators[others], data.X[others])
        pools = class_pools(surplus, data.decision_maker_codes[others], fold.lookup, 4)
        expected = pooled_envelope_scores(joint, arm[rows], data.y[rows], propensity, pools, len(data))
        np.testing.assert_allclose(scores.values[rows], expected.values)

    def test_new_rows_get_the_average_over_folds(self, fitted):
        data, fit = fitted
        scores = cross_fit_scores(fit, data, [Unconfounded()], held_out=False)["unconfounded"]
        by_fold = [
            cross_fit_scores(
                type(fit)((fold,), fit.held_out * 0, fit.shares, fit.report), data, NAMED, held_out=False
            )
            for fold in fit.folds
        ]
        expected = np.mean([each["unconfounded"].values for each in by_fold], axis=0)
        np.testing.assert_allclose(scores.values, expected)

    @pytest.mark.parametrize("assumption", ["nucem", "unconfounded"])
    def test_point_scores_sum_to_one(self, fitted, assumption):
        data, fit = fitted
        scores = cross_fit_scores(fit, data, [named(assumption)])[assumption]
        # The classes share one unit of probability.
        np.testing.assert_allclose(scores.slack[~scores.bounded], 0.0, atol=1e-9)

    def test_an_assumption_named_twice_counts_once(self, fitted):
        data, fit = fitted
        once, twice = (cross_fit_scores(fit, data, [Instrument()] * times)["instrument"] for times in (1, 2))
        np.testing.assert_array_equal(once.values, twice.values)

    def test_chunks_do_not_matter(self, fitted, monkeypatch):
        data, fit = fitted
        whole = cross_fit_scores(fit, data, NAMED)
        monkeypatch.setattr("selective_labels.nuisance.cross_fit.CHUNK_NUMBERS", 1)
        for assumption, parts in cross_fit_scores(fit, data, NAMED).items():
            np.testing.assert_allclose(parts.values, whole[assumption].values, rtol=1e-10, atol=1e-12)

    def test_unseen_labels_are_never_read(self, small):
        garbage = np.random.default_rng(0).choice([0, 1, 2, 77], size=len(small.y))
        filled = np.where(small.decision == 1, small.y, garbage)
        both = []
        for y in (small.y, filled):
            data = SelectiveLabels.from_arrays(
                small.X, y, decision=small.decision, decision_maker=small.decision_maker
            )
            fit = cross_fit(data, "logistic", cv=3, n_bands=4, in_halves=True, random_state=0)
            both.append(cross_fit_scores(fit, data, NAMED))
        for assumption in names():
            np.testing.assert_array_equal(both[0][assumption].values, both[1][assumption].values)

    def test_nucem_needs_halves(self, small):
        data = as_data(small)
        fit = cross_fit(data, "logistic", cv=3, n_bands=4, random_state=0)
        with pytest.raises(InputError, match="in_halves=True"):
            cross_fit_scores(fit, data, NAMED)

    @pytest.mark.parametrize(
        ("options", "message"),
        [
            ({"overlap": 0.0}, "overlap=0.0 must lie between 0 and 1"),
        ],
    )
    def test_wrong_options(self, fitted, options, message):
        data, fit = fitted
        with pytest.raises(ValueError, match=message):
            cross_fit_scores(fit, data, NAMED, **options)

    def test_other_rows_or_decision_makers(self, fitted, small):
        _, fit = fitted
        fewer = SelectiveLabels.from_arrays(
            small.X[:90], small.y[:90], decision_maker=small.decision_maker[:90] % 3
        )
        with pytest.raises(ValueError, match="held_out=False"):
            cross_fit_scores(fit, fewer, NAMED)
        with pytest.raises(ValueError, match="data has 3 decision-makers and the nuisance model 8"):
            cross_fit_scores(fit, fewer, NAMED, held_out=False)


@pytest.mark.parametrize(
    ("n_samples", "n_decision_makers", "n_strata", "expected"),
    [
        (2000, 4, 1, None),
        (2000, 20, 1, None),  # arms of their own, of which those alike are pooled
        (2000, 40, 1, 4),
        (8000, 40, 1, 13),
        (20_000, 1000, 1, 20),  # never more than twenty
        (1500, 40, 1, 3),  # five hundred rows each
        (600, 40, 1, 2),  # but never a single group, which would be no instrument
        (2000, 400, 50, 4),  # eight decision-makers in each stratum, too many in all
        (2000, 25, 5, None),  # five in each stratum: arms of their own
    ],
)
def test_number_of_groups(n_samples, n_decision_makers, n_strata, expected):
    maker = np.arange(n_samples) % n_decision_makers
    y = np.arange(n_samples) % 2
    data = SelectiveLabels.from_arrays(
        np.zeros((n_samples, 1)), y, decision_maker=maker, strata=maker % n_strata
    )
    assert selector_bands(data) == expected
