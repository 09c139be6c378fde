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


@pytest.mark.parametrize("source", [WHOLE_FILE, ONE_TEST], ids=["a whole file", "one test"])
@pytest.mark.parametrize(
    ("reason", "required", "fails"),
    [
        ("optional: absent", "1", True),
        ("optional: absent", "", False),
        ("file: absent", "1", False),
    ],
)
def test_what_is_optional_must_run_where_everything_is_present(source, reason, required, fails, tmp_path):
    path = tmp_path / "test_absent.py"
    path.write_text(source.format(reason=reason))
    command = [
        sys.executable,
        "-m",
        "pytest",
        "-q",
        "-p",
        "tests.conftest",
        "--rootdir",
        str(tmp_path),
        str(path),
    ]
    environment = os.environ | {"SELECTIVE_LABELS_REQUIRE_EXTRAS": required, "PYTHONPATH": str(TESTS.parent)}
    run = subprocess.run(command, env=environment, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert ("SELECTIVE_LABELS_REQUIRE_EXTRAS is set" in run.stdout) == fails
    assert ("skipped" in run.stdout) != fails
