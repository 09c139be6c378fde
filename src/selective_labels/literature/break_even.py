"""The value of a sensitivity parameter at which a conclusion flips."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

# Between the last value at which a conclusion stands and the first at which it does not: so many values, so
# often.
N_BETWEEN, N_ROUNDS = 16, 2


@dataclass(frozen=True)
class Point:
    """What is found at one value; NaN where the data contradict what is assumed there.

    Attributes
    ----------
    lower, upper, ci_lower, ci_upper : float
    crossed : bool
        Whether the ends were in the wrong order.
    contradicted : float
        Share of cases in which the models find nothing possible.
    """

    lower: float
    upper: float
    ci_lower: float
    ci_upper: float
    crossed: bool = False
    contradicted: float = 0.0


Solve = Callable[[Sequence[float]], list[Point]]


def conclude(
    solve: Solve,
    values: Sequence[float],
    points: Sequence[Point],
    reference: float | None,
    threshold: float | None,
    name: str,
) -> dict[str, Any]:
    """Say what the reference tells about the threshold, and how far to either side that lasts.

    Parameters
    ----------
    solve : callable
        From values to points.
    values, points : sequences
        Ascending, and what is found there.
    reference : float or None
        The conclusion is that of the point nearest to it; None: of the first that has a number.
    threshold : float or None
    name : str
    """
    if threshold is None:
        return {}
    defined = [place for place, point in enumerate(points) if not np.isnan(point.lower)]
    if not defined:  # no value is left to conclude from
        return {"threshold": threshold}
    start = defined[0]
    if reference is not None:
        start = min(
            defined, key=lambda place: abs(np.log(values[place] / reference)) if values[place] else np.inf
        )
    above = (points[start].lower + points[start].upper) / 2.0 >= threshold
    found: dict[str, Any] = {
        "threshold": threshold,
        "conclusion": f"{name} is {'at least' if above else 'below'} {threshold:g}",
        "concluded_at": float(values[start]),
    }

    upwards = [(values[place], points[place]) for place in defined if place >= start]
    downwards = [(values[place], points[place]) for place in reversed(defined) if place <= start]
    for suffix, ends in (("", ("lower", "upper")), ("_ci", ("ci_lower", "ci_upper"))):

        def margins(some: Sequence[Point], ends: tuple[str, str] = ends) -> list[float]:
            if above:
                return [getattr(each, ends[0]) - threshold for each in some]
            return [threshold - getattr(each, ends[1]) for each in some]

        def further(at: Sequence[float], margins: Callable[..., list[float]] = margins) -> list[float]:
            return margins(solve(at))

        for side, path in (("", upwards), ("_below", downwards)):
            if side and len(path) < 2:
                continue
            tried = list(zip([value for value, _ in path], margins([each for _, each in path]), strict=True))
            found[f"break_even{side}{suffix}"] = first_failure(tried, further)
    return found


def first_failure(
    tried: Sequence[tuple[float, float]], margins: Callable[[Sequence[float]], list[float]]
) -> float | None:
    """The value at which a margin turns negative.

    Parameters
    ----------
    tried : sequence of pairs of value and margin
        From where the conclusion is drawn outwards; a margin is not negative while the conclusion stands.
    margins : callable
        Of further values.

    Returns
    -------
    float or None
        Infinite if the margin never turns, None if it is negative from the start.

    Examples
    --------
    >>> margin = lambda value: 2.0 - value
    >>> tried = [(value, margin(value)) for value in (1.0, 3.0, 9.0)]
    >>> round(first_failure(tried, lambda values: [margin(each) for each in values]), 6)
    2.0
    >>> first_failure(tried[:1], lambda values: []), first_failure(tried[1:], lambda values: [])
    (inf, None)
    """
    if tried[0][1] < 0.0:
        return None
    for _ in range(N_ROUNDS + 1):
        fails = next((place for place, (_, margin) in enumerate(tried) if margin < 0.0), None)
        if fails is None:
            return float("inf")
        (good, left), (bad, right) = tried[fails - 1], tried[fails]
        if _ == N_ROUNDS:
            break
        between = _between(good, bad)
        found = [pair for pair in zip(between, margins(between), strict=True) if not np.isnan(pair[1])]
        tried = [(good, left), *found, (bad, right)]
    return float(good + (bad - good) * left / (left - right))


def _between(good: float, bad: float) -> list[float]:
    """Even in the logarithm between positive values, else even."""
    spaced = np.geomspace if min(good, bad) > 0.0 else np.linspace
    return [float(f"{each:.6g}") for each in spaced(good, bad, N_BETWEEN + 2)[1:-1]]
