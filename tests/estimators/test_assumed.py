"""Learning under a combination of assumptions."""

import warnings

import numpy as np
import pytest
from scipy.special import expit
from sklearn import config_context
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV

import selective_labels as sl
from selective_labels import InputError
from selective_labels.assumptions import (
    Informed,
    Instrument,
    LabelRange,
    Nucem,
    Prevalence,
    Refused,
    SameRanking,
)

QUICK = {"estimator": "plug-in", "nuisance": "logistic", "cv": 2, "random_state": 0}
INSTRUMENT = Instrument()


@pytest.fixture(scope="module")
def sample():
    return sl.datasets.make_decision_makers(
        1500, n_classes=2, n_decision_makers=4, mirrored=True, additive=False, random_state=0
    )


def fitted(sample, assumption, **settings):
    classifier = sl.UCLClassifier(assumption=assumption, **QUICK | settings)
    return classifier.fit(sample.X, sample.y, decision_maker=sample.decision_maker)


def test_the_instrument_alone_is_the_default(sample):
    default = fitted(sample, None)
    for assumption in ("instrument", INSTRUMENT, INSTRUMENT & SameRanking()):
        again = fitted(sample, assumption)
        np.testing.assert_array_equal(again.predict(sample.X), default.predict(sample.X))
        assert again.worst_case_regret_ == default.worst_case_regret_


def test_informed_raises_the_adverse_class_and_keeps_the_other_rule(sample):
    informed = fitted(sample, INSTRUMENT & Informed(1, direction_known=True))
    alone = fitted(sample, None)
    assert informed.predict(sample.X).mean() > alone.predict(sample.X).mean()
    np.testing.assert_array_equal(informed.predict_by_instrument(sample.X), alone.predict(sample.X))
    assert 0.0 < informed.disagreement_ < 1.0
    raised = informed.predict_bounds(sample.X).lower[:, 1] - alone.predict_bounds(sample.X).lower[:, 1]
    assert (raised >= -1e-9).all()
    assert informed.worst_case_regret_ < alone.worst_case_regret_


def test_the_direction_must_be_known_or_refutable(sample):
    with pytest.raises(InputError, match="direction_known=True"):
        fitted(sample, INSTRUMENT & Informed(1))
    share = float(sample.y_true.mean())
    both = fitted(sample, INSTRUMENT & Informed(1) & Prevalence(1, share))
    assert abs(both.predict(sample.X).mean() - share) < 0.25


def test_a_known_share_moves_the_rule_its_way(sample):
    shares = [
        fitted(sample, INSTRUMENT & Prevalence(1, each)).predict(sample.X).mean() for each in (0.35, 0.5)
    ]
    assert shares[0] < shares[1]


@pytest.mark.parametrize("estimator", ["linear", None])
def test_learners_take_it_too(sample, estimator):
    classifier = fitted(sample, INSTRUMENT & Refused(1, at_least=1.0), estimator=estimator)
    assert classifier.predict(sample.X).shape == (1500,)
    assert classifier.predict_by_instrument(sample.X).shape == (1500,)


def test_three_classes_with_an_event_of_two():
    sample = sl.datasets.make_decision_makers(900, n_classes=3, n_decision_makers=3, random_state=0)
    classifier = fitted(sample, INSTRUMENT & Refused((0, 1), at_least=1.0, at_most=2.0))
    assert classifier.predict_set(sample.X).any(axis=1).all()
    assert classifier.decided(sample.X).shape == (900,)


@pytest.mark.parametrize(
    ("assumption", "settings", "words"),
    [
        (Nucem(), {}, "Instrument"),
        (Prevalence(1, 0.5), {}, "Instrument"),
        (INSTRUMENT & Refused(1, at_most=2.0), {"mode": "point"}, "mode='partial'"),
        (INSTRUMENT & LabelRange(0.1, 0.9), {"label_range": (0.2, 0.8)}, "twice"),
        (INSTRUMENT & Prevalence(1, 0.5), {"cost": "balanced"}, "balanced"),
        (INSTRUMENT & Prevalence(1, (("a", 0.5),), by="b"), {}, "everybody"),
    ],
)
def test_what_does_not_go_together_is_said(sample, assumption, settings, words):
    with pytest.raises(InputError, match=words):
        fitted(sample, assumption, **settings)


def test_clone_parameters_and_search(sample):
    assumption = INSTRUMENT & Refused(1, at_least=1.0)
    classifier = sl.UCLClassifier(assumption=assumption, **QUICK)
    assert clone(classifier).get_params()["assumption"] == assumption
    options = {"assumption": [None, assumption]}
    with config_context(enable_metadata_routing=True):
        search = GridSearchCV(sl.UCLClassifier(**QUICK), options, cv=2, scoring=sl.lower_bound_scorer)
        search.fit(sample.X[:600], sample.y[:600], decision_maker=sample.decision_maker[:600])
    assert search.best_params_["assumption"] in (None, assumption)


def test_a_saved_model_has_its_assumption(sample, tmp_path):
    classifier = fitted(sample, INSTRUMENT & Informed(1) & Prevalence(1, 0.5))
    sl.save_model(classifier, tmp_path / "model.slm")
    again = sl.load_model(tmp_path / "model.slm").model
    assert again.assumption == classifier.assumption
    np.testing.assert_array_equal(again.predict(sample.X), classifier.predict(sample.X))


def test_nothing_is_learned_from_an_assumption_that_the_data_contradict(sample):
    with pytest.raises(
        InputError, match=r"prevalence\(1, 0.05\)' is contradicted: .* puts the share at at least"
    ):
        fitted(sample, INSTRUMENT & Prevalence(1, 0.05))
    with pytest.raises(InputError, match=r"contradicted: the lower bounds that it implies sum to 1\."):
        fitted(sample, INSTRUMENT & Refused(1, 0.0, 0.01))


def test_a_share_a_little_beyond_what_is_possible_is_doubtful(sample):
    with pytest.warns(sl.DiagnosticWarning, match="SL1001 .* doubtful"):
        classifier = fitted(sample, INSTRUMENT & Prevalence(1, 0.59))  # at most .522, standard error .024
    assert "nearly contradicted" in classifier.cautions_[-1]


def test_fit_says_that_a_direction_is_doubtful():
    generator = np.random.default_rng(0)
    X, hidden, makers = generator.normal(size=(3000, 2)), generator.normal(size=3000), np.arange(3000) % 8
    y_true = (generator.random(3000) < expit(X[:, 0] + 1.5 * hidden)).astype(int)
    seen = generator.random(3000) < expit(np.linspace(-1.5, 1.5, 8)[makers] - 1.5 * hidden)
    for adverse, cautions in ((1, 0), (0, 1)):
        assumed = INSTRUMENT & Informed(adverse, direction_known=True)
        with warnings.catch_warnings(record=True) as told:
            warnings.simplefilter("always", sl.DiagnosticWarning)
            found = sl.UCLClassifier(**QUICK, assumption=assumed)
            found.fit(X, np.where(seen, y_true, -1), decision_maker=makers)
        assert [each.message.code for each in told] == ["SL1006"] * cautions
        assert len(found.cautions_) == cautions


def test_fit_says_that_who_decides_is_not_as_given(sample):
    generator = np.random.default_rng(0)
    makers = (generator.normal(size=1500) + 2.0 * np.sin(4.0 * sample.X[:, 0]) > 0.0).astype(int)
    seen = generator.random(1500) < np.where(makers == 1, 0.8, 0.3)
    roles = {"decision_maker": makers, "assignment": np.full((1500, 2), 0.5)}
    with pytest.warns(sl.DiagnosticWarning, match="SL205"):
        sl.UCLClassifier(**QUICK).fit(sample.X, np.where(seen, sample.y_true, -1), **roles)
