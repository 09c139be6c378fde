"""Numbers as people write them."""

import numpy as np
import pandas as pd
import pytest

from selective_labels import InputError
from selective_labels.data.features import kind_by_content, looks_like_code, read_numbers


@pytest.mark.parametrize(
    ("cells", "numbers", "mark"),
    [
        (["5,750", "$1,200", "80", "$12.50"], [5750, 1200, 80, 12.5], "the currency sign $"),
        (["1.234", "2,5", "1.234.567,89"], [1234, 2.5, 1234567.89], "decimal commas"),
        (["1 200", "12 500,5"], [1200, 12500.5], "decimal commas"),
        (["1'200.50", "3"], [1200.5, 3], "separators of thousands"),
        (["(1,200)", "300"], [-1200, 300], "negative numbers in brackets"),
        (["-€5", "€ 6", "$7"], None, None),
        (["-€5", "€ 6", "7 EUR"], [-5, 6, 7], "the currency sign €"),
        (["$5", "USD 6", "US$7"], [5, 6, 7], "the currency sign $"),
        (["-$5", "$-6", "- 7"], [-5, -6, -7], "the currency sign $"),
        (["7 %", "12.5%"], [0.07, 0.125], "percent signs"),
    ],
)
def test_marks_are_read_over_and_named(cells, numbers, mark):
    column = pd.Series(cells, name="x")
    if numbers is None:
        with pytest.raises(InputError, match="mixes several currencies"):
            read_numbers(column)
        return
    found = read_numbers(column)
    np.testing.assert_allclose(found.numbers, numbers, rtol=1e-15)
    assert mark in found.marks
    assert kind_by_content(column) == "number"


@pytest.mark.parametrize(
    "cells", [["1,23,456"], ["1.2.3"], ["555-1234"], ["12:30"], ["1,5", "1.5"], ["5 apples"]]
)
def test_what_is_no_number_stays_text(cells):
    assert read_numbers(pd.Series(cells)).numbers.isna().any()
    assert kind_by_content(pd.Series(cells)) == "category"


def test_a_percentage_beside_a_plain_number_could_mean_two_things():
    with pytest.raises(InputError, match=r"mixes percentages and plain numbers, such as '7%' and '3'"):
        read_numbers(pd.Series(["7%", "3"], name="rate"))


def test_a_word_among_many_amounts_is_a_typing_error():
    column = pd.Series(["5,750"] * 199 + ["many"], name="amount")
    with pytest.raises(InputError, match=r"row 200 holds 'many' \(1 such values in all\)"):
        kind_by_content(column)


def test_plain_numbers_stay_bit_for_bit():
    plain = pd.Series(["0.1", "1e-7", "123456.789"])
    amounts = pd.Series([*plain, "1,000"])
    assert read_numbers(amounts).numbers[:3].tolist() == pd.to_numeric(plain).tolist()


@pytest.mark.parametrize(
    ("cells", "is_code"),
    [
        (["02139", "10115"], True),
        (["07", "8", "12"], True),
        (["0", "10"], False),
        (["0.5", "00.5"], False),
        (["10115", "20095"], False),
        (["05"] + [str(number) for number in range(100, 400)], False),
        ([7, 12], False),
    ],
)
def test_leading_zeros_make_a_code(cells, is_code):
    assert looks_like_code(pd.Series(cells)) == is_code
