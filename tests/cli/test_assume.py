"""--assume: what users know, in one word each, combined with the instrument."""

import json

import jsonschema
import numpy as np
import pytest

import selective_labels as sl
from selective_labels.assumptions import Informed, Instrument, LabelRange, Prevalence, Refused
from selective_labels.assumptions.parse import FORMS, Assumed, read_part

from .conftest import NO_PREDICTIONS, QUICK, ROLES, schema

FEATURES = ("--features", "age,debt")
JUDGED = ("--predictions", "guess")


def document(result, name):
    assert result.exit_code == 0, result.output
    found = json.loads(result.stdout)
    jsonschema.validate(found, schema(name), jsonschema.Draft202012Validator)
    return found


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("informed:yes", Informed("yes")),
        ("informed:yes,direction-known", Informed("yes", direction_known=True)),
        ("informed:a,b,given-features,direction-known", Informed("a,b", "features", direction_known=True)),
        ("refused:yes=..3", Refused("yes", at_most=3.0)),
        ("refused:yes=1..", Refused("yes", at_least=1.0)),
        ("refused:a=b=0.5..2,odds", Refused("a=b", 0.5, 2.0, scale="odds")),
        ("refused:yes=..0.5,share", Refused("yes", at_most=0.5, scale="share")),
        ("prevalence:yes=0.12", Prevalence("yes", 0.12)),
        ("prevalence:yes=0.10..0.14", Prevalence("yes", (0.10, 0.14))),
        ("prevalence:yes=..0.14", Prevalence("yes", (0.0, 0.14))),
        ("prevalence:yes=0.12,error=0.01", Prevalence("yes", 0.12, 0.01)),
        (
            "prevalence:yes,by=region,north = 0.1,south=0.2..0.3,error=0.01",
            Prevalence("yes", (("north", 0.1), ("south", (0.2, 0.3))), 0.01, by="region"),
        ),
        ("label-range:0.05..", LabelRange(0.05, 1.0)),
    ],
)
def test_what_is_written_is_what_is_assumed(text, expected):
    assert read_part(text) == expected


def test_every_kind_can_be_written():
    texts = ["informed:1", "refused:1=..3", "prevalence:1=0.2", "similar-bias:0.1", "rising-risk:1"]
    assumed = Assumed.read([*texts, "same-ranking", "label-range:0..0.9"])
    assert len(assumed.parts) == len(FORMS)
    assert len(assumed.together(np.array([0, 1])).parts) == len(FORMS) + 1


def test_classes_are_those_of_the_data_and_several_are_joined_by_plus():
    classes = np.array([0, 1, 2])
    assert Assumed.read(["informed:1+2"]).together(classes) == Instrument() & Informed((1, 2))
    whole = Assumed.read(["informed:a+b"]).together(np.array(["a+b", "c"]))
    assert whole == Instrument() & Informed("a+b")


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ("faith:yes", "'faith' is not one of 'informed'"),
        ("informed", "write informed:CLASS"),
        ("informed:", "write informed:CLASS"),
        ("refused:yes=3", "write refused:CLASS=LOW..HIGH"),
        ("refused:yes=..", "write refused:CLASS=LOW..HIGH"),
        ("refused:yes=..3,odds,share", "write refused:CLASS=LOW..HIGH"),
        ("refused:yes=3..1", "0 <= at_least <= at_most"),
        ("refused:yes=..nan", "finite"),
        ("prevalence:yes", "write prevalence:CLASS=SHARE"),
        ("prevalence:=0.1", "write prevalence:CLASS=SHARE"),
        ("prevalence:yes=a lot", "write prevalence:CLASS=SHARE"),
        ("prevalence:yes=0.12,error=some", "write prevalence:CLASS=SHARE"),
        ("prevalence:yes=12", "0 <= low <= high <= 1"),
        ("prevalence:yes,by=region", "write prevalence:CLASS=SHARE"),
        ("prevalence:yes,by=,north=0.1", "write prevalence:CLASS=SHARE"),
        ("prevalence:yes,by=region,0.1", "write prevalence:CLASS=SHARE"),
        ("prevalence:yes,by=region,north=0.1,north=0.2", "needs each group once"),
        ("similar-bias:-1", "rho >= 0"),
        ("same-ranking:yes", "write same-ranking"),
        ("label-range:0.9..0.1", "0 <= lowest <= highest <= 1"),
    ],
)
def test_a_bad_value_is_told_before_the_table_is_read(refused, given, words):
    message = refused("evaluate", "missing.csv", *ROLES, *JUDGED, "--assume", given)
    assert message.startswith(f"--assume {given!r}: ")
    assert words in message


def test_two_prevalences_are_refused_before_the_table_is_read(refused):
    given = ("--assume", "prevalence:yes=0.1", "--assume", "prevalence:no=0.9")
    assert "two prevalences" in refused("evaluate", "missing.csv", *ROLES, *JUDGED, *given)


def test_a_class_that_does_not_exist_is_named(refused, data):
    message = refused("evaluate", data, *ROLES, *FEATURES, *JUDGED, "--assume", "informed:maybe")
    assert message == "--assume 'informed:maybe': 'maybe' is not a class; there are 'no', 'yes'."


@pytest.mark.filterwarnings("ignore:two ways to use")
def test_evaluate_gives_the_numbers_of_the_library(run, data, cases):
    given = ("--assumption", "instrument", "--assume", "informed:yes", "--assume", "prevalence:yes=0.3..0.7")
    command = ("evaluate", data, *ROLES, *QUICK, *FEATURES, *JUDGED, *given)
    found = document(run(*command, "--format", "json"), "evaluate")["evaluations"]
    assert [each["assumption"] for each in found] == [
        "instrument",
        "instrument & informed(yes) & prevalence(yes, 0.3 to 0.7)",
    ]
    rows = sl.SelectiveLabels.from_frame(
        cases[["age", "debt", "failed", "released", "officer"]],
        label="failed",
        decision="released",
        decision_maker="officer",
    )
    together = Instrument() & Informed("yes") & Prevalence("yes", (0.3, 0.7))
    expected = sl.evaluate(
        cases["guess"].to_numpy(), rows, assumption=["instrument", together], nuisance="logistic", cv=2,
        random_state=0,
    )  # fmt: skip
    for each, other in zip(found, expected, strict=True):
        assert (each["lower"], each["upper"]) == pytest.approx((other.lower, other.upper), abs=1e-12)
    printed = run(*command).stdout
    assert "those refused by a decision-maker have the event 'yes' at least as often" in " ".join(
        printed.split()
    )


def test_assume_alone_gives_the_combination_alone(run, data):
    command = ("evaluate", data, *ROLES, *QUICK, *FEATURES, *JUDGED, "--assume", "refused:yes=..3")
    (found,) = document(run(*command, "--format", "json"), "evaluate")["evaluations"]
    assert found["assumption"] == "instrument & refused(yes, ratio at most 3)"


def test_check_says_whether_the_data_contradict_it(run, data):
    given = ("--assume", "informed:yes", "--assume", "prevalence:yes=0.001")
    found = document(run("check", data, *ROLES, *QUICK, *FEATURES, *given, "--format", "json"), "check")
    (share,) = [each for each in found["checks"] if each["code"] == "SL1002"]
    assert share["status"] == "violated"
    assert "stated as 0.001" in share["message"]


def test_compare_takes_the_combination(run, refused, data):
    command = ("compare", data, *ROLES, *QUICK, *FEATURES, "--a", "guess", "--b", "no")
    given = ("--assume", "informed:yes")
    found = document(run(*command, *given, "--format", "json"), "compare")
    assert found["comparison"]["assumption"] == "instrument & informed(yes)"
    assert "refused by a decision-maker have the event 'yes'" in " ".join(
        run(*command, *given).stdout.split()
    )
    assert "leave --assumption out" in refused(*command, *given, "--assumption", "none")


def test_fit_learns_under_it_and_says_what_it_decides(run, data):
    command = ("fit", data, *ROLES, *QUICK, *NO_PREDICTIONS, "--estimator", "plug-in", "--model", "m.skops")
    given = ("--assume", "informed:yes,direction-known")
    found = document(run(*command, *given, "--format", "json"), "fit")["model"]
    assert found["assumption"] == "instrument & informed(yes)"
    assert 0.0 <= found["disagreement"] <= 1.0
    saved = sl.load_model("m.skops")
    assert saved.model.assumption == Instrument() & Informed("yes", direction_known=True)
    assert saved.schema.options["assume"] == ["informed:yes,direction-known"]
    assert "there, what is assumed decides" in " ".join(run(*command, *given).stdout.split())


def test_fit_refuses_what_it_cannot_learn_before_the_table_is_read(refused):
    command = ("fit", "missing.csv", *ROLES, "--model", "m.skops", "--assume", "informed:yes")
    assert "'informed:yes,direction-known'" in refused(*command)
    assert "goes with --mode partial" in refused(*command, "--mode", "point")


def test_a_config_file_keeps_it(run, data):
    given = ("--assume", "informed:yes", "--assume", "refused:yes=..3", "--save-config", "kept.toml")
    command = ("evaluate", data, *ROLES, *QUICK, *FEATURES, *JUDGED, "--format", "json")
    first = run(*command, *given)
    assert first.exit_code == 0
    again = run("evaluate", data, "--config", "kept.toml")
    assert again.stdout == first.stdout


def test_the_ladder_climbs_in_the_order_given(run, refused, data):
    given = ("--assume", "refused:yes=..3", "--assume", "informed:yes", "--assumption", "unconfounded")
    command = ("ladder", data, *ROLES, *QUICK, *FEATURES, *JUDGED, *given)
    found = document(run(*command, "--format", "json"), "ladder")
    assert [each["adds"] for each in found["rungs"]] == [
        "none",
        "instrument",
        "refused(yes, ratio at most 3)",
        "informed(yes)",
        "unconfounded",
    ]
    printed = " ".join(run(*command).stdout.split())
    assert "those refused by a decision-maker have the event 'yes' at least as often" in printed
    evaluated = ("evaluate", *command[1 : -len(given)], "--assumption", "none", "--format", "json")
    (none,) = document(run(*evaluated), "evaluate")["evaluations"]
    for end in ("lower", "upper", "ci_lower", "ci_upper"):
        assert found["rungs"][0][end] == pytest.approx(none[end], abs=1e-12)
    assert "one --metric" in refused(*command, "--metric", "tpr", "--metric", "fpr")


def test_a_contradicted_rung_has_no_number_in_any_format(run, data):
    given = ("--assume", "prevalence:yes=0.99")
    command = ("ladder", data, *ROLES, *QUICK, *FEATURES, *JUDGED, *given)
    last = document(run(*command, "--format", "json"), "ladder")["rungs"][-1]
    assert last["contradicted"]
    assert last["reason"].startswith("contradicted")
    assert [last[each] for each in ("lower", "upper", "ci_lower", "ci_upper", "width", "saved")] == [None] * 6
    assert "contradicted" in run(*command).stdout


def test_the_report_climbs_what_is_assumed(run, refused, data):
    command = ("report", data, *ROLES, *QUICK, *FEATURES, *JUDGED, "--out", "r.html")
    given = ("--assume", "informed:yes", "--assume", "prevalence:yes=0.99")
    found = document(run(*command, *given, "--format", "json"), "report")["ladder"]
    assumption_steps = found["ladders"][0]["rungs"]
    assert [each["title"] for each in assumption_steps] == [
        "none",
        "instrument",
        "+ informed(yes)",
        "+ prevalence(yes, 0.99)",
    ]
    assert assumption_steps[-1]["contradicted"]
    assert "'maybe' is not a class" in refused(*command, "--assume", "informed:maybe")
