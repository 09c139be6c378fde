"""The commands `reproduce` and `page`, from the words that are typed to the files that are there."""

import subprocess
import sys
from pathlib import Path

import pytest
from typer.testing import CliRunner

from study.catalogue import NAMES, PROTOCOLS
from study.command_line import ExperimentName, Protocol, app

TINY = ["rate", "--cells", "additive-n500,additive-n1000", "--reps", "1", "--samples", "60"]


ROOT = Path(__file__).parents[2]


def typed(*words):
    return CliRunner().invoke(app, [str(word) for word in words])


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
    page = typed("page", tmp_path / "run", "--out", tmp_path / "page")
    assert page.exit_code == 0, page.output
    assert (tmp_path / "page" / "study-honest.csv").exists(), "the results are beside the page"


def test_from_a_clone_two_processes_do_the_work(tmp_path):
    words = ["reproduce", *TINY, "--jobs", "2", "--out", str(tmp_path)]
    run = subprocess.run([sys.executable, "-m", "study", *words], cwd=ROOT, capture_output=True, text=True)
    assert run.returncode == 0, run.stderr
    assert "4 tasks of rate (honest)" in run.stdout


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
    assert ran.output == "Error: There is no published protocol of rate; there is honest.\n"
