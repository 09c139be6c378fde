"""Docstrings as the site needs them: indented formulas become blocks that nothing is read into."""

from typing import Any


def as_literals(lines: list[str]) -> list[str]:
    """Put ``::`` before every block that is indented, after a blank line, below a line that is not.

    Examples
    --------
    >>> as_literals(["The ratio", "", "    |a_k| / b_k", "", "is at most one."])
    ['The ratio', '', '::', '', '    |a_k| / b_k', '', 'is at most one.']
    >>> as_literals(["x : float", "    A number."])
    ['x : float', '    A number.']
    """
    found: list[str] = []
    above = ""
    for number, line in enumerate(lines):
        indented = line.startswith("    ")
        begins = number > 0 and not lines[number - 1].strip()
        if indented and begins and above and not above.startswith((" ", "..", "-", ">>>")):
            found += ["::", ""]
        found.append(line)
        if line.strip():
            above = line
    return found


def process(app: Any, what: str, name: str, obj: Any, options: Any, lines: list[str]) -> None:
    """Before numpydoc reads a docstring."""
    lines[:] = as_literals(lines)
