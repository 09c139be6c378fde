"""Ratios of costs, measured in one run: what a busy or a slow machine does to both sides cancels."""

import json
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TypeVar

import numpy as np

from selective_labels.estimators.identified import forget

STORED = Path(__file__).with_name("stored.json")
# A ratio that grew by this factor is a regression and not a busy moment.
MUCH_WORSE = 1.5
N_ROUNDS = 3
T = TypeVar("T")


@dataclass(frozen=True)
class Ratio:
    """Cost of one thing over the cost of another: smaller is better.

    Attributes
    ----------
    name : str
        Which two things, in a few words; stored ratios are found by it.
    value : float
    seconds : float
        Processor seconds of the first.
    over : float
        Processor seconds of the second.
    limit : float or None
        What was promised.
    remark : str
    """

    name: str
    value: float
    seconds: float
    over: float
    limit: float | None = None
    remark: str = ""

    def __str__(self) -> str:
        promised = "" if self.limit is None else f" (promised: {self.limit:g})"
        cost = f"{self.seconds:.2f} s over {self.over:.2f} s"
        return f"{self.value:6.3f}{promised}  {self.name}: {cost}{'; ' if self.remark else ''}{self.remark}"


def timed(work: Callable[[], T]) -> tuple[float, T]:
    """Processor seconds, since cores are shared, and the result; nothing is remembered from before."""
    forget()
    start = time.process_time()
    result = work()
    return time.process_time() - start, result


def median_ratio(
    name: str,
    one: Callable[[], object],
    other: Callable[[], float],
    limit: float | None = None,
    remark: str = "",
    n_rounds: int = N_ROUNDS,
) -> Ratio:
    """Measure both sides in turn, so that a busy moment hits both; medians of seconds and of their ratios.

    Parameters
    ----------
    name : str
    one : callable
        What is timed.
    other : callable
        Returns the seconds of the other side.
    limit, remark : optional
    n_rounds : int
    """
    pairs = np.array([(timed(one)[0], other()) for _ in range(n_rounds)])
    seconds, over = np.median(pairs, axis=0)
    return Ratio(
        name, float(np.median(pairs[:, 0] / pairs[:, 1])), float(seconds), float(over), limit, remark
    )


def store(ratios: list[Ratio]) -> None:
    """Keep ratios for later comparison."""
    STORED.write_text(json.dumps([asdict(each) for each in ratios], indent=1) + "\n")


def stored() -> list[Ratio]:
    """Ratios that were kept."""
    return [Ratio(**each) for each in json.loads(STORED.read_text())]


def regressions(now: list[Ratio], before: list[Ratio]) -> list[str]:
    """Sentences about ratios that have become much worse, or that nobody has stored.

    Examples
    --------
    >>> regressions([Ratio("fit", 3.1, 3.1, 1.0)], [Ratio("fit", 2.0, 2.0, 1.0)])
    ['fit: 3.100, 1.55 times the 2.000 that is stored']
    """
    known = {each.name: each.value for each in before}
    found = [f"{each.name}: nothing is stored" for each in now if each.name not in known]
    return found + [
        f"{each.name}: {each.value:.3f}, {each.value / known[each.name]:.2f} times "
        f"the {known[each.name]:.3f} that is stored"
        for each in now
        if each.name in known and each.value > MUCH_WORSE * known[each.name]
    ]
