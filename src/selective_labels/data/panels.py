"""Panels: several decision-makers see one case, whose label all of its rows share.

For a case g with rows i, each with its own decision d_i of its own decision-maker z_i::

    decision_g = max_i d_i          at least one accepted
    y_g        = the label that rows with d_i = 1 show (they must agree); missing if there is none
    panel_g    = {z_i}              who saw the case: the value of the instrument
"""

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from selective_labels._errors import InputError
from selective_labels.data.roles import HOLE, Coded

if TYPE_CHECKING:
    from selective_labels.data.selective_labels import SelectiveLabels


@dataclass(frozen=True, eq=False)
class Panels:
    """Sets of decision-makers who saw a case together, as (panel, member) pairs sorted by panel.

    Attributes
    ----------
    panel, member : (n_pairs,) int arrays
        Codes of panels, and codes of their members into `people`.
    people : array
        Sorted ids of decision-makers.

    Examples
    --------
    >>> panels = Panels(np.array([0, 0, 1]), np.array([0, 2, 1]), np.array(["a", "b", "c"]), 2)
    >>> panels.size, panels.total(np.array([1.0, 10.0, 100.0]))
    (array([2, 1]), array([101.,  10.]))
    """

    panel: np.ndarray
    member: np.ndarray
    people: np.ndarray
    n_panels: int

    @property
    def size(self) -> np.ndarray:
        """Number of members of each panel, (n_panels,)."""
        return np.bincount(self.panel, minlength=self.n_panels)

    def total(self, values: np.ndarray) -> np.ndarray:
        """Sum of the values of each panel's members, (n_panels,)."""
        return np.bincount(self.panel, values[self.member], self.n_panels)

    def among(self, kept: np.ndarray) -> tuple["Panels", np.ndarray]:
        """Keep some panels (sorted codes) and return them with the codes of their members."""
        place = np.full(self.n_panels, -1)
        place[kept] = np.arange(len(kept))
        pairs = place[self.panel] >= 0
        people, member = np.unique(self.member[pairs], return_inverse=True)
        return Panels(place[self.panel[pairs]], member, self.people[people], len(kept)), people


def with_shared_labels(data: "SelectiveLabels", groups: Coded | None) -> "SelectiveLabels":
    """Give every row the label, the decision and the panel of its case.

    Labels in rows whose own decision is 0 are never used.

    Parameters
    ----------
    data : SelectiveLabels
    groups : Coded
        Groups of the data, with their original values for error messages.
    """
    if groups is None:
        raise InputError("share_labels=True needs groups: which rows are one case.", "groups")
    cases, names = groups
    if data.assignment is not None:
        raise InputError(
            "assignment has probabilities of decision-makers, and with share_labels=True panels of them "
            "decide; leave one of the two out.",
            "assignment",
        )
    _refuse_several_strata(data, cases, names)
    y = _labels_of_cases(data, cases, names)[cases]
    panels, panel_of_case = _find_panels(cases, data.decision_maker_codes, data.decision_makers)
    return replace(
        data,
        y=y,
        decision=(y != HOLE).astype(int),
        decision_maker_codes=panel_of_case[cases],
        decision_makers=_panel_names(panels),
        panels=panels,
        own_decision=data.decision,
        own_decision_maker_codes=data.decision_maker_codes,
    )


def sharing_suggested(data: "SelectiveLabels") -> bool:
    """Whether labels seem to belong to cases, and sharing them would label more rows.

    True if several decision-makers saw one case, two observed labels of a case occur and always agree, and
    some case has a row with a label and a row without.
    """
    if data.groups is None or data.panels is not None or not data.decision_makers_given:
        return False
    cases, seen = data.groups, data.decision == 1
    n_cases = int(cases.max()) + 1
    lowest, highest = _range_by(cases, data.decision_maker_codes, n_cases)
    several = lowest < highest
    rows, labels = np.bincount(cases, minlength=n_cases), np.bincount(cases[seen], minlength=n_cases)
    least, most = _range_by(cases[seen], data.y[seen], n_cases)
    agree = bool(np.all(most[labels > 0] == least[labels > 0]))
    return agree and bool(np.any(several & (labels > 1)) and np.any(several & (labels > 0) & (labels < rows)))


def _range_by(code: np.ndarray, values: np.ndarray, n_codes: int) -> tuple[np.ndarray, np.ndarray]:
    """Smallest and largest value of each code."""
    large = np.iinfo(np.int64).max
    lowest, highest = np.full(n_codes, large), np.full(n_codes, -1)
    np.minimum.at(lowest, code, values)
    np.maximum.at(highest, code, values)
    return lowest, highest


def _labels_of_cases(data: "SelectiveLabels", cases: np.ndarray, names: np.ndarray) -> np.ndarray:
    """Label of each case, -1 if it is unobserved."""
    seen = data.decision == 1
    lowest, highest = _range_by(cases[seen], data.y[seen], len(names))
    wrong = np.flatnonzero((highest >= 0) & (lowest != highest))
    if len(wrong):
        shown = [
            f"{_plain(names, case)!r} has {_plain(data.classes, lowest[case])!r} and "
            f"{_plain(data.classes, highest[case])!r}"
            for case in wrong[:3]
        ]
        more = f" and {len(wrong) - 3:,} more" if len(wrong) > 3 else ""
        raise InputError.about(
            "groups",
            f"with share_labels=True say that a label belongs to the case, but labels contradict each other "
            f"in {len(wrong):,} of {len(names):,} cases ({'; '.join(shown)}{more}): mend them, or leave "
            "share_labels out.",
        )
    return np.where(highest >= 0, highest, HOLE)


def _refuse_several_strata(data: "SelectiveLabels", cases: np.ndarray, names: np.ndarray) -> None:
    """Raise if a case spans strata: assignment is random within a stratum only if each case has one."""
    if data.strata is None:
        return
    lowest, highest = _range_by(cases, data.strata, len(names))
    wrong = np.flatnonzero(lowest != highest)
    if len(wrong):
        raise InputError.about(
            "strata",
            f"must be the same in all rows of a case with share_labels=True, and differ in {len(wrong):,} "
            f"cases (the first is {_plain(names, wrong[0])!r}).",
        )


def _find_panels(cases: np.ndarray, makers: np.ndarray, people: np.ndarray) -> tuple[Panels, np.ndarray]:
    """Distinct sets of decision-makers, ordered by members, and the panel of each case."""
    pairs = np.unique(cases * len(people) + makers)
    case, member = pairs // len(people), pairs % len(people)
    starts = np.flatnonzero(np.r_[True, case[1:] != case[:-1]])
    sets = [tuple(part.tolist()) for part in np.split(member, starts[1:])]
    known = {members: code for code, members in enumerate(sorted(set(sets)))}
    sizes = [len(members) for members in known]
    panels = Panels(
        np.repeat(np.arange(len(known)), sizes),
        np.array([each for members in known for each in members], dtype=int),
        people,
        len(known),
    )
    return panels, np.array([known[members] for members in sets], dtype=int)


def _panel_names(panels: Panels) -> np.ndarray:
    """Name each panel by the ``repr`` of its members, so that no two panels have the same name."""
    people = [repr(each) for each in panels.people.tolist()]
    parts = np.split(panels.member, np.cumsum(panels.size)[:-1])
    names = np.empty(panels.n_panels, dtype=object)
    names[:] = [" + ".join(people[each] for each in part) for part in parts]
    return names


def _plain(values: np.ndarray, place: Any) -> Any:
    return values[place : place + 1].tolist()[0]
