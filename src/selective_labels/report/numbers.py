"""Numbers and names as text; nothing is computed here."""

from collections.abc import Callable, Mapping
from typing import Any

# A name on the page, and the longer version that appears when the pointer rests on it.
SHORT, LONG = 48, 300
SENTENCE = 1500
NOTHING = "–"
Show = Callable[[float | None], str]
# What every result in the document has: two ends, and the interval around them.
ENDS = ("lower", "upper", "ci_lower", "ci_upper")
# Metrics between 0 and 1 that are no shares of anything, and are shown as plain numbers.
NUMBERS = {"auc", "f1", "brier", "regret", "cost", "log_loss"}


def cut(text: Any, width: int = SHORT) -> str:
    r"""Text in one line of at most `width` characters.

    Examples
    --------
    >>> cut("two\nlines"), cut("abcdefgh", 5)
    ('two lines', 'abcd…')
    """
    # Only the beginning is looked at: a cell may hold megabytes.
    words = " ".join(str(text)[: 4 * width].split())
    return words if len(words) <= width else words[: width - 1].rstrip() + "…"


def sentence(text: Any) -> str:
    """Free text, cut only where no sentence is that long."""
    return cut(text, SENTENCE)


def percent(value: float | None) -> str:
    """Share as a percentage with one decimal.

    Examples
    --------
    >>> percent(0.1234), percent(None)
    ('12.3%', '–')
    """
    return NOTHING if value is None else f"{100.0 * value:.1f}%"


def percent_tick(value: float) -> str:
    """Label of a tick at a share.

    Examples
    --------
    >>> percent_tick(0.25), percent_tick(0.125)
    ('25%', '12.5%')
    """
    return f"{100.0 * value:.3g}%".replace("-", "−")


def number(value: float | None) -> str:
    """Number with four significant digits, or all before the point.

    Examples
    --------
    >>> number(0.123456), number(12), number(-0.5), number(12345.6)
    ('0.1235', '12', '−0.5', '12,346')
    """
    if value is None:
        return NOTHING
    return (f"{value:,.0f}" if 1e4 <= abs(value) < 1e15 else f"{value:.4g}").replace("-", "−")


def p_value(value: float | None) -> str:
    """P-value with three decimals; small ones are not shown as zero.

    Examples
    --------
    >>> p_value(0.25), p_value(1e-9), p_value(None)
    ('0.250', '< 0.001', '–')
    """
    if value is None:
        return NOTHING
    return "< 0.001" if value < 0.001 else f"{value:.3f}"


def count(value: int) -> str:
    """Count with separators of thousands.

    Examples
    --------
    >>> count(12345)
    '12,345'
    """
    return f"{value:,}"


def points(value: float | None) -> str:
    """Difference of two shares, in percentage points with its sign.

    Examples
    --------
    >>> points(-0.0261), points(0.5)
    ('−2.6', '+50.0')
    """
    return NOTHING if value is None else f"{100.0 * value:+.1f}".replace("-", "−")


def span(low: float | None, high: float | None, show: Show = percent) -> str:
    """Two ends in words; one number if they are equal.

    Examples
    --------
    >>> span(0.25, 0.5), span(0.25, 0.25), span(None, 1.0)
    ('25.0% to 50.0%', '25.0%', '–')
    """
    if low is None or high is None:
        return NOTHING
    return show(low) if low == high else f"{show(low)} to {show(high)}"


def is_share(result: Mapping[str, Any]) -> bool:
    """Whether a result is a share or a difference of shares; its possible values tell.

    Examples
    --------
    >>> is_share({"metric": "tpr", "limits": [0.0, 1.0]}), is_share({"metric": "cost", "limits": [0.0, None]})
    (True, False)
    """
    return result["limits"] in ([0.0, 1.0], [-1.0, 1.0]) and result["metric"] not in NUMBERS


def is_difference(result: Mapping[str, Any]) -> bool:
    """Whether a result compares two subgroups or two models.

    Examples
    --------
    >>> is_difference({"verdict": "a"}), is_difference({"subgroup": "old", "reference": "young"})
    (True, True)
    """
    return "verdict" in result or result.get("reference") is not None


def identified(result: Mapping[str, Any]) -> str:
    """Identified interval in words, honest about ends that cross.

    Examples
    --------
    >>> identified({"metric": "tpr", "limits": [0.0, 1.0], "lower": 0.6, "upper": 0.5})
    'ends cross: 60.0% to 50.0%'
    """
    if result["lower"] is None and result.get("reason"):
        return "no value"
    words = _words(result, result["lower"], result["upper"])
    return f"ends cross: {words}" if is_empty(result["lower"], result["upper"]) else words


def confidence(result: Mapping[str, Any]) -> str:
    """Confidence interval in words; an empty one says that no value is left.

    Examples
    --------
    >>> confidence({"metric": "tpr", "limits": [0.0, 1.0], "ci_lower": 0.6, "ci_upper": 0.5})
    'no value fits'
    """
    low, high = result["ci_lower"], result["ci_upper"]
    if low is None and result.get("reason"):
        return "no interval"
    return "no value fits" if is_empty(low, high) else _words(result, low, high)


def is_empty(low: float | None, high: float | None) -> bool:
    """Whether an interval has its ends in the wrong order.

    Examples
    --------
    >>> is_empty(0.2, 0.1), is_empty(None, 0.1)
    (True, False)
    """
    return low is not None and high is not None and low > high


def _words(result: Mapping[str, Any], low: float | None, high: float | None) -> str:
    if not is_share(result):
        return span(low, high, number)
    if not is_difference(result):
        return span(low, high)
    words = span(low, high, points)
    return words if words == NOTHING else f"{words} points"
