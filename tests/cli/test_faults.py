"""Commands that are killed at any moment: nothing half-written, nobody left, and the same line goes on."""

import json
import random
import subprocess
import sys
from pathlib import Path

import pytest

from selective_labels import load_model
from tests.partitions.tables import FEATURES, make_table, write

from .conftest import NO_PREDICTIONS, QUICK, ROLES, make_cases
from .processes import environment, wait_until_alone

pytestmark = pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="optional: reads /proc")

COMMAND = (sys.executable, "-m", "selective_labels")
# However few the rows, workers do the passes.
IN_PARTS = """
import selective_labels.partitions.engine as engine
engine.FEW_ROWS = 0
from selective_labels.cli import main
main()
"""
PARTS = ("--label", "failed", "--decision", "released", "--decision-maker", "judge", "--predictions", "guess")
PARTS += ("--features", ",".join(FEATURES), "--nuisance", "logistic", "--format", "json")
RUNS = {
    "report": (*COMMAND, "report", "cases.csv", *ROLES, *QUICK, "--predictions", "guess", "--out", "out"),
    "fit": (*COMMAND, "fit", "cases.csv", *ROLES, *QUICK, *NO_PREDICTIONS, "--model", "out", "--jobs", "2"),
    "evaluate": (sys.executable, "-c", IN_PARTS, "evaluate", "parts", *PARTS),
}


def read_output(name, folder, text):
    """What a finished run has made; fails if it is not whole."""
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
        env=environment(),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )


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
    n_cut = 0
    for _ in range(n_kills):
        process = begin(name, folder)
        try:
            text, _ = process.communicate(timeout=delays.uniform(0.2, 5.0 if n_kills > 1 else 2.0))
        except subprocess.TimeoutExpired:
            n_cut += 1
            process.kill()
            wait_until_alone(process)
            process.communicate()
        else:
            read_output(name, folder, text)
        if (folder / "out").exists():
            read_output(name, folder, "")
        new = {path.name for path in folder.iterdir()} - before - {"out"}
        assert all(each.startswith(".") for each in new), f"{new}: a draft is hidden"
    assert n_cut > 0, "no run was cut off"
    process = begin(name, folder)
    text, errors = process.communicate(timeout=120)
    assert process.returncode == 0, errors
    assert read_output(name, folder, text)


def test_two_processes_that_write_one_file_leave_one_of_both(folder):
    """Each file is whole at every moment, whoever was last."""
    code = (
        "import sys\nfrom selective_labels.saving.atomic import write_whole\n"
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
