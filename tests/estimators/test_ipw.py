"""Inverse propensity weights: their values, what they can do, and what they cannot."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import KFold, cross_val_predict
from sklearn.pipeline import make_pipeline
from sklearn.svm import LinearSVC
from sklearn.tree import DecisionTreeClassifier

from selective_labels import IPWClassifier, SelectedSampleClassifier
from selective_labels.estimators.ipw import effective_sample_size, inverse_propensity_weight
from selective_labels.nuisance.models.encoders import standardised
from tests.estimators.baseline_samples import KnownPropensity, Recogniser, Recorder, make_sample

CELLS = np.array([0.0, 1.0, 2.0])
CHANCES = np.array([0.2, 0.5, 0.8])


def known_chance(cell: np.ndarray) -> np.ndarray:
    return CHANCES[cell.astype(int)]


def exact_sample() -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """100 rows per cell; its labeled rows have its chance and its class shares exactly (unconfounded)."""
    X, y, decision = [], [], []
    for cell, chance, successes in zip(CELLS, CHANCES, [20, 60, 40], strict=True):
        for label, rows in [(1, successes), (0, 100 - successes)]:
            labeled = round(chance * rows)
            X += [[cell]] * rows
            y += [label] * rows
            decision += [1] * labeled + [0] * (rows - labeled)
    return np.array(X), np.array(y), np.array(decision)


@pytest.mark.parametrize("use_decision_maker", [False, True])
def test_weights_equal_a_computation_by_hand(use_decision_maker):
    sample = make_sample()
    weight = None
    if not use_decision_maker:
        weight = np.random.default_rng(1).random(len(sample.y))
        weight /= weight.mean()  # as every table's are, whatever unit they come in
    folds = list(KFold(3).split(sample.X))
    features = sample.X
    if use_decision_maker:
        features = np.hstack([features, sample.decision_maker[:, None] == np.array(["ann", "bob", "cem"])])
    model = make_pipeline(standardised(), LogisticRegression(max_iter=1000))
    params = {} if weight is None else {"logisticregression__sample_weight": weight}
    chance = cross_val_predict(
        model, features, sample.decision, cv=folds, method="predict_proba", params=params
    )[:, 1]
    labeled = sample.decision == 1
    # Between two of the chances: at one of them a rounding error would decide what is clipped.
    clip = np.sort(chance[labeled])[labeled.sum() // 2 - 1 :][:2].mean()
    expected = (1.0 if weight is None else weight[labeled]) / np.maximum(chance[labeled], clip)

    inner = LogisticRegression() if use_decision_maker else Recorder()
    fitted = IPWClassifier(inner, clip=clip, cv=folds, use_decision_maker=use_decision_maker).fit(
        sample.X, sample.y, decision_maker=sample.decision_maker, sample_weight=weight
    )
    if use_decision_maker:
        by_hand = LogisticRegression().fit(features[labeled].astype(float), sample.y[labeled], expected)
        assert_allclose(fitted.model_.classifier.coef_, by_hand.coef_, rtol=1e-10)
    else:
        assert_allclose(fitted.model_.classifier.sample_weight_, expected, rtol=1e-12)
    assert_allclose(fitted.effective_sample_size_, expected.sum() ** 2 / np.sum(expected**2))
    assert fitted.propensity_clipped_share_ == np.mean(chance[labeled] < clip)  # about half


def test_weighting_leaves_a_rich_class_unchanged():
    """Correction E19: the weight is constant within a cell of x, so no cell's class shares change."""
    sample = make_sample(1000)
    cell = np.searchsorted([-0.5, 0.5], sample.X[:, :1]).astype(float)
    tree = DecisionTreeClassifier(random_state=0)
    plain = SelectedSampleClassifier(tree).fit(cell, sample.y)
    weighted = IPWClassifier(tree, propensity=KnownPropensity(known_chance)).fit(cell, sample.y)
    assert weighted.effective_sample_size_ < np.sum(sample.decision)  # the weights do differ between cells
    assert_allclose(weighted.predict_proba(cell), plain.predict_proba(cell), rtol=1e-12)


def test_weighting_mends_a_misspecified_class_under_unconfounded_decisions():
    X, y, decision = exact_sample()
    linear = LogisticRegression(tol=1e-10)  # misspecified: the middle cell has the most successes
    everyone = linear.fit(X, y).predict_proba(CELLS[:, None])
    weighted = IPWClassifier(linear, propensity=KnownPropensity(known_chance)).fit(X, y, decision=decision)
    plain = SelectedSampleClassifier(linear).fit(X, y, decision=decision)
    # Labeled rows weighted back to their cells' sizes are the whole sample, exactly.
    assert_allclose(weighted.predict_proba(CELLS[:, None]), everyone, atol=1e-7)
    assert np.abs(plain.predict_proba(CELLS[:, None]) - everyone).max() > 0.05  # without weights they are not


def test_effective_sample_size_and_clipped_share_of_known_chances():
    X, y, decision = exact_sample()
    fitted = IPWClassifier("linear", propensity=KnownPropensity(known_chance), clip=0.5).fit(
        X, y, decision=decision
    )
    # Of 150 labeled rows 20 have chance .2 (clipped to .5), 50 chance .5 and 80 chance .8.
    total, squares = 20 * 2 + 50 * 2 + 80 * 1.25, 20 * 4 + 50 * 4 + 80 * 1.25**2
    assert_allclose(fitted.effective_sample_size_, total**2 / squares)
    assert_allclose(fitted.propensity_clipped_share_, 20 / 150)  # a chance equal to clip is not clipped


def test_full_labels_need_no_weights():
    sample = make_sample()
    fitted = IPWClassifier("linear", random_state=0).fit(sample.X, sample.y_true)
    plain = SelectedSampleClassifier("linear", random_state=0).fit(sample.X, sample.y_true)
    assert fitted.effective_sample_size_ == len(sample.y)
    assert fitted.propensity_clipped_share_ == 0
    assert_allclose(fitted.predict_proba(sample.X), plain.predict_proba(sample.X), rtol=1e-10)


def test_clip_of_one_is_the_selected_sample():
    sample = make_sample()
    fitted = IPWClassifier("linear", clip=1, random_state=0).fit(sample.X, sample.y)
    plain = SelectedSampleClassifier("linear", random_state=0).fit(sample.X, sample.y)
    assert_allclose(fitted.predict_proba(sample.X), plain.predict_proba(sample.X), rtol=1e-10)


def test_groups_stay_together_in_the_folds():
    sample = make_sample()
    case = np.arange(len(sample.y)) // 3
    X = np.column_stack([case, sample.X])
    apart = IPWClassifier("linear", propensity=Recogniser(), random_state=0).fit(X, sample.y)
    together = IPWClassifier("linear", propensity=Recogniser(), random_state=0).fit(X, sample.y, groups=case)
    assert together.propensity_clipped_share_ == 0  # no model has met the case that it predicts
    assert apart.propensity_clipped_share_ > 0.9


def test_no_row_is_predicted_by_a_model_that_saw_it():
    sample = make_sample()
    fitted = IPWClassifier("linear", propensity=Recogniser(), random_state=0).fit(sample.X, sample.y)
    assert fitted.propensity_clipped_share_ == 0  # features are continuous: each row is its own case


def test_a_single_hole_is_named_and_survived():
    sample = make_sample()
    y = sample.y_true.copy()
    y[0] = -1
    with pytest.warns(UserWarning, match="the unlabeled case occurs in one fold only"):
        fitted = IPWClassifier("linear", random_state=0).fit(sample.X, y)
    assert np.isfinite(fitted.predict_proba(sample.X)).all()


def test_the_fold_models_count_weights():
    sample = make_sample()
    kept = np.random.default_rng(4).random(len(sample.y)) < 0.7
    rows = np.flatnonzero(kept)
    folds = list(KFold(2).split(sample.X))
    position = np.cumsum(kept) - 1
    kept_folds = [tuple(position[part[kept[part]]] for part in fold) for fold in folds]
    # Without a penalty: weights have mean one, so that a penalty weighs against rows of weight zero too.
    free = LogisticRegression(C=1e8, max_iter=1000)
    settings_ = {"estimator": free, "propensity": free}
    zero = IPWClassifier(**settings_, cv=folds).fit(sample.X, sample.y, sample_weight=kept.astype(float))
    dropped = IPWClassifier(**settings_, cv=kept_folds).fit(sample.X[rows], sample.y[rows])
    assert_allclose(zero.effective_sample_size_, dropped.effective_sample_size_, rtol=1e-3)
    assert_allclose(zero.predict_proba(sample.X), dropped.predict_proba(sample.X), atol=1e-3)


@pytest.mark.parametrize("clip", [0, -0.1, 1.5, np.nan])
def test_clip_outside_its_range_is_refused(clip):
    sample = make_sample()
    with pytest.raises(ValueError, match="must be above 0 and at most 1"):
        IPWClassifier(clip=clip).fit(sample.X, sample.y)


def test_propensity_must_give_probabilities():
    sample = make_sample()
    with pytest.raises(ValueError, match="LinearSVC has no predict_proba, which the propensity needs"):
        IPWClassifier(propensity=LinearSVC()).fit(sample.X, sample.y)
    with pytest.raises(ValueError, match="propensity='forest'"):
        IPWClassifier(propensity="forest").fit(sample.X, sample.y)


@given(st.lists(st.floats(0, 1), min_size=1, max_size=20), st.floats(0.01, 1), st.floats(0.1, 10))
@settings(deadline=None, max_examples=100)
def test_properties_of_weights(chance, clip, factor):
    weight = inverse_propensity_weight(np.array(chance), clip)
    size = effective_sample_size(weight)
    assert weight.min() >= 1  # no labeled row stands for less than itself
    assert weight.max() <= 1 / clip
    assert 1 - 1e-9 <= size <= len(chance) + 1e-9  # between one row and all of them
    assert_allclose(effective_sample_size(factor * weight), size)  # scale means nothing
    assert_array_equal(
        inverse_propensity_weight(np.array(chance), clip, np.full(len(chance), factor)), factor * weight
    )
