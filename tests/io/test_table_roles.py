"""Roles of columns: given, or guessed from names and contents."""

import pandas as pd
import pytest

from selective_labels._errors import TableError
from selective_labels.io.table_roles import find_roles


@pytest.fixture
def frame():
    seen = [1, 1, 0] * 10
    return pd.DataFrame(
        {
            "age": range(30),
            "smoker": [0, 1, None] * 10,
            "officer": ["a", "b"] * 15,
            "region_id": [1, 2, 3] * 10,
            "released": seen,
            "failed": ["no", "yes", None] * 10,
        }
    )


def refused(frame, **given):
    with pytest.raises(TableError) as caught:
        find_roles(frame, given)
    return str(caught.value)


def test_nothing_is_guessed_if_label_and_decision_maker_are_given(frame):
    roles, guessed = find_roles(frame, {"label": "failed", "decision_maker": "officer"})
    assert guessed == {}
    assert roles.decision is None


def test_names_and_contents_tell_the_roles(frame):
    roles, guessed = find_roles(frame, {})
    assert (roles.label, roles.decision, roles.decision_maker) == ("failed", "released", "officer")
    assert guessed.keys() == {"label", "decision", "decision_maker"}


def test_a_decision_that_does_not_match_the_label_is_not_guessed(frame):
    frame.loc[0, "released"] = 0
    assert find_roles(frame, {})[0].decision is None


def test_two_labels_of_equal_standing_are_not_chosen_between(frame):
    frame = frame.rename(columns={"failed": "first", "smoker": "second"})
    assert "Several columns could be the label ('second', 'first')" in refused(frame)


def test_a_table_without_a_decision_maker_says_which_option_to_give(frame):
    message = refused(frame.drop(columns=["officer", "region_id"]))
    assert message == "No column looks like the decision-maker; give --decision-maker COLUMN."


def test_a_column_that_does_not_exist_is_named_with_a_near_one(frame):
    message = refused(frame, label="failled", decision_maker="officer")
    assert message == "--label 'failled' is not a column of the table; did you mean 'failed'?"


def test_one_column_has_one_role(frame):
    message = refused(frame, label="failed", decision_maker="failed")
    assert message == "Column 'failed' is given both as --label and --decision-maker."
