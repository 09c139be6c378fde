"""Who decides, given the features: shares unless a model is better, and what reports say of it."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.special import softmax

from selective_labels import InputError, SelectiveLabels
from selective_labels.assumptions import Instrument, Unconfounded
from selective_labels.nuisance import assignment
from selective_labels.nuisance.assignment import ArmFitter, AssignmentReport, least_probability
from selective_labels.nuisance.cross_fit import arm_propensity, cross_fit, new_propensity
from selective_labels.nuisance.scores import cross_fit_scores

N_SAMPLES = 1500
EVERYBODY = np.arange(N_SAMPLES)
SLOPES = np.linspace(-1.0, 1.0, 4)


def flat(X: np.ndarray) -> np.ndarray:
    """Four decision-makers who all do the same: only who decides is left to model."""
    return np.broadcast_to([0.5, 0.2, 0.3], (len(X), 4, 3))


def make_data(index=None, seed=0, n_samples=N_SAMPLES, **roles) -> tuple[SelectiveLabels, np.ndarray]:
    """Cases assigned by exp(slope · index(x)), and the probabilities."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n_samples, 3))
    chances = softmax(np.outer(np.zeros(n_samples) if index is None else index(X), SLOPES), axis=1)
    maker = (rng.random(n_samples)[:, None] > chances.cumsum(axis=1)).sum(axis=1).clip(max=3)
    y = rng.integers(-1, 2, n_samples)
    return SelectiveLabels.from_arrays(X, y, decision_maker=maker, **roles), chances


def fitted(data, **options):
    return cross_fit(data, flat, propensity="auto", random_state=0, **options)


def by_product(X):
    return 1.5 * X[:, 0] * X[:, 1]


def by_steps(X):
    return 1.5 * np.sign(np.sin(2.5 * X[:, 0])) * np.sign(X[:, 1])


def test_cases_dealt_out_by_lot_get_shares():
    """A model is chosen with probability .05 at most, and P(Binomial(12, .05) > 6) < 1e-6."""
    chosen = [fitted(make_data(seed=seed, n_samples=300)[0]).report.assignment.chosen for seed in range(12)]
    assert sum(each != "shares" for each in chosen) <= 6
    data, _ = make_data()
    fit = fitted(data)
    assert fit.report.assignment.sentence == ""
    assert_allclose(
        arm_propensity(fit, 0, data)(EVERYBODY)[0], np.bincount(data.decision_maker_codes) / N_SAMPLES
    )


@pytest.mark.parametrize(
    ("index", "family"),
    [(lambda X: 1.5 * X[:, 0], "logistic"), (by_product, "quadratic"), (by_steps, "boosting")],
    ids=["linear", "product", "steps"],
)
def test_a_model_is_chosen_that_can_say_it(index, family):
    data, chances = make_data(index)
    fit = fitted(data)
    report = fit.report.assignment
    assert report.chosen == family
    assert report.gain > 2 * report.error > 0
    found = arm_propensity(fit, 0, data)(EVERYBODY)
    assert_allclose(found.sum(axis=1), 1.0)
    shares = np.bincount(data.decision_maker_codes) / N_SAMPLES
    assert np.abs(found - chances).mean() < 0.7 * np.abs(shares - chances).mean()


def test_trees_that_are_still_learning_say_that_they_are_not_to_be_trusted():
    report = fitted(make_data(by_steps)[0]).report.assignment
    assert not report.settled
    assert "Who decides depends on the features" in report.sentence
    assert "The interval is not to be trusted." in report.sentence
    assert fitted(make_data(by_product)[0]).report.assignment.settled


def test_halves_are_fitted_for_the_folds_whose_held_out_rows_suffice(monkeypatch):
    fits = []

    def counted(fitter, candidate, fold, within=slice(None), fit=ArmFitter.fit):
        if not isinstance(within, slice):
            fits.append((fold, len(within) / len(fitter.folds[fold][0])))
        return fit(fitter, candidate, fold, within)

    monkeypatch.setattr(ArmFitter, "fit", counted)
    data = make_data(by_steps)[0]
    fitted(data)
    # Folds may be fitted side by side, in any order.
    assert sorted(fold for fold, _ in fits) == [0, 1, 2, 3, 4]
    fits.clear()
    monkeypatch.setattr(assignment, "MOST_ROWS", 2 * N_SAMPLES // 5)
    report = fitted(data).report.assignment
    assert sorted(fits) == [(0, 0.5), (1, 0.5)]
    assert report.late_gain > 0.0
    assert not report.settled


def test_each_row_is_predicted_by_a_model_that_has_not_seen_it():
    data, _ = make_data(by_product)
    other = data.decision_maker_codes.copy()
    fit = fitted(data)
    fold = fit.assignment.held_out == 1  # the settings are chosen on the first one
    few = np.flatnonzero(fold)[:3]
    other[few] = (other[few] + 1) % 4
    changed = SelectiveLabels.from_arrays(data.X, data.y, decision_maker=other)
    one, two = (each.assignment.models[1] for each in (fit, fitted(changed)))
    rows, shares = np.flatnonzero(fold), np.full((1, 4), 0.25)
    # Folds are cut by outcomes, so that they are the same.
    assert_array_equal(
        one.at(data.X[rows], data.cells[rows], shares), two.at(data.X[rows], data.cells[rows], shares)
    )


def test_within_strata_a_model_tilts_the_shares_of_the_stratum():
    rng = np.random.default_rng(0)
    X, strata = rng.normal(size=(N_SAMPLES, 3)), EVERYBODY % 2
    # Two work in each stratum; who of them depends on the product.
    second = rng.random(N_SAMPLES) < 1 / (1 + np.exp(-2.0 * X[:, 0] * X[:, 1]))
    data = SelectiveLabels.from_arrays(
        X, rng.integers(-1, 2, N_SAMPLES), decision_maker=2 * strata + second, strata=strata
    )
    fit = fitted(data)
    assert fit.report.assignment.chosen == "quadratic"
    found = arm_propensity(fit, 0, data)(EVERYBODY)
    assert_array_equal(found[strata == 0, 2:], 0.0)
    assert_array_equal(found[strata == 1, :2], 0.0)
    chance = np.where(strata == 0, found[:, 1], found[:, 3])
    assert np.corrcoef(chance, X[:, 0] * X[:, 1])[0, 1] > 0.8
    # Where the stratum is not known, both count.
    assert_allclose(new_propensity(fit, 0, X[:50]).sum(axis=1), 1.0)


def test_strata_that_explain_everything_leave_shares():
    rng = np.random.default_rng(1)
    strata = rng.integers(0, 6, N_SAMPLES)
    X = rng.normal(size=(N_SAMPLES, 2)) + strata[:, None]
    maker = 2 * strata + rng.integers(0, 2, N_SAMPLES)
    y = rng.integers(-1, 2, N_SAMPLES)

    def alike(X):
        return np.broadcast_to([0.5, 0.2, 0.3], (len(X), 12, 3))

    inside = SelectiveLabels.from_arrays(X, y, decision_maker=maker, strata=strata)
    outside = SelectiveLabels.from_arrays(X, y, decision_maker=maker)
    options = {"propensity": "auto", "random_state": 0}
    assert cross_fit(inside, alike, **options).report.assignment.chosen == "shares"
    assert cross_fit(outside, alike, **options).report.assignment.chosen != "shares"


def test_weights_make_assignment_that_depends_on_features_even():
    """Sampling by who decided and a product, undone by weights: in the weighted population it is a lot."""
    data, chances = make_data(by_product, n_samples=3000)
    own = chances[np.arange(3000), data.decision_maker_codes]
    even = SelectiveLabels.from_arrays(
        data.X, data.y, decision_maker=data.decision_maker, sample_weight=np.minimum(1 / own, 20.0)
    )
    uneven, mended = fitted(data).report.assignment, fitted(even).report.assignment
    assert mended.gain < 0.2 * uneven.gain


def test_overlap_is_reported():
    data, chances = make_data(lambda X: 5.0 * X[:, 0])
    report = fitted(data).report.assignment
    assert report.smallest < 0.01
    assert report.overlap > 0.01
    without = np.mean(chances.min(axis=1) < report.overlap)
    assert_allclose(report.rows_without_overlap, without, atol=0.1)
    assert "Little overlap" in report.sentence
    known, _ = make_data(lambda X: 5.0 * X[:, 0], assignment=chances)
    report = fitted(known).report.assignment
    assert report.chosen == "known"
    assert_allclose(report.smallest, chances.min())
    assert "inverse weights reach 67" in AssignmentReport("shares", smallest=0.015).sentence


def test_no_case_carries_the_bounds_where_probabilities_vary():
    data, chances = make_data(lambda X: 5.0 * X[:, 0], n_samples=1000)
    known, _ = make_data(lambda X: 5.0 * X[:, 0], n_samples=1000, assignment=chances)
    for each in (data, known):
        fit = fitted(each)
        least = least_probability(1000, chances.shape[1])
        assert fit.report.assignment.overlap == least
        scores = cross_fit_scores(fit, each, [Instrument(), Unconfounded()])
        assert np.abs(scores["instrument"].values).max() <= 1.0 + 1.0 / least
        # Decisions are no arms: their weights have the limit of before.
        clipped = cross_fit_scores(fit, each, [Unconfounded()], overlap=0.01)["unconfounded"]
        assert_allclose(scores["unconfounded"].values, clipped.values)
    by_lot = np.full_like(chances, 1.0 / chances.shape[1])
    even, _ = make_data(lambda X: 0.0 * X[:, 0], n_samples=1000, assignment=by_lot)
    assert fitted(even).report.assignment.overlap == 0.01


def test_words_for_it():
    data, _ = make_data(by_product, n_samples=300)
    assert cross_fit(data, flat, propensity="shares").report.assignment.chosen == "shares"
    assert (
        cross_fit(make_data(n_samples=300)[0], flat, propensity="model").report.assignment.chosen != "shares"
    )
    with pytest.raises(InputError, match="propensity='guess' is not one of"):
        cross_fit(data, "logistic", propensity="guess")


def test_nothing_is_fitted_where_there_is_nothing_to_fit_to():
    few, _ = make_data(by_product, n_samples=60)
    assert fitted(few).report.assignment.chosen == "shares"
    data, _ = make_data(by_product, n_samples=300)
    bare = SelectiveLabels.from_arrays(None, data.y, decision_maker=data.decision_maker)
    assert fitted(bare).report.assignment.chosen == "shares"
    one = SelectiveLabels.from_arrays(data.X, data.y, decision_maker=np.zeros(300))
    fit = cross_fit(one, lambda X: np.full((len(X), 1, 3), 1 / 3), propensity="model")
    assert fit.report.assignment.chosen == "shares"
