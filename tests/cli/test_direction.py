"""What is known of refused cases: asked in words, kept in the settings file, never guessed."""

import json
import tomllib
from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from selective_labels import InputError
from selective_labels._vocabulary import PRESETS, Vocabulary
from selective_labels.assumptions import Informed, Instrument
from selective_labels.cli import direction
from tests.cli.conftest import NO_PREDICTIONS, QUICK, ROLES


@dataclass(frozen=True)
class Table:
    """Of a loaded table, what the question needs."""

    classes: Any = field(default_factory=lambda: np.array(["no", "yes"]))
    notes: tuple[str, ...] = ()
    prepared: Any = field(
        default_factory=lambda: SimpleNamespace(
            data=SimpleNamespace(vocabulary=Vocabulary()), roles=SimpleNamespace(to_dict=dict)
        )
    )


def source(yes=False):
    return SimpleNamespace(
        table=SimpleNamespace(yes=yes), output=SimpleNamespace(save_config=None), context=None
    )


@pytest.fixture
def terminal(monkeypatch):
    """A terminal with somebody who gives this answer; returns the questions that are asked."""

    def answering(answer):
        asked = []
        monkeypatch.setattr(direction, "somebody_answers", lambda: True)
        monkeypatch.setattr(direction.typer, "prompt", lambda words, **options: asked.append(words) or answer)
        return asked

    return answering


@pytest.mark.parametrize(
    ("answer", "known"),
    [("yes", Instrument() & Informed("yes")), ("no", Instrument() & Informed("no")), ("don't know", None)],
)
def test_an_answer_is_a_direction(terminal, answer, known):
    asked = terminal(answer)
    loaded, found = direction.with_direction(source(), Table(), None)
    assert found == known
    assert not loaded.notes
    (words,) = asked
    assert words.endswith("(no: less likely)"), "it states a direction, too"


def test_nobody_is_asked_without_a_terminal_or_with_yes(terminal):
    loaded, found = direction.with_direction(source(), Table(), None)
    assert found is None
    assert "Taken as: don't know" in loaded.notes[0]
    terminal("yes")
    loaded, found = direction.with_direction(source(yes=True), Table(), None)
    assert found is None
    assert loaded.notes


def test_an_option_answers_without_a_question():
    _, found = direction.with_direction(source(), Table(), "no")
    assert found == Instrument() & Informed("no")
    assert direction.with_direction(source(), Table(), "don't know")[1] is None
    with pytest.raises(InputError, match="'maybe' is not one of 'no', 'yes'"):
        direction.with_direction(source(), Table(), "maybe")


def test_the_question_speaks_of_the_domain():
    words = direction.question("yes", PRESETS["lending"])
    assert "declined" in words
    assert words.endswith("more likely to be 'yes'?")


def test_the_command_learns_with_a_direction_and_keeps_it(run, refused, data, tmp_path):
    saved, model = tmp_path / "settings.toml", tmp_path / "model.skops"
    common = (*ROLES, *QUICK, *NO_PREDICTIONS, "--estimator", "linear", "--model", model)
    asked = ("--mode", "auto", "--refused-have", "no", "--save-config", saved)
    done = run("fit", data, *common, *asked, "--format", "json")
    assert done.exit_code == 0, done.output
    facts = json.loads(done.stdout)["model"]
    assert facts["learned"] in ("tilt", "labeled-only", "stated-odds")
    assert facts["reason"].startswith("Learned from")
    assert isinstance(facts["instrument_part"], float)
    assert tomllib.loads(saved.read_text())["refused-have"] == "no"
    assert "--refused-have goes with --mode auto" in refused("fit", data, *common, "--refused-have", "no")
