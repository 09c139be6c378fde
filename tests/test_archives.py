"""The wheel and the source archive hold what they should and nothing else."""

import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
pytest.importorskip("hatchling", reason="optional: hatchling")
pytest.importorskip("hatch_vcs", reason="optional: hatch-vcs")
# What a folder of the source archive may be, and files beside them.
FOLDERS = {".ci", "src", "tests", "docs", "examples", "study", "benchmarks", "conda", "paper"}
FILES = {
    "ARCHITECTURE.md",
    "CHANGELOG.md",
    "CITATION.cff",
    "CODE_OF_CONDUCT.md",
    "CONTRIBUTING.md",
    "LICENSE",
    "Makefile",
    "PKG-INFO",
    "constraints-oldest.txt",
    "README.md",
    "SECURITY.md",
    ".gitignore",
    ".zenodo.json",
    "pyproject.toml",
}


@pytest.fixture(scope="module")
def built(tmp_path_factory):
    folder = tmp_path_factory.mktemp("dist")
    command = [sys.executable, "-m", "hatchling", "build", "--directory", str(folder)]
    subprocess.run(command, cwd=ROOT, check=True, capture_output=True)
    return folder


def test_the_wheel_holds_the_package_and_its_metadata(built):
    (wheel,) = built.glob("*.whl")
    with zipfile.ZipFile(wheel) as file:
        names = file.namelist()
    package = {name for name in names if name.startswith("selective_labels/")}
    others = {name.partition("/")[2] for name in set(names) - package}
    assert others == {"METADATA", "WHEEL", "RECORD", "entry_points.txt", "licenses/LICENSE"}
    source = ROOT / "src"
    ours = {
        path.relative_to(source).as_posix()
        for path in (source / "selective_labels").rglob("*")
        if path.is_file() and "__pycache__" not in path.parts
    }
    assert package == ours


def test_the_source_archive_holds_the_repository_and_nothing_that_was_made(built):
    (archive,) = built.glob("*.tar.gz")
    with tarfile.open(archive) as file:
        names = [Path(name).parts[1:] for name in file.getnames()]
    assert {parts[0] for parts in names if len(parts) > 1} == FOLDERS & {parts[0] for parts in names}
    assert {parts[0] for parts in names if len(parts) == 1} <= FILES
    assert {"pyproject.toml", "LICENSE", "README.md"} <= {parts[0] for parts in names}
    assert (".ci", "wheel") in names, "`make archives` runs it"
    made = {"__pycache__", "generated", "gallery", "pictures", "site", "demo-report.html"}
    assert not [parts for parts in names if made & set(parts)]
    assert not [parts for parts in names if parts[-1].endswith((".csv.gz", ".parquet", ".skops"))]


def test_the_version_is_a_version(built):
    (wheel,) = built.glob("*.whl")
    assert wheel.name.split("-")[1][0].isdigit()
    assert "+" not in wheel.name, "no local part: the package index refuses it"
