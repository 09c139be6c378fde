"""A diagnosis as text and HTML; nothing is computed here."""

from html import escape
from textwrap import fill
from typing import TYPE_CHECKING

from selective_labels.assumptions import Assumption, known

if TYPE_CHECKING:
    from selective_labels.diagnostics.diagnosis import Diagnosis

WIDTH = 110
HEADINGS = ("code", "check", "status", "statistic", "p-value")
VERDICT_HEADING = "What the checks say of each assumption:"
COLOURS = {"ok": "#2e7d32", "warning": "#b26a00", "violated": "#b00020", "not applicable": "#666666"}


def text(diagnosis: "Diagnosis") -> str:
    """Verdict, table, what each check found."""
    rows = [HEADINGS, *_rows(diagnosis)]
    widths = [max(len(row[column]) for row in rows) for column in range(len(HEADINGS))]
    table = [
        "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in rows
    ]
    findings = [
        fill(f"{result.code} {result.message} {result.advice}".strip(), WIDTH, subsequent_indent="      ")
        for result in diagnosis
    ]
    verdict = [fill(line, WIDTH, subsequent_indent="  ") for line in verdict_lines(diagnosis)]
    parts = [_headline(diagnosis), "", VERDICT_HEADING, *verdict, "", *table, "", *findings]
    return "\n".join(parts)


def html(diagnosis: "Diagnosis") -> str:
    """Return the same as an HTML table with everything escaped."""
    head = "".join(f"<th>{escape(cell)}</th>" for cell in (*HEADINGS, "finding"))
    body = []
    for row, result in zip(_rows(diagnosis), diagnosis, strict=True):
        cells = [f"<td>{escape(cell)}</td>" for cell in row]
        cells[2] = f'<td style="color:{COLOURS[result.status]}">{escape(result.status)}</td>'
        finding = f"{result.message} {result.advice}".strip()
        body.append(f"<tr>{''.join(cells)}<td style='text-align:left'>{escape(finding)}</td></tr>")
    verdict = "".join(f"<li>{escape(line)}</li>" for line in verdict_lines(diagnosis))
    return (
        f"<p>{escape(_headline(diagnosis))}</p><p>{VERDICT_HEADING}</p><ul>{verdict}</ul>"
        f"<table><thead><tr>{head}</tr></thead><tbody>{''.join(body)}</tbody></table>"
    )


def verdict_lines(diagnosis: "Diagnosis") -> list[str]:
    """One line for each assumption."""
    return [
        f"{words}: {diagnosis.allows(assumption, given=given)}" for assumption, given, words in questions()
    ]


def questions() -> list[tuple[Assumption, str, str]]:
    """All that is asked of a diagnosis: an assumption, what assignment is random within, and words for both.

    Examples
    --------
    >>> questions()[0]
    (Instrument(), 'strata', 'instrument, cases random within strata')
    """
    return [(each, given, words) for each in known() for given, words in each.questions]


def _headline(diagnosis: "Diagnosis") -> str:
    words = f"{diagnosis.n_samples:,} cases, {diagnosis.n_decision_makers:,} decision-makers"
    if diagnosis.n_model_rows < diagnosis.n_samples:
        words += f"; models fitted on a random {diagnosis.n_model_rows:,} cases, counts on all"
    return f"{words}. {diagnosis.sharing}".strip()


def _rows(diagnosis: "Diagnosis") -> list[tuple[str, ...]]:
    return [
        (
            result.code,
            f"{result.family}: {result.name}",
            result.status,
            "" if result.statistic is None else f"{result.statistic:.4g}",
            "" if result.p_value is None else f"{result.p_value:.3f}",
        )
        for result in diagnosis
    ]
