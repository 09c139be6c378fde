"""What learning may assume besides the instrument, and what it asks for first."""

from dataclasses import replace
from typing import Any

from selective_labels.assumptions import Assumption, Combination, Informed, Instrument, Prevalence, named
from selective_labels.data import SelectiveLabels
from selective_labels.estimators.learners.identified import NO_RANGE, Identified, TrainingRows
from selective_labels.identification.multipliers import minimax_multiplier
from selective_labels.support.errors import InputError


def read_assumption(assumption: Any, mode: str, data: SelectiveLabels) -> Combination | None:
    """What is assumed besides the instrument; None if nothing is.

    Learning under "informed" without a prevalence needs ``direction_known=True``: no check tells from the
    instrument which label is the adverse one, and the wrong direction costs accuracy.
    """
    if assumption is None:
        return None
    found: Assumption = named(assumption)
    if found == Instrument():
        return None
    if mode != "partial":
        raise InputError("assumption= goes with mode='partial'; mode='point' assumes NUCEM.", "assumption")
    if not isinstance(found, Combination) or Instrument() not in found.parts:
        raise InputError(
            f"assumption {found.name!r} does not go with mode='partial', which rests on the instrument: "
            "write Instrument() & ... .",
            "assumption",
        )
    found.check(data.classes)
    informed = [each for each in found.parts if isinstance(each, Informed)]
    known = [each for each in found.parts if isinstance(each, Prevalence)]
    if not known and any(not each.direction_known for each in informed):
        raise InputError(
            f"learning under {informed[0].name!r} needs a Prevalence beside it, which could refute it, or "
            "your word Informed(..., direction_known=True): the data cannot tell which label is the adverse "
            "one.",
            "assumption",
        )
    if any(each.by is not None for each in known):
        raise InputError("learning takes a Prevalence of everybody, not by groups.", "assumption")
    return found


def read_label_range(assumption: Combination | None, label_range: Any) -> Any:
    """The range of labels among what is assumed, or that of the keyword; both are refused."""
    if assumption is None or assumption.label_range is None:
        return label_range
    if label_range is not NO_RANGE and label_range != NO_RANGE:
        raise InputError(
            "label_range= and LabelRange(...) say the same thing twice; give one of them.", "label_range"
        )
    return assumption.label_range.lowest, assumption.label_range.highest


def with_share(
    identified: Identified, rows: TrainingRows, assumption: Combination | None, data: SelectiveLabels
) -> Identified:
    """Choose the multiplier of a known share: that of the rule with the least worst-case regret."""
    shares = () if assumption is None else assumption.shares(data)
    if not shares:
        return identified
    if identified.class_weight is not None:
        raise InputError("a Prevalence does not go with cost='balanced'; leave one of them out.", "cost")
    multiplier = minimax_multiplier(rows.bounds, shares[0], data.weights, identified.cost)
    return replace(identified, share=(shares[0].members, multiplier, shares[0].limit(multiplier)))
