"""Imports go one way (design, section 2), and the package pulls in nothing heavy."""

import ast
import importlib
import subprocess
import sys
from pathlib import Path

import pytest

PACKAGE = "selective_labels"
ROOT = Path(__file__).parents[1] / "src" / PACKAGE

# The rooms that each room knows: the edges that exist, and no other.
KNOWS = {
    "support": set(),
    "identification": {"support"},
    "features": {"support"},
    "datasets": {"support"},
    # Parts of a table in files or in a cluster, hashes of rows: frames in and out, no roles.
    "partitions": {"support"},
    "data": {"features", "partitions", "support"},
    "models": {"support"},
    "nuisance": {"data", "identification", "models", "support"},
    "tilting": {"data", "identification", "models", "nuisance"},
    # An assumption is a floor under a probability, or a share among the rows of a sample.
    "assumptions": {"identification", "nuisance", "support"},
    # Statistics of the checks: arrays in, p-values out.
    "hypotheses": set(),
    "diagnostics": {"assumptions", "data", "hypotheses", "identification", "models", "nuisance", "support"},
    # An estimate under NUCEM warns with the code of a check: diagnostics come before inference.
    "inference": {
        "assumptions",
        "data",
        "diagnostics",
        "identification",
        "nuisance",
        "support",
        "tilting",
    },
    # Rows that are alike, summed: the same questions as of rows.
    "cells": {"assumptions", "identification", "inference", "support"},
    # What is asked of a table: classifiers seen through its classes, and metrics of them.
    "measures": {"assumptions", "data", "identification", "inference", "nuisance", "support"},
    # What a policy is worth on scored rows: evaluation reads policies and prints what is found.
    "policies": {"data", "identification", "inference", "measures", "support"},
    # A table in partitions: a sample that fits the models, and one pass that scores and sums all rows.
    "passes": {
        "assumptions",
        "cells",
        "data",
        "diagnostics",
        "identification",
        "inference",
        "measures",
        "nuisance",
        "partitions",
        "policies",
        "support",
    },
    "estimators": {
        "assumptions",
        "data",
        "diagnostics",
        "features",
        "identification",
        "models",
        "nuisance",
        "passes",
        "support",
        "tilting",
    },
    "evaluation": {
        "assumptions",
        "cells",
        "data",
        "identification",
        "inference",
        "measures",
        "nuisance",
        "passes",
        "policies",
        "support",
    },
    "curves": {
        "assumptions",
        "data",
        "evaluation",
        "identification",
        "inference",
        "measures",
        "nuisance",
        "policies",
        "support",
    },
    "literature": {
        "assumptions",
        "data",
        "evaluation",
        "identification",
        "inference",
        "measures",
        "nuisance",
        "support",
    },
    # A plan starts from a result or a diagnosis, and computes its intervals as they were computed.
    "planning": {"diagnostics", "evaluation", "inference", "support"},
    "tables": {"data", "features", "partitions", "support"},
    "saving": {"features", "support", "tables"},
    "assessment": {
        "assumptions",
        "curves",
        "data",
        "diagnostics",
        "estimators",
        "evaluation",
        "features",
        "inference",
        "literature",
        "measures",
        "nuisance",
        "planning",
        "policies",
        "support",
    },
    "report": {"assumptions", "support"},
    "demo": {
        "assessment",
        "assumptions",
        "curves",
        "data",
        "datasets",
        "estimators",
        "evaluation",
        "planning",
        "report",
        "saving",
        "support",
    },
    "cli": {
        "assessment",
        "assumptions",
        "curves",
        "data",
        "demo",
        "diagnostics",
        "estimators",
        "evaluation",
        "features",
        "identification",
        "inference",
        "literature",
        "measures",
        "nuisance",
        "partitions",
        "passes",
        "planning",
        "policies",
        "report",
        "saving",
        "support",
        "tables",
    },
    "__main__": {"cli"},
}
FILES = sorted(path for path in ROOT.rglob("*.py") if path != ROOT / "__init__.py")
STUDY = ROOT.parents[1] / "study"
STUDY_FILES = sorted(STUDY.rglob("*.py"))
# The study is a user of the package: it takes what users take, and these modules.
PUBLIC = {PACKAGE, *(f"{PACKAGE}.{name}" for name in ("assumptions", "datasets", "identification"))}
STUDY_MAY_KNOW = {
    f"{PACKAGE}.cli.console",  # a command that fails ends with one sentence and a status
    f"{PACKAGE}.cli.interrupts",  # after Ctrl-C, a run says how to resume
    f"{PACKAGE}.cli.main",  # Ctrl-C ends a command within two seconds
    f"{PACKAGE}.saving.atomic",  # results and page appear whole or not at all
    # In the coverage study, one scored sample serves every call of a draw: a fifth of the cost.
    f"{PACKAGE}.evaluation.compare",
    f"{PACKAGE}.evaluation.evaluate",
    f"{PACKAGE}.evaluation.thresholds",
    f"{PACKAGE}.inference.sample",
    f"{PACKAGE}.measures.named",
    f"{PACKAGE}.measures.subject",
    f"{PACKAGE}.nuisance.settings",
    # What combinations of assumptions leave possible in a population that is known.
    f"{PACKAGE}.datasets.decision_makers",
    f"{PACKAGE}.identification.atoms",
    f"{PACKAGE}.identification.bounds",
    f"{PACKAGE}.identification.earmarked",
    f"{PACKAGE}.identification.multipliers",
    f"{PACKAGE}.estimators.learners.problem",  # costs from answers that were given noise, for LinearScore
    f"{PACKAGE}.support.processes",  # workers that end with the run
    f"{PACKAGE}.support.progress",  # long runs tell how far they have come
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


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(ROOT)))
def test_imports_go_one_way(path):
    room = part_of(path)
    assert room in KNOWS, f"{room} has no place in the order of imports: add it to the design"
    assert known_parts(path) <= KNOWS[room] | {room}


def test_no_edge_is_allowed_that_nobody_uses():
    found = {room: set() for room in KNOWS}
    for path in FILES:
        found[part_of(path)] |= known_parts(path) - {part_of(path)}
    assert found == KNOWS


def test_no_two_rooms_know_each_other():
    """Rooms in the order of the table know only rooms above them."""
    order = list(KNOWS)
    assert all(order.index(known) < order.index(room) for room in order for known in KNOWS[room])


@pytest.mark.parametrize(
    "path", [path for path in FILES if part_of(path) == "identification"], ids=lambda path: path.name
)
def test_identification_imports_numpy_and_scipy_only(path):
    tops = {name.split(".")[0] for name in imported_modules(path)}
    assert tops <= {"numpy", "scipy", PACKAGE} | sys.stdlib_module_names


@pytest.mark.parametrize(
    "path",
    [path for path in FILES if part_of(path) in ("identification", "support")],
    ids=lambda path: f"{path.parent.name}/{path.name}",
)
def test_the_lowest_rooms_know_of_others_only_how_to_refuse(path):
    own = (f"{PACKAGE}.{part_of(path)}", f"{PACKAGE}.support.errors.")
    assert all(name.startswith(own) for name in imported_modules(path) if name.split(".")[0] == PACKAGE)


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
    names = ("score_formulas", "bound_scores", "label_range")
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
