"""Learning with a continuous instrument."""

import warnings

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

import selective_labels as sl
from selective_labels import DiagnosticWarning, InputError, load_model, save_model
from tests import numeric_designs as designs


def fitted(drawn, **settings):
    given = {"estimator": "plug-in", "nuisance": "logistic", "instrument": "numeric", "random_state": 0}
    return sl.UCLClassifier(**(given | settings)).fit(drawn.X, drawn.y, decision_maker=drawn.z)


@pytest.fixture(scope="module")
def drawn():
    return designs.draw(4000, designs.confounded_leniency, 0)


def test_the_slack_is_that_of_the_population(drawn):
    """As names: .50. In 12 samples: mean .177, standard deviation .021; the population's: .161."""
    new = designs.draw(2000, designs.confounded_leniency, 1)
    slack = 1.0 - fitted(drawn).predict_bounds(new.X).lower.sum(axis=1).mean()
    best = 1.0 - designs.population_lower(new.X, designs.confounded_leniency, 2.0).sum(axis=1).mean()
    assert best - 0.09 < slack < best + 0.12  # five standard deviations from the mean


def test_an_increasing_map_changes_little_and_a_shift_or_scale_nothing(drawn):
    bounds = fitted(drawn).predict_bounds(drawn.X[:300]).lower
    for z, near in ((100.0 + 3.0 * drawn.z, 1e-6), (np.exp(drawn.z), 0.1)):
        moved = designs.Numeric(drawn.X, drawn.y, z, drawn.truth, drawn.labels)
        assert_allclose(fitted(moved).predict_bounds(drawn.X[:300]).lower, bounds, atol=near)


def test_scoring_puts_new_numbers_at_the_nearest_value(drawn):
    classifier = fitted(drawn)
    assert len(classifier.decision_makers_) == 20
    new = designs.draw(1000, designs.confounded_leniency, 1)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        score = classifier.score(new.X, new.y, decision_maker=new.z)
    rule = np.mean(classifier.predict(new.X) == new.labels)
    assert 0.0 < score < rule + 0.1


def test_the_learner_can_be_saved(drawn, tmp_path):
    classifier = fitted(drawn)
    save_model(classifier, tmp_path / "model.skops")
    loaded = load_model(tmp_path / "model.skops").model
    assert_array_equal(loaded.predict(drawn.X[:50]), classifier.predict(drawn.X[:50]))


def test_few_values_keep_all_of_them():
    drawn = designs.draw(1000, designs.confounded_leniency, 0)
    levels = designs.Numeric(drawn.X, drawn.y, np.round(drawn.z).astype(int), drawn.truth, drawn.labels)
    assert_array_equal(fitted(levels).decision_makers_, [-2, -1, 0, 1, 2])


@pytest.mark.parametrize("mode", ["partial", "point"])
@pytest.mark.parametrize(
    ("ids", "message"),
    [
        (lambda z: z.round(1).astype(str), "needs a decision_maker of numbers"),
        (lambda z: np.where(z > 1.9, np.inf, z), "is infinite in some rows"),
        (lambda z: np.where(z > 1.9, np.nan, z), "decision_maker is missing"),
    ],
)
def test_what_is_no_number_is_refused_in_one_sentence(drawn, mode, ids, message):
    given = designs.Numeric(drawn.X, drawn.y, ids(drawn.z), drawn.truth, drawn.labels)
    with pytest.raises(InputError, match=message):
        fitted(given, mode=mode)


@pytest.mark.filterwarnings("ignore:the rule predicts")  # of wide bounds, which are not the subject
def test_many_numbers_as_names_are_warned_of():
    drawn = designs.draw(600, designs.confounded_leniency, 0)
    with pytest.warns(DiagnosticWarning, match="SL304 .* 600 different numbers, .* instrument='numeric'"):
        fitted(drawn, instrument="leniency")


@pytest.mark.filterwarnings("ignore:the rule predicts")  # of wide bounds, which are not the subject
def test_values_that_cases_hardly_have_are_not_used():
    """z follows x_1 closely: for a small x_1, large z are for the model to make up."""
    drawn = designs.draw(3000, designs.confounded_leniency, 0, follows=40.0)
    X = np.tile([[0.0, -2.0, 0.0]], (1, 1))
    identified = fitted(drawn)._identified
    leniency = 1.0 - np.mean([fold.joint(X)[:, 0, 0] for fold in identified.joint.folds], axis=0)
    seen = identified.bounds(X).lower.sum()
    assert identified.joint.report.assignment.depends_on_features
    assert seen < leniency.max() - 0.2


def test_point_mode_takes_one_step_from_the_plug_in():
    drawn = designs.draw(4000, designs.additive_leniency, 0)
    classifier = fitted(drawn, mode="point")
    found = classifier.predict_proba(drawn.X)
    assert_allclose(found.sum(axis=1), 1.0)
    assert_allclose(classifier.one_step_.sum(), 0.0, atol=1e-9)
    assert np.abs(classifier.one_step_).max() > 0.0
    # Of 60 samples the mean error has a standard deviation of .05; the labeled cases alone are .05 off.
    assert np.abs(found.mean(axis=0) - drawn.truth.mean(axis=0)).max() < 0.25


def test_given_probabilities_need_no_step():
    drawn = designs.draw(300, designs.additive_leniency, 0)
    levels = designs.Numeric(drawn.X, drawn.y, np.round(drawn.z).astype(int), drawn.truth, drawn.labels)
    joint = np.random.default_rng(0).dirichlet(np.ones(4), size=5)
    classifier = fitted(levels, mode="point", nuisance=lambda X: np.tile(joint, (len(X), 1, 1)))
    assert classifier.one_step_ is None


def weak_leniency(X, z, u):
    """NUCEM, and a number that hardly moves decisions: over its whole range by four points."""
    return designs.additive_leniency(X, 0.1 * z, u)


def test_a_weak_number_falls_back_to_the_labeled_rows_as_leniency_does():
    drawn = designs.draw(1500, weak_leniency, 0)
    drawn = designs.Numeric(drawn.X, drawn.y, np.round(drawn.z).astype(int), drawn.truth, drawn.labels)
    with pytest.warns(DiagnosticWarning, match="SL101"):
        number, names = (fitted(drawn, mode="point", instrument=each) for each in ("numeric", "leniency"))
    assert number.mode_ == names.mode_ == "labeled-only"
    assert number.one_step_ is None
    assert_allclose(number.predict_proba(drawn.X[:50]), names.predict_proba(drawn.X[:50]), atol=0.05)


def falling_for_some(X, z, u):
    """The number raises the leniency of cases with x_1 > 0 and lowers that of the others."""
    return designs.additive_leniency(X, np.sign(X[:, 0]) * z, u)


def test_a_number_that_lowers_the_leniency_of_some_cases_is_strong():
    """The mean covariance is near zero: without the sign of each case the first stage would have t near 0."""
    drawn = designs.draw(4000, falling_for_some, 0)
    assert fitted(drawn, mode="point")._identified.concentration > 50
