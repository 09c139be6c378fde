"""Assumptions that narrow an identified set: on refused cases, leniency, prevalence or label ranges."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

import narwhals as nw
import numpy as np

from selective_labels._errors import InputError
from selective_labels._validation import require_choice
from selective_labels.assumptions.base import (
    Part,
    Restriction,
    as_event,
    event_codes,
    event_words,
    in_words,
)
from selective_labels.identification.event_bounds import (
    AnyFloor,
    Chord,
    Floor,
    complement,
    constant,
    mirrored,
    odds,
    ratio,
)
from selective_labels.identification.prevalence import Share

if TYPE_CHECKING:
    import pandas as pd  # loaded where a table has been read; the help of the commands does without

GIVEN = ("decision_maker", "features")
SCALES: dict[str, Callable[[float], tuple[Any, Any]]] = {"ratio": ratio, "odds": odds, "share": constant}


@dataclass(frozen=True)
class Informed(Restriction):
    """Decision-makers are informed: cases that they refuse are at least as risky as cases they accept.

    η_A >= max_z P(A | D=1, x, z)

    This is Manski and Pepper's monotone selection, intersected over decision-makers.

    Parameters
    ----------
    adverse : class label, or a tuple of them
        The outcome that decision-makers want to avoid.
    given : "decision_maker" or "features"
        Whether each decision-maker is informed, or only all of them pooled, which assumes less.
    direction_known : bool
        Confirms that you know which label is adverse. Learning asks for it because no check can tell, and
        the wrong direction costs accuracy.

    Examples
    --------
    >>> Informed("failed").name
    'informed(failed)'
    >>> print(Informed("failed").sentence)
    among cases with the same features, those refused by a decision-maker have the event 'failed' at least as
    often as those accepted by the same one.
    """

    takes_worst_case = True
    adverse: Any
    given: str = "decision_maker"
    direction_known: bool = False

    refuted_by = (
        "more adverse labels among accepted cases than the population has (SL1002, with a prevalence), or "
        "lower bounds that sum to more than one (SL1001)."
    )

    def __post_init__(self) -> None:
        require_choice("given", self.given, GIVEN)
        object.__setattr__(self, "adverse", as_event(self.adverse))

    @property
    def name(self) -> str:
        """Name with the adverse label."""
        return f"informed({in_words(self.adverse)}{', given features' if self.given == 'features' else ''})"

    @property
    def sentence(self) -> str:
        """The assumption in one sentence."""
        by = " by a decision-maker" if self.given == "decision_maker" else ""
        same = " by the same one" if self.given == "decision_maker" else ""
        return (
            f"among cases with the same features, those refused{by} have {event_words(self.adverse)} at "
            f"least as often as those accepted{same}."
        )

    @property
    def formula(self) -> str:  # type: ignore[override]
        """Lower bound on the event."""
        return "η_A >= max_z P(A | D=1, x, z)" if self.given == "decision_maker" else "η_A >= P(A | D=1, x)"

    def refused(self, accepted: np.ndarray) -> np.ndarray:
        """Return the share among accepted cases: g is the identity."""
        return accepted

    def slope(self, accepted: np.ndarray) -> np.ndarray:
        """Derivative of g, which is one."""
        return np.ones_like(accepted)

    def floors(self, classes: np.ndarray) -> tuple[AnyFloor, ...]:
        """One lower bound, which also holds for all decision-makers pooled."""
        single = self.given == "decision_maker"
        event = event_codes(self.adverse, classes)
        return (Floor(event, self.refused, self.slope, pooled=True, singled_out=single),)


@dataclass(frozen=True)
class Refused(Restriction):
    """Refused cases are adverse at least, or at most, a multiple as often as comparable accepted cases.

    g_low(m_z) <= P(A | D=0, x, z) <= g_high(m_z),   m_z = P(A | D=1, x, z)

    with g = γm (ratio), θm / (1 - m + θm) (odds) or a constant (share). Ratios between 1/Λ and Λ for every
    class are the marginal sensitivity model of Tan (2006).

    Parameters
    ----------
    adverse : class label, or a tuple of them
    at_least, at_most : float, optional
        Give one of them or both.
    scale : "ratio", "odds" or "share"
    given : "decision_maker" or "features"
        Whether refused cases are compared with those that the same decision-maker accepts, or with all
        comparable cases accepted, which assumes less.

    Examples
    --------
    >>> refused = Refused("failed", at_least=1.0, at_most=3.0)
    >>> refused.name
    'refused(failed, ratio 1 to 3)'
    >>> print(refused.sentence)
    refused cases have the event 'failed' at least 1 and at most 3 times as often as cases with the same
    features that the same decision-maker accepts.
    """

    takes_worst_case = True
    adverse: Any
    at_least: float | None = None
    at_most: float | None = None
    scale: str = "ratio"
    given: str = "decision_maker"

    refuted_by = (
        "lower bounds that sum to more than one (SL1001), or a least ratio above the one stated (SL1005)."
    )

    def __post_init__(self) -> None:
        require_choice("scale", self.scale, tuple(SCALES))
        require_choice("given", self.given, GIVEN)
        object.__setattr__(self, "adverse", as_event(self.adverse))
        ends = [each for each in (self.at_least, self.at_most) if each is not None]
        if not ends:
            raise InputError("Refused needs at_least, at_most or both.", "assumption")
        largest = 1.0 if self.scale == "share" else np.inf
        if not all(np.isfinite(each) and 0.0 <= each <= largest for each in ends) or ends != sorted(ends):
            raise InputError(
                f"Refused needs 0 <= at_least <= at_most{' <= 1' if largest == 1.0 else ''}, finite, got "
                f"at_least={self.at_least} and at_most={self.at_most}.",
                "assumption",
            )

    @property
    def name(self) -> str:
        """Name with the label and the limits."""
        low, high = self.at_least, self.at_most
        limits = f"at least {low:g}" if high is None else f"at most {high:g}"
        if low is not None and high is not None:
            limits = f"{low:g} to {high:g}"
        given = ", given features" if self.given == "features" else ""
        return f"refused({in_words(self.adverse)}, {self.scale} {limits}{given})"

    @property
    def sentence(self) -> str:
        """The assumption in one sentence."""
        ends = [("at least", self.at_least), ("at most", self.at_most)]
        limits = " and ".join(f"{word} {end:g}" for word, end in ends if end is not None)
        event = event_words(self.adverse)
        if self.scale == "share":
            return f"among refused cases, whatever their features, the share with {event} is {limits}."
        same = "that the same decision-maker accepts" if self.given == "decision_maker" else "accepted"
        others = f"cases with the same features {same}"
        if self.scale == "odds":
            return f"the odds of {event} for a refused case are {limits} times those of {others}."
        return f"refused cases have {event} {limits} times as often as {others}."

    @property
    def formula(self) -> str:  # type: ignore[override]
        """Limits on the probability of the event among refused cases."""
        middle = {"ratio": "γ m_z", "odds": "θ m_z / (1 - m_z + θ m_z)", "share": "a constant"}[self.scale]
        return f"P(A | D=0, x, z) against {middle}, m_z = P(A | D=1, x, z)"

    def refused(self, accepted: np.ndarray) -> np.ndarray:
        """Lower bound on the share of the event among refused cases."""
        return np.asarray(SCALES[self.scale](self.at_least or 0.0)[0](accepted))

    def floors(self, classes: np.ndarray) -> tuple[AnyFloor, ...]:
        """A lower bound on the event for `at_least`, and one on its complement for `at_most`."""
        event = event_codes(self.adverse, classes)
        single = self.given == "decision_maker"
        found: list[AnyFloor] = []
        if self.at_least is not None:
            found.append(Floor(event, *SCALES[self.scale](self.at_least), singled_out=single))
        if self.at_most is not None:
            functions = mirrored(*SCALES[self.scale](self.at_most))
            found.append(Floor(complement(event, len(classes)), *functions, singled_out=single))
        return tuple(found)


@dataclass(frozen=True)
class SimilarBias(Part):
    """Near NUCEM: private information on the label biases any two decision-makers alike, up to 2ρ.

    η_k in [(p_kz - p_kz' - 2ρ) / (λ_z - λ_z'), (p_kz - p_kz' + 2ρ) / (λ_z - λ_z')]   for all z, z'

    Parameters
    ----------
    rho : float
        Non-negative; 0 is NUCEM.

    Examples
    --------
    >>> SimilarBias(0.02).name
    'similar bias(0.02)'
    """

    rho: float

    formula = "|p_kz - p_kz' - η_k (λ_z - λ_z')| <= 2ρ for all z, z'"
    refuted_by = "lower bounds that sum to more than one (SL1001)."
    needs_decision_makers = True

    def __post_init__(self) -> None:
        if not (np.isfinite(self.rho) and self.rho >= 0.0):
            raise InputError(f"SimilarBias needs rho >= 0, got {self.rho}.", "assumption")

    @property
    def name(self) -> str:
        """Name with ρ."""
        return f"similar bias({self.rho:g})"

    @property
    def sentence(self) -> str:
        """The assumption in one sentence."""
        return (
            "the share of a class that a decision-maker shows, beyond what leniency explains, differs by at "
            f"most {2 * self.rho:g} between any two of them."
        )

    def floors(self, classes: np.ndarray) -> tuple[AnyFloor, ...]:
        """A bound from pairs of decision-makers on every class, and one on its complement."""
        codes = range(len(classes))
        events = [*((code,) for code in codes), *(complement((code,), len(classes)) for code in codes)]
        return tuple(Chord(event, self.rho) for event in dict.fromkeys(events))


@dataclass(frozen=True)
class RisingRisk(Part):
    """Monotonicity, and a marginal risk that rises with leniency and is highest for cases refused by all.

    η_A >= p_Az + (1 - λ_z) (p_Az - p_Az') / (λ_z - λ_z')   for λ_z > λ_z', and for λ_z' = p_Az' = 0

    Parameters
    ----------
    adverse : class label, or a tuple of them

    Examples
    --------
    >>> RisingRisk("failed").name
    'rising risk(failed)'
    """

    adverse: Any

    formula = "η_A >= p_Az + (1 - λ_z) (p_Az - p_Az') / (λ_z - λ_z')"
    refuted_by = "marginal risks that fall with leniency (SL1004), or more than one order (SL1003)."
    needs_decision_makers = True

    def __post_init__(self) -> None:
        object.__setattr__(self, "adverse", as_event(self.adverse))

    @property
    def name(self) -> str:
        """Name with the adverse label."""
        return f"rising risk({in_words(self.adverse)})"

    @property
    def sentence(self) -> str:
        """The assumption in one sentence."""
        return (
            "a more lenient decision-maker accepts all that a stricter one does, and the further cases have "
            f"{event_words(self.adverse)} more often, those that nobody accepts most often."
        )

    def floors(self, classes: np.ndarray) -> tuple[AnyFloor, ...]:
        """The share of the event among accepted cases, and bounds from pairs of decision-makers."""
        event = event_codes(self.adverse, classes)
        return Floor(event, lambda m: m, np.ones_like, pooled=True), Chord(event, beyond=True)


@dataclass(frozen=True)
class SameRanking(Part):
    """Monotonicity: a more lenient decision-maker accepts every case that a stricter one accepts.

    It does not change the bounds, but is testable: p_kz >= p_kz' for every class if λ_z >= λ_z'.

    Examples
    --------
    >>> SameRanking().floors(np.array([0, 1]))
    ()
    """

    takes_worst_case = True
    name = "same ranking"
    sentence = "a more lenient decision-maker accepts every case that a stricter one accepts."
    formula = "D(z) >= D(z') for all cases alike, if λ_z >= λ_z'"
    refuted_by = "a class that a stricter decision-maker shows more often (SL1003)."
    needs_decision_makers = True


class Population(Protocol):
    """The population that a share refers to: rows, or cells of identical rows."""

    @property
    def classes(self) -> np.ndarray:
        """Sorted class labels."""

    @property
    def X(self) -> Any:  # noqa: N802 (the name in SelectiveLabels)
        """Features."""

    def __len__(self) -> int: ...


@dataclass(frozen=True)
class Prevalence(Part):
    """The share of a label among all cases is known.

    low <= E[η_A(X)] <= high,   overall or in each group of a column

    The share may come from a credit bureau, an audit or a year without refusals.

    Parameters
    ----------
    label : class label, or a tuple of them
    value : float, pair (low, high), or tuple of pairs (group, float or pair)
        The last form needs `by`.
    standard_error : float, optional
        Standard error of the value, if it was estimated from other cases.
    by : str, optional
        Feature column whose values define the groups.

    Examples
    --------
    >>> Prevalence("failed", 0.12).name, Prevalence("failed", (0.1, 0.14)).name
    ('prevalence(failed, 0.12)', 'prevalence(failed, 0.1 to 0.14)')
    """

    takes_worst_case = True
    label: Any
    value: Any
    standard_error: float | None = None
    by: str | None = None

    formula = "low <= E[η_A] <= high"
    refuted_by = "a mean lower bound above the share (SL1002)."

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
        """Name with the label and the share."""
        words = "; ".join(
            f"{'' if group is None else f'{group}: '}{_in_words(each)}" for group, each in self.ranges
        )
        column = "" if self.by is None else f" by {self.by}"
        error = "" if self.standard_error is None else f" ± {self.standard_error:g}"
        return f"prevalence({in_words(self.label)}{column}, {words}{error})"

    @property
    def sentence(self) -> str:
        """The assumption in one sentence."""
        words = " and ".join(
            f"{_in_words(each)}{'' if group is None else f' where {self.by} is {group}'}"
            for group, each in self.ranges
        )
        return f"among all cases, also those refused, the share with label {in_words(self.label)} is {words}."

    def shares(self, data: Population) -> tuple[Share, ...]:
        """One share for the whole population, or one for each group."""
        members = np.isin(np.arange(len(data.classes)), event_codes(self.label, data.classes, "label"))
        found = []
        for group, (low, high) in self.ranges:
            rows = np.ones(len(data), dtype=bool) if group is None else in_group(self._column(data), group)
            if not rows.any():
                raise InputError(f"no case has {group!r} in column {self.by!r}.", "assumption")
            found.append(Share(members.astype(float), low, high, rows, self.standard_error or 0.0))
        return tuple(found)

    def _column(self, data: Population) -> "pd.Series":
        import pandas as pd

        table = nw.from_native(data.X, eager_only=True, pass_through=True)
        if self.by not in getattr(table, "columns", ()):
            raise InputError(f"Prevalence by {self.by!r} needs features in a table with this column.", "X")
        column = table[self.by].to_native()
        return column if isinstance(column, pd.Series) else pd.Series(table[self.by].to_list())


def in_group(column: "pd.Series", group: Any) -> np.ndarray:
    """Rows of a group; a number may be given as text, as the command line gives it.

    Examples
    --------
    >>> import pandas as pd
    >>> in_group(pd.Series([1, 2, 1]), "1").tolist(), in_group(pd.Series(["a", "b"]), "b").tolist()
    ([True, False, True], [False, True])
    """
    as_text = isinstance(group, str) and column.dtype.kind in "biuf"
    return ((column.astype(str) if as_text else column) == group).to_numpy(dtype=bool, na_value=False)


@dataclass(frozen=True)
class LabelRange(Part):
    """Class probabilities lie in a known range, given any unmeasured variable: Assumption 5.1 of the paper.

    a_k <= P(Y*=k | x, u) <= b_k

    Parameters
    ----------
    lowest, highest : float, one float for each class, or callable of X

    Examples
    --------
    >>> LabelRange(0.05, [0.5, 0.9]).highest
    (0.5, 0.9)
    """

    lowest: Any = 0.0
    highest: Any = 1.0

    formula = "a_k <= P(Y*=k | x, u) <= b_k"
    refuted_by = (
        "labels of accepted cases outside the range, or lower bounds that sum to more than one (SL1001)."
    )

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
        """Name with the limits."""
        ends = ["a function" if callable(each) else str(each) for each in (self.lowest, self.highest)]
        return f"label range({ends[0]} to {ends[1]})"

    @property
    def sentence(self) -> str:
        """The assumption in one sentence."""
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
