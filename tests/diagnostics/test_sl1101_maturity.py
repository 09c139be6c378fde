"""SL1101 to SL1103: what dates show of pending outcomes."""

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_array_equal

import selective_labels as sl
from selective_labels.diagnostics.maturity import dependence
from tests.pending_designs import BY_LABEL, DATED, RANDOM, delayed


def table(drawn):
    """The columns of a table whose features include the day of the decision."""
    frame = pd.DataFrame(drawn.X[:, :4], columns=list("abcd"))
    day = pd.to_timedelta((drawn.X[:, 4] * 700).astype(int), unit="D")
    frame["opened"] = pd.Timestamp("2022-01-01") + day
    return frame.assign(y=drawn.matured, accepted=drawn.decision, who=drawn.maker)


def checks(data):
    found = sl.diagnose(data, nuisance="logistic", cv=2, n_permutations=19, random_state=0)
    return {each.code: each for each in found if each.family == "maturity"}, found


def test_early_labels_of_one_class_and_a_trend_are_seen():
    drawn = delayed(2500, 5, DATED)
    frame = table(drawn).assign(due=drawn.due)
    roles = {"decision": "accepted", "decision_maker": "who", "pending": "at-random"}
    found, whole = checks(sl.SelectiveLabels.from_frame(frame, "y", matured="due", **roles))
    assert found["SL1101"].status == "warning"
    assert "more often 1.0" in found["SL1101"].message or "less often 0.0" in found["SL1101"].message
    assert found["SL1103"].status == "warning"  # the latest cases have no outcome
    assert whole.status("maturity") == "warning"
    # Without the due date, the date of the decision shows it.
    alone, _ = checks(sl.SelectiveLabels.from_frame(frame.drop(columns="due"), "y", **roles))
    assert alone["SL1101"].status == "not applicable"
    assert alone["SL1102"].status == "warning"
    assert alone["SL1102"].p_value < 1e-6


def test_the_worst_case_leaves_out_what_needs_all_labels():
    drawn = delayed(1200, 5, DATED)
    found, whole = checks(drawn.labels("worst-case", dated=True))
    assert found["SL1101"].status == "warning"
    assert found["SL1103"].status == "not applicable"
    status = {each.code: each.status for each in whole}
    assert {status[code] for code in ("SL501", "SL601", "SL602", "SL801", "SL901")} == {"not applicable"}
    assert status["SL101"] != "not applicable"


def test_without_a_date_nothing_can_be_seen_and_without_pending_nothing_runs():
    found, _ = checks(delayed(900, 5, BY_LABEL).labels("at-random"))
    assert {found[code].status for code in ("SL1101", "SL1102")} == {"not applicable"}
    none, _ = checks(delayed(900, 5, RANDOM).labels(None))
    assert none == {}


# Tables, and false alarms among them at 5 %, more than which have probability .006 (few) and .003 (many).
@pytest.mark.parametrize(
    ("n_tables", "most"), [(15, 3), pytest.param(60, 8, marks=pytest.mark.statistical)], ids=["few", "many"]
)
def test_size_and_power_of_the_comparison(n_tables, most):
    """At 5 % there are few false alarms; a difference of .2 is seen."""
    alarms = seen = 0
    for seed in range(n_tables):
        generator = np.random.default_rng(seed)
        x = generator.standard_normal((600, 2))
        label = (generator.random(600) < 1.0 / (1.0 + np.exp(-x[:, 0]))).astype(int)
        data = sl.SelectiveLabels.from_arrays(x, label)
        rows = np.arange(600)
        early = (generator.random(600) < 1.0 / (1.0 + np.exp(-x[:, 0]))).astype(float)
        alarms += dependence(data, rows, early, label, seed).p_value <= 0.05
        if seed < 5:
            other = (generator.random(600) < 0.4 + 0.2 * label).astype(float)
            found = dependence(data, rows, other, label, seed)
            seen += found.p_value <= 0.05
            assert found.more == bool(found.code)
    assert alarms <= most
    assert seen == 5


@pytest.mark.parametrize("pending", ["at-random", "worst-case"])
def test_numbers_and_the_page_say_what_is_assumed(pending):
    drawn = delayed(900, 4)
    found = sl.evaluate(drawn.predictions, drawn.labels(pending), nuisance="logistic", cv=2, random_state=0)
    assert "outcomes are pending" in str(found)
    assert ("nothing is assumed" in str(found)) == (pending == "worst-case")


def test_drift_and_people_count_pending_cases_as_accepted():
    drawn = delayed(1500, 4)
    ev = sl.Evaluator(drawn.labels("at-random"), nuisance="logistic", cv=2, random_state=0)
    period = (drawn.X[:, 4] * 2.0).astype(int)
    drift = ev.drift(drawn.predictions, period=period).table
    expected = [drawn.decision[period == each].mean() for each in (0, 1)]
    assert_array_equal(drift["acceptance"], expected)
    labeled = [np.nanmean(drawn.matured[period == each]) for each in (0, 1)]
    assert_array_equal(drift["event"].round(12), np.round(labeled, 12))
