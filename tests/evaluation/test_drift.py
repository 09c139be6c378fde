"""Over time: periods cut from dates, bounds of each as evaluate has them, shares as counted."""

import numpy as np
import pandas as pd
import pytest
from matplotlib.figure import Figure
from numpy.testing import assert_allclose

import selective_labels as sl
from selective_labels import InputError
from selective_labels.evaluation.periods import read_periods

DAYS = pd.date_range("2024-01-01", periods=1200, freq="6h")


@pytest.fixture(scope="module")
def sample():
    return sl.datasets.make_decision_makers(1200, n_classes=2, n_decision_makers=4, random_state=0)


@pytest.fixture(scope="module")
def given(sample):
    guess = (sample.X[:, 0] < 0).astype(int)
    data = sl.SelectiveLabels.from_arrays(sample.X, sample.y, decision_maker=sample.decision_maker)
    return guess, data


def how(sample):
    return {"nuisance": sample.oracle.joint, "propensity": "shares", "random_state": 0}


@pytest.fixture(scope="module")
def found(sample, given):
    return sl.drift(*given, period=DAYS, every="quarter", **how(sample))


def test_bounds_are_those_of_evaluate_by_period(sample, given, found):
    quarters = np.asarray(DAYS.to_period("Q").astype(str))
    expected = sl.evaluate(*given, by=quarters, **how(sample))
    table = found.to_frame()
    assert table["period"].tolist() == ["2024Q1", "2024Q2", "2024Q3", "2024Q4"]
    for end in ("lower", "upper", "ci_lower", "ci_upper"):
        assert_allclose(table[end], [getattr(each, end) for each in expected], atol=1e-12)


def test_acceptance_and_labels_are_counted(sample, found):
    first = found.to_frame().iloc[0]
    rows = np.arange(1200) < first["n"]
    assert first["acceptance"] == pytest.approx(sample.decision[rows].mean())
    assert first["event"] == pytest.approx(np.mean(sample.y[rows & (sample.decision == 1)] == 1))
    assert first["acceptance_ci_lower"] < first["acceptance"] < first["acceptance_ci_upper"]


@pytest.mark.parametrize("period", [["01", "10"], ["2023Q4", "2024Q1"], ["a", "b"], ["1/2023", "1/2024"]])
def test_text_that_sorts_in_time_order_is_a_period(period):
    assert read_periods(period, None, 2).tolist() == period


def test_observed_shares_of_repeated_cases_have_the_intervals_of_cases(sample, given):
    guess, data = given
    twice = np.repeat(np.arange(1200), 2)
    arrays = data.X[twice], sample.y[twice]
    half = np.arange(1200) % 2
    once = sl.drift(guess, data, period=half, **how(sample)).to_frame()
    again = sl.drift(
        guess[twice],
        *arrays,
        decision_maker=sample.decision_maker[twice],
        groups=twice,
        period=half[twice],
        **how(sample),
    ).to_frame()
    # Rows that say the same thing twice say no more.
    for name in ("acceptance", "event"):
        for end in ("", "_ci_lower", "_ci_upper"):
            assert_allclose(again[f"{name}{end}"], once[f"{name}{end}"], atol=1e-9)


def test_years_are_printed_as_they_are(sample, given):
    found = sl.drift(*given, period=np.arange(1200) // 600 + 2023, **how(sample))
    assert "From 2023 to 2024 acceptance" in str(found)


def test_a_period_without_an_interval_says_why(sample, given):
    few = np.where(np.arange(1200) < 3, "2023", "2024")
    found = sl.drift(*given, period=few, **how(sample))
    assert "accuracy, 2023 (instrument): No interval: an interval needs five cases" in str(found)


def test_it_prints_and_draws(found):
    assert "From 2024Q1 to 2024Q4 acceptance went from" in str(found)
    axes = found.plot(Figure().subplots(2, 1))
    assert axes[1].get_xticklabels()[0].get_text() == "2024Q1"


def test_dates_in_other_orders_are_read_where_they_can_be_told():
    assert read_periods(["31.01.2024", "01.02.2024"], "month", 2).tolist() == ["2024-01", "2024-02"]
    assert read_periods(["01/31/2024", "02/01/2024"], "month", 2).tolist() == ["2024-01", "2024-02"]


@pytest.mark.parametrize(
    ("period", "every", "message"),
    [
        (["01/02/2024", "03/04/2024"], "month", "cannot be told apart"),
        (["soon", "later"], "month", "cannot be read as dates|cannot be told apart"),
        ([2023, 2024], "month", "numbers, not dates"),
        (pd.Series(pd.to_datetime(["2024-01-01", "2024-02-01"])), None, "say with every="),
        (["a", None], None, "is missing in 1 rows"),
        (["2024-01-01", "2024-02-01"], "week", "every='week' is not one of"),
        # Text that sorts in another order than time: the first period would not be the first.
        (["2", "10"], None, "sorts '10' before '2'"),
        (["Jan", "Apr"], None, "sorts 'Apr' before 'Jan'"),
        (["March 2024", "April 2024"], None, "sorts 'April 2024' before 'March 2024'"),
        (["02/2023", "01/2024"], None, "sorts '01/2024' before '02/2023'"),
        (pd.Categorical(["x", "a"], ["x", "a"], ordered=True), None, "sorts 'a' before 'x'"),
    ],
)
def test_what_is_no_period_is_refused_in_one_sentence(period, every, message):
    with pytest.raises(InputError, match=message):
        read_periods(period, every, 2)
