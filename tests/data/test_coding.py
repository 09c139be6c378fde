"""Tables become numbers by relabelling alone, the same from every kind of table, or one clear sentence."""

import datetime as dt
from decimal import Decimal

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from selective_labels import InputError
from selective_labels.data.coding import TableCoding, coded_features, column_names, not_numbers
from selective_labels.data.features import CATEGORY, DATE, NUMBER

COLUMNS = {
    "age": [31.5, None, 4.0],
    "job": ["cook", None, "clerk"],
    "old": [True, False, None],
    "day": [dt.date(1970, 1, 2), None, dt.date(1969, 12, 31)],
    "count": [3, 4, 5],
}
NUMBERS = [[31.5, 0, 1, 1, 3], [np.nan, np.nan, 0, np.nan, 4], [4, 1, np.nan, -1, 5]]


def pandas_objects(columns):
    return pd.DataFrame({name: pd.Series(values, dtype=object) for name, values in columns.items()})


def polars_table(columns):
    return pytest.importorskip("polars", reason="optional: polars").DataFrame(columns)


def arrow_table(columns):
    return pytest.importorskip("pyarrow", reason="optional: pyarrow").table(columns)


@pytest.mark.parametrize("container", [pd.DataFrame, pandas_objects, polars_table, arrow_table])
def test_every_kind_of_table_says_the_same(container):
    coding = TableCoding.of(container(COLUMNS))
    assert coding.kinds == (NUMBER, CATEGORY, NUMBER, DATE, NUMBER)
    numbers, found = coded_features(container(COLUMNS))
    assert_array_equal(numbers, NUMBERS)
    assert found == coding
    assert coding.categorical == (1,)
    assert not_numbers(container(COLUMNS)) == ["job", "day"]


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        (pd.Series(["b", "a", None, "b"], dtype="category"), [0, 1, np.nan, 0]),
        (pd.Series([7, 3, None, 7], dtype="category"), [0, 1, np.nan, 0]),
        (pd.Series(["b", "a", pd.NA, "b"], dtype="string"), [0, 1, np.nan, 0]),
        (pd.Series([1, "1", "a", np.nan], dtype=object), [0, 0, 1, np.nan]),
        (pd.Series([True, None, False, True], dtype="boolean"), [1, np.nan, 0, 1]),
        (pd.Series([Decimal("1.5"), None, Decimal(2), Decimal(3)], dtype=object), [1.5, np.nan, 2, 3]),
        (
            pd.Series(pd.to_datetime([1.5, None, 0.0, 2.0], unit="D")),
            [1.5, np.nan, 0, 2],
        ),
        (pd.Series(pd.to_datetime(["1970-01-02"] * 4).tz_localize("Etc/GMT-6")), [0.75] * 4),
        (pd.Series(pd.to_timedelta([36, None, 0, 48], unit="h")), [1.5, np.nan, 0, 2]),
        (pd.Series([dt.timedelta(1), None, None, None], dtype=object), [1, np.nan, np.nan, np.nan]),
    ],
    ids=[
        "categories",
        "categories of numbers",
        "strings",
        "mixed",
        "booleans with holes",
        "decimals",
        "times",
        "zoned times",
        "durations",
        "durations as objects",
    ],
)
def test_values_become_codes_numbers_or_days(values, expected):
    numbers, _ = coded_features(pd.DataFrame({"text": list("abcd"), "column": values}))
    assert_allclose(numbers[:, 1], expected, atol=1e-12)


def test_dates_have_calendar_parts_and_new_rows_too():
    when = pd.Timestamp("2024-01-01 06:30") + pd.to_timedelta(np.arange(400) * 9, unit="h")
    table = pd.DataFrame({"age": np.arange(400), "when": when, "late": when - when[0]})
    numbers, coding = coded_features(table)
    assert coding.calendar == ((1, "weekday"), (1, "month"), (1, "hour")), "a duration has no parts"
    assert coding.names(table.columns)[3:] == ["weekday of when", "month of when", "hour of when"]
    assert coding.categorical == (3, 4, 5)
    assert_array_equal(numbers[:, 3], when.day_of_week)
    assert_array_equal(numbers[:, 4], when.month - 1)
    assert_array_equal(numbers[:, 5], when.hour)
    new = coding.code(table.assign(when=pd.Timestamp("2030-12-25 23:59:59.999")).head(2))
    assert_array_equal(new.iloc[0, 3:], [2, 11, 23])
    assert np.isnan(coding.code(table.assign(when=pd.NaT).head(2)).iloc[:, 3:]).all(axis=None)


def test_parts_without_two_frequent_values_are_left_out():
    days = pd.DataFrame({"when": pd.Timestamp("2024-01-01") + pd.to_timedelta(np.arange(90) % 31, unit="D")})
    numbers, coding = coded_features(days)
    assert coding.calendar == ((0, "weekday"),), "one month, no time of day"
    alone, fewer = coding.of_rows(numbers[::7])
    assert alone.calendar == ()
    assert fewer.shape == (13, 1)


def test_what_holds_only_numbers_is_not_touched():
    table = pd.DataFrame({"age": [31, 40], "old": [True, False]})
    assert TableCoding.of(table).code(table) is table
    array = np.eye(2)
    assert TableCoding.of(array) is None
    numbers, coding = coded_features(array)
    assert numbers is array
    assert coding is None


def test_late_values_decide_what_a_column_of_objects_holds():
    late = pd.Series([None] * 500 + [1.5, 2.0], dtype=object)
    assert TableCoding.of(pd.DataFrame({"late": late})).kinds == (NUMBER,)
    late.iloc[-1] = "a"
    assert TableCoding.of(pd.DataFrame({"late": late})).kinds == (CATEGORY,)


def test_new_values_get_one_code_of_their_own():
    coding = TableCoding.of(pd.DataFrame({"job": ["cook", "clerk"]}))
    new = coding.code(pd.DataFrame({"job": ["pilot", "clerk", "baker", None]}))
    assert_array_equal(new["job"], [2, 1, 2, np.nan])


def test_numbers_are_the_categories_that_their_text_names():
    coding = TableCoding.of(pd.DataFrame({"beat": ["3", "7"]}))
    # A file that holds only numbers today is read as numbers; beside holes they become floats.
    assert_array_equal(coding.code(pd.DataFrame({"beat": [7.0, np.nan, 3.0]}))["beat"], [1, np.nan, 0])


@pytest.mark.parametrize("empty", [[None, None], [np.nan, np.nan]], ids=["None", "NaN"])
@pytest.mark.parametrize("values", [[1.0, 2.0], ["a", "b"], [dt.date(2020, 1, 1)] * 2], ids=str)
def test_a_column_without_values_fits_every_kind(values, empty):
    coding = TableCoding.of(pd.DataFrame({"x": values, "text": ["a", "b"]}))
    assert np.isnan(coding.code(pd.DataFrame({"x": empty, "text": ["a", "b"]}))["x"]).all()


@pytest.mark.parametrize(
    ("before", "now", "message"),
    [
        (
            1.5,
            "cook",
            "'x' that held numbers in fit and now holds text or categories .such as 'cook'.; give num",
        ),
        (
            dt.date(2020, 1, 1),
            1.5,
            "'x' that held dates in fit and now holds numbers .such as '1.5'.; give dates",
        ),
        (dt.date(2020, 1, 1), "2020-01-02", "'x' that held dates in fit and now holds text"),
        (1.5, dt.date(2020, 1, 1), "'x' that held numbers in fit and now holds dates .such as '2020-01-01'."),
    ],
)
def test_a_column_that_changed_its_kind_is_named_with_a_value(before, now, message):
    coding = TableCoding.of(pd.DataFrame({"x": [before]}))
    with pytest.raises(ValueError, match=message):
        coding.code(pd.DataFrame({"x": [None, now]}))


def test_an_array_cannot_stand_for_a_table_with_text():
    coding = TableCoding.of(pd.DataFrame({"job": ["cook"]}))
    with pytest.raises(ValueError, match="X is an array, and fit had a table with text or dates"):
        coding.code(np.zeros((2, 1)))


@pytest.mark.parametrize(
    ("table", "message"),
    [
        (
            lambda: polars_table({"x": [[1], [2]]}),
            "column 'x' of type List.* neither number, text, category nor",
        ),
        (lambda: polars_table({"x": [dt.time(1), None]}), "column 'x' of type Time"),
        (
            lambda: pd.DataFrame({"x": [{"a": 1}, "b"]}),
            "column 'x' whose values are neither numbers, text nor",
        ),
        (lambda: pd.DataFrame({"x": [1j, 0j], "text": ["a", "b"]}), "column 'x' of type complex"),
        (lambda: pd.DataFrame([[1, "a"]], columns=["x", "x"]), "several columns named 'x'"),
        (lambda: pd.DataFrame({"x": [np.inf, 0.0], "text": ["a", "b"]}), "infinity"),
        (lambda: np.array([[np.inf, 0.0]]), "infinity"),
        (lambda: np.empty((0, 2)), "0 sample"),
        (lambda: np.array([["a"], [1]], dtype=object), "could not convert string to float: 'a'"),
    ],
    ids=[
        "lists",
        "times of day",
        "objects",
        "complex numbers",
        "repeated names",
        "infinite in a table",
        "infinite",
        "empty",
        "text in an array",
    ],
)
def test_what_cannot_be_a_feature_is_named(table, message):
    with pytest.raises(InputError, match=message) as caught:
        coded_features(table())
    assert caught.value.argument == "X"


@pytest.mark.parametrize(
    ("X", "message"),
    [
        (np.zeros(3, dtype=[("age", float), ("debt", float)]), "X is a structured array; give a table"),
        (np.zeros(3), r"1D array as X; give X.reshape\(-1, 1\)"),
        (pd.Series([1.0, 2.0]), "X is one column; give a table"),
        (pd.DataFrame({"age": [1.0], "debt": [np.inf]}), "holds infinity or .* in column 'debt'"),
    ],
)
def test_what_is_no_table_is_one_sentence(X, message):
    with pytest.raises(InputError, match=message) as caught:
        coded_features(X)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("container", [pd.DataFrame, polars_table, arrow_table])
def test_names_of_columns(container):
    assert column_names(container(COLUMNS)) == list(COLUMNS)
