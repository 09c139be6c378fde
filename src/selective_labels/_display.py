"""The protocol of results: every result is text, HTML, a frame, and a table for a paper."""

import json
from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence
from copy import copy
from html import escape
from typing import Any, ClassVar, Self

import numpy as np
import pandas as pd

from selective_labels._vocabulary import Vocabulary


def digits(value: float, significant: int = 4) -> str:
    """A number with some significant digits, or all before the decimal point; never as a power of ten.

    Examples
    --------
    >>> digits(0.123456), digits(1412.3, 3), digits(-12345.6), digits(9999.9), digits(0.00001234)
    ('0.1235', '1,412', '-12,346', '10,000', '0.00001234')
    """
    rounded = float(f"{value:.{significant}g}")
    if 10.0**significant <= abs(rounded) < 1e15:
        return f"{value:,.0f}"
    if 1e-12 < abs(rounded) < 1e-4:
        return np.format_float_positional(rounded, trim="-")
    return f"{value:.{significant}g}"


def decimals(value: float) -> str:
    """A number with three decimals, or from ten on as an amount.

    Examples
    --------
    >>> decimals(0.12345), decimals(-0.0001), decimals(18.497), decimals(-1412.3)
    ('0.123', '0.000', '18.5', '-1,412')
    """
    if abs(value) >= 10.0:
        return f"{value:,.0f}" if abs(value) >= 100.0 else f"{value:.1f}"
    # Adding 0.0 turns minus zero into zero.
    return f"{0.0 + round(value, 3):.3f}"


class Tabular(ABC):
    """A result that is a frame, and a table for a paper or a page."""

    @abstractmethod
    def to_frame(self) -> pd.DataFrame:
        """All numbers, one row each."""

    def pasted(self) -> list[pd.DataFrame]:
        """Tables for a paper or a page: the whole frame, unless a result prints better ones."""
        return [self.to_frame()]

    def notes(self) -> list[str]:
        """Sentences that must stand below a pasted table: what its numbers assume."""
        return []

    def to_latex(self) -> str:
        """LaTeX tables with booktabs rules, and what they assume in a note."""
        tables = [latex_table(*cells_of(frame)) for frame in self.pasted()]
        return "\n\n".join([*tables, *latex_note(self.notes())])

    def to_markdown(self) -> str:
        """Markdown tables, and what they assume in a note."""
        tables = []
        for frame in self.pasted():
            headings, rows = cells_of(frame)
            lines = [[cell.replace("|", r"\|") for cell in row] for row in (headings, *rows)]
            tables.append(markdown_table(lines[0], lines[1:]))
        return "\n\n".join([*tables, *([f"*Note.* {' '.join(self.notes())}"] if self.notes() else [])])


class Display(Tabular):
    """A result that shows itself in a terminal (`text`) and in a notebook (`html`).

    Both are written in neutral words, and shown in those of the table's domain.
    """

    _vocabulary: ClassVar[Vocabulary] = Vocabulary()

    def in_words(self, vocabulary: Vocabulary) -> Self:
        """The same result, shown in the words of a domain."""
        spoken = copy(self)
        object.__setattr__(spoken, "_vocabulary", vocabulary)  # results are frozen
        return spoken

    @abstractmethod
    def text(self) -> str:
        """The result in words, as it is printed."""

    @abstractmethod
    def html(self) -> str:
        """The same for a notebook."""

    def __str__(self) -> str:
        return self._vocabulary.say(self.text())

    def __repr__(self) -> str:
        return str(self)

    def _repr_html_(self) -> str:
        return self._vocabulary.say(self.html())


def text_table(rows: Sequence[Sequence[str]]) -> list[str]:
    """Lines of a table with columns of equal width.

    Examples
    --------
    >>> text_table([("metric", "lower"), ("tpr", "0.5")])
    ['metric  lower', 'tpr     0.5']
    """
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return ["  ".join(map(str.ljust, row, widths)).rstrip() for row in rows]


def html_table(headings: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """The same table in HTML.

    Examples
    --------
    >>> html_table(["a"], [["1"]])
    '<table><thead><tr><th>a</th></tr></thead><tbody><tr><td>1</td></tr></tbody></table>'
    """
    head = "".join(f"<th>{escape(cell)}</th>" for cell in headings)
    body = "".join("<tr>" + "".join(f"<td>{escape(cell)}</td>" for cell in row) + "</tr>" for row in rows)
    return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"


def cells_of(frame: pd.DataFrame) -> tuple[list[str], list[list[str]]]:
    """Headings and cells of a frame as text; numbers have four digits, and what is missing is empty.

    Examples
    --------
    >>> cells_of(pd.DataFrame({"rate": [0.25, np.nan], "who": ["human", None]}))
    (['rate', 'who'], [['0.25', 'human'], ['', '']])
    """

    def cell(value: Any) -> str:
        if value is None or value is pd.NA or (isinstance(value, float) and np.isnan(value)):
            return ""
        return digits(value) if isinstance(value, float) else str(value)

    rows = [[cell(value) for value in row] for row in frame.itertuples(index=False, name=None)]
    return [str(name) for name in frame.columns], rows


def latex_table(headings: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    r"""The same table in LaTeX, for the package booktabs.

    Examples
    --------
    >>> print(latex_table(["the_rate"], [["25%"]]))
    \begin{tabular}{l}
    \toprule
    the\_rate \\
    \midrule
    25\% \\
    \bottomrule
    \end{tabular}
    """
    lines = [" & ".join(map(_escaped, row)) + r" \\" for row in (headings, *rows)]
    top = [rf"\begin{{tabular}}{{{'l' * len(headings)}}}", r"\toprule", lines[0], r"\midrule"]
    return "\n".join([*top, *lines[1:], r"\bottomrule", r"\end{tabular}"])


def latex_note(sentences: Sequence[str]) -> list[str]:
    r"""A note below a table: no line, or one paragraph.

    Examples
    --------
    >>> latex_note(["Cases: 95%."])
    ['\\par\\smallskip\\noindent{\\footnotesize\\textit{Note.} Cases: 95\\%.}']
    """
    if not sentences:
        return []
    return [rf"\par\smallskip\noindent{{\footnotesize\textit{{Note.}} {_escaped(' '.join(sentences))}}}"]


def _escaped(cell: str) -> str:
    """Text with the characters escaped that LaTeX reads as commands."""
    special = {each: rf"\{each}" for each in "&%$#_{}"}
    special |= {"\\": r"\textbackslash{}", "~": r"\textasciitilde{}", "^": r"\textasciicircum{}"}
    return "".join(special.get(each, each) for each in cell)


def markdown_table(headings: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """The same table in Markdown; cells are escaped already.

    Examples
    --------
    >>> print(markdown_table(["who", "rate"], [["human", "0.25"]]))
    | who | rate |
    | --- | --- |
    | human | 0.25 |
    """
    lines = [headings, ["---"] * len(headings), *rows]
    return "\n".join(f"| {' | '.join(row)} |" for row in lines)


# A printed table shows this many rows at most; the frame has them all.
PRINTED_ROWS = 12


class Described(Display):
    """A result that is a table, with the sentences that must stand beside it."""

    title: str
    # Lines of the printed table that belong together.
    lines_each: ClassVar[int] = 1

    @abstractmethod
    def sentences(self) -> list[str]:
        """Say what the numbers assume, what they are, and of which sample."""

    def printed_frame(self) -> pd.DataFrame:
        """Columns that are printed: all, unless they would not fit on a page."""
        return self.to_frame()

    def printed_parts(self) -> list[pd.DataFrame]:
        """Tables that are printed one below the other: one, unless it would be too wide."""
        return [self.printed_frame()]

    def pasted(self) -> list[pd.DataFrame]:
        """The printed tables, with all their rows."""
        return self.printed_parts()

    def notes(self) -> list[str]:
        """The sentences that stand beside the printed table."""
        return self.sentences()

    def to_json(self) -> str:
        """Text of a JSON object with `title`, `sentences` and the `table` as a list of rows."""
        table = json.loads(self.to_frame().to_json(orient="records", double_precision=15))
        return json.dumps({"title": self.title, "sentences": self.sentences(), "table": table})

    def text(self) -> str:
        """The tables, and the sentences below them."""
        tables = [
            text
            for part in self.shown_parts()
            for text in (part.to_string(index=False, float_format=digits), "")
        ]
        return "\n".join([self.title, "", *tables, *self.sentences()])

    def html(self) -> str:
        """The same for a notebook."""
        tables = "".join(
            part.to_html(index=False, border=0, float_format=digits) for part in self.shown_parts()
        )
        sentences = "".join(f"<p>{escape(sentence)}</p>" for sentence in self.sentences())
        return f"<h4>{escape(self.title)}</h4>{tables}{sentences}"

    def shown_parts(self, n_rows: int = PRINTED_ROWS) -> list[pd.DataFrame]:
        """Printed tables with some of their rows, spread evenly, the first and the last among them."""
        return [_thinned(part, self.lines_each, n_rows) for part in self.printed_parts()]


def _thinned(frame: pd.DataFrame, lines_each: int, n_rows: int) -> pd.DataFrame:
    """Rows (of as many lines) spread evenly over a long table, the first and the last among them."""
    count = len(frame) // lines_each
    rows = np.unique(np.linspace(0, count - 1, min(count, n_rows)).round().astype(int))
    return frame.iloc[(rows[:, None] * lines_each + np.arange(lines_each)).ravel()]


def new_axes() -> Any:
    """Axes of a new figure; matplotlib is imported only when something is drawn."""
    from matplotlib import pyplot

    return pyplot.subplots()[1]
