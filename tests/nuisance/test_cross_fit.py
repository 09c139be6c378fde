"""One coherent model of decision and label, cross-fitted: every family, rare classes, injected truth."""

import warnings

import numpy as np
import pytest
from joblib import parallel_config
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import LinearSVC

from selective_labels import SelectiveLabels
from selective_labels._parallel import listening
from selective_labels.datasets import make_decision_makers
from selective_labels.diagnostics.context import identified_bounds
from selective_labels.identification.bounds import jackknife_noise, shrink_across_decision_makers
from selective_labels.nuisance.cross_fit import cross_fit
from selective_labels.nuisance.folds import outcome_codes
from selective_labels.nuisance.model_selection import log_losses
from selective_labels.nuisance.models.logistic import spread_columns
from selective_labels.nuisance.slopes import slope_moments

FAMILIES = [
    "logistic",
    "quadratic",
    "index",
    "boosting",
    RandomForestClassifier(n_estimators=10, random_state=0),
    make_pipeline(StandardScaler(), LogisticRegression()),
]


def table(n_samples=500, n_classes=3, n_makers=4, seed=0, **roles):
    sample = make_decision_makers(n_samples, n_classes, n_makers, random_state=seed)
    roles = {"decision_maker": sample.decision_maker, **roles}
    return sample, SelectiveLabels.from_arrays(sample.X, sample.y, **roles)


def assert_coherent(joint):
    assert joint.min() >= 0.0
    assert_allclose(joint.sum(axis=-1), 1.0, atol=1e-12)


@pytest.mark.parametrize(
    "family", FAMILIES, ids=lambda each: each if isinstance(each, str) else type(each).__name__
)
@pytest.mark.parametrize("n_classes", [2, 3])
def test_every_family_is_coherent(family, n_classes):
    sample, data = table(400, n_classes)
    fit = cross_fit(data, family, cv=2, random_state=0)
    for fold in fit.folds:
        joint = fold.joint(sample.X)
        assert joint.shape == (4, 400, n_classes + 1)
        assert_coherent(joint)
        (model,) = fold.models
        own = model.own(sample.X, sample.decision_maker)
        assert_allclose(
            own, joint[sample.decision_maker, np.arange(400)], atol=1e-12
        )  # two ways to one number


@pytest.mark.parametrize("family", ["logistic", "quadratic", "index", "boosting"])
def test_every_family_learns_that_decision_makers_differ(family):
    sample, data = table(2000, 2, 2)
    joint = cross_fit(data, family, cv=2, random_state=0).folds[0].joint(sample.X)
    truth = np.moveaxis(sample.oracle.joint(sample.X), 1, 0)
    gap, true_gap = (each[0, :, 0] - each[1, :, 0] for each in (joint, truth))
    assert (
        np.mean(gap) * np.mean(true_gap) > 0.25 * np.mean(true_gap) ** 2
    )  # the sign, and a quarter of the size


def test_held_out_predictions_never_see_their_row():
    class Memory(ClassifierMixin, BaseEstimator):
        def fit(self, X, y):
            self.seen_, self.classes_ = X[:, 0], np.unique(y)
            return self

        def predict_proba(self, X):
            known = np.isin(X[:, 0], self.seen_).astype(float)
            rest = np.ones((len(X), len(self.classes_) - 1)) / (len(self.classes_) - 1)
            return np.column_stack([known, rest * (1 - known)[:, None]])

    sample, data = table()
    fit = cross_fit(data, Memory(), cv=3, random_state=0)
    for number, fold in enumerate(fit.folds):
        rows = fit.held_out == number
        assert fold.joint(sample.X[rows])[:, :, 0].max() == 0.0  # none of them was in its training part
        assert fold.joint(sample.X[~rows])[:, :, 0].min() == 1.0


def test_none_takes_the_smallest_held_out_loss_and_reports_all():
    _, data = table(600)
    report = cross_fit(data, None, cv=2, random_state=0).report
    assert set(report.losses) == {"logistic", "quadratic", "index", "boosting"}
    assert report.losses[report.chosen] == min(report.losses.values())
    assert report.skipped == {}
    assert 0.0 < report.calibration_error < 0.2


@pytest.mark.parametrize("chosen", ["logistic", "quadratic", "index", "boosting"])
def test_the_reported_loss_is_that_of_the_held_out_rows(chosen):
    sample, data = table(400)
    fit = cross_fit(data, chosen, cv=3, random_state=0)
    losses = np.empty(len(data))
    for number, fold in enumerate(fit.folds):
        rows = fit.held_out == number
        own = fold.models[0].own(sample.X[rows], sample.decision_maker[rows])
        losses[rows] = log_losses(own, outcome_codes(data.y[rows]))
    assert_allclose(fit.report.losses[chosen], losses.mean(), rtol=1e-12)


def test_quadratic_is_skipped_with_a_reason_if_features_are_many():
    rng = np.random.default_rng(0)
    data = SelectiveLabels.from_arrays(
        rng.normal(size=(200, 41)), rng.integers(-1, 2, 200), decision_maker=np.arange(200) % 2
    )
    report = cross_fit(data, None, cv=2, random_state=0).report
    assert "41 features" in report.skipped["quadratic"]
    assert "quadratic" not in report.losses


def test_a_quadratic_truth_makes_the_quadratic_model_win():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(1500, 2))
    y = np.where(
        rng.random(1500) < 0.3, -1, (X[:, 0] * X[:, 1] + 0.3 * rng.normal(size=1500) > 0).astype(int)
    )
    data = SelectiveLabels.from_arrays(X, y, decision_maker=np.arange(1500) % 3)
    report = cross_fit(data, None, cv=2, random_state=0).report
    assert report.losses["quadratic"] < report.losses["logistic"]
    assert report.chosen != "logistic"


def test_a_class_in_one_fold_only_has_probability_zero_there():
    sample, data = table()
    y = np.array(["x", "y", "z"], dtype=object)[sample.y]
    row = np.flatnonzero(sample.decision == 1)[0]
    y[row] = "rare"
    data = SelectiveLabels.from_arrays(
        sample.X, y, decision=sample.decision, decision_maker=sample.decision_maker
    )
    with pytest.warns(UserWarning, match="class 'rare' occurs in one fold only"):
        fit = cross_fit(data, "logistic", cv=3, random_state=0)
    without = fit.held_out[row]
    for number, fold in enumerate(fit.folds):
        joint = fold.joint(sample.X)
        assert_coherent(joint)
        rare = joint[:, :, 1 + list(data.classes).index("rare")]
        assert (rare.max() == 0.0) == (number == without)


@pytest.mark.parametrize("family", ["logistic", "quadratic"])
def test_a_decision_maker_whom_a_fold_never_saw_is_pooled(family):
    sample, _ = table(600, 2, 3)
    maker = sample.decision_maker.astype(object)
    maker[5] = "new"
    maker[maker != "new"] = [f"maker {each}" for each in sample.decision_maker[maker != "new"]]
    data = SelectiveLabels.from_arrays(sample.X, sample.y, decision_maker=maker)
    fit = cross_fit(data, family, cv=3, random_state=0)
    joint = fit.folds[fit.held_out[5]].joint(sample.X)
    position = list(data.decision_makers).index("new")
    others = np.delete(joint, position, axis=0)[:, :, 0]
    pooled = joint[position, :, 0]
    assert_coherent(joint)
    # Without a row of its own it stands between the strictest and the most lenient.
    assert np.mean((pooled > others.min(axis=0)) & (pooled < others.max(axis=0))) > 0.9


def test_boosting_takes_an_unseen_decision_maker():
    sample, _ = table(300, 2, 3)
    maker = sample.decision_maker.copy()
    maker[5] = 99
    data = SelectiveLabels.from_arrays(sample.X, sample.y, decision_maker=maker)
    fit = cross_fit(data, "boosting", cv=3, random_state=0)
    assert_coherent(fit.folds[fit.held_out[5]].joint(sample.X))


@pytest.mark.parametrize("family", ["logistic", "quadratic", "index", "boosting"])
def test_missing_constant_and_empty_features(family):
    sample, _ = table(300, 2)
    X = np.column_stack([sample.X, np.ones(300), np.full(300, np.nan), np.full(300, np.nan)])
    X[::7, 0] = np.nan
    X[3, -1] = 1.0  # one value only: the model that holds this row out has an empty column
    data = SelectiveLabels.from_arrays(X, sample.y, decision_maker=sample.decision_maker)
    fit = cross_fit(data, family, cv=3, random_state=0)
    for fold in fit.folds:
        assert_coherent(fold.joint(X))


def test_injected_probabilities_are_used_as_they_are():
    sample, data = table()
    fit = cross_fit(data, sample.oracle.joint, random_state=0)
    assert (fit.report.chosen, fit.report.losses) == ("injected", {})
    bounds, crossed = identified_bounds(fit, sample.X, 3)
    assert_allclose(bounds.lower, sample.oracle.lower(sample.X), atol=1e-12)
    assert not crossed.any()


@pytest.mark.parametrize(
    ("function", "message"),
    [
        (lambda X: np.full((len(X), 4, 3), 1 / 3), r"shape \(500, 4, 3\); it must be .* = \(500, 4, 4\)"),
        (lambda X: np.full((len(X), 4), 0.25), r"must be .* = \(500, 4, 4\)"),
        (lambda X: np.full((len(X), 4, 4), 0.3), "not a probability distribution"),
        (lambda X: np.tile([1.2, -0.2, 0.0, 0.0], (len(X), 4, 1)), "not a probability distribution"),
        (lambda X: np.full((len(X), 4, 4), np.nan), "not a probability distribution"),
    ],
    ids=["classes", "axes", "sum", "negative", "NaN"],
)
def test_bad_injected_probabilities(function, message):
    sample, data = table()
    fit = cross_fit(data, function)
    with pytest.raises(ValueError, match=message):
        identified_bounds(fit, sample.X, 3)


@pytest.mark.parametrize(
    ("nuisance", "message"),
    [
        ("forest", "'forest' is not one of 'logistic', 'quadratic', 'index', 'boosting'"),
        (LinearSVC(), "LinearSVC has no predict_proba"),
        (3, "neither a name, nor a scikit-learn classifier, nor a callable"),
    ],
)
def test_bad_nuisance(nuisance, message):
    _, data = table()
    with pytest.raises(ValueError, match=message):
        cross_fit(data, nuisance)


@pytest.mark.parametrize("n_classes", [2, 3])
def test_in_halves_two_models_share_no_row(n_classes):
    sample, data = table(400, n_classes)
    fit = cross_fit(data, "logistic", cv=2, in_halves=True, random_state=0)
    for fold in fit.folds:
        first, second = (model.joint(sample.X) for model in fold.models)
        assert np.abs(first - second).max() > 1e-6  # independent fits differ
        assert_allclose(fold.joint(sample.X), (first + second) / 2)
    moments = slope_moments(fit, sample.X, n_classes)
    assert_allclose(moments.strength, moments.covariance.sum(axis=1))


def test_the_same_seed_with_more_jobs_gives_the_same():
    sample, data = table(400)
    fits = [cross_fit(data, None, cv=2, in_halves=True, n_jobs=n_jobs, random_state=3) for n_jobs in (1, 2)]
    assert_array_equal(fits[0].held_out, fits[1].held_out)
    assert fits[0].report.chosen == fits[1].report.chosen
    bounds = [identified_bounds(fit, sample.X, 3)[0] for fit in fits]
    assert_array_equal(bounds[0].lower, bounds[1].lower)  # bit for bit


def test_weights_of_zero_in_a_whole_fold():
    sample, _ = table(400)
    folds = [np.arange(100), np.arange(100, 250), np.arange(250, 400)]
    cv = [(np.setdiff1d(np.arange(400), test), test) for test in folds]
    data = SelectiveLabels.from_arrays(
        sample.X,
        sample.y,
        decision_maker=sample.decision_maker,
        sample_weight=np.repeat([0.0, 1.0], [100, 300]),
    )
    report = cross_fit(data, "logistic", cv=cv, random_state=0).report
    assert 0.5 < report.losses["logistic"] < 2.0  # the weightless fold counts for nothing


def test_weights_are_repeated_rows():
    sample, _ = table(300, 2)
    weight = np.random.default_rng(0).integers(1, 3, 300)
    rows = np.repeat(np.arange(300), weight)
    parts = [np.arange(150), np.arange(150, 300)]

    def lower(keep, sample_weight):
        cv = [tuple(np.flatnonzero(np.isin(keep, part)) for part in pair) for pair in (parts, parts[::-1])]
        data = SelectiveLabels.from_arrays(
            sample.X[keep],
            sample.y[keep],
            decision_maker=sample.decision_maker[keep],
            sample_weight=sample_weight,
        )
        return identified_bounds(cross_fit(data, FixedScale(), cv=cv), sample.X, 2)[0].lower

    assert_allclose(lower(np.arange(300), weight), lower(rows, None), atol=1e-4)


def FixedScale():  # noqa: N802 - reads as the classifier that it makes
    # Weights have mean one, so that repeated rows count for more against a penalty: there is next to none.
    return LogisticRegression(C=1e6, tol=1e-10, max_iter=10_000)


def test_rows_are_read_in_chunks(monkeypatch):
    sample, data = table()
    fit = cross_fit(data, "logistic", cv=2, random_state=0)
    whole, _ = identified_bounds(fit, sample.X, 3, (0.0, lambda X: np.full((len(X), 3), 0.9)), held_out=True)
    monkeypatch.setattr("selective_labels.nuisance.cross_fit.CHUNK_NUMBERS", 1)
    parts, _ = identified_bounds(fit, sample.X, 3, (0.0, lambda X: np.full((len(X), 3), 0.9)), held_out=True)
    assert len(fit.chunks(np.arange(500), 4)) == 8  # 64 rows at a time
    assert_allclose(parts.lower, whole.lower, atol=1e-14)
    assert_allclose(parts.upper, whole.upper, atol=1e-14)


def test_shrinking_keeps_coherence():
    rng = np.random.default_rng(0)
    by_fold = rng.dirichlet(np.ones(4), size=(5, 3, 50))
    for joint in (by_fold.mean(axis=0), by_fold[0]):
        shrunken = shrink_across_decision_makers(joint, jackknife_noise(by_fold))
        assert_coherent(shrunken)
        assert_allclose(shrunken.mean(axis=0), joint.mean(axis=0))  # the common mean stays


def test_shrinking_lowers_the_bias_of_the_maximum_where_all_are_alike():
    sample = make_decision_makers(1500, 3, 12, leniency_spread=0.0, random_state=0)
    data = SelectiveLabels.from_arrays(sample.X, sample.y, decision_maker=sample.decision_maker)
    fit = cross_fit(data, LogisticRegression(C=1.0), cv=5, random_state=0)
    truth = sample.oracle.lower(sample.X)  # all decision-makers are alike: no maximum is needed
    raw = np.mean([fold.joint(sample.X) for fold in fit.folds], axis=0)[:, :, 1:].max(axis=0)
    bias = np.mean(raw - truth)
    assert bias > 0.01  # the maximum of twelve noisy numbers is too large
    assert abs(np.mean(identified_bounds(fit, sample.X, 3)[0].lower - truth)) < bias / 2


def test_shares_are_those_of_the_arms():
    sample, data = table()
    fit = cross_fit(data, "logistic", cv=2, random_state=0)
    assert_allclose(fit.shares, np.bincount(sample.decision_maker) / len(data))


@pytest.mark.parametrize(
    "y", [np.array([0, 1] * 20), np.array([0, -1] * 20)], ids=["all labeled", "one class"]
)
def test_an_outcome_that_never_occurs_has_probability_zero(y):
    data = SelectiveLabels.from_arrays(np.arange(40.0)[:, None], y, decision_maker=np.arange(40) % 4 // 2)
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # nothing is rare here
        joint = cross_fit(data, "logistic", cv=2, random_state=0).folds[0].joint(data.X)
    assert_coherent(joint)
    never = np.setdiff1d(np.arange(len(data.classes) + 1), outcome_codes(data.y))
    assert_array_equal(joint[:, :, never], 0.0)


def test_spread_columns():
    assert_array_equal(
        spread_columns(np.array([[[0.25, 0.75]]]), np.array([1, 3]), 4), [[[0, 0.25, 0, 0.75]]]
    )


@pytest.mark.parametrize("backend", ["loky", "multiprocessing"])
def test_progress_is_told_model_by_model_and_changes_nothing(backend):
    _, data = table(300, 2)
    silent = cross_fit(data, None, cv=3, in_halves=True, random_state=0)
    heard = []
    # Multiprocessing cannot hand results on as they arrive.
    with parallel_config(backend=backend, n_jobs=1), listening(lambda *news: heard.append(news)):
        with_progress = cross_fit(data, None, cv=3, in_halves=True, random_state=0)
    totals = {what: total for what, _, total in heard}
    assert list(totals.values()) == [4, 1, 4, 2, 3], "families, a setting, two folds, halves"
    assert heard == [(what, done, totals[what]) for what in totals for done in range(totals[what] + 1)]
    assert with_progress.report == silent.report
    assert_array_equal(with_progress.folds[0].joint(data.X), silent.folds[0].joint(data.X))
