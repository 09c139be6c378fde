"""A page as a list of blocks, written as Markdown."""

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import TypeAlias

import pandas as pd


@dataclass(frozen=True)
class Heading:
    """A heading; level 1 is the title."""

    text: str
    level: int = 2


@dataclass(frozen=True)
class Paragraph:
    """One paragraph; links and emphasis are those of Markdown."""

    text: str


@dataclass(frozen=True)
class Points:
    """A list of sentences."""

    sentences: tuple[str, ...]


@dataclass(frozen=True)
class Code:
    """Commands to type."""

    text: str


@dataclass(frozen=True)
class Table:
    """A table of finished text, with a caption."""

    frame: pd.DataFrame
    caption: str


@dataclass(frozen=True)
class Picture:
    """A picture beside the page, with what it shows in words."""

    path: Path
    caption: str


Block: TypeAlias = Heading | Paragraph | Points | Code | Table | Picture

# Tables of more rows are folded.
LONG = 24


def to_markdown(blocks: Iterable[Block]) -> str:
    """Markdown of a page.

    Examples
    --------
    >>> print(to_markdown([Heading("Study", 1), Points(("One.", "Two."))]))
    # Study
    <BLANKLINE>
    - One.
    - Two.
    <BLANKLINE>
    """
    return "\n\n".join(_markdown(block) for block in blocks) + "\n"


def _markdown(block: Block) -> str:
    match block:
        case Heading(text, level):
            return f"{'#' * level} {text}"
        case Paragraph(text):
            return text
        case Points(sentences):
            return "\n".join(f"- {each}" for each in sentences)
        case Code(text):
            return f"```\n{text}\n```"
        case Table(frame, caption):
            lines = [list(frame.columns), ["---"] * frame.shape[1], *frame.to_numpy().tolist()]
            text = "\n".join("| " + " | ".join(map(str, line)) + " |" for line in lines)
            if len(frame) > LONG:
                return f"<details><summary>{caption}</summary>\n\n{text}\n\n</details>"
            return f"{caption}\n\n{text}"
        case Picture(path, caption):
            return f"![{caption}]({path.name})"
