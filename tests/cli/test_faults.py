"""Commands that are killed at any moment: nothing half-written, nobody left, and the same line goes on."""

import json
import os
import random
import shutil
import subprocess
import sys
import time
from pathlib import Path

import pytest

from selective_labels import load_model
from tests.evaluation.partitioned.tables import FEATURES, make_table, write

from .conftest import NO_PREDICTIONS, QUICK, ROLES, make_cases
from .processes import environment, wait_until_alone

pytestmark = pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="optional: reads /proc")

COMMAND = (sys.executable, "-m", "selective_labels")
# However few the rows, workers do the passes.
IN_PARTS = """
import selective_labels.data.partition_sources as engine
engine.FEW_ROWS = 0
from selective_labels.cli import main
main()
"""
PARTS = ("--label", "failed", "--decision", "released", "--decision-maker", "judge", "--predictions", "guess")
PARTS += ("--features", ",".join(FEATURES), "--nuisance", "logistic", "--format", "json")
ROOT = Path(__file__).parents[2]
STUDY = ("rate", "--cells", "additive-n500", "--samples", "60", "--reps", "4", "--jobs", "2", "--resume")
RUNS = {
    "report": (*COMMAND, "report", "cases.csv", *ROLES, *QUICK, "--predictions", "guess", "--out", "out"),
    "fit": (*COMMAND, "fit", "cases.csv", *ROLES, *QUICK, *NO_PREDICTIONS, "--model", "out", "--jobs", "2"),
    "evaluate": (sys.executable, "-c", IN_PARTS, "evaluate", "parts", *PARTS),
    "study": (sys.executable, "-m", "study", "reproduce", *STUDY, "--out", "out"),
}


def read_output(name, folder, text):
    """What a finished run has made; fails if it is not whole."""
    if name == "study":
        # Tasks are kept as they are done, in any order; the times of each differ.
        return sorted((folder / "out" / "results.csv").read_text().splitlines())
    if name == "report":
        page = (folder / "out").read_text()
        assert page.rstrip().endswith("</html>")
        return page.count("<section")
    if name == "fit":
        return load_model(folder / "out").schema.n_rows
    return len(json.loads(text)["evaluations"])


def begin(name, folder):
    return subprocess.Popen(
        RUNS[name],
        cwd=folder,
        # The study is run from a clone, not from what is installed.
        env=environment() | {"PYTHONPATH": os.pathsep.join([str(ROOT), os.environ.get("PYTHONPATH", "")])},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )


def finish(name, folder):
    """What an undisturbed run makes."""
    process = begin(name, folder)
    text, errors = process.communicate(timeout=120)
    assert process.returncode == 0, errors
    return read_output(name, folder, text)


def forget(folder):
    """Begin anew, so that what is found was not there before."""
    out = folder / "out"
    shutil.rmtree(out) if out.is_dir() else out.unlink(missing_ok=True)


@pytest.fixture
def folder(tmp_path):
    make_cases(400).to_csv(tmp_path / "cases.csv", index=False)
    (tmp_path / "parts").mkdir()
    write(make_table(600), tmp_path / "parts", 4)
    return tmp_path


@pytest.mark.parametrize("n_kills", [1, pytest.param(20, marks=pytest.mark.statistical)])
@pytest.mark.parametrize("name", RUNS)
def test_a_command_may_be_killed_at_any_moment(name, n_kills, folder):
    delays = random.Random(n_kills)
    before = {path.name for path in folder.iterdir()}
    began = time.monotonic()
    wanted = finish(name, folder)
    seconds = time.monotonic() - began
    forget(folder)
    n_cut = 0
    while n_cut < n_kills:
        process = begin(name, folder)
        try:
            text, errors = process.communicate(timeout=delays.uniform(0.1, 1.0) * seconds)
        except subprocess.TimeoutExpired:
            n_cut += 1
            process.kill()
            wait_until_alone(process)
            process.communicate()
        else:
            assert process.returncode == 0, errors
            assert read_output(name, folder, text) == wanted
            forget(folder)
        if (folder / "out").is_file():
            assert read_output(name, folder, "") == wanted, "what stands under its name is whole"
        new = {path.name for path in folder.iterdir()} - before - {"out"}
        assert all(each.startswith(".") for each in new), f"{new}: a draft is hidden"
    assert finish(name, folder) == wanted, "the same line goes on"
    assert not (folder / ".out.partial.json").exists(), "sections of a finished report are forgotten"


def test_two_processes_that_write_one_file_leave_one_of_both(folder):
    """Each file is whole at every moment, whoever was last."""
    code = (
        "import sys\nfrom selective_labels.io.files import write_whole\n"
        "for _ in range(150): write_whole('out', sys.argv[1] * 200_000)"
    )
    writers = [
        subprocess.Popen([sys.executable, "-c", code, letter], cwd=folder, env=environment())
        for letter in "ab"
    ]
    seen = set()
    while any(each.poll() is None for each in writers):
        if (folder / "out").exists():
            content = (folder / "out").read_text()
            assert content in ("a" * 200_000, "b" * 200_000)
            seen.add(content[0])
    assert [each.returncode for each in writers] == [0, 0]
    assert [path.name for path in folder.glob("*out*")] == ["out"], "no draft stays"
    assert len(seen) > 0


def test_a_disk_without_room_is_told_and_leaves_no_model(folder):
    """A limit of a file's size stands for a full disk; the model is larger than it."""
    limited = (
        "import resource, signal, sys\n"
        "signal.signal(signal.SIGXFSZ, signal.SIG_IGN)\n"
        "from selective_labels.cli import main\n"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (4096, 4096))\nmain()"
    )
    command = [sys.executable, "-c", limited, *RUNS["fit"][3:]]
    found = subprocess.run(command, cwd=folder, env=environment(), capture_output=True, text=True)
    assert found.returncode == 1
    assert (
        found.stderr.splitlines()[-1]
        == "Error: out cannot be written: file too large, and nothing was changed."
    )
    assert [path.name for path in folder.iterdir() if "out" in path.name] == []
