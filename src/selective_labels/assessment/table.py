"""What the data is."""

from typing import Any

import numpy as np

from selective_labels.assessment.cases import Cases
from selective_labels.assessment.columns import Column
from selective_labels.assessment.description import ROLES, TableDescription
from selective_labels.assessment.words import table_words
from selective_labels.data import SelectiveLabels

# The library's keyword where it is not the name of the role, and what a column without a name is called.
KEYWORDS = {"weight": "sample_weight"}
ARGUMENTS = KEYWORDS | {"label": "y"}


def table_section(
    cases: Cases, columns: list[Column], description: TableDescription, notes: list[str], event: int
) -> dict[str, Any]:
    """Counts, roles, words, features and notes."""
    data = cases.data
    labels = data.y[data.decision == 1]
    roles = {role: _role(role, data, description) for role in ROLES}
    shares = np.bincount(labels, minlength=len(data.classes)) / max(len(labels), 1)
    return {
        "source": description.source,
        "n_cases": len(data),
        "n_labeled": len(labels),
        "labeled_share": len(labels) / len(data),
        "n_decision_makers": data.n_decision_makers,
        "classes": [str(label) for label in data.classes.tolist()],
        "class_shares_labeled": shares.tolist(),
        "roles": roles,
        "words": table_words(roles, data.classes.tolist()[event], data.panels is not None),
        "features": [
            {"name": each.name, "kind": each.kind, "missing_share": float(each.values.isna().mean())}
            for each in columns
        ],
        "left_out": [{"name": name, "reason": reason} for name, reason in description.left_out],
        "notes": list(
            dict.fromkeys([*description.notes, *_shared(data), *_ignored(data.n_ignored_labels), *notes])
        ),
    }


def _role(role: str, data: SelectiveLabels, description: TableDescription) -> str | None:
    if description.roles.get(role) is not None:
        return description.roles[role]
    keyword = KEYWORDS.get(role, role)
    if keyword not in (*data.roles_given, "label"):
        return None
    return data.names.get(keyword, ARGUMENTS.get(role, role))


def _shared(data: SelectiveLabels) -> list[str]:
    if data.panels is None:
        return []
    return [
        "Labels are shared within groups: one that any row shows counts for all, a case is accepted if "
        "anyone accepted it, and where decision-makers are named, panels are meant "
        f"({data.n_decision_makers:,} panels of {len(data.panels.people):,} people). Rows count as cases."
    ]


def _ignored(n_labels: int) -> list[str]:
    if not n_labels:
        return []
    return [f"{n_labels:,} labels were given where the decision is 0, and were not read."]
