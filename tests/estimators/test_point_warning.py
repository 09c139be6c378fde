"""Point learning says so, with the code of the check, where a diagnosis would not allow it."""

import warnings

import pytest

import selective_labels as sl


def fit_point(sample):
    classifier = sl.UCLClassifier("point", "plug-in", nuisance="logistic", random_state=0)
    return classifier.fit(sample.X, sample.y, decision_maker=sample.decision_maker)


def test_decision_makers_who_hardly_differ_are_named_by_their_code():
    with pytest.warns(UserWarning, match=r"SL101 .*diagnose"):
        fit_point(sl.datasets.make_decision_makers(2000, leniency_spread=0.0, random_state=0))


def test_a_design_that_fits_is_not_accused():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        fit_point(sl.datasets.make_decision_makers(4000, random_state=0))


def test_evaluation_under_nucem_warns_with_the_same_code():
    sample = sl.datasets.make_decision_makers(2000, leniency_spread=0.0, random_state=0)
    with pytest.warns(UserWarning, match="SL101"):
        sl.evaluate(
            sample.y_true,
            sample.X,
            sample.y,
            decision_maker=sample.decision_maker,
            assumption="nucem",
            nuisance="logistic",
            random_state=0,
        )
