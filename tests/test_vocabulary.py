"""The words of a domain, and what a yes means: read once, carried by the table, spoken everywhere."""

import pandas as pd
import pytest

import selective_labels as sl
from selective_labels._vocabulary import PRESETS, Vocabulary

FRAME = pd.DataFrame(
    {"age": [30, 41, 25, 50], "who": ["a", "b", "a", "b"], "sent": [1, 0, 1, 1], "found": [0, None, 1, 0]}
)
NAMED = {"label": "found", "decision": "sent", "decision_maker": "who"}


@pytest.mark.parametrize("name", [each for each in PRESETS if each != "neutral"])
def test_a_preset_leaves_no_neutral_word(name):
    words = PRESETS[name].meaning()
    text = (
        "Decision-makers accept, accepting 3 accepted cases; a decision-maker refuses a refused case. Among "
        "the refused, refusals and a refusal; the acceptance rate; to refuse; they would refuse."
    )
    said = words.say(text).lower()
    own = {words.yes, words.yes_past, words.no, words.no_past, words.case, words.cases, words.decision_maker}
    for word in ("accept", "refus", "decision-maker", "case"):
        assert word not in said or any(word in each for each in own), said


def test_names_options_and_worst_cases_are_left_alone():
    words = PRESETS["insurance"]
    text = (
        "'accepted case', “refused”, `cases`, --accepted, accepted_mean, the worst case and worst-case bounds"
    )
    assert words.say(text) == text


def test_a_single_new_word_takes_its_other_forms_along():
    words = Vocabulary.read({"preset": "lending", "case": "mortgage", "yes": "grant"})
    assert (words.cases, words.yes_past, words.yes_noun, words.no) == (
        "mortgages",
        "granted",
        "granting",
        "decline",
    )


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ("banking", "is not one of 'neutral', 'lending'"),
        ({"cse": "claim"}, "vocabulary='cse' is not one of"),
        ({"case": 3}, "case must be text"),
        (7, "must be a Vocabulary, the name of a preset, or a mapping"),
    ],
)
def test_wrong_words_are_refused(given, words):
    with pytest.raises(sl.InputError, match=words) as caught:
        sl.SelectiveLabels.from_frame(FRAME, **NAMED, vocabulary=given)
    assert caught.value.argument == "vocabulary"


@pytest.mark.parametrize(
    ("given", "means", "yes"),
    [
        ({}, "accept", "accept"),
        ({"decision_means": "inspect"}, "inspect", "inspect"),
        ({"vocabulary": "insurance"}, "inspect", "investigate"),
        ({"vocabulary": Vocabulary("claim"), "decision_means": "inspect"}, "inspect", "inspect"),
    ],
)
def test_the_table_carries_words_and_meaning_through_its_parts(given, means, yes, tmp_path):
    FRAME.to_parquet(tmp_path / "cases.parquet")
    tables = [
        sl.SelectiveLabels.from_frame(FRAME, **NAMED, **given),
        sl.SelectiveLabels.from_parquet(tmp_path, **NAMED, **given),
    ]
    tables += [tables[0].split(random_state=0)[0], tables[0].bare(), tables[1].sample()]
    tables += [tables[1].reader.read(FRAME), tables[1].split(random_state=0)[0]]
    assert [each.decision_means for each in tables] == [means] * len(tables)
    assert [each.vocabulary.yes for each in tables] == [yes] * len(tables)


def test_a_meaning_that_contradicts_the_words_is_refused():
    with pytest.raises(sl.InputError, match=r"means 'accept'; give another vocabulary") as caught:
        sl.SelectiveLabels.from_frame(FRAME, **NAMED, vocabulary="lending", decision_means="inspect")
    assert caught.value.argument == "decision_means"
