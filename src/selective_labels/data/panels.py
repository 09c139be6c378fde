"""Several decision-makers for one case: its label is shared among its rows, and its panel decides.

For a case g with rows i, each with its own decision d_i of its own decision-maker z_i::

    decision_g = max_i d_i          anyone accepted
    y_g        = the label that the rows with d_i = 1 show (they must agree); a hole if there is none
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
    """Which decision-makers saw a case together, as pairs of a panel and a member, sorted by panel.

    Attributes
    ----------
    panel, member : (n_pairs,) int arrays
        Codes of panels, and of their members into `people`.
    people : array
        Ids of decision-makers, sorted.
    n_panels : int

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
        """Members of each panel, (n_panels,)."""
        return np.bincount(self.panel, minlength=self.n_panels)

    def total(self, values: np.ndarray) -> np.ndarray:
        """Sum over the members of each panel, (n_panels,), of values of people."""
        return np.bincount(self.panel, values[self.member], self.n_panels)

    def among(self, kept: np.ndarray) -> tuple["Panels", np.ndarray]:
        """Keep some panels (sorted codes) and their members, and return the codes of the people left."""
        place = np.full(self.n_panels, -1)
        place[kept] = np.arange(len(kept))
        pairs = place[self.panel] >= 0
        people, member = np.unique(self.member[pairs], return_inverse=True)
        return Panels(place[self.panel[pairs]], member, self.people[people], len(kept)), people


def with_shared_labels(data: "SelectiveLabels", groups: Coded | None) -> "SelectiveLabels":
    """Give every row the label, the decision and the panel of its case.

    Labels where the row's own decision is 0 are not read, shared or not.

    Parameters
    ----------
    data : SelectiveLabels
    groups : Coded
        Those of the data, with the values as given, for messages.
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
    """Whether labels look as if they belonged to cases, and some rows would gain one.

    Several decision-makers saw one case; wherever two of its labels are seen they agree, and that happens;
    some case has a row with a label and one without.
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
    """Label of each case, a hole if nobody saw it."""
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
    """Who saw a case is random within a stratum only if the case has one."""
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
    """Different sets of decision-makers, in the order of their members, and the one of each case."""
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
    """Members of each panel in words; as written in a program, so that no two panels have the same name."""
    people = [repr(each) for each in panels.people.tolist()]
    parts = np.split(panels.member, np.cumsum(panels.size)[:-1])
    names = np.empty(panels.n_panels, dtype=object)
    names[:] = [" + ".join(people[each] for each in part) for part in parts]
    return names


def _plain(values: np.ndarray, place: Any) -> Any:
    return values[place : place + 1].tolist()[0]
