"""What an assumption has to say for itself: words, needs, a score, and what checks say about it."""

from abc import ABC, abstractmethod
from typing import Any

import numpy as np

from selective_labels.assumptions.findings import Findings
from selective_labels.assumptions.permission import Permission
from selective_labels.identification.atoms import AnyFloor
from selective_labels.nuisance.score_formulas import Rows, Scores


class Assumption(ABC):
    """What is assumed about the labels that were not seen.

    Every assumption is a frozen dataclass: equal by value, hashable, picklable. One without settings has the
    properties below as plain attributes of its class. ``a & b`` assumes both.

    Examples
    --------
    >>> from selective_labels.assumptions import Informed, Instrument, Nucem
    >>> Instrument() == Instrument(), Nucem().identifies_value
    (True, True)
    >>> (Instrument() & Informed("failed")).name
    'instrument & informed(failed)'
    """

    # What it says as a formula, and what in the data would speak against it.
    formula: str = ""
    refuted_by: str = ""
    # Families of the checks that could refute it.
    spoken_to_by: tuple[str, ...] = ()

    @property
    @abstractmethod
    def name(self) -> str:
        """One word, by which users, results and files call it."""

    @property
    @abstractmethod
    def sentence(self) -> str:
        """What is assumed, in one sentence."""

    @property
    @abstractmethod
    def title(self) -> str:
        """Heading on the report page."""

    @property
    @abstractmethod
    def meaning(self) -> str:
        """What is assumed, for readers of the page."""

    @property
    @abstractmethod
    def needs_decision_makers(self) -> bool:
        """Whether it uses who decided."""

    @property
    @abstractmethod
    def identifies_value(self) -> bool:
        """Whether it leaves one value, rather than bounds (but for rows that its scores call bounded)."""

    def floors(self, classes: np.ndarray) -> tuple[AnyFloor, ...]:
        """Floors that it puts under the chance of events, see :mod:`selective_labels.identification.atoms`.

        Parameters
        ----------
        classes : labels of the classes, in the order of their codes
        """
        return ()

    def __and__(self, other: Any) -> "Assumption":
        """Assume both: see :func:`selective_labels.assumptions.combination.combined`."""
        from selective_labels.assumptions.combination import combined

        return combined(self, other) if isinstance(other, Assumption) else NotImplemented

    @property
    def caption(self) -> str:
        """What is assumed and what would refute it, as it stands below every number.

        Examples
        --------
        >>> from selective_labels.assumptions import Unconfounded
        >>> Unconfounded().caption
        'among cases with equal features, the decision has nothing to do with the label. What would refute it:
        labels of like cases that depend on who decided (SL901).'
        """
        return (
            f"{self.sentence} What would refute it: {self.refuted_by}" if self.refuted_by else self.sentence
        )

    @property
    def needs_halves(self) -> bool:
        """Whether its scores need models on two disjoint halves of the rows."""
        return False

    @property
    def questions(self) -> tuple[tuple[str, str], ...]:
        """How `diagnose` asks about it: what assignment is random within, and the question in words.

        Nothing is asked about an assumption without questions.
        """
        return ()

    @abstractmethod
    def score(self, rows: Rows, overlap: float) -> Scores:
        """Score rows: the mean is a lower bound, or the value, of each class in the whole population.

        Parameters
        ----------
        rows : Rows
        overlap : float
            Probabilities below this are not inverted.
        """

    @abstractmethod
    def permission(self, findings: Findings, given: str) -> Permission:
        """Say whether it may be used after these findings, and why; a reason names its checks.

        Parameters
        ----------
        findings : Findings
        given : "strata" or "features"
            What assignment is as good as random within.
        """
