"""The commands advice, deciders and disparity: the numbers of the functions, in all formats."""

import json

import jsonschema
import numpy as np
import pytest

from .conftest import QUICK, ROLES, schema


@pytest.fixture
def table(data, cases):
    """The cases with an advice that a lottery shows."""
    generator = np.random.default_rng(0)
    shown = generator.integers(0, 2, len(cases))
    cases.assign(advice=(cases.score < 0.5).astype(int), shown=shown).to_csv(data, index=False)
    return data


def document(result, name):
    assert result.exit_code == 0, result.output
    found = json.loads(result.stdout)
    jsonschema.validate(found, schema(name))
    return found


def test_advice(run, table):
    asked = ("advice", table, *ROLES, *QUICK, "--advice", "advice", "--shown", "shown")
    found = document(run(*asked, "--format", "json", "--by", "region"), "advice")
    what = {each["what"] for each in found["rows"]}
    assert "people with advice minus people alone" in what
    assert {each["subgroup"] for each in found["rows"]} == {"north", "south"}
    printed = run(*asked, "--cost", "[[0,1],[5,0]]").stdout
    assert "advice alone" in printed
    assert "cost" in printed


def test_deciders(run, table):
    asked = ("deciders", table, *ROLES, *QUICK, "--score", "score")
    found = document(run(*asked, "--format", "json"), "deciders")
    assert len(found["rows"]) == 5
    assert len(found["share_beaten"]) == 2
    names = {each["decision_maker"] for each in found["rows"]}
    assert names == {f"officer {number}" for number in range(5)}
    hidden = run(*asked, "--anonymous")
    assert "officer 1" not in hidden.stdout
    assert "caution" in hidden.stdout.lower() or "Ranks" in hidden.stdout


def test_disparity(run, table):
    asked = ("disparity", table, *ROLES, *QUICK, "--by", "region", "--reference", "north")
    found = document(run(*asked, "--format", "json", "--score", "score"), "disparity")
    assert found["reference"] == "north"
    assert {each["who"] for each in found["rows"]} == {"human", "score", "both"}
    said = run(*asked, "--assume", "informed:yes").stdout
    assert "south minus north" in said
    assert "discriminat" not in said.lower()


def test_bad_groups_are_one_sentence(refused, table):
    asked = ("disparity", table, *ROLES, *QUICK)
    assert "has north" in refused(*asked, "--by", "region", "--reference", "west").replace("'", "")
    assert "50 at most" in refused(*asked, "--by", "case")


def test_a_report_answers_what_is_asked(run, refused, table, tmp_path):
    out = tmp_path / "page.md"
    asked = ("report", table, *ROLES, *QUICK, "--out", out)
    people = ("--advice", "advice", "--shown", "shown", "--deciders", "anonymous", "--disparity", "region")
    found = document(run(*asked, *people, "--format", "json"), "report")
    assert all(found[name]["drawn"] for name in ("advice", "deciders", "disparity"))
    assert "Are groups treated alike?" in out.read_text()
    assert "go together" in refused(*asked, "--advice", "advice")
    assert "--disparity" in refused(*asked, "--disparity", "nowhere")
