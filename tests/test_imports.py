"""Imports go one way (design, section 2), and the package pulls in nothing heavy."""

import ast
import functools
import importlib
import subprocess
import sys
from pathlib import Path

import pytest

PACKAGE = "selective_labels"
ROOT = Path(__file__).parents[1] / "src" / PACKAGE

# Small private modules at the top, which every room may use and which use only each other.
PRIVATE = {"_display", "_errors", "_parallel", "_validation", "_vocabulary"}
# The rooms that each room uses: the edges that exist, and no other. A room uses only rooms above it.
KNOWS: dict[str, set[str]] = {
    "data": set(),
    "datasets": set(),
    "identification": set(),
    "nuisance": {"data", "identification"},
    "assumptions": {"identification", "nuisance"},
    "inference": {"data", "identification", "nuisance"},
    "diagnostics": {"assumptions", "data", "identification", "nuisance"},
    "estimators": {"assumptions", "data", "diagnostics", "identification", "inference", "nuisance"},
    "evaluation": {"assumptions", "data", "diagnostics", "identification", "inference", "nuisance"},
    "report": {"assumptions", "data", "diagnostics", "estimators", "evaluation", "nuisance"},
    "io": {"data"},
    "demo": {"assumptions", "data", "datasets", "estimators", "evaluation", "io", "report"},
    "cli": {
        "assumptions",
        "data",
        "demo",
        "diagnostics",
        "estimators",
        "evaluation",
        "inference",
        "io",
        "nuisance",
        "report",
    },
    "__main__": {"cli"},
}
MOST_ROOMS, MOST_EDGES, LONGEST_CHAIN = 12, 50, 25
FILES = sorted(path for path in ROOT.rglob("*.py") if path != ROOT / "__init__.py")
STUDY = ROOT.parents[1] / "study"
STUDY_FILES = sorted(STUDY.rglob("*.py"))
# The study is a user of the package: it takes what users take, and these modules.
PUBLIC = {PACKAGE, *(f"{PACKAGE}.{name}" for name in ("assumptions", "datasets"))}
STUDY_MAY_KNOW = {
    f"{PACKAGE}.cli.console",  # a command that fails ends with one sentence and a status
    f"{PACKAGE}.cli.main",  # Ctrl-C ends a command within two seconds, and says how to resume
    f"{PACKAGE}.io.files",  # results and page appear whole or not at all
    f"{PACKAGE}._parallel",  # workers that end with the run, long runs that tell how far they have come
    # What combinations of assumptions leave possible in a population that is known.
    f"{PACKAGE}.datasets.decision_makers",
    f"{PACKAGE}.identification.bounds",
    f"{PACKAGE}.identification.costs",  # also costs from answers that were given noise, for LinearScore
    f"{PACKAGE}.identification.event_bounds",
    f"{PACKAGE}.identification.point",  # the projection, for a ratio that the package does not build
    f"{PACKAGE}.identification.prevalence",
}


def part_of(path):
    return path.relative_to(ROOT).parts[0].removesuffix(".py")


def imported_modules(path):
    """Absolute names of everything imported anywhere in a file, also inside functions."""
    top = ROOT if path.is_relative_to(ROOT) else STUDY
    package = [PACKAGE if top == ROOT else top.name, *path.relative_to(top).parts[:-1]]
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            base = package[: len(package) - node.level + 1] if node.level else []
            module = ".".join([*base, *([node.module] if node.module else [])])
            yield from (f"{module}.{alias.name}" for alias in node.names)


def known_parts(path):
    names = [name.split(".") for name in imported_modules(path)]
    parts = {name[1] if len(name) > 1 else "" for name in names if name[0] == PACKAGE}
    return {part if (ROOT / part).is_dir() or (ROOT / f"{part}.py").exists() else "" for part in parts}


def test_imports_go_one_way():
    for path in FILES:
        room = part_of(path)
        allowed = PRIVATE if room in PRIVATE else KNOWS[room] | {room} | PRIVATE
        assert known_parts(path) - {""} <= allowed, path


def test_no_edge_is_allowed_that_nobody_uses():
    found = {room: set() for room in KNOWS}
    for path in FILES:
        if part_of(path) not in PRIVATE:
            found[part_of(path)] |= known_parts(path) - {part_of(path), ""} - PRIVATE
    assert found == KNOWS


def test_a_room_uses_only_rooms_above_it():
    order = list(KNOWS)
    assert all(order.index(known) < order.index(room) for room in order for known in KNOWS[room])


def test_rooms_and_edges_are_few():
    rooms = {room for room in KNOWS if (ROOT / room).is_dir()}
    assert len(rooms) <= MOST_ROOMS
    assert sum(len(KNOWS[room] & rooms) for room in rooms) <= MOST_EDGES


def module_of(path):
    return ".".join([PACKAGE, *path.relative_to(ROOT).with_suffix("").parts]).removesuffix(".__init__")


def test_the_longest_chain_of_imports_is_short():
    """Files that a reader may have to open one after the other; imports inside functions do not count."""
    files = {module_of(path): path for path in FILES}
    uses = {}
    for module, path in files.items():
        names = [
            f"{node.module}.{alias.name}"
            for node in ast.parse(path.read_text()).body
            if isinstance(node, ast.ImportFrom) and node.module
            for alias in node.names
        ]
        uses[module] = {name if name in files else name.rpartition(".")[0] for name in names} & set(files)

    @functools.cache
    def chain(module):
        return (*max((chain(each) for each in uses[module] - {module}), key=len, default=()), module)

    longest = max(map(chain, files), key=len)
    assert len(longest) <= LONGEST_CHAIN, " < ".join(longest)


def test_identification_imports_numpy_and_scipy_only():
    for path in FILES:
        if part_of(path) == "identification":
            tops = {name.split(".")[0] for name in imported_modules(path)}
            assert tops <= {"numpy", "scipy", PACKAGE} | sys.stdlib_module_names, path


def test_identification_knows_of_other_rooms_only_how_to_refuse():
    own = (f"{PACKAGE}.identification", f"{PACKAGE}._errors.")
    for path in FILES:
        if part_of(path) == "identification":
            names = [name for name in imported_modules(path) if name.split(".")[0] == PACKAGE]
            assert all(name.startswith(own) for name in names), path


def taken_from(path, alias, module):
    """Names that a file takes from a module by a dot, such as the C of ``sl.C``."""
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id == alias:
            yield f"{module}.{node.attr}"


def is_public(name):
    module, _, last = name.rpartition(".")
    return name in PUBLIC or (module in PUBLIC and last in importlib.import_module(module).__all__)


@pytest.mark.parametrize("path", STUDY_FILES, ids=lambda path: str(path.relative_to(STUDY)))
def test_the_study_takes_what_users_take(path):
    names = {
        *(name for name in imported_modules(path) if name.split(".")[0] == PACKAGE),
        *taken_from(path, "sl", PACKAGE),
        *taken_from(path, "datasets", f"{PACKAGE}.datasets"),
    }
    deeper = {name.rpartition(".")[0] for name in names if not is_public(name)}
    assert deeper <= STUDY_MAY_KNOW, "a name that users have, or a reason beside the module"


def test_the_package_does_not_know_the_study():
    tops = {name.split(".")[0] for path in FILES for name in imported_modules(path)}
    assert STUDY.name not in tops


@pytest.mark.parametrize(
    "path", [path for path in FILES if part_of(path) == "assumptions"], ids=lambda path: path.name
)
def test_assumptions_know_the_formulas_and_no_model(path):
    """So that who needs the names alone does not load the models."""
    modules = [name for name in imported_modules(path) if name.startswith(f"{PACKAGE}.nuisance")]
    names = ("score_formulas",)
    formulas = tuple(f"{PACKAGE}.nuisance.{name}." for name in names)
    assert all(name.startswith(formulas) for name in modules)


def test_the_parser_sees_every_kind_of_import(tmp_path, monkeypatch):
    monkeypatch.setitem(globals(), "ROOT", tmp_path)
    path = tmp_path / "data" / "file.py"
    path.parent.mkdir()
    path.write_text(
        f"import {PACKAGE}.cli\nfrom {PACKAGE} import report\n"
        "from . import sibling\nfrom .. import learners\n"
        f"def late():\n    from {PACKAGE}.nuisance.folds import make_folds\n"
    )
    assert list(imported_modules(path)) == [
        f"{PACKAGE}.cli",
        f"{PACKAGE}.report",
        f"{PACKAGE}.data.sibling",
        f"{PACKAGE}.learners",
        f"{PACKAGE}.nuisance.folds.make_folds",
    ]


def test_importing_the_package_imports_nothing_heavy():
    code = f"import sys, {PACKAGE}; print(*sys.modules)"
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    loaded = {name.split(".")[0] for name in run.stdout.split()}
    assert PACKAGE in loaded
    assert not loaded & {"torch", "matplotlib", "polars", "typer", "jinja2", "dask"}


def test_the_version_is_that_of_the_package():
    from importlib.metadata import version

    assert importlib.import_module("selective_labels").__version__ == version("selective-labels")
