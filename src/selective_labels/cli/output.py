"""Results on standard output: a table for people, JSON or CSV for programs."""

import json
import sys
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

from rich.console import Console
from rich.table import Table
from rich.text import Text

from selective_labels.cli.console import warnings_told
from selective_labels.cli.options import Format
from selective_labels.saving.spreadsheets import csv_text

# Wide enough for a line of results where there is no terminal to ask.
PLAIN_WIDTH = 120
LONGEST_CELL = 60


@dataclass(frozen=True, eq=False)
class View:
    """What a command found, in all formats.

    Attributes
    ----------
    document : dict
        For JSON; ``docs/schemas`` describes it.
    rows : list of dict
        For CSV.
    parts : list
        Sentences and rich tables, for people.
    """

    document: dict[str, Any]
    rows: list[dict[str, Any]]
    parts: list[Any] = field(default_factory=list)


def show(view: View, format: Format) -> None:
    """Print a result to standard output."""
    if format == Format.JSON:
        document = view.document | {"warnings": warnings_told()}
        print(json.dumps(document, ensure_ascii=False, allow_nan=False, indent=2))
    elif format == Format.CSV:
        print(csv_text(view.rows), end="")
    else:
        console = Console(width=None if sys.stdout.isatty() else PLAIN_WIDTH, highlight=False, emoji=False)
        for part in view.parts:
            console.print(clean(part, limit=1000) if isinstance(part, str) else part)


def clean(value: object, limit: int = LONGEST_CELL) -> Text:
    r"""A cell as it may be shown: no control characters, no markup, cut if long.

    Examples
    --------
    >>> clean("[red]\x1b[31mtext[/]").plain, clean("x" * 9, limit=3).plain
    ('[red][31mtext[/]', 'xxx…')
    """
    text = "".join(each for each in str(value) if each.isprintable())
    return Text(text if len(text) <= limit else text[:limit] + "…")


def table(
    headings: Sequence[str],
    rows: Iterable[Sequence[object]],
    *,
    title: str = "",
    right: str = "",
    limit: int = LONGEST_CELL,
) -> Table:
    """A rich table of cleaned cells.

    Parameters
    ----------
    headings : sequence of str
    rows : iterable of sequences
    title : str
    right : str
        Headings of numbers, with spaces between.
    limit : int
        Longer cells are cut.
    """
    made = Table(title=title or None, title_justify="left")
    for heading in headings:
        made.add_column(heading, justify="right" if heading in right.split() else "left", overflow="fold")
    for row in rows:
        made.add_row(*(clean(cell, limit) for cell in row))
    return made


def number(value: float | None, digits: int = 3) -> str:
    """A number for people; nothing if there is none."""
    return "" if value is None else f"{0.0 + round(value, digits):.{digits}f}"
