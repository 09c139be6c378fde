"""A lender's messy table, from the shell to a report with costs in five commands."""

import pytest

from .conftest import QUICK
from .lender_run import commands, misread, run_lender


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
        result = CliRunner().invoke(app, [str(each) for each in arguments])
        assert result.exit_code == 0, result.output
        return result.stdout

    return run_lender(run, tmp_path_factory.mktemp("lender"), 900, 7, QUICK)


def test_nothing_is_misread_in_silence(lender):
    documents = lender[0]
    assert misread(documents) == []
    left_out = {each["name"] for each in documents["check"]["data"]["left_out"]}
    assert left_out == {"application", "champion_score", "challenger_score"}


def test_every_number_says_what_it_is(lender):
    documents, figures = lender
    assert [name for name, _, _ in figures][:6] == [
        "evaluate failures",
        "evaluate failure_rate",
        "evaluate cost",
        "scores cost",
        "human cost",
        "page share",
    ]
    by_name = {name: (truth, interval) for name, truth, interval in figures}
    # Who accepts as many as people do costs what the command says, too.
    assert by_name["page score cost"][0] == by_name["evaluate cost"][0]
    assert documents["evaluate"]["directions"]["cost"] == "lower"
    assert documents["report"]["summary"]["headline"]


def test_the_truth_lies_within_the_intervals(lender):
    """95 % intervals of one frozen draw: that one misses by chance is no defect, that two do is."""
    missed = [name for name, truth, (low, high) in lender[1] if not low <= truth <= high]
    assert len(missed) <= 1, missed
