"""The command as a process: it starts fast, and Ctrl-C ends it in two seconds with nothing left behind."""

import os
import pty
import signal
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path

import pytest

from .conftest import ROLES, make_cases
from .processes import environment, living, seconds_to_end, wait_until_alone

COMMAND = (sys.executable, "-m", "selective_labels")
RUNS = {
    "fit": ("fit", "--model", "out"),
    "fit with two processes": ("fit", "--model", "out", "--jobs", "2"),
    "report": ("report", "--out", "out", "--predictions", "guess"),
    "check": ("check",),
}


@pytest.fixture(scope="module")
def large(tmp_path_factory):
    """A table that keeps every command busy for longer than the test."""
    path = tmp_path_factory.mktemp("large") / "cases.csv"
    make_cases(60_000).to_csv(path, index=False)
    return path


@pytest.fixture
def start(tmp_path):
    """Start processes in an empty folder; those that a failing test leaves are ended."""
    started = []

    def start(*command):
        process = subprocess.Popen(
            [*map(str, command)],
            cwd=tmp_path,
            env=environment(),
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            start_new_session=True,
            # Tests that were started by nohup ignore it, and so would all that they start.
            preexec_fn=lambda: signal.signal(signal.SIGHUP, signal.SIG_DFL),
        )
        started.append(process)
        return process

    yield start
    for process in started:
        # Its workers too, which would hold its output open.
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.communicate()


def wait_until_busy(process, seconds):
    """Processor seconds of the process itself, so that a loaded machine waits longer."""
    ticks = os.sysconf("SC_CLK_TCK")
    for _ in range(600):
        assert process.poll() is None, process.communicate()
        fields = Path(f"/proc/{process.pid}/stat").read_text().rpartition(")")[2].split()
        if (int(fields[11]) + int(fields[12])) / ticks > seconds:
            return
        time.sleep(0.1)
    raise AssertionError("the command does not get to work")


@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="optional: reads /proc")
@pytest.mark.parametrize("to_group", [False, True], ids=["to the process", "to the group"])
@pytest.mark.parametrize("name", RUNS)
def test_an_interrupt_ends_it_in_two_seconds(start, large, tmp_path, name, to_group):
    command, *options = RUNS[name]
    process = start(*COMMAND, command, large, *ROLES, "--exclude", "guess,score", *options)
    wait_until_busy(process, 3.0)
    began = time.monotonic()
    (os.killpg if to_group else os.kill)(process.pid, signal.SIGINT)
    _, errors = process.communicate(timeout=30)
    assert time.monotonic() - began < seconds_to_end()
    assert process.returncode == 130
    assert "Interrupted." in errors
    assert "same command" in errors, "it says how to resume"
    left = [path.name for path in tmp_path.iterdir() if path.name != ".out.partial.json"]
    assert left == [], "nothing under the final name, no temporary file"
    time.sleep(0.5)
    assert living(process.pid) == [], "no worker goes on"


@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="optional: reads /proc")
@pytest.mark.parametrize("signal_sent", [signal.SIGTERM, signal.SIGHUP])
def test_a_request_to_end_is_heard(start, large, tmp_path, signal_sent):
    """Broke: SIGTERM ended it without a word, and temporary files stayed."""
    process = start(*COMMAND, "fit", large, *ROLES, "--exclude", "guess,score", "--model", "out")
    wait_until_busy(process, 3.0)
    began = time.monotonic()
    process.send_signal(signal_sent)
    process.send_signal(signal_sent)  # a second one does not disturb the end
    _, errors = process.communicate(timeout=30)
    assert time.monotonic() - began < seconds_to_end()
    assert process.returncode == 128 + signal_sent
    assert "Ended. Nothing was written" in errors
    assert "Traceback" not in errors
    assert list(tmp_path.iterdir()) == []


BUSY = """
import sys, time
from pathlib import Path
import joblib, typer
from selective_labels.cli import main
from selective_labels.cli.console import guarded
from selective_labels.io.files import drafts_of_workers, whole_file
from selective_labels._parallel import in_processes

app = typer.Typer()

def work(name, run):
    with whole_file(name, run) as draft:
        draft.write_text("half")
        time.sleep(60)

@app.command()
@guarded
def busy() -> None:
    with drafts_of_workers(Path.cwd()) as run:
        if "HOW" == "joblib":
            joblib.Parallel(n_jobs=2, backend="loky")(joblib.delayed(work)(name, run) for name in "ab")
        list(in_processes([(work, name, run) for name in "ab"], n_jobs=2))

sys.modules["busy"] = sys.modules["__main__"]
sys.argv = ["busy"]
main("busy", "busy")
"""


@pytest.fixture
def busy(start, tmp_path):
    """A command with two workers, each of which is writing a file."""

    def begin(how):
        process = start(sys.executable, "-c", BUSY.replace("HOW", how))
        for _ in range(600):
            if len(list(tmp_path.glob(".*.unfinished"))) == 2:
                return process
            assert process.poll() is None, process.communicate()
            time.sleep(0.05)
        raise AssertionError("the workers do not get to work")

    return begin


@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="optional: reads /proc")
@pytest.mark.parametrize("how", ["joblib", "ours"])
@pytest.mark.parametrize("signal_sent", [signal.SIGTERM, signal.SIGINT])
def test_worker_processes_end_with_it(busy, tmp_path, signal_sent, how):
    """Broke: workers outlived SIGTERM until their task was done, which took minutes, or it did not end."""
    process = busy(how)
    process.send_signal(signal_sent)
    process.communicate(timeout=30)
    assert process.returncode == 128 + signal_sent
    wait_until_alone(process)
    assert list(tmp_path.iterdir()) == [], "nor is there a draft of theirs"


@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="optional: reads /proc")
def test_worker_processes_end_if_it_is_killed(busy, tmp_path):
    """Broke: they finished their tasks first."""
    process = busy("ours")
    process.kill()
    wait_until_alone(process)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="optional: reads /proc")
def test_a_killed_worker_is_told_in_a_sentence(busy, tmp_path):
    """Broke: it asked to report a TerminatedWorkerError."""
    process = busy("ours")
    workers = [
        int(each)
        for each in living(process.pid)
        if b"LokyProcess" in Path(f"/proc/{each}/cmdline").read_bytes()
    ]
    os.kill(workers[0], signal.SIGKILL)
    _, errors = process.communicate(timeout=30)
    assert process.returncode == 1
    assert "Error: A worker process was ended from outside" in errors
    assert "Traceback" not in errors
    wait_until_alone(process)
    assert list(tmp_path.iterdir()) == []


def test_a_signal_that_is_ignored_stays_ignored():
    """As nohup and background jobs of shells wish."""
    code = (
        "import signal; signal.signal(signal.SIGHUP, signal.SIG_IGN)\n"
        "from selective_labels.cli.main import watch; watch()\n"
        "assert signal.getsignal(signal.SIGHUP) == signal.SIG_IGN"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


STUCK = """
import ctypes, sys
from selective_labels.cli import app, main

@app.command("stuck")
def stuck(context: app.typer.Context) -> None:
    print("stuck", file=sys.stderr, flush=True)
    while True:
        try:
            ctypes.CDLL(None).poll(None, 0, 60_000)
        except KeyboardInterrupt:
            pass

sys.argv = ["selective-labels", "stuck"]
main()
"""


def test_a_call_that_does_not_come_back_is_ended(start):
    process = start(sys.executable, "-c", STUCK)
    assert process.stderr.readline() == "stuck\n"
    began = time.monotonic()
    process.send_signal(signal.SIGINT)
    errors = process.communicate(timeout=30)[1]
    assert time.monotonic() - began < seconds_to_end()
    assert process.returncode == 130
    assert "Interrupted." in errors


def test_help_comes_at_once(tmp_path):
    """Processor time, so that a loaded machine does not count."""
    code = "import sys, time; from selective_labels.cli import main; sys.argv[1:] = ['--help']\n"
    code += "try: main()\nfinally: print(time.process_time(), *sys.modules, file=sys.stderr)"
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    seconds, *modules = result.stderr.split()
    assert float(seconds) < 1.0
    assert not {"pandas", "sklearn", "scipy", "skops"} & set(modules), "heavy parts are imported when needed"


def test_progress_is_drawn_on_a_terminal(tmp_path):
    make_cases(300).to_csv(tmp_path / "cases.csv", index=False)
    ours, theirs = pty.openpty()
    process = subprocess.Popen(
        [*COMMAND, "check", "cases.csv", *ROLES, "--features", "age", "--folds", "2", "--format", "csv"],
        cwd=tmp_path,
        stdout=subprocess.PIPE,
        stderr=theirs,
        env=os.environ | {"TERM": "xterm", "COLUMNS": "120"},
    )
    os.close(theirs)
    drawn = b""
    try:
        while part := os.read(ours, 4096):
            drawn += part
    except OSError:  # the other end is closed
        pass
    finally:
        os.close(ours)
    results = process.communicate()[0]
    assert process.returncode == 0
    assert b"left:" in drawn, "bars tell the time left"
    assert results.startswith(b"code,"), "results stay on standard output"
