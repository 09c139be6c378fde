"""A lender's messy table, from the shell to a report with costs in five commands."""

import pytest

from .conftest import QUICK
from .lender_run import commands, run_lender


def test_no_command_needs_more_than_roles_and_costs():
    allowed = {"--label", "--decision", "--decision-maker", "--strata", "--cost"}
    subjects = {"--predictions", "--a", "--b", "--out"}
    lines = commands("loans.csv", "report.html")
    assert len(lines) == 5
    for line in lines.values():
        assert {each for each in line if each.startswith("--")} <= allowed | subjects


@pytest.fixture(scope="module")
def lender(tmp_path_factory):
    from typer.testing import CliRunner

    from selective_labels.cli.app import app

    def run(*arguments):
        return CliRunner().invoke(app, [str(each) for each in arguments])

    return run_lender(run, tmp_path_factory.mktemp("lender"), 900, 7, QUICK)


def test_nothing_is_misread_in_silence(lender):
    data = lender[0]["check"]["data"]
    kinds = {each["name"]: each["kind"] for each in data["features"]}
    assert kinds == {
        "applied on": "date",
        "branch": "category",
        "zip": "category",
        "amount": "number",
        "yearly income": "number",
        "debt ratio": "number",
        "years employed": "number",
        "home owner": "category",
    }
    said = " ".join(data["readings"])
    for words in ("'Yes' (", "'zip' holds codes", "'amount' holds", "currency sign $", "percent signs"):
        assert words in said
    left_out = {each["name"] for each in data["left_out"]}
    assert left_out == {"application", "champion_score", "challenger_score"}


def test_every_number_says_what_it_is(lender):
    documents, figures = lender
    assert [name for name, _, _ in figures] == [
        "evaluate failures",
        "evaluate failure_rate",
        "evaluate cost",
        "scores cost",
        "human cost",
    ]
    assert documents["evaluate"]["directions"]["cost"] == "lower"
    assert documents["report"]["summary"]["headline"]


def test_the_truth_lies_within_the_intervals(lender):
    """Five 95 % intervals of one frozen draw: that one misses by chance is no defect, that two do is."""
    missed = [name for name, truth, (low, high) in lender[1] if not low <= truth <= high]
    assert len(missed) <= 1, missed
