"""The summary claims no more than the numbers, and no number stands without its assumption."""

import re

import pytest

from selective_labels.assumptions.base import decided, said
from selective_labels.report.diagnosis import Basis, basis_of
from selective_labels.report.document import UNDER
from selective_labels.report.summary import summarise

LOTTERY = Basis("instrument", "strata", "The checks find no sign of non-random assignment.")
LIKE_CASES = Basis("instrument", "features", "Use a model.")
NOTHING = Basis("none", None, "The instrument is not valid.")
WORDS = {
    "event": "defaulted",
    "maker": "officer",
    "makers": "officers",
    "accepted": "approved",
    "refused": "not approved",
}
DATA = {"n_cases": 1000, "n_labeled": 400, "labeled_share": 0.4, "n_decision_makers": 8, "words": WORDS}
# A description of the data, or a number that needs no assumption.
FREE = ("The question:", "Among the labeled cases alone", "“Yours” and “Ours” predict the same")


def result(assumption, low, high, **others):
    ends = {"lower": low, "upper": high, "ci_lower": low - 0.02, "ci_upper": high + 0.02}
    what = {"metric": "accuracy", "assumption": assumption, "n": 1000, "confidence_level": 0.95}
    return what | {"crossed": False, "reason": None} | ends | others


EMPTY = dict.fromkeys(("lower", "upper", "ci_lower", "ci_upper")) | {"crossed": True, "reason": "They cross."}


def sections(verdict="undecided", difference=(-0.05, 0.04), disagreement=0.2, **evaluation):
    evaluations = [result("none", 0.3, 0.9), result("instrument", 0.55, 0.7, **evaluation)]
    compared = [
        result(each, *difference, verdict=verdict, a="Yours", b="Ours") for each in ("none", "instrument")
    ]
    return {
        "models": [
            {
                "key": "yours",
                "name": "Yours",
                "does": None,
                "labeled": {"accuracy": 0.81},
                "evaluations": evaluations,
            },
            {
                "key": "ours",
                "name": "Ours",
                "does": None,
                "labeled": {"accuracy": 0.78},
                "evaluations": evaluations,
            },
        ],
        "comparison": {"results": compared, "disagreement": disagreement},
        "decided": {"share": 0.35},
        "answers": {"event": {"labeled": 0.11, "result": result("instrument", 0.2, 0.35)}, "rules": []},
        "outlook": {
            "ci_lower": difference[0] - 0.02,
            "ci_upper": difference[1] + 0.02,
            "ways": [
                {"way": "as it is", "bounds": 0.09, "interval": 0.13},
                {"way": "40 refused cases accepted at random", "bounds": 0.0, "interval": 0.06},
            ],
        },
        "acceptance": {"models": [{"key": "yours", "cut_off": None, "step": None}]},
        "team": {"missing": "Only predicted classes are known; a team needs a score."},
        "ladder": {"missing": "Nothing was assumed besides."},
    }


def text_of(summary):
    return " ".join([summary["headline"], *summary["sentences"]])


@pytest.mark.parametrize("basis", [LOTTERY, LIKE_CASES, NOTHING])
@pytest.mark.parametrize("verdict", ["a", "b", "undecided"])
def test_every_sentence_with_a_number_names_its_assumption(basis, verdict):
    summary = summarise(DATA, sections(verdict), basis)
    for sentence in summary["sentences"]:
        if re.search(r"\d %|percentage points", sentence) and not sentence.startswith(FREE):
            assert UNDER[basis.given] in sentence.lower()


def test_with_an_instrument_the_range_and_the_naive_number_stand_side_by_side():
    summary = summarise(DATA, sections(), LOTTERY)
    assert summary["headline"] == (
        "“defaulted” among the approved cases: 11%. Among all cases: 18% to 37% with 95% confidence, if "
        "officers get their cases as if by lot. Whether “Yours” or “Ours” is right more often is undecided: "
        "the first minus the second is between -7.0 and +6.0 percentage points."
    )
    text = text_of(summary)
    assert "53% to 72% (95% confidence)" in text
    assert "Among the labeled cases alone it is right in 81%" in text
    assert "not about everybody" in text
    assert "for about 35% of the cases" in text


def stated(contradicted=False, assumption="instrument & informed(yes)"):
    """A ladder whose last step is what the user states."""
    rungs = []
    for name, ends in (("none", (0.1, 0.6)), ("instrument", (0.18, 0.37)), (assumption, (0.2, 0.24))):
        low, high = (None, None) if contradicted and name == assumption else ends
        rungs.append(
            {
                "assumption": name,
                "adds": name.rpartition(" & ")[2],
                "sentence": f"what {name.rpartition(' & ')[2]} says.",
                "contradicted": low is None,
                **dict.fromkeys(("lower", "ci_lower"), low),
                **dict.fromkeys(("upper", "ci_upper"), high),
            }
        )
    ladders = [{"rungs": rungs}]
    difference = sections("b", (-0.1, -0.05))["comparison"]["results"][0] | {"assumption": assumption}
    return {"ladder": {"ladders": ladders, "comparison": None if contradicted else difference}}


def test_the_first_line_answers_under_what_the_user_states():
    summary = summarise(DATA, sections() | stated(), LOTTERY)
    assert "Among all cases: 20% to 24%" in summary["headline"]
    assert "if officers get their cases as if by lot and what you state below holds." in summary["headline"]
    assert "“Ours” is right more often than “Yours”, by between 3.0 and 12.0" in summary["headline"]
    assert "You state: what informed(yes) says." in summary["assumed"]


def test_what_the_data_or_the_checks_contradict_is_not_used_in_the_first_line():
    contradicted = summarise(DATA, sections() | stated(contradicted=True), LOTTERY)
    assert "18% to 37%" in contradicted["headline"]
    assert any("The data contradict what you state" in each for each in contradicted["next"])
    refuted = summarise(DATA, sections() | stated(), NOTHING)
    assert "assuming nothing" in refuted["headline"]
    no_nucem = {"diagnosis": {"verdict": [{"assumption": "nucem", "verdict": "refuted"}]}}
    by_nucem = summarise(DATA, sections() | stated(assumption="nucem") | no_nucem, LOTTERY)
    assert "18% to 37%" in by_nucem["headline"]


def test_without_a_valid_instrument_that_is_said_first_and_only_free_numbers_are_used():
    summary = summarise(DATA, sections(), NOTHING)
    assert "confidence, assuming nothing. Whether “Yours” or “Ours”" in summary["headline"]
    assert summary["assumed"][0].startswith("Nothing. Who decided cannot be used here")
    assert summary["sentences"][0].startswith("Who decided cannot be used")
    assert "The instrument is not valid." in summary["sentences"][0]
    assert "30% to 90%" in text_of(summary)
    text = text_of(summary)
    assert "55%" not in text
    assert "for about 35%" not in text, "who is decided rests on the instrument"


def test_assignment_by_features_is_not_sold_as_a_lottery():
    text = text_of(summarise(DATA, sections(), LIKE_CASES))
    assert "Assignment is not random without the features" in text
    assert "can neither confirm nor refute" in text


@pytest.mark.parametrize(
    ("verdict", "difference", "words"),
    [
        ("a", (0.05, 0.1), "“Yours” is right more often than “Ours”, by between +3.0 and +12.0"),
        ("b", (-0.1, -0.05), "“Ours” is right more often than “Yours”, by between +3.0 and +12.0"),
        ("undecided", (-0.05, 0.04), "the data do not tell whether “Yours” or “Ours”"),
    ],
)
def test_the_better_rule_is_named_only_if_the_data_tell(verdict, difference, words):
    text = text_of(summarise(DATA, sections(verdict, difference), LOTTERY))
    assert words in text
    assert ("right more often than" in text) is (verdict != "undecided")


def test_undecided_is_never_called_equal():
    summary = summarise(DATA, sections("undecided"), LOTTERY)
    assert "That does not make them equal" in text_of(summary)
    assert any(
        "“Undecided” means that the data leave both answers open" in each for each in summary["does_not_say"]
    )


def test_rules_that_never_differ_are_not_compared():
    assert "predict the same for every case" in text_of(summarise(DATA, sections(disagreement=0.0), LOTTERY))


def test_an_empty_interval_speaks_against_the_assumption():
    summary = summarise(DATA, sections(**EMPTY), LOTTERY)
    assert "no value is possible" in text_of(summary)
    assert "55%" not in text_of(summary)


def test_an_empty_difference_names_no_winner():
    found = sections()
    for each in found["comparison"]["results"]:
        each.update(EMPTY)
    text = text_of(summarise(DATA, found, LOTTERY))
    assert "no difference between “Yours” and “Ours” is possible" in text
    assert "percentage points" not in text


def test_without_an_interval_nothing_is_claimed_and_the_reason_stands_there():
    none = {"ci_lower": None, "ci_upper": None, "reason": "an interval needs five cases or more."}
    found = sections(**none)
    for each in found["comparison"]["results"]:
        each.update(none)
    text = text_of(summarise(DATA, found, LOTTERY))
    assert "How often “Yours” is right cannot be said: an interval needs five cases or more." in text
    assert "Which of “Yours” and “Ours” is right more often cannot be said" in text


def test_a_missing_section_makes_no_claim():
    broken = sections() | {"models": {"missing": "y shows only one class."}, "comparison": {"missing": "-"}}
    summary = summarise(
        DATA,
        broken | {key: {"missing": "-"} for key in ("decided", "answers", "outlook", "acceptance")},
        LOTTERY,
    )
    assert "y shows only one class." in summary["headline"]
    assert "Can this data answer it? No" in text_of(summary)
    assert "as-if-random" not in text_of(summary)


def test_a_sample_that_could_not_be_scored_falls_back_to_no_assumption():
    found = sections()
    for model in found["models"]:
        model["evaluations"] = [each for each in model["evaluations"] if each["assumption"] == "none"]
    summary = summarise(DATA, found, LOTTERY)
    assert "30% to 90%" in text_of(summary)
    assert "the notes on the data say why" in summary["sentences"][0]


def test_one_decision_maker_is_counted_in_words():
    text = text_of(summarise(DATA | {"n_decision_makers": 1}, sections(), NOTHING))
    assert "were taken by one officer." in text


def test_metrics_without_accuracy_are_not_summed_up():
    found = sections()
    for model in found["models"]:
        for each in model["evaluations"]:
            each["metric"] = "tpr"
    found["answers"] = {"missing": "-"}
    assert "was not asked" in summarise(DATA, found, LOTTERY)["headline"]


def permission(given, allowed):
    return {"assumption": "instrument", "given": given, "allowed": allowed, "plain": f"{given}: {allowed}."}


@pytest.mark.parametrize(
    ("strata", "features", "expected"),
    [
        (True, True, "strata"),
        (False, True, "features"),
        (False, False, None),
    ],
)
def test_the_weakest_allowed_assumption_is_chosen(strata, features, expected):
    basis = basis_of({"verdict": [permission("strata", strata), permission("features", features)]})
    assert basis.given == expected


def test_without_checks_nothing_is_assumed():
    basis = basis_of({"missing": "no features."})
    assert basis.assumption == "none"
    assert "no features." in basis.reason


def test_a_figure_of_the_accepted_outside_the_interval_is_said_to_be_wrong():
    text = text_of(summarise(DATA, sections(), LOTTERY))
    # The interval begins at 18 %, seven points above 11 %.
    assert "too low for everybody, by at least 7.0 points" in text


def test_a_figure_of_the_accepted_inside_the_interval_is_not_called_wrong():
    found = sections()
    found["answers"]["event"]["labeled"] = 0.19
    assert "too low" not in text_of(summarise(DATA, found, LOTTERY))


def test_what_is_undecided_comes_with_what_would_settle_it():
    steps = summarise(DATA, sections("undecided"), LOTTERY)["next"]
    assert steps[0].startswith("“Yours” or “Ours”? Undecided")
    assert "40 refused cases accepted at random" in steps[0]
    assert "from 13.0 points to 6.0 points" in steps[0]


def test_a_decided_comparison_says_what_to_use():
    steps = summarise(DATA, sections("b", (-0.1, -0.05)), LOTTERY)["next"]
    assert steps[0] == "Use “Ours”: it is right more often, by between 3.0 and 12.0 percentage points."


def test_without_an_instrument_the_next_step_is_to_ask_how_cases_are_dealt_out():
    assert any(
        "Find out how cases reach officers" in each for each in summarise(DATA, sections(), NOTHING)["next"]
    )


def test_no_code_and_no_power_before_the_appendix():
    why = decided(
        "refuted", False, said("not at random{}.", "SL201, SL202"), power="With power .8 they find x."
    )
    asked = {"assumption": "instrument", "given": "strata", "allowed": why.allowed, "plain": why.plain}
    basis = basis_of({"verdict": [asked]})
    assert basis.reason == "not at random."
    summary = summarise(DATA, sections(), basis)
    words = " ".join([summary["headline"], *summary["assumed"], *summary["next"], *summary["sentences"]])
    assert "SL2" not in words
    assert "power" not in words


def test_a_doubt_stands_first_among_what_is_assumed_without_its_code():
    doubt = "The instrument is doubtful (SL501): either this or that."
    first = summarise(DATA, sections(cautions=[doubt]), LOTTERY)["assumed"][0]
    assert first == "Caution (numbers under instrument): The instrument is doubtful: either this or that."
