"""Shared rules of the test-suite."""

import gc
import os
import signal
from collections.abc import Generator, Iterator
from pathlib import Path
from typing import TypeVar

import joblib
import pytest

from selective_labels.estimators import identified

# A test that needs something optional skips with a reason that starts with this word.
OPTIONAL = "optional"
# A test that needs what a cluster brings, such as Spark, starts with this one: nobody installs that here.
ELSEWHERE = "elsewhere"
# A test that needs data of others, which we may use and not hand on, starts with this one.
FILE = "file"

Report = TypeVar("Report", pytest.TestReport, pytest.CollectReport)


def pytest_configure(config: pytest.Config) -> None:
    """Commands that tests start can be interrupted, also where the suite is a background job of a shell.

    Such a shell ignores Ctrl-C for its jobs, and what they start ignores it, too.
    """
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)


def pytest_collection() -> None:
    """While thousands of tests are collected nothing becomes garbage, and looking for it takes seconds."""
    gc.disable()


def pytest_collection_finish() -> None:
    """What was collected stays until the end: later searches for garbage leave it out."""
    gc.freeze()
    gc.enable()


def pytest_unconfigure() -> None:
    """At the end all of it goes, or libraries that count their objects complain."""
    gc.unfreeze()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item, call: pytest.CallInfo
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Where everything optional must be present, its absence is a failure, not a skip."""
    return _required((yield))


@pytest.hookimpl(wrapper=True)
def pytest_make_collect_report(
    collector: pytest.Collector,
) -> Generator[None, pytest.CollectReport, pytest.CollectReport]:
    """The same for a file that skips as a whole."""
    return _required((yield))


def _required(report: Report) -> Report:
    if report.skipped and os.environ.get("SELECTIVE_LABELS_REQUIRE_EXTRAS"):
        reason = str(report.longrepr[2]) if isinstance(report.longrepr, tuple) else ""
        if reason.removeprefix("Skipped: ").startswith(OPTIONAL):
            report.outcome = "failed"
            report.longrepr = f"{reason}: SELECTIVE_LABELS_REQUIRE_EXTRAS is set, so this must run."
    return report


@pytest.fixture(autouse=True)
def _nothing_is_remembered(request: pytest.FixtureRequest) -> None:
    """What one test identified is not at hand in another, but in the same file where it says so."""
    if request.node.get_closest_marker("remembers") is None or _remembering != [request.path]:
        identified.forget()
    _remembering[:] = [request.path]


# The file whose tests ran last.
_remembering: list[Path] = []


@pytest.fixture(autouse=True, scope="session")
def _one_job() -> Iterator[None]:
    """One job for whoever does not ask for more: two workers of pytest already use two cores.

    Tests of parallel work name their number of jobs, or ask for `as_many_jobs_as_cores`.
    """
    with joblib.parallel_config(n_jobs=1):
        yield


@pytest.fixture
def as_many_jobs_as_cores() -> Iterator[None]:
    """What users get who say nothing."""
    with joblib.parallel_config(n_jobs=None):
        yield
