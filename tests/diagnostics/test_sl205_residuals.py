"""SL205 and the caution of results: who decides must be unpredictable beyond the propensity scores in use."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from scipy.special import softmax

from selective_labels import SelectiveLabels, evaluate
from selective_labels.diagnostics.assignment_residuals import (
    RESIDUALS_CHECK,
    assignment_residuals,
    doubt,
)
from selective_labels.nuisance.cross_fit import cross_fit
from tests.diagnostics import designs
from tests.diagnostics.contexts import context_of, seed


def table_of(drawn, **roles):
    given = {"decision_maker": drawn.decision_maker, "strata": drawn.strata, "groups": drawn.groups}
    return SelectiveLabels.from_arrays(drawn.X, drawn.y, **(given | roles))


def caution(drawn, propensity="auto", **roles):
    """The caution with logistic models; fitted twice less than `evaluate` would."""
    data = table_of(drawn, **roles)
    return doubt(data, cross_fit(data, "logistic", propensity=propensity, cv=3, random_state=0), 0)


@pytest.mark.parametrize("draw", [designs.plain, designs.random_within_strata])
@pytest.mark.parametrize("n_decision_makers", [8, 60])
def test_random_assignment_is_left_alone(draw, n_decision_makers):
    drawn = draw(1500, n_decision_makers, seed(1))
    assert RESIDUALS_CHECK(context_of(drawn)).status == "ok"
    assert caution(drawn) == ""


def test_a_model_that_is_right_is_left_alone():
    drawn = designs.assigned_by_a_feature(1500, 6, seed())
    assert caution(drawn) == ""
    found = caution(drawn, propensity="shares")
    assert "'x0' predicts who decides beyond shares of all cases" in found
    assert "not to be trusted" in found
    assert "Give 'x0', cut into classes, as strata." in found


def test_values_with_few_rows_are_named_and_strata_cure_them():
    drawn = designs.assigned_by_branch(1200, 6, seed())
    modelled = caution(drawn, propensity="model")
    assert "'branch' predicts who decides" in modelled
    assert "too few rows" in modelled
    assert modelled.endswith("Give 'branch' as strata.")
    assert "'branch' predicts who decides beyond shares" in caution(drawn, propensity="shares")
    makers = pd.Series(drawn.decision_maker)
    compared = makers.groupby(drawn.X["branch"]).transform("nunique").to_numpy() > 1
    kept = designs.Drawn(drawn.X[compared], drawn.y[compared], drawn.decision_maker[compared])
    assert caution(kept, strata=kept.X["branch"]) == ""


def test_a_branch_that_does_not_matter_is_left_alone():
    drawn = designs.plain(1200, 6, seed(2))
    X = pd.DataFrame(drawn.X).add_prefix("x")
    X["branch"] = [f"b{each}" for each in np.random.default_rng(0).integers(200, size=1200)]
    assert caution(replace(drawn, X=X)) == ""
    assert caution(replace(drawn, X=X), propensity="model") == ""


def test_a_weekly_roster_is_modelled_from_the_date_or_named():
    drawn = designs.weekly_roster(1500, seed())
    assert caution(drawn) == ""
    assert "'weekday of date' predicts who decides beyond shares" in caution(drawn, propensity="shares")


def test_probabilities_that_the_data_contradict():
    drawn = designs.assigned_by_a_feature(1500, 6, seed())
    places = np.linspace(-1.0, 1.0, 6)
    right = softmax(np.outer(drawn.X[:, 0], places), axis=1)
    assert caution(drawn, assignment=right) == ""
    wrong = caution(drawn, assignment=np.full((1500, 6), 1.0 / 6.0))
    assert "beyond the probabilities given as assignment=" in wrong
    assert "Correct assignment=" in wrong
    # Right given the features, and wrong about how many cases each has: only totals tell.
    lot = designs.plain(1500, 6, seed(3))
    often = np.broadcast_to(np.linspace(1.0, 2.0, 6) / 9.0, (1500, 6))
    assert "more or fewer cases" in caution(lot, assignment=often)
    never = np.broadcast_to([0.0, 0.2, 0.2, 0.2, 0.2, 0.2], (1500, 6))
    assert "more or fewer cases" in caution(lot, assignment=never)


def test_rows_of_one_person_count_once():
    """Each person has four rows alike; counted one by one, any column of persons would predict."""
    drawn = designs.plain(600, 6, seed(4))
    town = [f"t{each}" for each in np.random.default_rng(1).integers(60, size=600)]
    X = pd.DataFrame(drawn.X).add_prefix("x").assign(town=town)
    four = np.repeat(np.arange(600), 4)
    drawn = designs.Drawn(X.iloc[four], drawn.y[four], drawn.decision_maker[four], groups=four)
    data = table_of(drawn)
    fit = cross_fit(data, "logistic", cv=3, random_state=0)
    assert len(assignment_residuals(data, fit, np.random.default_rng(0)).rows) == 600
    assert doubt(data, fit, 0) == ""
    assert doubt(replace(data, groups=None), fit, 0) != ""


def test_nothing_to_test_is_no_caution():
    drawn = designs.plain(80, 4, seed(5))
    assert caution(drawn) == "", "too few rows"
    alone = replace(designs.plain(300, 4, seed(5)), decision_maker=np.zeros(300, dtype=int))
    assert caution(alone) == ""
    assert RESIDUALS_CHECK(context_of(alone)).status == "not applicable"


def test_results_that_need_decision_makers_carry_the_caution():
    drawn = designs.assigned_by_branch(900, 6, seed())
    guess = (drawn.X["age"] > 0).astype(int)
    roles = {"decision_maker": drawn.decision_maker, "nuisance": "logistic", "random_state": 0}
    free, bounds = evaluate(guess, drawn.X, drawn.y, assumption=["none", "instrument"], **roles)
    assert free.sample.cautions == ()
    assert "'branch'" in bounds.sample.cautions[0]
    assert "not to be trusted" in repr(bounds)
    for word in ("valid", "conservative"):
        assert word not in repr(bounds)
