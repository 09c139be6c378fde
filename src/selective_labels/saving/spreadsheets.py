"""CSV that a spreadsheet opens without taking a cell for a formula."""

import csv
import io
import re
from typing import Any

# A spreadsheet takes a cell that begins so for a formula, unless it is a number.
FORMULA = re.compile(r"[=+\-@\t\r]")
NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?")


def safe_cell(value: Any) -> Any:
    """A cell of CSV that no spreadsheet takes for a formula: text that begins like one gets a leading '.

    Examples
    --------
    >>> safe_cell("=1+1"), safe_cell("-5"), safe_cell(-5), safe_cell("a=b")
    ("'=1+1", '-5', -5, 'a=b')
    """
    if isinstance(value, str) and FORMULA.match(value) and not NUMBER.fullmatch(value):
        return f"'{value}"
    return value


def csv_text(rows: list[dict[str, Any]]) -> str:
    """Rows as CSV with a header; missing values are empty cells."""
    text = io.StringIO()
    names = list(dict.fromkeys(name for row in rows for name in row))
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(map(safe_cell, names))
    writer.writerows([safe_cell(row.get(name)) for name in names] for row in rows)
    return text.getvalue()
