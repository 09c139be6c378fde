"""Diagnosis of tables with text, categories and missing values."""

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from selective_labels import SelectiveLabels, diagnose
from selective_labels._parallel import listening
from selective_labels.diagnostics.context import Context
from tests.raw_tables import make_raw_sample, renamed

QUICK = {"random_state": 0, "cv": 2, "n_permutations": 99}
ASSIGNMENT = ("SL201", "SL202", "SL203")


def numbers(diagnosis):
    return np.array([[each.statistic, each.p_value] for each in diagnosis], dtype=float)


@pytest.fixture(scope="module")
def sample():
    return make_raw_sample(1200)


def test_cases_dealt_out_by_a_text_column_are_found(sample):
    plain = diagnose(sample.table, sample.y, decision_maker=sample.decision_maker, **QUICK)
    assert [plain[code].status for code in ASSIGNMENT] == ["ok"] * 3, "assignment is random in the generator"
    # Jobs are told by how a case reached its decision-maker: one of them in four gets most cooks.
    rng = np.random.default_rng(0)
    to_first = (sample.table["job"] == "cook") & (rng.random(1200) < 0.6)
    makers = np.where(to_first, 0, sample.decision_maker)
    dealt = diagnose(sample.table, sample.y, decision_maker=makers, **QUICK)
    assert [dealt[code].status for code in ASSIGNMENT] == ["violated"] * 3


def test_names_of_categories_change_nothing(sample):
    first, second = (
        diagnose(table, sample.y, decision_maker=sample.decision_maker, **QUICK)
        for table in (sample.table, renamed(sample.table))
    )
    assert_array_equal(numbers(first), numbers(second))


def test_columns_that_do_not_vary_are_left_out(sample):
    table = sample.table.copy()
    table.insert(0, "constant", "same")
    table.insert(2, "missing", None)
    first, second = (
        diagnose(each, sample.y, decision_maker=sample.decision_maker, **QUICK)
        for each in (sample.table, table)
    )
    assert_array_equal(numbers(first), numbers(second))


def test_codes_keep_their_columns_when_others_are_left_out_or_added():
    X = np.column_stack([np.zeros(60), np.arange(60.0), np.arange(60) % 3])
    data = SelectiveLabels.from_arrays(
        X, np.arange(60) % 2, decision_maker=np.arange(60) % 4, strata=np.arange(60) % 5, categorical=(0, 2)
    )
    context = Context(data)
    assert context.data.categorical == (1,)
    assert_array_equal(context.model_data.features[:, context.model_data.categorical], X[:, [2]])


def test_progress_is_told_check_by_check(sample):
    heard = []
    with listening(lambda *news: heard.append(news)):
        diagnosis = diagnose(sample.table, sample.y, decision_maker=sample.decision_maker, **QUICK)
    checks = [(done, total) for what, done, total in heard if what == "checking assumptions"]
    assert checks == [(done, len(diagnosis)) for done in range(len(diagnosis) + 1)]
