"""Test wrong versions of a module, each in a process of its own that begins with all imports done."""

import contextlib
import importlib
import importlib.abc
import importlib.machinery
import importlib.util
import os
import resource
import signal
import sys
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import CodeType, ModuleType
from typing import Any

from tests.mutants.calls import Recorder, Test, read_tests
from tests.mutants.generate import Mutant

QUIET = ("-q", "--tb=no", "--assert=plain", "-p", "no:cacheprovider", "-p", "no:xdist")
POLL_SECONDS = 0.02
LONGEST_SECONDS = 3600
# Who waits for nothing uses no processor time: this many seconds on the clock for each of those.
WAITING = 20


@dataclass(frozen=True)
class Project:
    """A package in `root`/src, and what its tests import besides it."""

    root: Path
    package: str
    preload: tuple[str, ...] = ()

    def path(self, file: str) -> Path:
        return self.root / "src" / self.package / file

    def prepare(self) -> None:
        """Import once what every test needs; never the package itself."""
        os.chdir(self.root)
        sys.path[:0] = [str(self.root / "src"), str(self.root)]
        os.environ["PYTHONPATH"] = os.pathsep.join(sys.path[:2])  # for processes that tests start
        for name in ("pytest", *self.preload):
            importlib.import_module(name)
        if "hypothesis" in sys.modules:
            _without_shrinking()


def _without_shrinking() -> None:
    """A failing example is enough; the smallest one would cost minutes, and another seed another answer."""
    from hypothesis import Phase, settings

    phases = (Phase.explicit, Phase.generate)
    settings.register_profile("mutants", phases=phases, database=None, derandomize=True, deadline=None)
    settings.load_profile("mutants")


@dataclass(frozen=True)
class Outcome:
    """What became of a mutant: "killed", "survived", or "hung" (which a test run would notice too)."""

    outcome: str
    by: str
    seconds: float


@dataclass(frozen=True)
class Task:
    """A mutant, the tests that may notice it, in order, and the seconds of processor time they have."""

    mutant: Mutant
    tests: Sequence[Test]
    seconds: int


def record(project: Project, files: Sequence[str]) -> list[Test]:
    """Run tests against the package as it is. They must pass; what they call is noted."""
    recorder = Recorder(project.path(""))

    def run(report: Path) -> int:
        import pytest

        status = int(pytest.main([*QUIET, *files], plugins=[recorder]))
        report.write_text(", ".join(recorder.failed) if status else recorder.to_json())
        return status

    child = _Child(run, LONGEST_SECONDS)
    while child.running:
        time.sleep(POLL_SECONDS)
    text = child.text()
    if child.status != 0:
        raise SystemExit(f"The tests fail without a mutant: {text or child.status}.")
    return read_tests(text)


def judge(project: Project, tasks: Iterable[Task], n_jobs: int) -> Iterator[tuple[Mutant, Outcome]]:
    """Outcomes of all tasks, in the order in which they end."""
    queue, running = iter(tasks), {}
    waiting = True
    while waiting or running:
        while waiting and len(running) < n_jobs:
            task = next(queue, None)
            waiting = task is not None
            if task is not None:
                running[task.mutant] = _Child(_tester(project, task), task.seconds)
        time.sleep(POLL_SECONDS)
        for mutant, child in list(running.items()):
            if not child.running:
                del running[mutant]
                word = {None: "hung", 0: "survived"}.get(child.status, "killed")
                yield mutant, Outcome(word, child.text(), round(child.seconds, 2))


def _tester(project: Project, task: Task) -> Callable[[Path], int]:
    def run(report: Path) -> int:
        import pytest

        if not task.tests:
            return 0  # nobody calls it, so nobody notices
        selection = _Selection([test.name for test in task.tests])
        try:
            _install(project, task.mutant)
            files = dict.fromkeys(test.file for test in task.tests)
            status = int(pytest.main([*QUIET, "-x", *files], plugins=[selection]))
        except BaseException as error:  # whatever an import raises has been noticed
            status, selection.failed = 1, f"import: {type(error).__name__}"
        report.write_text(selection.failed)
        return status

    return run


class _Child:
    """A process that runs a function, forked from this one, with its own group and a limit of time.

    `status` is None for one that had to be ended.
    """

    def __init__(self, function: Callable[[Path], int], limit: int) -> None:
        handle, name = tempfile.mkstemp(prefix="mutant-")
        os.close(handle)
        self.report, self.limit, self.begun = Path(name), limit, time.monotonic()
        self.status: int | None = None
        self.seconds = 0.0
        self.pid = os.fork()
        if not self.pid:
            self._live(function)

    def _live(self, function: Callable[[Path], int]) -> None:
        status = 1
        try:
            os.setsid()  # so that processes which tests start can be ended with them
            # Processor time, which does not pass while the machine has other work to do.
            resource.setrlimit(resource.RLIMIT_CPU, (self.limit, self.limit + 1))
            nothing = os.open(os.devnull, os.O_RDWR)
            for stream in (0, 1, 2):
                os.dup2(nothing, stream)
            status = function(self.report)
        finally:
            os._exit(status)

    @property
    def running(self) -> bool:
        done, status = os.waitpid(self.pid, os.WNOHANG)
        self.seconds = time.monotonic() - self.begun
        if not done and self.seconds <= WAITING * self.limit:
            return True
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self.pid, signal.SIGKILL)
        if not done:
            os.waitpid(self.pid, 0)
        elif not os.WIFSIGNALED(status):
            self.status = os.waitstatus_to_exitcode(status)
        return False

    def text(self) -> str:
        """Read the report, once."""
        text = self.report.read_text()
        self.report.unlink()
        return text


class _Selection:
    """A plugin of pytest that runs some tests in a given order and keeps the name of the first that fails."""

    def __init__(self, names: Sequence[str]) -> None:
        self.rank = {name: rank for rank, name in enumerate(names)}
        self.failed = ""

    def pytest_collection_modifyitems(self, items: list[Any]) -> None:
        items[:] = sorted(
            (item for item in items if item.nodeid in self.rank), key=lambda item: self.rank[item.nodeid]
        )

    def pytest_runtest_logreport(self, report: Any) -> None:
        if report.failed:
            self.failed = self.failed or report.nodeid

    def pytest_collectreport(self, report: Any) -> None:
        if report.failed:
            self.failed = self.failed or f"collection of {report.nodeid}"


class _Loader(importlib.machinery.SourceFileLoader):
    """Loads a module from code that was compiled before."""

    code: CodeType

    def get_code(self, fullname: str) -> CodeType:
        return self.code


class _Finder(importlib.abc.MetaPathFinder):
    """Finds one module, in its usual place, with other code."""

    def __init__(self, name: str, path: Path, code: CodeType) -> None:
        self.name, self.path = name, path
        self.loader = _Loader(name, str(path))
        self.loader.code = code

    def find_spec(self, name: str, path: object, target: ModuleType | None = None) -> Any:
        if name != self.name:
            return None
        return importlib.util.spec_from_file_location(name, self.path, loader=self.loader)


def _install(project: Project, mutant: Mutant) -> None:
    """Put the mutant in place of its module, before anything of the package is imported."""
    name = ".".join((project.package, *Path(mutant.file).with_suffix("").parts))
    path = project.path(mutant.file)
    sys.meta_path.insert(0, _Finder(name, path, mutant.code(path)))
    importlib.import_module(name)
