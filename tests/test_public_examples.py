"""Every public name has an example, which the doctests run; and the reference lists every public name."""

import inspect
import re
from pathlib import Path

import pytest

import selective_labels as sl

REFERENCE = Path(__file__).parents[1] / "docs" / "api" / "index.md"
# A tuple of objects that have examples of their own.
NOT_DOCUMENTED = {"NAMED"}


def public():
    """Names as users write them, without the package, and what they stand for."""
    for name in sl.__all__:
        found = getattr(sl, name)
        if inspect.ismodule(found):
            yield from ((f"{name}.{each}", getattr(found, each)) for each in found.__all__)
        else:
            yield name, found


NAMES = {name: found for name, found in public() if name.rpartition(".")[2] not in NOT_DOCUMENTED}


@pytest.mark.parametrize("name", NAMES)
def test_every_public_name_has_an_example(name):
    """Its docstring has one, or, of a class, that of one of its own methods."""
    found = NAMES[name]
    own = [each for key, each in vars(found).items() if key[0] != "_"] if inspect.isclass(found) else []
    texts = [found.__doc__, *(inspect.getdoc(each) for each in own)]
    assert any(">>> " in (text or "") for text in texts), f"{name} has no example in its docstring"


def test_the_reference_lists_every_public_name():
    listed = set(re.findall(r"^   (\w+)$", REFERENCE.read_text(encoding="utf-8"), flags=re.MULTILINE))
    assert {name.rpartition(".")[2] for name in NAMES} == listed
