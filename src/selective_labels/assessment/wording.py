"""Numbers and assumptions in words that need no training in statistics."""

from typing import Any

# How sentences begin, by what assignment is as good as random within.
UNDER = {
    None: "assuming nothing about the outcomes that were not seen",
    "strata": "under the as-if-by-lot assumption",
    "features": "under the as-if-by-lot-among-like-cases assumption",
    "all seen": "with every outcome seen",
}
MEANINGS = {
    "strata": "The as-if-by-lot assumption: cases reach {makers} as if by lot (within strata, if "
    "there are any), and who decides does not change the outcome.",
    "features": "The as-if-by-lot-among-like-cases assumption: everything that settles who gets which case "
    "is among the features, and who decides does not change the outcome. The data can neither confirm nor "
    "refute the first part.",
}
# The same for a line that stands alone.
IF = {
    None: "assuming nothing about the outcomes that were not seen",
    "strata": "if who decided was as good as a lottery",
    "features": "if, among like cases, who decided was as good as a lottery",
    "all seen": "with every outcome seen",
}


def percent(value: float) -> str:
    """A share as a percentage, whole unless very near to nobody or everybody.

    Examples
    --------
    >>> percent(0.634), percent(0.004), percent(0.997)
    ('63%', '0.4%', '99.7%')
    """
    near_an_end = 0.0 < value < 0.01 or 0.99 < value < 1.0
    return f"{value:.{1 if near_an_end else 0}%}"


def percent_range(low: float, high: float) -> str:
    """Two shares as a range, or one if they look the same.

    Examples
    --------
    >>> percent_range(0.61, 0.7), percent_range(0.61, 0.611)
    ('61% to 70%', 'about 61%')
    """
    first, second = percent(low), percent(high)
    return f"about {first}" if first == second else f"{first} to {second}"


def points_range(low: float, high: float) -> str:
    """Two differences of shares as a range of percentage points, with signs.

    Examples
    --------
    >>> points_range(-0.03, 0.051), points_range(-0.001, 0.001)
    ('-3.0 and +5.1 percentage points', '-0.1 and +0.1 percentage points')
    """
    return f"{100 * low:+.1f} and {100 * high:+.1f} percentage points"


def cost_range(low: float, high: float) -> str:
    """Two differences of mean costs as a range, with signs.

    Examples
    --------
    >>> cost_range(-0.03, 0.0514)
    '-0.03 and +0.0514 a case'
    """
    return f"{amount(low, '+')} and {amount(high, '+')} a case"


def amount(value: float, sign: str = "") -> str:
    """A cost with three digits, or all before the point.

    Examples
    --------
    >>> amount(0.05142), amount(12345.6), amount(-250.0, "+")
    ('0.0514', '12,346', '-250')
    """
    return f"{value:{sign},.0f}" if abs(value) >= 100.0 else f"{value:{sign}.3g}"


def is_empty(result: dict[str, Any]) -> bool:
    """Whether no value is left because the ends cross: the assumption does not fit the data."""
    return bool(result["crossed"]) and result["lower"] is None


def missing(result: dict[str, Any]) -> str | None:
    """Why there is no interval to speak of, if there is none."""
    return None if result["ci_lower"] is not None else str(result["reason"])


def capital(text: str) -> str:
    """Begin a sentence.

    Examples
    --------
    >>> capital("with every outcome seen")
    'With every outcome seen'
    """
    return text[:1].upper() + text[1:]


def full_sentence(text: str) -> str:
    """Begin with a capital and end with a stop.

    Examples
    --------
    >>> full_sentence("y shows only one class")
    'Y shows only one class.'
    """
    return capital(text) + ("" if text.endswith(".") else ".")
