"""Commands on a table in which a yes inspects: stated, asked about, priced by name, in its own words."""

import json
import tomllib

import pytest

from tests.evaluation.test_decision_means import make_frame

QUICK = ("--nuisance", "logistic", "--folds", "2", "--features", "x")
ROLES = ("--label", "found", "--decision", "sent", "--decision-maker", "adjuster")
WORDS = ("--words", "insurance")
COSTS = ("--cost-inspect", "400", "--cost-missed", "3000")
LENDERS = ("accept", "refus", "approv", "declin", "failure", "decision-maker", "cases")


@pytest.fixture
def claims(tmp_path):
    path = tmp_path / "claims.csv"
    make_frame().to_csv(path, index=False)
    return path


def test_the_default_is_said_and_a_stated_meaning_is_not(run, claims):
    command = ("evaluate", claims, *ROLES, *QUICK, "--predictions", "human")
    said = run(*command).stdout
    assert "A yes is taken to mean accept" in " ".join(said.split())
    found = run(*command, "--decision-means", "inspect", "--format", "json", "--save-config", "c.toml")
    document = json.loads(found.stdout)
    assert document["data"]["decision_means"] == "inspect"
    again = run(
        "evaluate", claims, *QUICK, "--predictions", "human", "--format", "json", "--config", "c.toml"
    )
    assert json.loads(again.stdout)["evaluations"] == document["evaluations"]


def test_the_settings_file_keeps_the_words(run, claims, tmp_path):
    command = ("evaluate", claims, *ROLES, *QUICK, "--predictions", "human", *WORDS, "--words", "case=loss")
    first = run(*command, "--save-config", "c.toml")
    saved = tomllib.loads((tmp_path / "c.toml").read_text())
    assert saved["words"] == ["insurance", "case=loss"]
    assert saved["decision-means"] == "inspect"
    assert "900 losses" in first.stdout


def test_policies_speak_of_claims_and_of_money(run, claims):
    command = (
        "policy",
        claims,
        *ROLES,
        *QUICK,
        *WORDS,
        *COSTS,
        "--predictions",
        "score",
        "--rates",
        "0.3,0.6",
    )
    result = run(*command, "--cases-per-year", "20000", "--verbose")
    assert result.exit_code == 0, result.output
    said = " ".join(result.stdout.split())
    assert said.startswith("Following 'score' at ")
    assert "a year" in said[:200]
    assert "missed: share of all claims that are not investigated and have a fraud" in said
    for word in LENDERS:
        assert word not in said.lower(), f"{word!r} in {said}"


def test_costs_by_name_are_the_matrix_of_the_shell(run, claims):
    command = ("evaluate", claims, *ROLES, *QUICK, *WORDS, "--predictions", "human", "--metric", "cost")
    by_name = run(*command, *COSTS, "--format", "json")
    matrix = run(*command, "--cost", "[[0, 400], [3000, 400]]", "--format", "json")
    found = [json.loads(each.stdout)["evaluations"] for each in (by_name, matrix)]
    assert found[0] == found[1]


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (("--cost-default", "5", "--cost-declined-good", "1"), "--decision-means 'accept'"),
        (("--cost-inspect", "5"), "No --cost-missed"),
        ((*COSTS, "--cost", "[[0,1],[1,0]]"), "Give --cost or --cost-inspect, not both."),
    ],
)
def test_costs_that_do_not_fit_are_one_sentence(refused, claims, options, words):
    command = ("evaluate", claims, *ROLES, *QUICK, *WORDS, "--predictions", "human", "--metric", "cost")
    assert words in refused(*command, *options)


def test_a_year_needs_costs(refused, claims):
    command = ("policy", claims, *ROLES, *QUICK, *WORDS, "--predictions", "score", "--cases-per-year", "9")
    assert "--cases-per-year needs costs" in refused(*command)


def test_words_that_do_not_exist_are_named(refused, claims):
    message = refused("check", claims, *ROLES, *QUICK, "--words", "banking")
    assert "'banking' is not one of 'neutral', 'lending'" in message
