"""A selectively labeled table in words: its roles, its columns, how many labels are seen."""

from collections import Counter
from html import escape
from typing import TYPE_CHECKING

from selective_labels.data.panels import sharing_suggested
from selective_labels.support.words import several

if TYPE_CHECKING:
    from selective_labels.data.selective_labels import SelectiveLabels

# More classes than this are counted, not listed.
MOST_CLASSES = 8
SHARED = "within groups: seen on one row, seen on all; decision-makers are the panels that saw a case"
SUGGESTED = (
    "several decision-makers saw the same group, and labels within groups agree; if the label belongs to the "
    "group, share_labels=True lets every row count it"
)
LEFT = "style='text-align:left'"


def as_text(data: "SelectiveLabels") -> str:
    """Say it in a few lines."""
    lines = [f"{what}: {words}" for what, words in _facts(data)]
    return "\n  ".join([f"SelectiveLabels({_size(data)})", *lines])


def as_html(data: "SelectiveLabels") -> str:
    """Say it in a table."""
    rows = "".join(
        f"<tr><th {LEFT}>{escape(what)}</th><td {LEFT}>{escape(words)}</td></tr>"
        for what, words in _facts(data)
    )
    return f"<div><strong>SelectiveLabels, {_size(data)}</strong><table>{rows}</table></div>"


def _size(data: "SelectiveLabels") -> str:
    if data.panels is None or data.groups is None:
        return f"{len(data):,} cases"
    return f"{len(data):,} rows of {len(set(data.groups.tolist())):,} cases"


def _facts(data: "SelectiveLabels") -> list[tuple[str, str]]:
    n_labeled = int(data.decision.sum())
    facts = [
        ("label" + _called(data, "label"), _classes(data)),
        ("labels seen", f"{n_labeled:,} ({n_labeled / max(len(data), 1):.0%})" + _ignored(data)),
        ("decision" + _called(data, "decision"), _decision(data)),
        ("decision-maker" + _called(data, "decision_maker"), _decision_makers(data)),
    ]
    for role, codes in (("groups", data.groups), ("strata", data.strata)):
        if codes is not None:
            facts.append((role + _called(data, role), f"{len(set(codes.tolist())):,}"))
    if data.panels is not None:
        facts.append(("labels shared", SHARED))
    elif sharing_suggested(data):
        facts.append(("note", SUGGESTED))
    if data.sample_weight is not None:
        facts.append(("weights" + _called(data, "sample_weight"), "given"))
    if data.assignment is not None:
        known = "a function of the features" if data.assignment_function is not None else "given"
        facts.append(("probabilities of decision-makers", known))
    return [*facts, ("features", _features(data))]


def _called(data: "SelectiveLabels", role: str) -> str:
    return f" {data.names[role]!r}" if role in data.names else ""


def _classes(data: "SelectiveLabels") -> str:
    classes = data.classes.tolist()
    if len(classes) > MOST_CLASSES:
        return f"{len(classes)} classes"
    return "classes " + ", ".join(map(repr, classes)) + ", coded from 0"


def _ignored(data: "SelectiveLabels") -> str:
    n_ignored = data.n_ignored_labels
    return f"; {n_ignored:,} more were given where the decision is 0, and not read" if n_ignored else ""


def _decision(data: "SelectiveLabels") -> str:
    return "given" if data.decision_given else "not given: the holes say what was seen"


def _decision_makers(data: "SelectiveLabels") -> str:
    if data.panels is not None and data.decision_makers_given:
        return f"{len(data.panels.people):,}, in {data.n_decision_makers:,} panels"
    return f"{data.n_decision_makers:,}" if data.decision_makers_given else "not given"


def _features(data: "SelectiveLabels") -> str:
    kinds = Counter(data.kinds)
    words = [f"{count} {kind}{'s' if count > 1 else ''}" for kind, count in kinds.items()]
    counts = ", ".join(words).replace("categorys", "categories") or "none"
    names = getattr(data.X, "columns", getattr(data.X, "column_names", None))
    return counts if names is None or callable(names) else f"{counts} ({several([str(n) for n in names])})"
