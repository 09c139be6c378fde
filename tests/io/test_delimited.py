"""Ids and labels of a file are as they are written: nothing merges, and nothing else changes."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from selective_labels.io.delimited import read_names
from selective_labels.io.read import read_table


@pytest.mark.parametrize(
    "pair",
    [
        ("07", "7"),
        ("1e5", "100000"),
        ("9007199254740992", "9007199254740993"),
        ("18446744073709551616", "18446744073709551617"),
        ("1.0", "1"),
        ("1.10", "1.1"),
        ("+5", "5"),
        (" 5", "5"),
        ("-0", "0"),
        ("True", "TRUE"),
        ("0x10", "16"),
        ("1_000", "1000"),
        ("1" * 400, "1" * 399 + "2"),
    ],
)
@pytest.mark.parametrize("with_hole", [False, True])
def test_two_names_in_a_file_are_two_names(tmp_path, pair, with_hole):
    """Broke: pandas read both as one number."""
    path = tmp_path / "cases.csv"
    path.write_text("who,n\n" + "".join(f"{name},1\n" for name in pair) + (",2\n" if with_hole else ""))
    column = read_table(path, names=["who"])["who"].dropna()
    assert column.nunique() == 2
    assert len({str(value) for value in column}) == 2


@given(
    st.lists(st.text(st.characters(codec="ascii", categories=["L", "N", "P", "Zs"]), min_size=1, max_size=6))
)
def test_different_names_stay_different(names):
    names = sorted(set(names))
    assert read_names(pd.Series(names, dtype=object)).nunique() == len(names)


@pytest.mark.parametrize(
    ("cells", "values", "kind"),
    [
        (["0", "1"], [0, 1], "i"),
        (["0", "1", None], [0, 1, None], "i"),
        (["0.0", "1.0", None], [0, 1, None], "i"),
        (["9007199254740993", None], [9007199254740993, None], "i"),
        (["0.25", "12.5"], [0.25, 12.5], "f"),
        (["True", "False"], [True, False], "b"),
        (["07", "08"], ["07", "08"], "O"),
        (["1e5", "2e7"], ["1e5", "2e7"], "O"),
        (["yes", "1"], ["yes", "1"], "O"),
    ],
)
def test_what_is_plainly_a_number_is_one(cells, values, kind):
    column = read_names(pd.Series(cells, dtype=object))
    assert [None if pd.isna(value) else value for value in column.tolist()] == values
    assert getattr(column.dtype, "kind", "O") == kind


def test_large_whole_numbers_of_parquet_stay_apart_beside_holes(tmp_path):
    """Broke: holes made floats of them, which merge beyond 2**53."""
    pytest.importorskip("pyarrow", reason="optional: Parquet needs pyarrow")
    who = pd.array([2**53, 2**53 + 1, None], dtype="Int64")
    pd.DataFrame({"who": who, "small": pd.array([1, 2, None], dtype="Int64")}).to_parquet(
        tmp_path / "cases.parquet", index=False
    )
    frame = read_table(tmp_path / "cases.parquet")
    assert frame["who"].dropna().astype(object).tolist() == [2**53, 2**53 + 1]


def test_features_are_read_as_ever(tmp_path):
    path = tmp_path / "cases.csv"
    path.write_text("x,who\n0.1,07\n1e5,7\n")
    pd.testing.assert_series_equal(read_table(path, names=["who"])["x"], read_table(path)["x"])
    assert np.issubdtype(read_table(path, names=["who"])["x"].dtype, np.floating)
