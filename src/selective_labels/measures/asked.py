"""A question about a table, whichever form the table has: who is judged, by what, under which assumption."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from numpy.typing import ArrayLike

from selective_labels.assumptions import Assumption
from selective_labels.inference.sample import NO_RANGE
from selective_labels.measures.subject import UNNAMED
from selective_labels.nuisance.settings import FittingSettings

LENIENCY, HUMAN = "leniency", "human"


@dataclass(frozen=True, eq=False)
class Asked:
    """What a user asks for, as it was given; see :func:`selective_labels.evaluate`.

    Attributes
    ----------
    given : tuple
        What is judged: one, or two that are compared.
    metric : metric or sequence of metrics
    assumption, cluster, fitting, label_range, instrument
        How rows are scored: see :func:`selective_labels.inference.sample.score_sample`, and
        :func:`selective_labels.data.with_instrument` for the last.
    pos_label, cost, by
        `by` names a column of a table in partitions, and has a value for each row in memory.
    """

    given: tuple[Any, ...]
    metric: Any
    assumption: str | Assumption | Sequence[str | Assumption]
    cluster: str | None
    fitting: FittingSettings
    label_range: Any = NO_RANGE
    instrument: str = LENIENCY
    pos_label: Any = None
    cost: ArrayLike | None = None
    by: Any = None

    @property
    def names(self) -> list[str]:
        """What messages call those that are judged."""
        return [UNNAMED] if len(self.given) == 1 else ["a", "b"]
