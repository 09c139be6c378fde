"""Which tests call which functions: only these can notice a mutant, and the others need not run."""

import json
import sys
import time
from collections import defaultdict
from collections.abc import Generator, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from types import FrameType
from typing import Any

import pytest


@dataclass(frozen=True)
class Test:
    """A test, how long it takes, and what it calls: (file, function) pairs."""

    __test__ = False  # a class of this name is nothing that pytest should collect

    name: str
    seconds: float
    calls: frozenset[tuple[str, str]]

    @property
    def file(self) -> str:
        return self.name.partition("::")[0]


class Recorder:
    """A plugin of pytest that follows calls into a package, those of fixtures and of imports included."""

    def __init__(self, package: Path) -> None:
        self.package = f"{package}/"
        self.calls: dict[Any, set[tuple[str, str]]] = defaultdict(set)
        self.seconds: dict[str, float] = {}
        self.needs: dict[str, list[Any]] = {}
        self.failed: list[str] = []
        self._open: list[set[tuple[str, str]]] = []

    @contextmanager
    def into(self, key: Any) -> Iterator[None]:
        """Note calls under a key, and under those that are open around it."""
        found: set[tuple[str, str]] = set()
        self._open.append(found)
        sys.settrace(self._note)
        try:
            yield
        finally:
            self._open.pop()
            sys.settrace(self._note if self._open else None)
            self.calls[key] |= found
            if self._open:
                self._open[-1].update(found)

    def _note(self, frame: FrameType, event: str, argument: object) -> None:
        path = frame.f_code.co_filename
        if path.startswith(self.package):
            function = frame.f_code.co_qualname.partition(".<locals>")[0]
            self._open[-1].add((path.removeprefix(self.package), function))

    @pytest.hookimpl(wrapper=True)
    def pytest_make_collect_report(self, collector: Any) -> Generator[None, Any, Any]:
        with self.into(collector.nodeid):
            return (yield)

    @pytest.hookimpl(wrapper=True)
    def pytest_fixture_setup(self, fixturedef: Any) -> Generator[None, Any, Any]:
        with self.into((fixturedef.baseid, fixturedef.argname)):
            return (yield)

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(self, item: Any) -> Generator[None, Any, Any]:
        begun = time.monotonic()
        with self.into(item.nodeid):
            result = yield
        self.seconds[item.nodeid] = time.monotonic() - begun
        fixtures = item._fixtureinfo.name2fixturedefs.values()
        shared = [(each.baseid, each.argname) for several in fixtures for each in several]
        self.needs[item.nodeid] = [item.nodeid.partition("::")[0], item.nodeid, *shared]
        return result

    def pytest_runtest_logreport(self, report: Any) -> None:
        if report.failed:
            self.failed.append(report.nodeid)

    def to_json(self) -> str:
        tests = {
            name: [seconds, sorted(set().union(*(self.calls[key] for key in self.needs[name])))]
            for name, seconds in self.seconds.items()
        }
        return json.dumps(tests)


def read_tests(text: str) -> list[Test]:
    """What `Recorder.to_json` wrote."""
    return [
        Test(name, seconds, frozenset(map(tuple, calls)))
        for name, (seconds, calls) in json.loads(text).items()
    ]
