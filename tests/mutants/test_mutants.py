"""The mutation run itself: which mutants it makes, and that it tells noticed from unnoticed ones."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.mutants.generate import mutants

ROOT = Path(__file__).parents[2]


def changes(source: str) -> set[str]:
    return {mutant.change for mutant in mutants(source, "toy.py")}


WAYS = {
    "x = a < b": ["x = a <= b", "x = a > b"],
    "x = a + b * c": ["x = a - b * c", "x = a + b / c"],
    "x = a or not b": ["x = a and (not b)", "x = a or b"],
    "x = v.max(axis=1)": ["x = v.min(axis=1)", "x = v.max()", "x = v.max(axis=0)"],
    "x = [0, 7, 0.5, True]": [
        "x = [1, 7, 0.5, True]",
        "x = [0, 8, 0.5, True]",
        "x = [0, 7, 1.0, True]",
        "x = [0, 7, 0.5, False]",
    ],
    "check(x)": ["pass"],
    "x = average(v, weights)": ["x = average(v)"],
    "x = a if flag else b": ["x = a if not flag else b"],
    "x = box.lower": ["x = box.upper"],
}


@pytest.mark.parametrize("source", WAYS)
def test_every_place_is_changed_once_in_every_way(source):
    assert changes(source) == {f"{source} => {after}" for after in WAYS[source]}


def test_an_argument_with_a_default_may_be_ignored():
    assert changes("def f(v, weights=None):\n    return v") == {" => weights = None"}


@pytest.mark.parametrize(
    "source",
    [
        '"""A text with 1 < 2."""',
        "def f(x: Literal[1]) -> Literal[2]:\n    return x",
        "raise ValueError('at least', 1 + 1)",
        "x = f'{a + b}'",
        "class A:\n    def __repr__(self):\n        return 1 + 1",
        "x = 1e-9",
        "x = asarray(v, dtype=float)",
        "shape = box.lower.shape",
    ],
)
def test_messages_types_and_shapes_are_left_alone(source):
    assert changes(source) == set()


def test_a_mutant_keeps_its_key_when_lines_above_change():
    function = "def f(a):\n    return a + 1\n"
    before, after = (
        {each.key for each in mutants(text, "toy.py")} for text in (function, "import os\n\n\n" + function)
    )
    assert before == after
    assert before.isdisjoint(each.key for each in mutants(function.replace("a + 1", "a + 2"), "toy.py"))


MODULE = """
def total(values, start=0):
    for value in values:
        start += value
    return start

def unnoticed(a):
    return a * 2

def vanish(n):
    while n:
        n = int(n / 2)
    return n
"""
TESTS = """
from toy.sums.arithmetic import total, unnoticed, vanish

def test_total():
    assert (total([2, 3], start=1), total([])) == (6, 0)

def test_unnoticed():
    assert unnoticed(0) == 0

def test_vanish():
    assert vanish(3) == 0
"""
RUN = """
from pathlib import Path
from tests.mutants import __main__ as tool, run
tool.EXTRA_SECONDS = 2.0
tool.main(["sums", "--count", "0"], run.Project(Path({root!r}), "toy"))
"""


@pytest.fixture(scope="module")
def toy(tmp_path_factory):
    """A project of one module, mutated twice: what was printed, and what was kept."""
    root = tmp_path_factory.mktemp("toy")
    for name, text in {
        "src/toy/sums/arithmetic.py": MODULE,
        "src/toy/__init__.py": "",
        "src/toy/sums/__init__.py": "",
        "tests/sums/test_arithmetic.py": TESTS,
        "pyproject.toml": "[tool.pytest.ini_options]\naddopts = '--import-mode=importlib'\n",
    }.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text)
    command = [sys.executable, "-c", RUN.format(root=str(root))]
    environment = os.environ | {"PYTHONPATH": str(ROOT)}
    texts = [
        subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=True).stdout
        for _ in range(2)
    ]
    results = [json.loads(line) for line in (root / ".mutants/results.jsonl").read_text().splitlines()]
    return root, texts, {each["change"]: each for each in results}


def test_a_noticed_mutant_is_killed_and_the_test_named(toy):
    _, _, results = toy
    assert results["start += value => start -= value"]["outcome"] == "killed"
    assert results["start += value => start -= value"]["by"] == "tests/sums/test_arithmetic.py::test_total"
    assert results[" => start = 0"]["outcome"] == "killed"


def test_an_unnoticed_mutant_is_a_survivor_and_shown(toy):
    _, texts, results = toy
    survivors = [change for change, each in results.items() if each["outcome"] == "survived"]
    assert survivors == [
        "return a * 2 => return a / 2",
        "return a * 2 => return a * 3",
        "n = int(n / 2) => n = int(n / 3)",
    ]
    assert "-return a * 2\n+return a / 2" in texts[0]
    assert "sums/arithmetic.py:8 in unnoticed" in texts[0]


def test_an_endless_mutant_is_ended(toy):
    _, _, results = toy
    assert results["n = int(n / 2) => n = int(n * 2)"]["outcome"] == "hung"


def test_a_second_run_only_reports(toy):
    _, texts, results = toy
    assert f"{len(results)} mutants, 0 of them to test." in texts[1]
    assert texts[0].partition("file ")[2] == texts[1].partition("file ")[2]


def test_files_are_never_touched(toy):
    root, _, _ = toy
    assert (root / "src/toy/sums/arithmetic.py").read_text() == MODULE
