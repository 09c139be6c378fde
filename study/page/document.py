"""A page as a list of blocks, written as Markdown and as HTML."""

import base64
from dataclasses import dataclass
from html import escape
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
    """One paragraph of plain text."""

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
    """A table of finished text, with a caption; of sentences, if `wordy`, or of figures."""

    frame: pd.DataFrame
    caption: str
    wordy: bool = False


@dataclass(frozen=True)
class Picture:
    """A picture beside the page, with what it shows in words."""

    path: Path
    caption: str


Block: TypeAlias = Heading | Paragraph | Points | Code | Table | Picture

# Tables of more rows are folded.
LONG = 24

# Paper, ink, rules and letters of the report page (report/style.css).
STYLE = """
body { font: 1rem/1.55 system-ui, -apple-system, "Segoe UI", Roboto, sans-serif; max-width: 74rem;
  margin: 0 auto; padding: 1.5rem 1.25rem; background: #fdfcfa; color: #1d1f23; }
h1, h2 { font-family: Charter, "Iowan Old Style", Georgia, serif; line-height: 1.2; font-weight: 600; }
h2 { border-top: 1px solid #dcd7cd; padding-top: 1.5rem; margin-top: 2rem; } a { color: #1b4f8f; }
p, li { max-width: 68ch; } :focus-visible { outline: 3px solid #1b4f8f; outline-offset: 2px; }
table { border-collapse: collapse; margin: 1rem 0; display: block; overflow-x: auto; font-size: .88rem; }
caption, figcaption { text-align: left; color: #555a63; padding: .3rem 0; }
summary { cursor: pointer; color: #1b4f8f; }
th, td { border-bottom: 1px solid #dcd7cd; padding: .3rem .6rem; text-align: right; white-space: nowrap; }
th:first-child, td:first-child, .wordy th, .wordy td { text-align: left; }
.wordy td { white-space: normal; vertical-align: top; }
img { max-width: 100%; } figure { margin: 1rem 0; }
pre { background: #f4f1eb; padding: .8rem; overflow-x: auto; border-radius: 4px; }
"""


def to_markdown(blocks: list[Block]) -> str:
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


def to_html(blocks: list[Block], title: str) -> str:
    """One HTML page that needs nothing but itself.

    Examples
    --------
    >>> "<p>a &lt; b</p>" in to_html([Paragraph("a < b")], "Study")
    True
    """
    body = "\n".join(_html(block) for block in blocks)
    return (
        f'<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n<title>{escape(title)}</title>\n'
        f'<meta name="viewport" content="width=device-width">\n<style>{STYLE}</style>\n</head>\n'
        f"<body>\n<main>\n{body}\n</main>\n</body>\n</html>\n"
    )


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
        case Table(frame, caption, _):
            lines = [list(frame.columns), ["---"] * frame.shape[1], *frame.to_numpy().tolist()]
            text = "\n".join("| " + " | ".join(map(str, line)) + " |" for line in lines)
            if len(frame) > LONG:
                return f"<details><summary>{escape(caption)}</summary>\n\n{text}\n\n</details>"
            return f"{caption}\n\n{text}"
        case Picture(path, caption):
            return f"![{caption}]({path.name})"


def _html(block: Block) -> str:
    match block:
        case Heading(text, level):
            return f"<h{level}>{escape(text)}</h{level}>"
        case Paragraph(text):
            return f"<p>{escape(text)}</p>"
        case Points(sentences):
            return "<ul>" + "".join(f"<li>{escape(each)}</li>" for each in sentences) + "</ul>"
        case Code(text):
            return f"<pre>{escape(text)}</pre>"
        case Table(frame, caption, wordy):
            return _html_table(frame, caption, wordy)
        case Picture(path, caption):
            image = base64.b64encode(path.read_bytes()).decode()
            words = escape(caption)
            source = f"data:image/png;base64,{image}"
            return f'<figure><img src="{source}" alt="{words}"><figcaption>{words}</figcaption></figure>'


def _html_table(frame: pd.DataFrame, caption: str, wordy: bool) -> str:
    head = "".join(f'<th scope="col">{escape(str(name))}</th>' for name in frame.columns)
    rows = [
        "<tr>" + "".join(f"<td>{escape(str(value))}</td>" for value in line) + "</tr>"
        for line in frame.to_numpy().tolist()
    ]
    table = f"<thead><tr>{head}</tr></thead><tbody>{''.join(rows)}</tbody>"
    if len(rows) > LONG:
        return f"<details><summary>{escape(caption)}</summary><table>{table}</table></details>"
    kind = ' class="wordy"' if wordy else ""
    return f"<table{kind}><caption>{escape(caption)}</caption>{table}</table>"
