"""Encoders are part of the models: fitted where these are, whatever the number of categories."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.special import expit
from sklearn.linear_model import LogisticRegression

from selective_labels import SelectiveLabels
from selective_labels.nuisance import model_selection
from selective_labels.nuisance.cross_fit import cross_fit
from selective_labels.nuisance.models.encoders import (
    Scale,
    TreeColumns,
    best_scales,
    standardised,
    standardised_numbers,
)
from selective_labels.nuisance.models.logistic import LogisticSettings, PooledLogistic
from tests.raw_tables import make_raw_sample

FAMILIES = ["logistic", "quadratic", "boosting", LogisticRegression()]


def coded(sample, **changes):
    table = sample.table.assign(**changes)
    return SelectiveLabels.from_arrays(table, sample.y, decision_maker=sample.decision_maker)


def folds(n_samples):
    first = np.arange(n_samples) % 2 == 0
    return [(np.flatnonzero(~first), np.flatnonzero(first)), (np.flatnonzero(first), np.flatnonzero(~first))]


@pytest.mark.parametrize("n_bands", [None, 2], ids=["own arms", "groups"])
@pytest.mark.parametrize("family", FAMILIES, ids=str)
def test_a_fold_knows_nothing_of_the_categories_held_out(family, n_bands, monkeypatch):
    # One setting only: which is chosen may well depend on rows held out.
    monkeypatch.setattr(model_selection, "PRIOR_VARIANCES", ((0.1, 0.1),))
    sample = make_raw_sample()
    held_out = np.arange(400) % 2 == 0
    strange = np.where(held_out & (np.arange(400) % 3 == 0), "only here", sample.table["job"])
    elsewhere = np.where(held_out, sample.table["age"] * 7.0 + 1.0, sample.table["age"])
    predictions = []
    for data in (coded(sample), coded(sample, job=strange, age=elsewhere)):
        fit = cross_fit(data, family, cv=folds(400), n_bands=n_bands, random_state=0)
        predictions.append([fold.joint(data.features[~held_out]) for fold in fit.folds])
    (without_before, with_before), (without_after, with_after) = predictions
    assert_allclose(without_before, without_after, atol=1e-8)  # other codes, summed in another order
    assert np.abs(with_before - with_after).max() > 1e-3, "the fold that is fitted on these rows does change"


def test_an_encoder_lists_only_what_it_was_fitted_on():
    X = np.column_stack([np.repeat([0.0, 1.0, 2.0], 20), np.arange(60.0)])
    scale = standardised((0,)).fit(X[:40])
    assert_array_equal(scale.transform(X[40:])[:, :2], 0.0, "a category never met is none of those met")
    trees = TreeColumns((0,)).fit(X[:40])
    assert np.isnan(trees.transform(X[40:])[:, 0]).all(), "to trees it is missing"
    assert_array_equal(trees.transform(X[:40]), X[:40], "known ones and numbers keep their places")


def test_rare_and_surplus_categories_share_one_column():
    codes = np.repeat(np.arange(60.0), np.arange(1, 61))[:, None]
    encoded = standardised((0,)).fit_transform(codes)
    assert encoded.shape[1] == 20, "19 frequent ones and the rest"
    assert_array_equal(encoded.sum(axis=1), 1.0, "every row is in one")
    assert encoded[codes[:, 0] < 41, -1].all(), "the rest are those with fewest rows"


def test_categories_that_share_an_indicator_are_pooled_if_there_is_an_outcome():
    generator = np.random.default_rng(0)
    codes = generator.integers(150, size=3000).astype(float)[:, None]
    effect = generator.normal(size=150)
    outcome = (generator.random(3000) < expit(effect[codes[:, 0].astype(int)])).astype(int)
    scale = standardised((0,))
    pooled = scale.fit_transform(codes, outcome)[:, -1]
    assert abs(np.corrcoef(pooled, effect[codes[:, 0].astype(int)])[0, 1]) > 0.8
    new = scale.transform(np.append(np.arange(150.0), 999.0)[:, None])[:, -1]
    assert new[-1] == 0.0, "a new category is like all"
    rare = np.append(np.repeat(np.arange(50.0), 60), [60.0, 61.0])[:, None]
    happened = np.append(np.arange(3000) % 60 < 30 + 20 * (np.arange(3000) // 60 % 2), [1, 1]).astype(int)
    shrunken = standardised((0,)).fit(rare, happened).transform([[60.0], [1.0]])[:, -1]
    assert abs(shrunken[0]) < abs(shrunken[1]), "one row tells less than sixty, however extreme"


def test_the_pooled_share_of_a_row_does_not_know_its_outcome():
    generator = np.random.default_rng(0)
    codes = generator.integers(300, size=1500).astype(float)[:, None]
    outcome = generator.integers(2, size=1500)  # nothing to do with the category
    both = [standardised((0,)).fit_transform(codes, outcome)[:, -1]]
    scale = standardised((0,))
    scale.fit(codes, outcome)
    both.append(scale.transform(codes)[:, -1])
    inside, leaking = (abs(np.corrcoef(each, outcome)[0, 1]) if each.std() else 0.0 for each in both)
    # The correlation of independent columns has the standard deviation 1/sqrt(1500); four of these.
    assert inside < 4.0 / np.sqrt(1500)
    assert leaking == 0.0 or leaking > inside


def test_trees_pool_categories_beyond_a_hundred():
    codes = np.repeat(np.arange(150.0), 4)[:, None]
    X = np.hstack([codes, np.ones((600, 1))])
    trees = TreeColumns((0,))
    assert trees.fit_transform(X, np.arange(600) % 3).shape == (600, 2 + 3)
    assert trees.transform(X[:7]).shape == (7, 2 + 3)
    assert TreeColumns((0,)).fit_transform(X[:400], np.arange(400) % 3).shape == (400, 2)


def test_products_are_of_numbers_and_short_categories():
    generator = np.random.default_rng(0)
    X = np.column_stack([generator.integers(12, size=500), generator.integers(3, size=500), np.ones(500)])
    X[:, 2] = generator.normal(size=500)
    model = PooledLogistic(2, 3, LogisticSettings(True, 1.0, 0.0), (0, 1))
    model.fit(X.astype(float), generator.integers(2, size=500), generator.integers(3, size=500))
    assert model.coefficients_.base.shape == (2, 1 + 1 + 3 + 12)
    assert model.coefficients_.curvature.shape == (2, 4, 4), "one number and three indicators"


def test_missing_is_a_category():
    codes = np.repeat([0.0, np.nan], 20)[:, None]
    assert_array_equal(standardised((0,)).fit_transform(codes), np.repeat(np.eye(2), 20, axis=0))


def test_decision_makers_slopes_are_of_numbers_only():
    sample = make_raw_sample()
    data = coded(sample)
    model = PooledLogistic(4, 3, LogisticSettings(False, 1.0, 1.0), data.categorical)
    model.fit(data.features, sample.decision_maker, data.y + 1)
    assert model.coefficients_.local.shape == (2, 4, 1 + 2), "contrasts, decision-makers, one and numbers"
    assert model.coefficients_.base.shape == (2, 1 + 2 + 4), "one, numbers, three jobs and none"
    numbers = standardised_numbers(model.scale_)
    assert_allclose(model.scale_.transform(data.features)[:, numbers].std(axis=0), 1.0)


def test_the_quadratic_model_counts_what_enters_products():
    sample = make_raw_sample()
    numbers = np.random.default_rng(0).normal(size=(400, 18))
    many = coded(sample, **{f"x{number}": column for number, column in enumerate(numbers.T)})
    report = cross_fit(many, cv=2, random_state=0).report
    assert report.skipped == {"quadratic": "24 features have too many products to be tried unasked"}
    wordy = coded(sample, job=[f"job {number % 25}" for number in range(400)])
    assert "quadratic" in cross_fit(wordy, cv=2, random_state=0).report.losses, "25 jobs have no products"
    assert "quadratic" in cross_fit(coded(sample), cv=2, random_state=0).report.losses


@pytest.mark.parametrize("family", FAMILIES, ids=str)
@pytest.mark.parametrize(
    "job",
    [np.arange(400), np.repeat("cook", 400), np.repeat(None, 400)],
    ids=["all different", "constant", "missing"],
)
def test_odd_text_columns_are_modelled(family, job):
    data = coded(make_raw_sample(), job=np.array([None if each is None else f"job {each}" for each in job]))
    joint = cross_fit(data, family, cv=2, random_state=0).folds[0].joint(data.features)
    assert_allclose(joint.sum(axis=2), 1.0, atol=1e-9)  # NaN would not sum to one


def skewed_loss(counts, generator_seed=3):
    """Held-out loss of the logistic nuisance; labels are logistic in the logarithm of the counts."""
    generator = np.random.default_rng(generator_seed)
    normal = generator.normal(size=(1500, 3))
    X = normal.copy()
    if counts:
        X[:, 0] = np.floor(np.exp(1.5 * normal[:, 0] + 2.0))
    hidden, maker = generator.normal(size=1500), generator.integers(6, size=1500)
    label = (generator.random(1500) < expit(1.5 * normal[:, 0] + hidden)).astype(int)
    decided = generator.random(1500) < expit(np.linspace(-1, 1, 6)[maker] + normal[:, 0] + 0.5 * hidden)
    data = SelectiveLabels.from_arrays(X, np.where(decided, label, -1), decision_maker=maker)
    return cross_fit(data, "logistic", random_state=0).report.losses["logistic"]


def test_skewed_counts_do_not_break_the_logistic_nuisance(monkeypatch):
    squashed, light = skewed_loss(counts=True), skewed_loss(counts=False)
    monkeypatch.setattr("selective_labels.nuisance.models.encoders.LARGEST_SKEWNESS", np.inf)
    linear = skewed_loss(counts=True)
    # Six seeds gave .030 with a standard deviation of .007: three of these are left.
    assert squashed < linear - 0.009
    assert light == skewed_loss(counts=False)  # columns with light tails are as they were, bit for bit


@pytest.mark.parametrize(
    ("chance", "chosen"),
    [
        (lambda amount: expit(2.0 * np.log(amount) - 0.5), "logarithm"),
        (lambda amount: np.minimum(amount / 40.0, 1.0), "raw"),
    ],
    ids=["logarithm", "raw"],
)
def test_the_scale_of_an_amount_is_the_one_that_predicts(chance, chosen):
    generator = np.random.default_rng(0)
    amount = np.exp(1.5 * generator.normal(size=2000))
    outcome = (generator.random(2000) < chance(amount)).astype(int)
    assert best_scales(amount[:, None], outcome)[0].name == chosen


def test_scales_are_monotone_also_at_new_values():
    amount = np.floor(np.exp(2.0 * np.random.default_rng(0).normal(size=800)))
    new = np.linspace(-5.0, 2.0 * amount.max(), 300)
    for name in ("squashed", "raw", "logarithm", "ranks"):
        assert (np.diff(Scale.of(name, amount)(new)) >= 0.0).all(), name


def test_squashing_keeps_order_and_holes():
    column = np.append(np.exp(np.linspace(0.0, 9.0, 50)), np.nan)[:, None]
    scaled = standardised().fit_transform(column)
    assert (np.diff(scaled[:50, 0]) > 0).all()
    assert np.abs(scaled[:, 0]).max() < 3.0
    assert scaled.shape == (51, 2)
