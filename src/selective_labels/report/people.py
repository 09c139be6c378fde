"""Sections that are asked for: whether advice helped, who decides well, whether groups are treated alike."""

from collections.abc import Iterable, Mapping
from typing import Any, TypedDict

import numpy as np
import pandas as pd

from selective_labels._display import Described, cells_of
from selective_labels._errors import InputError
from selective_labels._validation import require_choice
from selective_labels.data.roles import as_series
from selective_labels.evaluation.advice import Advice
from selective_labels.evaluation.deciders import Deciders
from selective_labels.evaluation.disparity import Disparity
from selective_labels.evaluation.evaluator import Evaluator
from selective_labels.evaluation.results import Evaluation, plain
from selective_labels.report.document import Part
from selective_labels.report.wording import ENDS

NAMED, ANONYMOUS = "names", "anonymous"


class Questions(TypedDict, total=False):
    """Keywords that add sections about people who decide.

    advice, shown : (n_samples,) columns
        Adds the section "advice", as :func:`selective_labels.advice` computes it.
    high : "yes" or "no"
        What a high value of an advice of several values means.
    deciders : "names" or "anonymous"
        Adds the section "deciders", as :func:`selective_labels.deciders` computes it.
    disparity : (n_samples,) column
        Groups. Adds the section "disparity", as :func:`selective_labels.disparity` computes it.
    """

    advice: Any
    shown: Any
    high: str | None
    deciders: str | None
    disparity: Any


def read_questions(given: Mapping[str, Any], n_samples: int, rows: np.ndarray) -> dict[str, Any]:
    """Columns of these rows, by keyword; what was not asked for is left out."""
    asked = {name: value for name, value in given.items() if value is not None}
    if ("advice" in asked) != ("shown" in asked):
        raise InputError("advice and shown go together: give both columns or neither.", "shown")
    if "high" in asked and "advice" not in asked:
        raise InputError("high says what a high advice means: give advice with it.", "high")
    if "deciders" in asked:
        require_choice("deciders", asked["deciders"], (NAMED, ANONYMOUS))
    for name in asked.keys() & {"advice", "shown", "disparity"}:
        asked[name] = as_series(asked[name], name, n_samples).iloc[rows].reset_index(drop=True)
    return asked


def people_part(
    name: str, evaluator: Evaluator, asked: Mapping[str, Any], score: Any, how: Mapping[str, Any], cost: Any
) -> Part:
    """Answer one question.

    Parameters
    ----------
    name : "advice", "deciders" or "disparity"
    asked : mapping
        As `read_questions` returns it.
    score : array or None
        The user's score, which increases with the risk.
    how : mapping
        The assumption and the event.
    cost : matrix or None
    """
    found: Advice | Deciders | Disparity
    if name == "advice":
        found = evaluator.advice(asked["advice"], asked["shown"], high=asked.get("high"), cost=cost, **how)
        drawn = [
            _drawn(each.measure, ", ".join(filter(None, [each.what, each.cut])), each.evaluation)
            for each in found.estimates
            if " minus " in each.what
        ]
    elif name == "deciders":
        found = evaluator.deciders(score, anonymous=asked["deciders"] == ANONYMOUS, **how)
        drawn = _makers(found)
    else:
        found = evaluator.disparity(asked["disparity"], score=score, **how)
        drawn = [
            _drawn(
                f"{each.who}: {found.words(each.measure)}",
                f"{each.evaluation.subgroup} minus {each.evaluation.reference}",
                each.evaluation,
            )
            for each in found.estimates
            if each.evaluation.reference is not None
        ]
    return Part({"sentences": found.sentences(), "tables": _tables(found), "drawn": drawn})


def _drawn(heading: str, label: str, result: Evaluation) -> dict[str, Any]:
    return {"heading": heading, "label": label} | {end: plain(getattr(result, end)) for end in ENDS}


def _makers(found: Deciders) -> list[dict[str, Any]]:
    frame = found.to_frame()
    names = ["excess", "excess", "excess_lower", "excess_upper"]
    return [
        {"heading": "", "label": str(row["decision_maker"]), "n": int(row["n"])}
        | {end: plain(row[name]) for end, name in zip(ENDS, names, strict=True)}
        for row in frame.to_dict("records")
    ]


def _tables(found: Described) -> list[dict[str, Any]]:
    frames: Iterable[pd.DataFrame] = found.printed_parts()
    return [dict(zip(("headings", "rows"), cells_of(frame), strict=True)) for frame in frames]
