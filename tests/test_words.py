"""One word for one thing: what has a name in one public signature has no other name in the next."""

import inspect

import pytest
from typer.main import get_command

import selective_labels as sl
from selective_labels.cli.app import app

# The word that is used, by the words that are not.
INSTEAD = {
    "metrics": "metric",
    "event": "pos_label",
    "labels": "y or classes",
    "group": "subgroup",
    "n_groups": "n_bands",
    "prediction": "predictions",
}


def public(room, names):
    """Every function and class, and the methods of the classes, with their names."""
    for name in names:
        found = getattr(room, name)
        if inspect.ismodule(found):
            yield from public(found, found.__all__)
        elif callable(found):
            yield name, found
        if inspect.isclass(found):
            yield from public(found, [each for each in vars(found) if not each.startswith("_")])


def test_public_signatures_use_the_one_word():
    for name, function in public(sl, sl.__all__):
        if inspect.isclass(function) and issubclass(function, Warning) and "__init__" not in vars(function):
            continue  # takes a message, as every warning does
        if function is sl.Vocabulary:
            continue  # its parameters are words, "event" the noun among them
        wrong = {each: INSTEAD[each] for each in inspect.signature(function).parameters if each in INSTEAD}
        assert not wrong, f"the right words of {name}: {wrong}"


@pytest.mark.parametrize("name", get_command(app).commands)
def test_options_use_the_one_word(name):
    for parameter in get_command(app).commands[name].params:
        assert parameter.name not in INSTEAD
        usual = parameter.opts[0].removeprefix("--").replace("-", "_")
        assert usual not in INSTEAD, "the first spelling is the one that files are written with"
