"""UCLClassifier: what it predicts from known probabilities, every estimator, unseen labels, bad input."""

import warnings

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.stats import norm
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.ensemble import AdaBoostClassifier, GradientBoostingClassifier, RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

from selective_labels import UCLClassifier
from selective_labels.datasets import make_decision_makers, make_paper_synthetic
from selective_labels.estimators.learners import fit_classifier
from selective_labels.identification.costs import CostSensitiveProblem, worst_case_costs
from tests.estimators.samples import fit, make_sample, quick, uninformative

MODES = ["partial", "point"]
ESTIMATORS = [
    AdaBoostClassifier(n_estimators=5),
    GradientBoostingClassifier(n_estimators=5),
    LogisticRegression(),
    RandomForestClassifier(n_estimators=10, random_state=0),
    SVC(),
    SVC(decision_function_shape="ovo"),
    make_pipeline(StandardScaler(), LogisticRegression()),
]


def neural():
    """The name, where PyTorch is there to stand behind it."""
    pytest.importorskip("torch", reason="optional: PyTorch")
    return "neural"


GENERATORS = {
    "paper": lambda: make_paper_synthetic(300, "uc", random_state=0),
    "paper, two classes": lambda: make_paper_synthetic(300, n_classes=2, n_decision_makers=3, random_state=0),
    "decision-makers": lambda: make_decision_makers(300, 4, random_state=0),
    "not additive": lambda: make_decision_makers(300, 3, additive=False, random_state=0),
    "on the edge": lambda: make_decision_makers(300, 3, slack_class=1, random_state=0),
    "many": lambda: make_decision_makers(1500, 2, 100, random_state=0),
}


@pytest.mark.parametrize("generator", GENERATORS)
@pytest.mark.parametrize("mode", MODES)
def test_bounds_under_the_true_joint_are_the_true_bounds(generator, mode):
    sample = GENERATORS[generator]()
    fitted = fit(quick(mode, nuisance=sample.oracle.joint), sample)
    bounds, lower = fitted.predict_bounds(sample.X), sample.oracle.lower(sample.X)
    assert_allclose(bounds.lower, lower, atol=1e-8)
    assert_allclose(bounds.upper, lower + (1 - lower.sum(axis=1, keepdims=True)), atol=1e-8)
    assert bounds.contains(sample.oracle.probabilities(sample.X), 1e-8).all()  # and they hold the truth
    assert fitted.crossed_share_ == 0.0


def test_the_partial_plug_in_under_the_true_joint_is_the_minimax_rule():
    sample = make_sample()
    fitted = fit(quick(nuisance=sample.oracle.joint), sample)
    assert_array_equal(fitted.predict(sample.X), sample.oracle.lower(sample.X).argmax(axis=1))
    slack = 1 - sample.oracle.lower(sample.X).sum(axis=1)
    largest, second = -np.sort(-sample.oracle.lower(sample.X), axis=1)[:, :2].T
    # Theorem 5.3 without a label range: slack plus the second lower bound minus the largest.
    assert_allclose(fitted.worst_case_regret_, np.maximum(slack + second - largest, 0).mean(), atol=1e-10)


def test_the_point_plug_in_under_the_true_joint_is_the_truth():
    sample = make_sample(1000, n_makers=8)
    fitted = fit(quick("point", nuisance=sample.oracle.joint), sample)
    assert fitted.shrinkage_ == 0.0  # with the truth in hand nothing is to be shrunk
    assert_allclose(fitted.predict_proba(sample.X), sample.oracle.probabilities(sample.X), atol=1e-6)


COST = np.array([[0.0, 1.0, 4.0], [2.0, 0.0, 1.0], [5.0, 0.5, 0.0]])


def brute_force_regret(bounds, cost, row):
    """Largest regret of each prediction over the corners of {lower <= η, Σ η = 1}."""
    slack = 1 - bounds.lower[row].sum()
    corners = bounds.lower[row] + slack * np.eye(len(cost))
    expected = corners @ cost
    return (expected - expected.min(axis=1, keepdims=True)).max(axis=0)


@pytest.mark.filterwarnings("ignore:the rule predicts")  # one class is right under such costs
def test_a_cost_matrix_changes_the_rule_as_the_formula_says():
    sample = make_sample(300)
    plain, costly = (fit(quick(nuisance=sample.oracle.joint, cost=cost), sample) for cost in (None, COST))
    bounds = costly.predict_bounds(sample.X)
    regrets = np.array([brute_force_regret(bounds, COST, row) for row in range(300)])
    assert_array_equal(costly.predict(sample.X), regrets.argmin(axis=1))
    assert_allclose(-costly.decision_function(sample.X), regrets, atol=1e-9)
    assert_allclose(costly.worst_case_regret_, regrets.min(axis=1).mean(), atol=1e-9)
    assert np.mean(plain.predict(sample.X) != costly.predict(sample.X)) > 0.1  # it matters here


def test_a_cost_matrix_in_point_mode():
    sample = make_sample(300)
    fitted = fit(quick("point", cost=COST.tolist()), sample)
    assert_array_equal(fitted.predict(sample.X), (fitted.predict_proba(sample.X) @ COST).argmin(axis=1))


@pytest.mark.parametrize("estimator", [None, "linear", LogisticRegression()], ids=str)
@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.filterwarnings("ignore:the rule predicts")  # one class is right under such costs
def test_learners_heed_the_cost_matrix(estimator, n_classes):
    sample = make_sample(600, n_classes)
    cost = 1.0 - np.eye(n_classes)
    cost[0, 1:] = 50.0  # a missed first class is dear
    fitted = fit(quick(estimator=estimator, cost=cost, nuisance=sample.oracle.joint), sample)
    assert np.mean(fitted.predict(sample.X) == 0) > 0.9


@pytest.mark.parametrize(
    "label_range",
    [
        (0.0, 0.8),
        (0.1, 1.0),
        (np.zeros(3), np.full(3, 0.8)),
        ([0.1, 0.1, 0.1], [0.9, 0.9, 0.9]),
        (0.0, lambda X: np.full((len(X), 3), 0.8)),
    ],
    ids=["upper", "lower", "arrays", "lists", "callable"],
)
@pytest.mark.parametrize("estimator", ["plug-in", LogisticRegression()], ids=str)
def test_a_label_range_narrows_the_bounds(label_range, estimator):
    sample = make_sample()
    free, held = (
        fit(
            quick(estimator=estimator, nuisance=sample.oracle.joint, label_range=each), sample
        ).predict_bounds(sample.X)
        for each in ((0.0, 1.0), label_range)
    )
    assert (held.lower >= free.lower - 1e-12).all()
    assert (held.upper <= free.upper + 1e-12).all()
    assert held.width.mean() < free.width.mean()


@pytest.mark.parametrize("label_range", [(0.6, 1.0), (0.0, 0.2), (0.5, 0.4), 0.3, (0.0, [1.0, 1.0])])
def test_an_impossible_label_range_is_refused(label_range):
    with pytest.raises(ValueError, match="label_range"):
        fit(quick(label_range=label_range), make_sample(100))


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("cost", [None, COST])
def test_sets_and_decided_rows_agree_with_the_bounds(mode, cost):
    sample = make_sample()
    fitted = fit(quick(mode, cost=cost), sample)
    estimated = {"confidence_level": None}
    possible, decided = (each(sample.X, **estimated) for each in (fitted.predict_set, fitted.decided))
    assert possible.shape == (500, 3)
    assert possible.any(axis=1).all()
    assert_array_equal(decided, possible.sum(axis=1) == 1)
    if cost is None:
        bounds = fitted.predict_bounds(sample.X)
        best_rival = [np.delete(bounds.lower, k, axis=1).max(axis=1) for k in range(3)]
        expected = bounds.lower + bounds.slack[:, None] >= np.column_stack(best_rival) - 1e-9
        assert_array_equal(possible, expected)  # a class can be best if all slack would lift it to the top
    if mode == "partial":
        regret = worst_case_costs(fitted.predict_bounds(sample.X), cost).min(axis=1)
        assert_allclose(regret[decided], 0.0, atol=1e-9)  # nothing can be lost where the best class is known
        assert_array_equal(fitted.predict(sample.X)[decided], possible.argmax(axis=1)[decided])
    assert (fitted.predict_set(sample.X) >= possible).all()  # a margin of error rules out fewer classes
    assert (fitted.decided(sample.X) <= decided).all()
    # A promise on all decided rows asks for more than one on each.
    assert (fitted.decided(sample.X) <= (fitted.predict_set(sample.X).sum(axis=1) == 1)).all()


@pytest.mark.parametrize("mode", MODES)
def test_a_level_widens_the_bounds(mode):
    sample = make_sample()
    fitted = fit(quick(mode), sample)
    plain, some, more = (fitted.predict_bounds(sample.X, confidence_level=each) for each in (None, 0.8, 0.95))
    for inner, outer in ((plain, some), (some, more)):
        assert (outer.lower <= inner.lower).all()
        assert (outer.upper >= inner.upper).all()
    assert more.lower.min() >= 0.0
    assert more.upper.max() <= 1.0
    assert_array_equal(fitted.decided(sample.X), fitted.decided(sample.X, confidence_level=0.9))
    with pytest.raises(ValueError, match="confidence_level"):
        fitted.predict_bounds(sample.X, confidence_level=90)


def test_predict_proba_exists_in_point_mode_only():
    sample = make_sample()
    assert not hasattr(fit(quick("partial"), sample), "predict_proba")
    probabilities = fit(quick("point"), sample).predict_proba(sample.X)
    assert_allclose(probabilities.sum(axis=1), 1.0)
    assert probabilities.min() >= 0.0


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("estimator", [*ESTIMATORS, None, "linear"], ids=str)
def test_every_estimator_works(mode, n_classes, estimator):
    sample = make_sample(400, n_classes)
    fitted = fit(quick(mode, estimator, nuisance=sample.oracle.joint), sample)
    scores = fitted.decision_function(sample.X)
    assert scores.shape == ((400,) if n_classes == 2 else (400, 3))
    codes = (scores > 0).astype(int) if n_classes == 2 else scores.argmax(axis=1)
    assert_array_equal(fitted.predict(sample.X), codes)
    plug_in = fit(quick(mode, nuisance=sample.oracle.joint), sample)
    agreement = np.mean(fitted.predict(sample.X) == plug_in.predict(sample.X))
    assert agreement > 0.6  # it learns the rule that it is meant to learn (chance: 1/2 and 1/3)
    minimax = plug_in if mode == "partial" else fit(quick(nuisance=sample.oracle.joint), sample)
    assert fitted.worst_case_regret_ >= minimax.worst_case_regret_ - 1e-12  # no rule does better at worst


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize(
    ("surrogate", "n_classes"),
    [("softmax", 3), ("cross-entropy", 3), ("softmax", 2), ("logistic", 2), ("hinge", 2), ("exponential", 2)],
)
def test_the_network_learns_the_rule(mode, surrogate, n_classes):
    sample = make_sample(400, n_classes)
    joint = sample.oracle.joint
    network = fit(quick(mode, neural(), surrogate=surrogate, nuisance=joint), sample)
    plug_in = fit(quick(mode, nuisance=joint), sample)
    assert np.mean(network.predict(sample.X) == plug_in.predict(sample.X)) > 0.8


@pytest.mark.filterwarnings("ignore:the rule predicts")  # of wide bounds, which are not the subject
def test_the_network_leaves_the_random_stream_of_the_user_alone():
    torch = pytest.importorskip("torch", reason="optional: PyTorch")
    torch.manual_seed(1)
    expected = torch.rand(3)
    torch.manual_seed(1)
    fit(quick(estimator="neural"), make_sample(100))
    assert_array_equal(torch.rand(3).numpy(), expected.numpy())


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize(
    "estimator", ["plug-in", "linear", "neural", None, LogisticRegression(), SVC()], ids=str
)
def test_garbage_behind_the_holes_changes_nothing(mode, n_classes, estimator):
    if estimator == "neural":
        neural()
    sample = make_sample(300, n_classes)
    garbage = np.random.default_rng(1).integers(-1, 9, 300)  # seen classes, unseen ones, minus one
    filled = np.where(sample.decision == 1, sample.y, garbage)
    clean, dirty = (
        quick(mode, estimator).fit(
            sample.X, y, decision_maker=sample.decision_maker, decision=sample.decision
        )
        for y in (sample.y, filled)
    )
    assert_array_equal(clean.decision_function(sample.X), dirty.decision_function(sample.X))
    assert_array_equal(clean.predict_bounds(sample.X).lower, dirty.predict_bounds(sample.X).lower)
    assert clean.worst_case_regret_ == dirty.worst_case_regret_
    assert_array_equal(clean.classes_, dirty.classes_)
    assert dirty.n_ignored_labels_ == np.sum(sample.decision == 0)
    if mode == "point":
        assert_array_equal(clean.predict_proba(sample.X), dirty.predict_proba(sample.X))


@pytest.mark.filterwarnings("ignore:the rule predicts")  # of wide bounds, which are not the subject
def test_garbage_of_other_types_and_the_default_nuisance():
    sample = make_sample(200, 2)
    names = np.array(["no", "yes"], dtype=object)[sample.y]
    holes, garbage = (np.where(sample.decision == 1, names, other) for other in (None, "unheard of"))
    outputs = [
        UCLClassifier(cv=2, random_state=0)
        .fit(sample.X, y, decision_maker=sample.decision_maker, decision=sample.decision)
        .decision_function(sample.X)
        for y in (holes, garbage)
    ]
    assert_array_equal(*outputs)


def renamed(sample, seed=1):
    order = np.random.default_rng(seed).permutation(sample.oracle.n_decision_makers)
    return order, order[sample.decision_maker]


@pytest.mark.parametrize("mode", MODES)
def test_renamed_decision_makers_change_nothing_under_the_true_joint(mode):
    sample = make_sample(n_makers=6)
    order, makers = renamed(sample)
    before = fit(quick(mode, nuisance=sample.oracle.joint), sample)
    after = fit(
        quick(mode, nuisance=lambda X: sample.oracle.joint(X)[:, np.argsort(order)]),
        sample,
        decision_maker=makers,
    )
    assert_allclose(after.predict_bounds(sample.X).lower, before.predict_bounds(sample.X).lower, atol=1e-12)
    assert_allclose(after.decision_function(sample.X), before.decision_function(sample.X), atol=1e-9)


def test_renamed_decision_makers_change_accuracy_within_noise():
    sample = make_sample(1500, n_makers=6)
    _, makers = renamed(sample)
    before, after = (
        fit(quick("point"), sample, decision_maker=each) for each in (sample.decision_maker, makers)
    )
    changed = np.mean(before.predict(sample.X) != after.predict(sample.X))
    right = [np.mean(each.predict(sample.X) == sample.y_true) for each in (before, after)]
    # Accuracies on the same rows differ by chance as sqrt(changed / n) at most (false alarm 1e-6).
    assert abs(right[0] - right[1]) <= norm.isf(5e-7) * np.sqrt(max(changed, 1 / 1500) / 1500)
    assert changed < 0.1


@pytest.mark.parametrize(("mode", "estimator"), [("partial", None), ("point", "plug-in")])
def test_the_number_of_jobs_changes_nothing(mode, estimator):
    sample = make_sample(300)
    one, two = (fit(quick(mode, estimator, n_jobs=n_jobs), sample) for n_jobs in (1, 2))
    assert_array_equal(one.predict(sample.X), two.predict(sample.X))
    assert_allclose(one.predict_bounds(sample.X).lower, two.predict_bounds(sample.X).lower, atol=1e-10)


def test_one_decision_maker():
    sample = make_sample(300, n_makers=1)
    with pytest.warns(UserWarning, match="no instrument, and the bounds are Manski's"):
        fitted = fit(quick(nuisance=sample.oracle.joint), sample)
    joint = sample.oracle.joint(sample.X)[:, 0]
    assert_allclose(fitted.predict_bounds(sample.X).lower, joint[:, 1:], atol=1e-12)
    assert_allclose(fitted.predict_bounds(sample.X).width, joint[:, :1].repeat(3, axis=1), atol=1e-12)
    with pytest.raises(ValueError, match="one value only; point mode needs two"):
        fit(quick("point"), sample)


@pytest.mark.filterwarnings("ignore:the rule predicts")  # as it should, and is what is asked for here
@pytest.mark.parametrize("estimator", ["plug-in", "linear", "neural", None, LogisticRegression()], ids=str)
@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("n_classes", [2, 3])
def test_classes_that_nothing_tells_apart(mode, estimator, n_classes):
    if estimator == "neural":
        neural()
    sample = make_sample(200, n_classes)
    fitted = fit(quick(mode, estimator, nuisance=uninformative(4, n_classes)), sample)
    assert np.isfinite(fitted.decision_function(sample.X)).all()
    assert not fitted.decided(sample.X).any()  # and it does not pretend to know


def test_one_class_that_is_best_everywhere():
    X = np.random.default_rng(0).normal(size=(40, 2))
    costs = np.tile([0.0, 0.3], (40, 1))
    score = fit_classifier(CostSensitiveProblem(X, costs, costs[:, ::-1], np.ones(40)), LogisticRegression())
    assert_array_equal(score.scores(X).argmax(axis=1), 0)  # a classifier of one class would be refused
    gains = np.tile([0.0, 0.7, 0.0], (40, 1))
    score = fit_classifier(CostSensitiveProblem(X, 0.7 - gains, gains, np.ones(40)), LogisticRegression())
    assert_array_equal(score.scores(X).argmax(axis=1), 1)


def test_a_class_without_gain_is_never_predicted():
    X = np.random.default_rng(0).normal(size=(90, 1))
    gains = np.column_stack([X[:, 0] > 0, np.zeros(90), X[:, 0] <= 0]).astype(float)
    score = fit_classifier(CostSensitiveProblem(X, 1 - gains, gains, np.ones(90)), LogisticRegression())
    assert score.scores(X).shape == (90, 3)
    assert_array_equal(np.unique(score.scores(X).argmax(axis=1)), [0, 2])


class LabelsOnly(ClassifierMixin, BaseEstimator):
    """A classifier that has neither probabilities nor scores."""

    def fit(self, X, y, sample_weight=None):
        self.classes_ = np.unique(y)
        return self

    def predict(self, X):
        return np.repeat(self.classes_[-1:], len(X))


@pytest.mark.filterwarnings("ignore:the rule predicts")  # as it should, and is what is asked for here
@pytest.mark.parametrize("n_classes", [2, 3])
def test_a_classifier_with_labels_only(n_classes):
    sample = make_sample(100, n_classes)
    assert_array_equal(fit(quick(estimator=LabelsOnly()), sample).predict(sample.X), n_classes - 1)


@pytest.mark.parametrize("mode", MODES)
def test_labels_come_back_as_they_were(mode):
    sample = make_sample(300, 2)
    codes = fit(quick(mode), sample).predict(sample.X)
    for names, hole in ((["no", "yes"], None), ([False, True], None), ([3, 7], -1), ([0.0, 1.0], np.nan)):
        labels = [hole if code == -1 else names[code] for code in sample.y]
        fitted = quick(mode).fit(sample.X, labels, decision_maker=sample.decision_maker)
        assert fitted.classes_.tolist() == names
        assert fitted.predict(sample.X).tolist() == [
            names[code] for code in codes
        ]  # names carry no information


def test_labels_of_weight_zero_change_nothing():
    sample = make_sample(300, 2)
    weight = (np.arange(300) < 250).astype(float)
    turned = np.where((weight == 0) & (sample.y != -1), 1 - sample.y, sample.y)
    even, odd = np.arange(0, 300, 2), np.arange(1, 300, 2)
    lower = [
        quick(cv=[(even, odd), (odd, even)])
        .fit(sample.X, y, decision_maker=sample.decision_maker, sample_weight=weight)
        .predict_bounds(sample.X)
        .lower
        for y in (sample.y, turned)
    ]
    assert_allclose(lower[0], lower[1], atol=1e-4)


def test_a_known_assignment_decides_how_far_slopes_are_trusted():
    """Two decision-makers who differ are an instrument, unless it was known beforehand who would decide."""
    # P(D=1, Y=1 | z) = 0.12 + 0.5 λ_z: half of all cases, and most of the labeled ones.
    joint = np.array([[0.7, 0.03, 0.27], [0.1, 0.33, 0.57]])
    rng = np.random.default_rng(0)
    maker = rng.integers(2, size=600)
    y = (rng.random((600, 1)) > joint[maker].cumsum(axis=1)).sum(axis=1) - 1

    def shrinkage(assignment):
        classifier = quick("point")  # probabilities that are given would not be shrunk at all
        return classifier.fit(np.zeros((600, 1)), y, decision_maker=maker, assignment=assignment).shrinkage_

    assert np.isfinite(shrinkage(None))
    assert np.isfinite(shrinkage(np.full((600, 2), 0.5)))
    assert np.isinf(shrinkage(np.eye(2)[maker]))  # nothing was left to chance


def test_folds_keep_groups_together():
    sample = make_sample(100)
    even, odd = np.arange(0, 100, 2), np.arange(1, 100, 2)
    cut = quick(cv=[(even, odd), (odd, even)])
    with pytest.raises(ValueError, match="cv divides groups"):
        fit(cut, sample, groups=np.arange(100) // 2)
    undivided = fit(cut, sample, groups=np.arange(100) % 2)
    assert_array_equal(undivided.decision_function(sample.X), fit(cut, sample).decision_function(sample.X))


def test_strata_decide_who_counts_as_lenient():
    """Many decision-makers are grouped by leniency, measured against the stratum where there is one."""
    sample = make_decision_makers(1500, 2, 70, random_state=0)
    strata = sample.decision_maker % 2
    kept = (strata == 0) | (np.arange(1500) % 3 == 0)  # one court decides for few: in itself no strictness
    y = np.where(kept, sample.y, -1)
    lower = [
        quick()
        .fit(sample.X, y, decision_maker=sample.decision_maker, strata=each)
        .predict_bounds(sample.X)
        .lower
        for each in (None, strata)
    ]
    assert np.abs(lower[0] - lower[1]).max() > 0.01


def test_a_callable_assignment_gets_the_frame_of_the_user():
    sample = make_sample(200)
    X = pd.DataFrame(sample.X, columns=list("abcd"))
    frames = []

    def known(frame):
        frames.append(frame)
        return np.full((len(frame), 4), 0.25)

    by_call = quick("point").fit(X, sample.y, decision_maker=sample.decision_maker, assignment=known)
    assert len(frames) == 1
    assert frames[0] is X
    by_array = quick("point").fit(
        X, sample.y, decision_maker=sample.decision_maker, assignment=np.full((200, 4), 0.25)
    )
    assert_array_equal(by_call.predict_proba(X), by_array.predict_proba(X))


@pytest.mark.parametrize(
    "estimator",
    [LogisticRegression(), make_pipeline(StandardScaler(), SVC(probability=True)), GaussianNB(), None],
    ids=lambda each: type(each).__name__,
)
def test_the_predicted_class_has_the_highest_score(estimator):
    """Also where a classifier makes its probabilities afterwards, and predicts without them."""
    sample = make_decision_makers(400, random_state=0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FutureWarning)  # scikit-learn is about to drop `probability`
        clf = UCLClassifier(estimator=estimator, nuisance="logistic", random_state=0)
        clf.fit(sample.X, sample.y, decision_maker=sample.decision_maker)
    assert_array_equal(clf.predict(sample.X), clf.decision_function(sample.X).argmax(axis=1))
