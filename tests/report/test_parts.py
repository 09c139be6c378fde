"""Sections one by one, where the whole document would not show a mistake."""

import warnings

import numpy as np
import pandas as pd
import pytest

import selective_labels as sl
from selective_labels import DiagnosticWarning, InputError, SelectiveLabels
from selective_labels.evaluation.metrics import named_metrics
from selective_labels.report.cases import Column
from selective_labels.report.curves import subgroups_part
from selective_labels.report.diagnosis import MOST_SHOWN, leniency_part
from selective_labels.report.document import Part, compute_part
from selective_labels.report.rules import ReportedRule
from tests.evaluation.samples import fully_labeled
from tests.report.samples import Store


@pytest.mark.parametrize("mistake", [TypeError("a bug"), ValueError("a bug")])
def test_a_mistake_in_a_program_is_not_hidden(mistake):
    def broken():
        raise mistake

    with pytest.raises(type(mistake), match="a bug"):
        compute_part("models", broken, Store())


def test_a_section_without_numbers_is_not_stored():
    def impossible():
        warnings.warn("too few rows", UserWarning, stacklevel=1)
        raise InputError("one class only")

    store = Store()
    part = compute_part("models", impossible, store)
    assert part == Part({"missing": "one class only"}, ("too few rows",))
    assert store.kept == {}, "it may be possible next time"


def test_warnings_for_users_become_notes_and_others_go_on():
    def warned():
        warnings.warn("too few rows", UserWarning, stacklevel=1)
        warnings.warn("too few rows", UserWarning, stacklevel=1)
        warnings.warn(DiagnosticWarning("SL101", "in the diagnosis already"), stacklevel=1)
        warnings.warn("old name", FutureWarning, stacklevel=1)
        return Part({})

    with pytest.warns(FutureWarning, match="old name"):
        assert compute_part("models", warned, None).notes == ("too few rows",)


def test_warnings_of_a_section_that_is_refused_go_on_once():
    """Broke: what was passed on was caught again, and again, without end."""

    def refused():
        warnings.warn("old name", FutureWarning, stacklevel=1)
        warnings.warn("too few rows", UserWarning, stacklevel=1)
        raise InputError("y shows only one class.")

    with pytest.warns(FutureWarning, match="old name") as caught:
        part = compute_part("models", refused, None)
    assert part == Part({"missing": "y shows only one class."}, ("too few rows",))
    assert len(caught) == 1


def many_makers(n_makers, n_each):
    makers = np.repeat(np.arange(n_makers), n_each)
    generator = np.random.default_rng(0)
    y = np.where(generator.random(len(makers)) < 0.5, generator.integers(0, 2, len(makers)), -1)
    return SelectiveLabels.from_arrays(np.zeros((len(y), 1)), y, decision_maker=makers)


def test_leniency_is_plain_counting_without_strata():
    data = many_makers(5, 40)
    people = leniency_part(data, 1).content["decision_makers"]
    assert [each["leniency"] for each in people] == sorted(each["leniency"] for each in people)
    for each in people:
        rows = data.decision_maker == int(each["id"])
        assert each["leniency"] == pytest.approx(data.decision[rows].mean())
        labels = data.y[rows & (data.decision == 1)]
        assert each["label_rate"] == pytest.approx(np.mean(labels == 1))


def test_at_most_two_hundred_decision_makers_are_shown_and_it_says_so():
    content = leniency_part(many_makers(MOST_SHOWN + 3, 8), 1).content
    assert len(content["decision_makers"]) == MOST_SHOWN
    assert content["n_decision_makers"] == MOST_SHOWN + 3
    assert "200 of 203" in content["note"]


def test_a_decision_maker_with_one_case_has_no_error_and_is_not_shown():
    makers = [0, 0, 0, 1, 1, 1, 2]
    data = SelectiveLabels.from_arrays(np.zeros((7, 1)), [0, 1, -1, 0, -1, 1, 1], decision_maker=makers)
    content = leniency_part(data, 1).content
    assert {each["id"] for each in content["decision_makers"]} == {"0", "1"}
    assert content["note"].startswith("1 ")


def test_a_subgroup_without_a_value_leaves_the_others_alone():
    """The rate among true events has no value where everybody is known to be none."""
    X, y, _ = fully_labeled(300)
    mood = pd.Series(np.where(X[:, 2] > 1.0, "calm", np.where(X[:, 3] > 0.0, "some", "most")))
    y = np.where(mood == "calm", 0, y)
    sample = sl.Evaluator(X, y, assumption=["none"]).scores()
    rule = ReportedRule("yours", "Yours", "", (X[:, 1] > 0).astype(int))
    metrics = [each for name in ("accuracy", "tpr") for each in named_metrics(name, np.array([0, 1]))]
    part = subgroups_part(sample, [rule], metrics, [Column("mood", "category", mood)], ["none"], 1)
    found = {(each["metric"], each["subgroup"]): each for each in part.content[0]["evaluations"]}
    assert len(found) == 2 * 3
    nothing = found.pop(("tpr", "calm"))
    assert (nothing["lower"], nothing["ci_upper"]) == (None, None)
    assert nothing["reason"].startswith("metric 'tpr' is not defined")
    gap = next(each for each in part.content[0]["gaps"] if each["metric"] == "tpr" and each["lower"] is None)
    assert "not defined" in gap["reason"]
    for (metric, label), each in found.items():
        rows = (mood == label) & ((y == 1) | (metric == "accuracy"))
        assert each["lower"] == pytest.approx(np.mean(rule.codes[rows] == y[rows]))
    assert part.notes == ()
