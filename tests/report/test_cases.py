"""Bins that people can read, whatever is in the column."""

import numpy as np
import pandas as pd
import pytest

from selective_labels.report.cases import Column, binned, read_columns, share_by_feature


def bins_of(values, kind="number"):
    return binned(Column("x", kind, pd.Series(values)))


def test_quartiles_hold_a_quarter_each():
    bins = bins_of(np.random.default_rng(0).permutation(1000))
    assert np.bincount(bins.codes).tolist() == [250, 250, 250, 250]
    assert bins.labels == ["below 250", "250 to below 500", "500 to below 750", "750 or more"]


def test_a_value_that_fills_a_quarter_makes_fewer_bins():
    bins = bins_of([0] * 60 + list(range(1, 41)))
    assert bins.labels == ["0 to below 16", "16 or more"]
    assert np.bincount(bins.codes).tolist() == [75, 25]


def test_few_numbers_are_bins_of_their_own():
    assert bins_of([2, 0, 2, np.nan]).labels == ["0", "2", "missing"]


def test_close_numbers_are_told_apart():
    labels = bins_of(1000.0 + np.arange(100) / 1e6).labels
    assert len(set(labels)) == len(labels) == 4


def test_infinite_numbers_are_missing_not_a_crash():
    assert bins_of([np.inf, -np.inf, *range(20)]).labels[-1] == "missing"


@pytest.mark.parametrize("kind", ["number", "category", "date"])
def test_nothing_but_holes_is_one_bin(kind):
    bins = bins_of([None, None], kind)
    assert bins.labels == ["missing"]
    assert bins.codes.tolist() == [0, 0]


def test_rare_categories_are_pooled():
    values = [letter for count, letter in enumerate("abcdefgh", start=1) for _ in range(count)]
    bins = bins_of([*values, None], "category")
    assert bins.labels == ["h", "g", "f", "e", "d", "c", "other (2 values)", "missing"]
    assert np.bincount(bins.codes).tolist() == [8, 7, 6, 5, 4, 3, 3, 1]


def test_a_category_called_missing_is_not_a_hole():
    assert bins_of(["missing", "missing", None], "category").labels == ["missing", "no value"]


def test_dates_are_days():
    days = pd.date_range("2020-01-01", periods=100).strftime("%Y-%m-%d")
    bins = bins_of([*days, None], "date")
    assert bins.labels[0] == "below 2020-01-26"
    assert bins.labels[-1] == "missing"


def test_kinds_are_read_from_types_unless_they_are_known():
    frame = pd.DataFrame(
        {"n": [1.5], "b": [True], "t": ["x"], "d": pd.to_datetime(["2020-01-01"]), "z": [98101]}
    )
    kinds = {column.name: column.kind for column in read_columns(frame, {"z": "category"})}
    assert kinds == {"n": "number", "b": "number", "t": "category", "d": "date", "z": "category"}


def test_columns_of_an_array_are_numbered():
    assert [column.name for column in read_columns(np.zeros((2, 2)))] == ["x0", "x1"]


def test_features_that_tell_most_come_first_and_eight_at_most():
    generator = np.random.default_rng(0)
    happens = generator.random(2000) < 0.5
    noise = [Column(f"noise {place}", "number", pd.Series(generator.random(2000))) for place in range(9)]
    telling = Column("telling", "number", pd.Series(happens + 0.1 * generator.standard_normal(2000)))
    constant = Column("constant", "category", pd.Series(["same"] * 2000))
    found = share_by_feature([*noise, constant, telling], happens, np.ones(2000))
    assert found[0]["feature"] == "telling"
    assert len(found) == 8
    assert "constant" not in {each["feature"] for each in found}


def test_shares_are_weighted_and_counts_are_not():
    column = Column("x", "category", pd.Series(["a", "a", "b", "c"]))
    found = share_by_feature([column], np.array([1, 0, 1, 0]), np.array([3.0, 1.0, 1.0, 0.0]))
    assert found[0]["bins"] == [
        {"label": "a", "n": 2, "share": 0.75},
        {"label": "b", "n": 1, "share": 1.0},
    ], "rows without weight belong to nobody"
