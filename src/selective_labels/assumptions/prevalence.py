"""What is known of everybody from elsewhere: how many, and how far a chance can go."""

from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from selective_labels.assumptions.atom import Part, as_event, event_codes, in_words
from selective_labels.identification.multipliers import Share
from selective_labels.support.errors import InputError


class Population(Protocol):
    """Whom a share is about: rows, or cells of rows that are alike."""

    @property
    def classes(self) -> np.ndarray:
        """Sorted."""

    @property
    def X(self) -> Any:  # noqa: N802 (as of SelectiveLabels)
        """Features."""

    def __len__(self) -> int: ...


@dataclass(frozen=True)
class Prevalence(Part):
    """The share of a label among all cases is known, from a bureau, an audit, a year without refusals.

    low <= E[η_A(X)] <= high,   or in each group of a column

    Parameters
    ----------
    label : class label, or a tuple of them
    value : float, pair (low, high), or tuple of pairs (group, float or pair)
        The last with `by`.
    standard_error : float, optional
        Of the value, if it was estimated from other cases.
    by : str, optional
        Column of the features whose values are the groups.

    Examples
    --------
    >>> Prevalence("failed", 0.12).name, Prevalence("failed", (0.1, 0.14)).name
    ('prevalence(failed, 0.12)', 'prevalence(failed, 0.1 to 0.14)')
    """

    label: Any
    value: Any
    standard_error: float | None = None
    by: str | None = None

    formula = "low <= E[η_A] <= high"
    refuted_by = "floors whose mean exceeds the share (SL1002)."

    def __post_init__(self) -> None:
        object.__setattr__(self, "label", as_event(self.label))
        given = self.value
        if isinstance(given, dict):
            given = tuple(given.items())
        if self.by is not None:
            groups = tuple((group, _as_range(each)) for group, each in given)
            if not groups or len({group for group, _ in groups}) < len(groups):
                raise InputError("Prevalence by a column needs each group once.", "assumption")
            object.__setattr__(self, "value", groups)
        else:
            object.__setattr__(self, "value", _as_range(given))
        if self.standard_error is not None and not 0.0 <= self.standard_error < np.inf:
            raise InputError("Prevalence needs a standard_error that is not negative.", "assumption")

    @property
    def ranges(self) -> tuple[tuple[Any, tuple[float, float]], ...]:
        """Pairs of group and range; the group is None without `by`."""
        return ((None, self.value),) if self.by is None else self.value

    @property
    def name(self) -> str:
        """With the label and the share."""
        words = "; ".join(
            f"{'' if group is None else f'{group}: '}{_in_words(each)}" for group, each in self.ranges
        )
        column = "" if self.by is None else f" by {self.by}"
        error = "" if self.standard_error is None else f" ± {self.standard_error:g}"
        return f"prevalence({in_words(self.label)}{column}, {words}{error})"

    @property
    def sentence(self) -> str:
        """For a head of credit risk."""
        words = " and ".join(
            f"{_in_words(each)}{'' if group is None else f' where {self.by} is {group}'}"
            for group, each in self.ranges
        )
        return f"of all cases, refused ones among them, the share that are {in_words(self.label)} is {words}."

    def shares(self, data: Population) -> tuple[Share, ...]:
        """One share for everybody, or one for each group."""
        members = np.isin(np.arange(len(data.classes)), event_codes(self.label, data.classes, "label"))
        found = []
        for group, (low, high) in self.ranges:
            rows = np.ones(len(data), dtype=bool) if group is None else self._column(data) == group
            if not rows.any():
                raise InputError(f"no case has {group!r} in column {self.by!r}.", "assumption")
            found.append(Share(members.astype(float), low, high, rows, self.standard_error or 0.0))
        return tuple(found)

    def _column(self, data: Population) -> np.ndarray:
        if self.by not in getattr(data.X, "columns", ()):
            raise InputError(f"Prevalence by {self.by!r} needs features in a table with this column.", "X")
        return data.X[self.by].to_numpy()


@dataclass(frozen=True)
class LabelRange(Part):
    """The chance of a class lies between two numbers, whatever is hidden: Assumption 5.1 of the paper.

    a_k <= P(Y*=k | x, u) <= b_k

    Parameters
    ----------
    lowest, highest : number, one for each class, or callable of X

    Examples
    --------
    >>> LabelRange(0.05, [0.5, 0.9]).highest
    (0.5, 0.9)
    """

    lowest: Any = 0.0
    highest: Any = 1.0

    formula = "a_k <= P(Y*=k | x, u) <= b_k"
    refuted_by = "labels of accepted cases outside the range, or floors that leave no room (SL1001)."

    def __post_init__(self) -> None:
        for end in ("lowest", "highest"):
            object.__setattr__(self, end, as_event(getattr(self, end)))
        if callable(self.lowest) or callable(self.highest):
            return
        lowest, highest = np.broadcast_arrays(*(np.asarray(each) for each in (self.lowest, self.highest)))
        if not ((lowest >= 0.0) & (lowest <= highest) & (highest <= 1.0)).all():
            raise InputError(
                f"LabelRange needs 0 <= lowest <= highest <= 1, got {self.lowest} and {self.highest}.",
                "assumption",
            )

    @property
    def name(self) -> str:
        """With the numbers."""
        ends = ["a function" if callable(each) else str(each) for each in (self.lowest, self.highest)]
        return f"label range({ends[0]} to {ends[1]})"

    @property
    def sentence(self) -> str:
        """For a head of credit risk."""
        ends = ["a given function" if callable(each) else str(each) for each in (self.lowest, self.highest)]
        return f"whatever is hidden, the chance of a class lies between {ends[0]} and {ends[1]}."


def _as_range(value: Any) -> tuple[float, float]:
    try:
        low, high = value if np.ndim(value) else (value, value)
        low, high = float(low), float(high)
    except (TypeError, ValueError):
        raise InputError(
            f"Prevalence needs a share or a pair (low, high), got {value!r}.", "assumption"
        ) from None
    if not 0.0 <= low <= high <= 1.0:
        raise InputError(f"Prevalence needs 0 <= low <= high <= 1, got {low:g} and {high:g}.", "assumption")
    return low, high


def _in_words(ends: tuple[float, float]) -> str:
    return f"{ends[0]:g}" if ends[0] == ends[1] else f"{ends[0]:g} to {ends[1]:g}"
