"""How far the unlabeled cases may differ from the labeled ones before a conclusion falls."""

from typing import Any

import numpy as np

from selective_labels.assessment.contenders import Contender
from selective_labels.assessment.sections import Part
from selective_labels.data import SelectiveLabels
from selective_labels.evaluation.results import plain
from selective_labels.literature.sensitivity import SensitivityCurve, sensitivity_curve
from selective_labels.support.errors import InputError


def sensitivity_part(
    data: SelectiveLabels, contender: Contender, limit: str, event: int, cost: Any = None, **settings: Any
) -> Part:
    """Curve of accuracy over odds: how many times the odds of the event the refused have, of like cases.

    The curve is that of accuracy(rule) - accuracy(always the commonest class seen), with the threshold 0: is
    the rule of any use? A rule that always predicts that class is compared with nothing. Where costs are
    known, they take the place of accuracy.
    """
    if data.decision.all():
        raise InputError("Every label is seen, so there is nothing to be sensitive to.", "y")
    commonest = int(np.bincount(data.y[data.decision == 1], minlength=len(data.classes)).argmax())
    constant = bool((contender.codes == commonest).all())
    label = data.classes.tolist()[commonest]
    curve = sensitivity_curve(
        data.classes[contender.codes],
        data,
        compare_to=None if constant else label,
        limit=limit,
        parameter="odds",
        pos_label=data.classes.tolist()[event],
        metric="accuracy" if cost is None else "cost",
        cost=cost,
        **settings,
    )
    what = f"{'Accuracy' if cost is None else 'Cost'} of “{contender.name}”"
    title = what if constant else f"{what} minus that of always predicting {label!r}"
    return Part(
        {
            "model": contender.key,
            "title": title,
            "x_name": curve.x_name,
            "sentences": [_meaning(title, str(data.classes.tolist()[event])), *curve.sentences()],
            "curve": [
                {"x": x, "lower": lower, "upper": upper, "ci_lower": ci_lower, "ci_upper": ci_upper}
                for x, lower, upper, ci_lower, ci_upper in _points(curve)
            ],
            "limit": plain([curve.limit_lower, curve.limit_upper]),
            "threshold": curve.threshold,
            "break_even": plain(curve.break_even),
            "break_even_below": plain(curve.break_even_below),
            "supported": None if limit == "none" or curve.supported is None else plain_pairs(curve.supported),
        }
    )


def _points(curve: SensitivityCurve) -> list[list[float | None]]:
    columns = (curve.x, curve.lower, curve.upper, curve.ci_lower, curve.ci_upper)
    return [plain(point) for point in np.column_stack(columns).tolist()]


def plain_pairs(pairs: list[tuple[float, float]]) -> list[list[float | None]]:
    """Pairs as lists; an end that is not bounded is None."""
    return [plain(list(pair)) for pair in pairs]


def _meaning(title: str, event: str) -> str:
    return (
        f"{title}. At 1, refused cases are taken to be like accepted cases with the same features; further "
        f"right, they have so many times the odds of {event!r}, further left so many times less."
    )
