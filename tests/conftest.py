"""Shared rules of the test-suite."""

import os
import signal
from collections.abc import Generator
from typing import TypeVar

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
def _nothing_is_remembered() -> None:
    """What one test identified is not at hand in another."""
    identified.forget()
