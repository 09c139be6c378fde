"""Features: names and patterns, kinds, ids, leaks."""

import numpy as np
import pandas as pd
import pytest

from selective_labels import InputError
from selective_labels._errors import TableError
from selective_labels.data.features import kind_by_content
from selective_labels.io.prepare import FeatureRules, as_kind, chosen_columns, label_values, prepare_table
from selective_labels.io.table_roles import Roles

ROLES = Roles(label="failed", decision_maker="officer", decision="released")
N = 200


@pytest.fixture
def frame():
    rng = np.random.default_rng(0)
    released = rng.integers(0, 2, N)
    failed = rng.choice(["no", "yes"], N)
    return pd.DataFrame(
        {
            "case": [f"c{number}" for number in range(N)],
            "age": rng.normal(40, 9, N).round(1),
            "job": rng.choice(["cook", "clerk", None], N),
            "day": pd.date_range("2024-01-01", periods=N).strftime("%Y-%m-%d"),
            "officer": rng.choice(["a", "b", "c"], N),
            "released": released,
            "failed": np.where(released == 1, failed, None),
        }
    )


def refused(frame, roles=ROLES, **rules):
    with pytest.raises(TableError) as caught:
        prepare_table(frame, roles, FeatureRules(**rules))
    return str(caught.value)


def test_all_columns_without_a_role_are_features_but_ids(frame):
    table = prepare_table(frame, ROLES)
    assert table.kinds == {"age": "number", "job": "category", "day": "date"}
    assert [each.name for each in table.left_out] == ["case"], "every value of it is different"


def test_an_id_that_is_named_is_a_feature(frame):
    assert "case" in prepare_table(frame, ROLES, FeatureRules(features=["case", "age"])).kinds


def test_whole_numbers_that_are_all_different_are_an_id(frame):
    table = prepare_table(frame.assign(number=np.arange(N)), ROLES)
    assert "number" in [each.name for each in table.left_out]


def test_few_rows_have_no_ids(frame):
    assert "case" in prepare_table(frame.iloc[:40], ROLES).kinds


def test_a_pattern_passes_over_columns_with_a_role(frame):
    assert list(prepare_table(frame, ROLES, FeatureRules(features=["*"], exclude=["case"])).kinds) == [
        "age",
        "job",
        "day",
    ]


def test_a_role_named_as_a_feature_is_refused(frame):
    assert "names 'officer', which has another role" in refused(frame, features=["officer"])


def test_a_pattern_that_matches_nothing_is_refused(frame):
    assert "--features 'x_*' is not a column" in refused(frame, features=["x_*"])


def test_a_comma_may_belong_to_a_name():
    assert chosen_columns(["a,b", "a", "b"], ["a,b"])[0] == ["a,b"]


@pytest.mark.parametrize(
    ("column", "words"), [("failed", "the label 'failed'"), ("released", "the decision")]
)
def test_a_column_that_gives_a_role_away_is_named(frame, column, words):
    frame["copy"] = frame[column].fillna("unknown").map({"no": 3, "yes": 4, "unknown": 5, 0: 0, 1: 1})
    message = refused(frame)
    assert message.startswith(f"Column 'copy' (nearly) gives away {words}")
    assert "copy" in prepare_table(frame, ROLES, FeatureRules(allow_leak=["copy"])).kinds


def test_a_decision_that_is_left_among_features_is_recognised(frame):
    roles = Roles(label="failed", decision_maker="officer")
    assert "'released' (nearly) gives away whether the label is seen" in refused(frame, roles)


@pytest.mark.parametrize(
    ("values", "kind"),
    [
        ([True, False, None], "number"),
        (["1", "2.5", None], "number"),
        ([None, None], "number"),
        (["2024-01-31", "2023-12-01 10:30"], "date"),
        (["2024/01/31", None], "date"),
        (["31/12/2024", "01/02/2024"], "date"),
        (["01/02/2024", "03/04/2024"], "category"),  # day and month cannot be told apart
        (["2024-01-31", "soon"], "category"),
        (["1", "x"], "category"),
    ],
)
def test_kinds_are_read_from_values(values, kind):
    assert kind_by_content(pd.Series(values, dtype=object)) == kind


def test_a_few_words_among_numbers_stop_with_column_value_and_row():
    column = pd.Series([str(number) for number in range(300)], name="age")
    column[41] = "forty"
    with pytest.raises(InputError, match=r"Column 'age' holds numbers, but row 42 holds 'forty' \(1 such"):
        kind_by_content(column)


def test_a_category_of_numbers_is_text_without_decimals():
    text = as_kind(pd.Series([1.0, None, 2.0]), "category")
    assert text.dropna().tolist() == ["1", "2"]
    assert text.isna().tolist() == [False, True, False]


def test_lists_are_no_features():
    with pytest.raises(InputError, match="Column 'tags' holds values of type list"):
        kind_by_content(pd.Series([["a"], ["b"]], name="tags"))


@pytest.mark.parametrize(
    ("values", "words"),
    [
        (["2024-01-31", "2024-02-01"], "holds dates"),
        ([0.5, 1.5], "holds decimal numbers"),
        ([str(number) for number in range(101)], "holds 101 different values"),
    ],
)
def test_what_is_no_class_is_no_label(values, words):
    with pytest.raises(TableError, match=words):
        label_values(pd.Series(values, name="y"))


def test_whole_numbers_that_no_float_can_hold_are_classes():
    long = pd.Series([10**400, 10**400 + 1], name="y", dtype=object)
    assert label_values(long).tolist() == long.tolist()


def test_numbers_beyond_what_floats_count_stay_as_they_are():
    assert label_values(pd.Series([0.0, 1e300])).tolist() == [0.0, 1e300]


def test_labels_behind_a_decision_against_are_not_looked_at():
    labels = label_values(pd.Series([0.0, 1.0, 0.5]), pd.Series([1, 1, 0]))
    assert labels[:2].tolist() == [0.0, 1.0]


@pytest.mark.parametrize(
    ("column", "value", "words"),
    [
        ("released", 2, "(1 row), and nothing says which of them reveals"),
        ("officer", None, "The decision-maker 'officer' is missing"),
    ],
)
def test_messages_of_the_library_name_the_column(frame, column, value, words):
    frame.loc[3, column] = value
    assert words in refused(frame)


def test_a_hole_where_the_decision_is_one_is_refused(frame):
    frame["released"] = 1
    assert "The label 'failed' is missing where decision is 1" in refused(frame)
