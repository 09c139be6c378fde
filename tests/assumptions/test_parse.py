"""There is one list of assumptions; whoever is added to it is known everywhere."""

import ast
import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from selective_labels import InputError, diagnose, evaluate
from selective_labels.assumptions import Instrument, known, named, names, parse
from selective_labels.cli.options import assumption_choices
from selective_labels.datasets import make_decision_makers
from selective_labels.report import wording
from tests.assumptions.dummy import Faith

ROOT = Path(__file__).parents[2]
PACKAGE = ROOT / "src" / "selective_labels"
FILES = sorted(path for path in PACKAGE.rglob("*.py") if path.parent.name != "assumptions")
SCHEMAS = sorted((ROOT / "docs" / "schemas").glob("*.json"))


@pytest.fixture
def with_faith(monkeypatch):
    monkeypatch.setattr(parse, "NAMED", (*parse.NAMED, Faith()))


@pytest.fixture(scope="module")
def sample():
    return make_decision_makers(400, n_classes=2, random_state=0)


class TestNamed:
    def test_finds_by_name_and_by_object(self):
        for each in known():
            assert named(each.name) is each
            assert named(type(each)()) is each

    @pytest.mark.parametrize("wrong", ["faith", "Instrument", "", Faith(), None, [], np.zeros(2)])
    def test_anything_else_is_refused(self, wrong):
        with pytest.raises(InputError, match="is not one of 'none', 'instrument', 'nucem', 'unc") as caught:
            named(wrong)
        assert caught.value.argument == "assumption"

    def test_a_class_in_place_of_its_object_is_named(self):
        with pytest.raises(InputError, match=r"assumption Instrument is a class; write Instrument\("):
            named(Instrument)

    def test_a_refusal_lists_what_else_would_do(self):
        with pytest.raises(InputError, match=r"'unconfounded', 'tilt', 'all'\.$"):
            named("everything", besides=("all",))


class TestAdded:
    """A new assumption needs its file and its place in the list, and no other."""

    @pytest.mark.parametrize("asked", ["faith", Faith(), ["none", "faith"], ["none", Faith()], "all"])
    def test_evaluate_takes_it_and_says_it(self, asked, sample, with_faith):
        guess = np.zeros(400, dtype=int)
        result = evaluate(guess, sample.X, sample.y, assumption=asked, cv=2, nuisance="logistic")
        assert "Assumption (faith): all will be well." in repr(result)
        assert "Assumption (faith): all will be well." in result._repr_html_()

    def test_without_it_faith_is_refused(self, sample):
        for asked in ("faith", Faith()):
            with pytest.raises(InputError, match="is not one of"):
                evaluate(np.zeros(400, dtype=int), sample.X, sample.y, assumption=asked)

    def test_who_lacks_decision_makers_hears_of_it(self, sample, with_faith):
        with pytest.raises(ValueError, match="'unconfounded' and 'faith' do without"):
            evaluate(np.zeros(400, dtype=int), sample.X, sample.y)

    def test_a_diagnosis_answers_about_it(self, sample, with_faith):
        diagnosis = diagnose(
            sample.X, sample.y, decision_maker=sample.decision_maker, cv=2, n_permutations=9, random_state=0
        )
        assert diagnosis.allows("faith", given="strata").reason.endswith("given strata.")
        assert diagnosis.verdict.splitlines()[-1].startswith("faith, given features: not refuted: ")

    def test_the_page_has_words_for_it(self, with_faith):
        assert wording.assumption("faith") == wording.Term("Faith", "Whatever was not seen was fine.")
        assert list(wording.assumptions()) == list(names())

    def test_the_command_line_offers_it(self, with_faith):
        assert [each.value for each in assumption_choices()] == list(names())
        assert assumption_choices()("faith").name == "FAITH"


def listings(tree, known_names):
    """Line numbers of literals, and of classes, that hold two of the names or more.

    A literal holds all strings within it, however deep; a class those that are assigned in its body, as the
    members of an enumeration are. Docstrings are neither.
    """
    for node in ast.walk(tree):
        if isinstance(node, ast.Tuple | ast.List | ast.Set | ast.Dict):
            inside = [node]
        elif isinstance(node, ast.ClassDef):
            inside = [each.value for each in node.body if isinstance(each, ast.Assign | ast.AnnAssign)]
        else:
            continue
        constants = (each for part in inside if part is not None for each in ast.walk(part))
        found = {each.value for each in constants if isinstance(each, ast.Constant)}
        if len(found & known_names) > 1:
            yield node.lineno


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(PACKAGE)))
def test_nobody_else_lists_them(path):
    assert list(listings(ast.parse(path.read_text()), set(names()))) == []


@pytest.mark.parametrize(
    "code",
    [
        "NAMES = ('none', 'nucem')",
        "call(['instrument', 'nucem'])",
        "{'unconfounded', 'none', 1}",
        "TEXTS = {'none': 1, 'instrument': 2}",
        "MEANT = {1: 'none', 2: 'instrument'}",
        "QUESTIONS = (('nucem', 'strata'), ('unconfounded', 'features'))",
        "Literal['none', 'nucem']",
        "class Assumption(StrEnum):\n    NONE = 'none'\n    NUCEM: str = 'nucem'",
    ],
)
def test_a_list_would_be_found(code):
    assert list(listings(ast.parse(code), set(names()))) == [1]


@pytest.mark.parametrize(
    "code", ["def f(a):\n    '''Take 'none' or 'nucem'.'''", "f('none', a['nucem'])", "('none', 'other')"]
)
def test_a_mention_is_no_list(code):
    assert list(listings(ast.parse(code), set(names()))) == []


def enumerated(part, place=()):
    """Pairs of a place in a schema and the names allowed for the assumption there, beside combinations.

    Where only combinations are allowed (a pattern), no name is.
    """
    if isinstance(part, dict):
        if place and place[-1] == "assumption" and "pattern" not in part:
            yield (
                place,
                next((each["enum"] for each in (part, *part.get("anyOf", ())) if "enum" in each), None),
            )
        for key, value in part.items():
            yield from enumerated(value, (*place, key))
    elif isinstance(part, list):
        for number, value in enumerate(part):
            yield from enumerated(value, (*place, number))


@pytest.mark.parametrize("path", SCHEMAS, ids=lambda path: path.name)
def test_schemas_allow_the_assumptions_that_there_are(path):
    asked = [each.name for each in known() if each.questions]
    for place, values in enumerated(json.loads(path.read_text())):
        assert values == (asked if "verdict" in place else list(names())), f"{path.name}: {place}"


def test_the_schemas_do_enumerate_them():
    """Guards the test above: it would pass on schemas without a single assumption."""
    places = [place for path in SCHEMAS for place, _ in enumerated(json.loads(path.read_text()))]
    assert len(places) == 16
    assert sum("verdict" in place for place in places) == 2


def test_the_list_costs_no_heavy_import():
    """The command line asks for it before it knows what is wanted."""
    code = "import sys, selective_labels.assumptions, selective_labels.cli.app; print(*sys.modules)"
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    loaded = {name.split(".")[0] for name in run.stdout.split()}
    assert "selective_labels" in loaded
    assert not loaded & {"pandas", "scipy", "sklearn", "matplotlib"}
