"""The role of pending outcomes: what is refused, what is set aside, and what a table without them keeps."""

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_array_equal

import selective_labels as sl
from selective_labels._errors import InputError
from tests.pending_designs import delayed

X = np.arange(6.0)[:, None]
Y = ["bad", "good", None, None, "bad", None]
DECISION = [1, 1, 1, 0, 1, 0]
DUE = pd.to_datetime(["2024-01-01", "2024-02-01", "2024-06-01", None, "2024-09-01", None])


def labels(pending="at-random", y=Y, **more):
    return sl.SelectiveLabels.from_arrays(X, y, decision=DECISION, pending=pending, **more)


def test_a_hole_where_the_decision_is_yes_names_the_rows_and_the_remedy():
    with pytest.raises(InputError, match=r"y is missing where decision is 1 in 1 rows \(2\).*pending="):
        labels(None)


def test_decision_label_and_maturity_are_three_things():
    data = labels()
    assert_array_equal(data.decision, DECISION)
    assert_array_equal(data.y, [0, 1, -1, -1, 0, -1])
    assert_array_equal(data.labeled, [True, True, False, False, True, False])
    assert_array_equal(data.is_pending, [False, False, True, False, False, False])
    assert "1 outcomes where the decision is 1, at-random" in repr(data)


@pytest.mark.parametrize(("pending", "kept"), [("at-random", [0, 1, -1, -1, -1, -1]), ("worst-case", None)])
def test_the_date_decides_and_the_worst_case_uses_every_label(pending, kept):
    data = labels(pending, matured=DUE)
    assert_array_equal(data.y, [0, 1, -1, -1, 0, -1] if kept is None else kept)
    # The label that came before its date is kept for the checks.
    assert_array_equal(data.early_label, [-1, -1, -1, -1, 0, -1])


def test_zero_and_one_say_the_same_as_dates():
    by_date, by_flag = labels(matured=DUE), labels(matured=[1, 1, 0, 0, 0, 0])
    assert_array_equal(by_date.y, by_flag.y)


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"pending": "sometimes"}, "pending='sometimes'"),
        ({"matured": [1, 1, 1, 0, 1, 0]}, "matured is 1 and the label is missing in 1 rows"),
        ({"matured": [1, 1, np.nan, 0, 1, 0]}, "matured is missing where the decision is 1"),
        ({"matured": list("abcdef")}, "matured holds text"),
        ({"pending": None, "matured": DUE, "y": ["bad"] * 6}, "matured says when outcomes are due"),
        ({"share_labels": True, "groups": list("aabbcc")}, "pending= needs one row for each case"),
    ],
)
def test_wrong_arguments_are_refused_in_one_sentence(settings, words):
    with pytest.raises(InputError, match=words):
        labels(**settings)


def test_without_decisions_every_hole_is_declined():
    with pytest.raises(InputError, match="pending='worst-case' needs decision="):
        sl.SelectiveLabels.from_arrays(X, Y, pending="worst-case")


def test_minus_one_is_a_hole_unless_other_holes_are_written():
    assert_array_equal(labels(y=[0, 1, -1, -1, 0, -1]).classes, [0, 1])
    assert_array_equal(labels(y=[0, 1, None, None, -1, None]).classes, [-1, 0, 1])


def test_a_lost_label_is_noticed():
    y, decision = ["bad", "good"] * 10, np.ones(20)
    y[2] = None
    due = np.arange(20.0)
    with pytest.warns(UserWarning, match="the outcome of row 2 is pending, and 17 of 18 cases"):
        sl.SelectiveLabels.from_arrays(None, y, decision=decision, pending="worst-case", matured=due)


def test_a_subset_keeps_its_state():
    data = labels("worst-case", matured=DUE).take(np.array([1, 2, 4])).compact()
    assert_array_equal(data.is_pending, [False, True, False])
    assert_array_equal(data.early_label, [-1, -1, 0])
    assert data.classes.tolist() == ["bad", "good"]


def test_from_frame_takes_a_column_of_dates_which_is_no_feature():
    frame = pd.DataFrame({"x": X[:, 0], "y": Y, "d": DECISION, "due": DUE})
    data = sl.SelectiveLabels.from_frame(frame, "y", decision="d", pending="at-random", matured="due")
    assert list(data.X.columns) == ["x"]
    assert data.names["matured"] == "due"
    assert_array_equal(data.y, labels(matured=DUE).y)


def test_a_table_in_parts_refuses():
    with pytest.raises(InputError, match="pending='at-random' needs rows in memory"):
        sl.SelectiveLabels.from_parquet("anywhere", "y", decision_maker="z", pending="at-random")


def test_nothing_pending_is_the_same_table():
    """The keyword alone changes no number."""
    drawn = delayed(1500, 1)
    found = []
    for pending in (None, "at-random", "worst-case"):
        roles = {"decision": drawn.decision, "decision_maker": drawn.maker}
        data = sl.SelectiveLabels.from_arrays(drawn.X, drawn.seen, pending=pending, **roles)
        found.append(sl.evaluate(drawn.predictions, data, nuisance="logistic", cv=2, random_state=0))
    assert {(each.lower, each.upper, each.ci_lower) for each in found} == {
        (found[0].lower, found[0].upper, found[0].ci_lower)
    }
