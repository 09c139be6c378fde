"""What others do about refused cases, in one table beside ours."""

from collections.abc import Mapping
from typing import Any

from selective_labels.report.numbers import cut, number, percent, points, span
from selective_labels.report.sections import is_missing, section

Document = Mapping[str, Any]
OURS = "The worst that the missing labels could do is kept small; who decides is as if by lot."
VERDICTS = {"this": "better", "ours": "worse", "undecided": "undecided"}


def comparator_rows(document: Document) -> list[dict[str, str]]:
    """Name, assumption, what it claims of the event among everybody, how good it is, and against ours."""
    part = document["comparators"]
    money = part["metric"] == "cost"
    show, gap = (number, number) if money else (percent, points)
    rows = []
    for each in part["rows"]:
        value, found = each["value"], each["against_ours"]
        rows.append(
            {
                "key": each["key"],
                "name": cut(each["name"]),
                "assumes": each["assumes"] or (OURS if each["key"] == "ours" else "–"),
                "claims": percent(each["claims"]),
                "outside": _outside(each["claims"], document),
                "value": span(value["lower"], value["upper"], show),
                "difference": "–" if found is None else span(found["ci_lower"], found["ci_upper"], gap),
                "verdict": "" if found is None else VERDICTS[found["verdict"]],
            }
        )
    return rows


def _outside(claims: float | None, document: Document) -> str:
    """Whether a claimed share lies outside the interval of everybody's."""
    answers = section(document, "answers")
    if claims is None or is_missing(answers):
        return ""
    low, high = (answers["event"]["result"][end] for end in ("ci_lower", "ci_upper"))
    if low is None or low <= claims <= high:
        return ""
    return "too low" if claims < low else "too high"
