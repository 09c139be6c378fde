"""A result says what was found about how cases reach decision-makers."""

import warnings

import numpy as np
import pytest
from scipy.special import expit, softmax

from selective_labels import compare, evaluate

N_SAMPLES = 1200


def cases(index, seed=0):
    """Labels, decisions and assignment that follow one index of the features."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(N_SAMPLES, 3))
    s = index(X)
    chances = softmax(np.outer(s, np.linspace(-1.5, 1.5, 4)), axis=1)
    z = (rng.random(N_SAMPLES)[:, None] > chances.cumsum(axis=1)).sum(axis=1).clip(max=3)
    u = rng.normal(size=N_SAMPLES)
    label = (rng.random(N_SAMPLES) < expit(-2.4 * s + 1.6 * u)).astype(int)
    decided = rng.random(N_SAMPLES) < expit(z - 1.5 + 1.2 * s + u)
    return X, np.where(decided, label, -1), z, (s < 0).astype(int)


def run(index, **options):
    X, y, z, guess = cases(index)
    options = {"nuisance": "logistic", "random_state": 0} | options
    return evaluate(guess, X, y, decision_maker=z, **options)


def test_a_model_that_is_used_is_named():
    result = run(lambda X: X[:, 0] * X[:, 1], assumption=["none", "instrument"])
    free, instrument = result
    assert "Who decides depends on the features: a model (quadratic)" in instrument.sample.assignment
    assert "is used" in repr(instrument)
    assert "smallest" in repr(instrument)
    assert free.sample.assignment == ""  # it does without decision-makers
    assert instrument.to_dict()["assignment"] == instrument.sample.assignment


def test_shares_need_no_words():
    result = run(lambda X: np.zeros(len(X)))
    assert result.sample.assignment == ""
    assert "Who decides" not in repr(result)
    # And they are what one gets by asking for them.
    asked = run(lambda X: np.zeros(len(X)), propensity="shares")
    assert (result.ci_lower, result.ci_upper) == (asked.ci_lower, asked.ci_upper)


def test_an_interval_that_rests_on_trees_that_still_learn_is_not_to_be_trusted():
    def steps(X):
        return np.sign(np.sin(2.5 * X[:, 0])) * np.sign(X[:, 1])

    with pytest.warns(UserWarning, match="The interval is not to be trusted"):
        result = run(steps, cv=2)
    assert "It has not settled" in repr(result)
    X, y, z, guess = cases(steps)
    with pytest.warns(UserWarning, match="The interval is not to be trusted"):
        difference = compare(
            guess, 1 - guess, X, y, decision_maker=z, nuisance="logistic", cv=2, random_state=0
        )
    assert "not to be trusted" in repr(difference)


def test_who_knows_the_probabilities_is_not_warned():
    X, y, z, guess = cases(lambda X: np.sign(X[:, 0]))
    chances = softmax(np.outer(np.sign(X[:, 0]), np.linspace(-1.5, 1.5, 4)), axis=1)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        result = evaluate(
            guess, X, y, decision_maker=z, assignment=chances, nuisance="logistic", random_state=0
        )
    assert "depends on the features" not in repr(result)
