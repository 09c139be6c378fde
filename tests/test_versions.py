"""What is declared of versions is what is tested."""

import re
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
# Extras that `make test-oldest` installs.
TRIED = ("parquet", "polars")


def versions(lines, sign):
    """Names, and what stands behind the sign; `1.6.*` is any of 1.6."""
    found = (re.fullmatch(rf"([\w-]+)(?:\[.*\])?{sign}([\d.]+?)(?:\.\*)?", line) for line in lines)
    return {each[1]: each[2] for each in found if each}


def project():
    return tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]


def test_the_declared_minima_are_those_that_are_tried():
    """Broke: narwhals 1.20 was declared, which lacks a name that is imported; nobody had tried it."""
    extras = [line for name in TRIED for line in project()["optional-dependencies"][name]]
    declared = versions(project()["dependencies"] + extras, ">=")
    assert len(declared) == len(project()["dependencies"]) + len(extras), "each has a minimum"
    tried = versions((ROOT / "constraints-oldest.txt").read_text().splitlines(), "==")
    assert tried == declared


def test_classifiers_name_the_versions_of_python_that_are_tried():
    workflow = ROOT / ".github/workflows/test.yml"
    if not workflow.exists():
        pytest.skip("elsewhere: the source archive has no workflows")
    tried = re.search(r"python: \[(.*)\]", workflow.read_text())[1].replace('"', "").split(", ")
    named = [line.rpartition(" ")[2] for line in project()["classifiers"] if ":: 3." in line]
    assert set(named) <= set(tried)
    assert project()["requires-python"] == f">={tried[0]}"
