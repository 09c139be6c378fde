"""The commands `reproduce` and `study`, from the words that are typed to the files that are there."""

import pytest
import typer
from typer.testing import CliRunner

from selective_labels.cli.console import guarded
from selective_labels.cli.reproduce import ExperimentName, Protocol, reproduce, study
from selective_labels.experiments.catalogue import NAMES, PROTOCOLS

APP = typer.Typer()
APP.command()(guarded(reproduce))
APP.command()(guarded(study))
TINY = ["rate", "--cells", "additive-n500,additive-n1000", "--reps", "1", "--samples", "60"]


def typed(*words):
    return CliRunner().invoke(APP, [str(word) for word in words])


def test_the_command_knows_every_experiment_and_protocol():
    assert {each.value for each in ExperimentName} == set(NAMES)
    assert {each.value for each in Protocol} == set(PROTOCOLS)


def test_results_and_then_a_page(tmp_path):
    ran = typed("reproduce", *TINY, "--out", tmp_path / "run")
    assert ran.exit_code == 0, ran.output
    assert "4 tasks of rate (honest)" in ran.output, "two cells in two directions"
    # Nobody watches a terminal here, so there are lines for the log.
    assert "rate tasks: 4 of 4, about 0 minutes left" in ran.output
    again = typed("reproduce", *TINY, "--out", tmp_path / "run")
    assert again.exit_code == 1
    assert "--resume" in again.output, "it says how to go on"
    assert typed("reproduce", *TINY, "--out", tmp_path / "run", "--resume").exit_code == 0
    page = typed("study", tmp_path / "run", "--out", tmp_path / "docs")
    assert page.exit_code == 0, page.output
    assert (tmp_path / "docs" / "study-honest.csv").exists(), "the results are beside the page"


def test_one_repetition_is_run_again_alone(tmp_path):
    cell = ["rate", "--cells", "additive-n500", "--samples", "60"]
    assert typed("reproduce", *cell, "--reps", "3", "--out", tmp_path / "all").exit_code == 0
    alone = typed("reproduce", *cell, "--repetition", "2", "--out", tmp_path / "alone")
    assert "2 tasks of rate" in alone.output, "both directions of the third repetition"
    rows = {name: (tmp_path / name / "results.csv").read_text().splitlines() for name in ("all", "alone")}
    assert rows["alone"] == [rows["all"][0], *rows["all"][-len(rows["alone"]) + 1 :]]
    both = typed("reproduce", *cell, "--repetition", "2", "--reps", "3", "--out", tmp_path / "both")
    assert both.exit_code == 1
    assert "give one of them" in both.output


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["--scheduler", "tcp://here"], "needs --backend"),
        (["--backend", "dask", "--jobs", "2"], "--jobs"),
        (["--jobs", "0"], "--jobs 0"),
    ],
)
def test_workers_that_cannot_be_are_refused(tmp_path, words, sentence):
    ran = typed("reproduce", *TINY, *words, "--out", tmp_path / "run")
    assert ran.exit_code == 1
    assert sentence in ran.output


def test_what_does_not_exist_is_one_sentence(tmp_path):
    ran = typed("reproduce", "rate", "--protocol", "published", "--out", tmp_path)
    assert ran.exit_code == 1
    assert "There is no published protocol of rate; there is honest." in ran.output
