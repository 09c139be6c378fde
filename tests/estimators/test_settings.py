"""Settings of the learners of scores: searched as scikit-learn searches, kept in model files."""

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from sklearn import config_context
from sklearn.base import clone
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.model_selection import GridSearchCV

import selective_labels as sl
from selective_labels.estimators.learners import fit_classifier, score_learner
from selective_labels.identification.costs import CostSensitiveProblem
from tests.estimators.samples import fit, make_sample, quick

# Much ridge leaves nothing but the most frequent class, and a warning says so.
pytestmark = pytest.mark.filterwarnings("ignore:the rule predicts")
CHANGED = {
    "linear": sl.LinearScore(ridge=10.0),
    "neural": sl.NeuralScore(hidden_units=2, learning_rate=0.1, max_epochs=3, weight_decay=0.1),
}


@pytest.mark.parametrize("name", CHANGED)
def test_a_name_stands_for_the_usual_settings(name):
    skip_without_torch(name)
    sample = make_sample(300)
    named, given = (fit(quick(estimator=each), sample) for each in (name, score_learner(name)))
    assert_array_equal(named.decision_function(sample.X), given.decision_function(sample.X))
    changed = fit(quick(estimator=CHANGED[name]), sample)
    assert (named.decision_function(sample.X) != changed.decision_function(sample.X)).any()


@pytest.mark.parametrize("name", CHANGED)
def test_settings_are_parameters_and_copies_know_nothing(name):
    skip_without_torch(name)
    sample = make_sample(200)
    learner = clone(CHANGED[name])
    classifier = fit(quick(estimator=learner), sample)
    assert vars(learner) == learner.get_params(), "what was given is left alone"
    copy = clone(classifier)
    assert copy.estimator.get_params() == learner.get_params()
    nested = {key: value for key, value in copy.get_params().items() if key.startswith("estimator__")}
    assert nested == {f"estimator__{key}": value for key, value in learner.get_params().items()}
    assert not hasattr(clone(classifier._scores), "scale")


def test_a_search_chooses_the_ridge_and_identifies_each_fold_once():
    sample = make_sample(400)
    grid = {"estimator__ridge": [1e-4, 1e-1, 1e3]}
    with config_context(enable_metadata_routing=True):
        search = GridSearchCV(
            quick(estimator=sl.LinearScore(), surrogate="cross-entropy"),
            grid,
            cv=2,
            scoring=sl.lower_bound_scorer,
        )
        search.fit(sample.X, sample.y, decision_maker=sample.decision_maker)
    scores = search.cv_results_["mean_test_score"]
    assert search.best_params_ == {"estimator__ridge": grid["estimator__ridge"][int(np.argmax(scores))]}
    assert len(set(scores)) > 1, "the ridge matters"


def test_ridge_draws_coefficients_to_zero():
    sample = make_sample(300)
    sizes = [
        np.abs(fit(quick(estimator=sl.LinearScore(ridge)), sample)._scores.coefficients[:-1]).max()
        for ridge in (1e-4, 1e-1, 1e3)
    ]
    assert sizes[0] > sizes[1] > sizes[2]
    assert sizes[2] < 1e-2


@pytest.mark.parametrize("name", CHANGED)
def test_model_files_hold_them(name, tmp_path):
    skip_without_torch(name)
    sample = make_sample(200)
    classifier = fit(quick(estimator=CHANGED[name]), sample)
    sl.save_model(classifier, tmp_path / "m.skops")
    loaded = sl.load_model(tmp_path / "m.skops").model
    assert_array_equal(loaded.decision_function(sample.X), classifier.decision_function(sample.X))
    assert loaded.estimator.get_params() == CHANGED[name].get_params()


@pytest.mark.parametrize(
    ("learner", "words"),
    [
        (sl.LinearScore(ridge=0.0), r"LinearScore\(ridge=0.0\): ridge must be larger than zero"),
        (sl.LinearScore(ridge=np.inf), "ridge must be larger than zero and finite"),
        (
            sl.NeuralScore(hidden_units=0),
            r"NeuralScore\(hidden_units=0\): must be a whole number, 1 or larger",
        ),
        (sl.NeuralScore(max_epochs=1.5), "max_epochs=1.5.: must be a whole number"),
        (sl.NeuralScore(learning_rate=0.0), "learning_rate=0.0.: must be larger than zero"),
        (sl.NeuralScore(weight_decay=-1.0), "weight_decay=-1.0.: must be 0 or larger"),
    ],
    ids=str,
)
def test_impossible_settings_are_refused_in_one_sentence(learner, words):
    with pytest.raises(sl.InputError, match=words) as error:
        fit(quick(estimator=learner), make_sample(100))
    assert error.value.argument == "estimator"


def test_a_surrogate_goes_with_a_learner_as_with_its_name():
    with pytest.raises(sl.InputError, match="surrogate='hinge' does not go with estimator=LinearScore and 3"):
        fit(quick(estimator=sl.LinearScore(), surrogate="hinge"), make_sample(100))


@pytest.mark.parametrize(("n_classes", "stops"), [(2, True), (3, False)])
def test_boosting_does_not_stop_by_copies_of_the_rows_it_learns(n_classes, stops):
    """More than 10,000 rows; with three classes each stands there three times, and is not set aside."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(10_500, 2))
    gains = rng.dirichlet(np.ones(n_classes), len(X))
    problem = CostSensitiveProblem(X, gains.max(axis=1, keepdims=True) - gains, gains, np.ones(len(X)))
    boosting = HistGradientBoostingClassifier(max_iter=2, max_leaf_nodes=3, random_state=0)
    learned = fit_classifier(problem, boosting).classifier
    assert learned.do_early_stopping_ == stops
    own = fit_classifier(problem, boosting.set_params(early_stopping=True)).classifier
    assert own.do_early_stopping_, "who asks for it gets it"


def skip_without_torch(name):
    if name == "neural":
        pytest.importorskip("torch", reason="optional: PyTorch")
