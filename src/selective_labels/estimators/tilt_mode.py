"""Whether a tilt is used: the rules of tilt and auto mode, and what each says of itself."""

import warnings
from dataclasses import dataclass

import numpy as np

from selective_labels._errors import DiagnosticWarning
from selective_labels.assumptions.base import event_codes, event_words
from selective_labels.assumptions.combination import DIRECTION_LEVEL
from selective_labels.assumptions.refused import Informed
from selective_labels.data.selective_labels import SelectiveLabels
from selective_labels.diagnostics.combinations import direction_p_value
from selective_labels.identification.bounds import Bounds
from selective_labels.nuisance.cross_fit import CrossFit
from selective_labels.nuisance.first_stage import HeldOutRows, first_stage
from selective_labels.nuisance.tilts import Tilted, fit_tilt

# First-stage concentration below which moments say little of the tilt. Fixed before the first confirmation.
GATE = 25.0
GATE_CODE = "SL105"
# Values of `mode_`.
TILT, LABELED_ONLY, STATED_ODDS = "tilt", "labeled-only", "stated-odds"
# Log odds ratio of the control: a mild difference in the stated direction, without any instrument.
CONTROL = 0.25
EVERY_LABEL = "every label is seen"


@dataclass(frozen=True, eq=False)
class TiltChoice:
    """Whether the tilt is used, and why.

    Attributes
    ----------
    mode : "tilt", "labeled-only" or "stated-odds"
        The last is the control: labeled rows, and refused cases with the event e^.25 times the odds.
    reason : str
        Without a full stop at its end.
    concentration : float
    tilt : Tilted or None
        Set where the mode is "tilt".
    event : (n_classes,) bool array or None
        Classes of which the refused have more, if that is stated.
    """

    mode: str
    reason: str
    concentration: float
    tilt: Tilted | None = None
    event: np.ndarray | None = None


def choose_tilt(
    joint: CrossFit,
    data: SelectiveLabels,
    bounds: Bounds,
    mode: str,
    skill_range: float,
    direction: Informed | None,
    doubtful: str | None,
) -> tuple[TiltChoice, np.ndarray | None]:
    """Fit the tilts, and decide whether they are used.

    "tilt" uses them (without an allowance for skill only where decision-makers differ enough). "auto" uses
    them where the instrument is not doubtful, repeated cases have strata, and the confidence set R_c is not
    empty and excludes "no tilt"; with a stated direction where R_c does not contradict it, as far as they lie
    in this direction.

    Parameters
    ----------
    joint : CrossFit
    data : SelectiveLabels
    bounds : Bounds
        Bounds of the training rows.
    mode : "tilt" or "auto"
    skill_range : float
    direction : Informed or None
    doubtful : str or None
        Why the instrument is doubtful.

    Returns
    -------
    choice : TiltChoice
    probabilities : (n_samples, n_classes) array or None
        Class probabilities of the training rows where the tilt is used.
    """
    event = None if direction is None else _members(direction, data)
    if data.labeled.all():
        return TiltChoice(LABELED_ONLY, EVERY_LABEL, np.nan), None
    rows = HeldOutRows(joint, data)
    stage = first_stage(rows)
    concentration = stage.concentration
    weak = (
        f"decision-makers move decisions too little to learn how the refused differ (concentration "
        f"{concentration:.1f}, {GATE:g} needed)"
    )
    if data.n_decision_makers == 1:
        weak = "there is one decision-maker only, and so no instrument"
    if mode == "auto" and (reason := doubtful or _repeated_without_strata(data)):
        return _without_instrument(reason, concentration, event), None
    if concentration < GATE and (event is not None or skill_range == 0.0):
        if event is None:
            warn_of_closed_gate(weak)
        return _without_instrument(weak, concentration, event), None
    tilt = fit_tilt(rows, stage, skill_range)
    if mode == "auto" and not tilt.refused.supports():
        misfit = "no odds ratio of refused and accepted cases fits the instrument, or the instrument is wrong"
        return _without_instrument(misfit, concentration, event), None
    if mode == "auto" and direction is not None and event is not None:
        supported = tilt.refused.supports(event)
        if not supported or direction_p_value(direction.adverse, data, joint) <= DIRECTION_LEVEL:
            reason = (
                f"the instrument contradicts that the refused have {event_words(direction.adverse)} more "
                "often than comparable accepted cases"
            )
            warnings.warn(
                DiagnosticWarning("SL1006", f"(direction): {reason}; no gain is taken."), stacklevel=5
            )
            return TiltChoice(LABELED_ONLY, reason, concentration), None
        tilt = tilt.towards(event)
        reason = "the stated direction, and the odds ratios in it that the instrument supports"
    elif mode == "auto":
        if not tilt.excludes_zero:
            unshown = "the instrument does not show that refused cases differ from comparable accepted ones"
            return TiltChoice(LABELED_ONLY, weak if concentration < GATE else unshown, concentration), None
        reason = "the instrument shows that refused cases differ from comparable accepted ones"
    else:
        reason = "asked for"
        if concentration < GATE:
            text = f"(tilt): {weak}; the estimate says little more than the prior."
            warnings.warn(DiagnosticWarning(GATE_CODE, text), stacklevel=5)
    estimate = np.empty((len(data), len(data.classes)))
    for part in rows:
        here = Bounds(bounds.lower[part.rows], bounds.upper[part.rows])
        estimate[part.rows] = tilt.probabilities(part.labeled, part.propensity, here)
    return TiltChoice(TILT, reason, concentration, tilt, event), estimate


def _without_instrument(reason: str, concentration: float, event: np.ndarray | None) -> TiltChoice:
    mode = LABELED_ONLY if event is None else STATED_ODDS
    return TiltChoice(mode, reason, concentration, event=event)


def _members(direction: Informed, data: SelectiveLabels) -> np.ndarray:
    return np.isin(np.arange(len(data.classes)), event_codes(direction.adverse, data.classes))


def _repeated_without_strata(data: SelectiveLabels) -> str | None:
    """Reason not to trust an instrument on repeated cases without strata, or None."""
    if data.groups is None or data.strata is not None or len(np.unique(data.groups)) == len(data):
        return None
    return (
        "cases repeat, and no strata are named within which they were assigned: the cases of two "
        "decision-makers may differ by more than chance"
    )


def warn_of_closed_gate(weak: str) -> None:
    """Warn that decision-makers differ too little for a tilt, and that only labeled rows are used."""
    text = (
        f"(tilt, gate closed): {weak}: the classifier is fitted to the labeled rows alone, as if the refused "
        "were like them."
    )
    warnings.warn(DiagnosticWarning(GATE_CODE, text), stacklevel=6)
