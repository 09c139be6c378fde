"""The page speaks the table's own words, and falls back where a name says nothing."""

import pytest

from selective_labels.report.document import plural, table_words


@pytest.mark.parametrize(
    ("label", "event", "said"),
    [
        ("defaulted", "yes", "defaulted"),
        ("loan_default", 1, "loan default"),
        ("failedToAppear", True, "failed to appear"),
        ("outcome", "charged off", "charged off"),
        ("repaid", "no", "repaid = no"),
        ("grade", 3, "grade = 3"),
        ("y", 1, "y = 1"),
        (None, "late", "late"),
    ],
)
def test_the_event(label, event, said):
    assert table_words({"label": label}, event)["event"] == said


@pytest.mark.parametrize(
    ("column", "one", "many"),
    [
        ("officer", "officer", "officers"),
        ("underwriter_id", "underwriter", "underwriters"),
        ("Judge Name", "judge", "judges"),
        ("z", "decision-maker", "decision-makers"),
        ("x3", "decision-maker", "decision-makers"),
        ("decision_maker", "decision-maker", "decision-makers"),
        (None, "decision-maker", "decision-makers"),
        ("agency", "agency", "agencies"),
    ],
)
def test_those_who_decide(column, one, many):
    words = table_words({"decision_maker": column}, 1)
    assert (words["maker"], words["makers"]) == (one, many)


def test_panels_decide_together():
    assert table_words({"decision_maker": "judge"}, 1, panels=True)["makers"] == "panels"


@pytest.mark.parametrize(
    ("column", "accepted", "refused"),
    [
        ("approved", "approved", "not approved"),
        ("Released", "released", "not released"),
        ("decision", "accepted", "refused"),
        ("d1", "accepted", "refused"),
        (None, "accepted", "refused"),
    ],
)
def test_a_decision_in_favour(column, accepted, refused):
    words = table_words({"decision": column}, 1)
    assert (words["accepted"], words["refused"]) == (accepted, refused)


def test_names_of_any_length_are_cut():
    words = table_words({"label": "x" * 10_000, "decision_maker": "y" * 10_000}, "z" * 10_000)
    assert max(map(len, words.values())) <= 42


def test_plurals():
    assert [plural(word) for word in ("day", "box", "clerks")] == ["days", "boxes", "clerks"]
