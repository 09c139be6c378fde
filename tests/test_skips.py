"""Skips say why, in words that continuous integration understands: nothing vanishes in silence."""

import ast
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.conftest import ELSEWHERE, FILE, OPTIONAL

TESTS = Path(__file__).parent
SKIPS = ("importorskip", "skip", "skipif")


def unclear_skips(source: str) -> list[int]:
    """Lines of skips whose reason does not begin with one of the three words."""
    found = []
    for node in ast.walk(ast.parse(source)):
        if not isinstance(node, ast.Call) or ast.unparse(node.func).rpartition(".")[2] not in SKIPS:
            continue
        reasons = [keyword.value for keyword in node.keywords if keyword.arg == "reason"]
        if ast.unparse(node.func) == "pytest.skip":
            reasons += node.args
        if not reasons or not begins(reasons[0]):
            found.append(node.lineno)
    return found


def begins(reason: ast.expr) -> bool:
    text = reason.values[0] if isinstance(reason, ast.JoinedStr) else reason
    words = (f"{OPTIONAL}: ", f"{FILE}: ", f"{ELSEWHERE}: ")
    return isinstance(text, ast.Constant) and str(text.value).startswith(words)


def test_reasons_of_skips_begin_with_what_is_missing():
    lines = {str(path): unclear_skips(path.read_text()) for path in TESTS.rglob("*.py")}
    assert not {path: found for path, found in lines.items() if found}


@pytest.mark.parametrize(
    "source",
    [
        "pytest.importorskip('torch')",
        "pytest.importorskip('torch', reason='needs PyTorch')",
        "pytest.skip('no browser')",
        "pytest.mark.skipif(True, reason='no browser')",
        "pytest.mark.skip(reason=f'{name} is absent')",
    ],
)
def test_the_rule_finds_what_it_forbids(source):
    assert unclear_skips(source) == [1]


def test_the_rule_lets_the_two_words_pass():
    good = "pytest.importorskip(name, reason=f'optional: {name}')\npytest.skip('file: HELOC')"
    assert unclear_skips(good) == []


WHOLE_FILE = "import pytest\n\nabsent = pytest.importorskip('absent_library', reason='{reason}')\n"
ONE_TEST = WHOLE_FILE.replace("absent =", "def test_something():\n    absent =")
SOURCES = {"whole": WHOLE_FILE, "one": ONE_TEST}


@pytest.mark.parametrize(
    ("required", "fail"),
    [("1", {"test_optional_whole.py", "test_optional_one.py::test_something"}), ("", set())],
)
def test_what_is_optional_must_run_where_everything_is_present(required, fail, tmp_path):
    """Whole files and single tests alike; what lacks a file of others is skipped everywhere."""
    for word in (OPTIONAL, FILE):
        for name, source in SOURCES.items():
            path = tmp_path / f"test_{word}_{name}.py"
            path.write_text(source.format(reason=f"{word}: absent"))
    options = [
        "-q",
        "-rfEs",
        "-p",
        "tests.conftest",
        "--continue-on-collection-errors",
        "--rootdir",
        str(tmp_path),
    ]
    environment = os.environ | {
        "SELECTIVE_LABELS_REQUIRE_EXTRAS": required,
        "PYTHONPATH": str(TESTS.parent),
        "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1",
    }
    command = [sys.executable, "-m", "pytest", *options, str(tmp_path)]
    run = subprocess.run(command, env=environment, cwd=tmp_path, capture_output=True, text=True, check=False)
    failed = [line.split()[1] for line in run.stdout.splitlines() if line.startswith(("FAILED", "ERROR "))]
    assert set(failed) == fail
    assert ("SELECTIVE_LABELS_REQUIRE_EXTRAS is set" in run.stdout) == bool(fail)
    assert f"{len(SOURCES) * 2 - len(fail)} skipped" in run.stdout
