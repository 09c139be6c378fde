"""Results that are curves: an estimate, or two ends, over a range of values, with what they assume."""

import json
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from html import escape
from typing import Any, ClassVar

import numpy as np
import pandas as pd

from selective_labels.support.drawing import new_axes
from selective_labels.support.errors import InputError

# What every result has: two ends, and the interval around them.
ENDS = ("lower", "upper", "ci_lower", "ci_upper")
# A printed table shows this many rows at most; the frame has them all.
PRINTED_ROWS = 12


class Described(ABC):
    """A table with the sentences that must stand beside it: it prints, in a terminal and in a notebook."""

    title: str
    # Lines of the printed table that belong together.
    lines_each: ClassVar[int] = 1

    @abstractmethod
    def to_frame(self) -> pd.DataFrame:
        """All numbers, one row each."""

    @abstractmethod
    def sentences(self) -> list[str]:
        """Say what the numbers assume, what they are, and of which sample."""

    def printed_frame(self) -> pd.DataFrame:
        """Columns that are printed: all, unless they would not fit on a page."""
        return self.to_frame()

    def printed_parts(self) -> list[pd.DataFrame]:
        """Tables that are printed one below the other: one, unless it would be too wide."""
        return [self.printed_frame()]

    def to_json(self) -> str:
        """Text of a JSON object with `title`, `sentences` and the `table` as a list of rows."""
        table = json.loads(self.to_frame().to_json(orient="records", double_precision=15))
        return json.dumps({"title": self.title, "sentences": self.sentences(), "table": table})

    def __str__(self) -> str:
        tables = [
            text
            for part in self._shown_parts()
            for text in (part.to_string(index=False, float_format="{:.4g}".format), "")
        ]
        return "\n".join([self.title, "", *tables, *self.sentences()])

    def _repr_html_(self) -> str:
        tables = "".join(
            part.to_html(index=False, border=0, float_format="{:.4g}".format) for part in self._shown_parts()
        )
        sentences = "".join(f"<p>{escape(sentence)}</p>" for sentence in self.sentences())
        return f"<h4>{escape(self.title)}</h4>{tables}{sentences}"

    def _shown_parts(self) -> list[pd.DataFrame]:
        return [_thinned(part, self.lines_each) for part in self.printed_parts()]


@dataclass(frozen=True, eq=False, kw_only=True)
class Curve(Described):
    """An estimate, or the two ends of an identified interval, as a function of one number.

    Attributes
    ----------
    title : str
    x_name : str
        What the curve runs over.
    x : (n_points,) array
        Ascending.
    lower, upper : (n_points,) arrays
        Estimated ends; equal for a point estimate.
    ci_lower, ci_upper : (n_points,) arrays
        Confidence interval, point by point.
    assumption : str
        What has to hold, in words.
    identifies : str
        What the numbers then are, in words.
    n_samples : int
    confidence_level : float

    Examples
    --------
    >>> half = np.array([0.5, 0.5])
    >>> curve = Curve(title="Failure rate", x_name="acceptance", x=np.array([0.0, 1.0]), lower=half * [0, 1],
    ...     upper=half * [0, 1], ci_lower=half * 0, ci_upper=half, assumption="Chance assigns cases.",
    ...     identifies="The rate of this rule.", n_samples=8, confidence_level=0.95)
    >>> print(curve.at([0.25]))
    Failure rate
    <BLANKLINE>
     acceptance  estimate  ci_lower  ci_upper
           0.25     0.125         0       0.5
    <BLANKLINE>
    Assumption: Chance assigns cases.
    Identifies: The rate of this rule.
    Sample: 8 cases; each 95% interval covers the value at one point of the curve.
    """

    title: str
    x_name: str
    x: np.ndarray
    lower: np.ndarray
    upper: np.ndarray
    ci_lower: np.ndarray
    ci_upper: np.ndarray
    assumption: str
    identifies: str
    n_samples: int
    confidence_level: float

    @property
    def is_point(self) -> bool:
        """Whether the two ends are the same everywhere."""
        return bool(np.array_equal(self.lower, self.upper))

    def __len__(self) -> int:
        return len(self.x)

    def at(self, x: Any) -> "Curve":
        """Read the curve at other values, by linear interpolation between its points.

        Parameters
        ----------
        x : number or array of numbers within the range of the curve

        Returns
        -------
        Curve
        """
        wanted = np.atleast_1d(np.asarray(x, dtype=float))
        if not ((wanted >= self.x[0]) & (wanted <= self.x[-1])).all():  # NaN is outside too
            raise InputError(
                f"the curve runs over {self.x_name} from {self.x[0]:.4g} to {self.x[-1]:.4g}; "
                "it says nothing beyond.",
                "x",
            )
        ends = {end: np.interp(wanted, self.x, getattr(self, end)) for end in ENDS}
        return Curve(
            title=self.title,
            x_name=self.x_name,
            x=wanted,
            **ends,
            assumption=self.assumption,
            identifies=self.identifies,
            n_samples=self.n_samples,
            confidence_level=self.confidence_level,
        )

    def to_frame(self) -> pd.DataFrame:
        """One row per point."""
        ends = {"estimate": self.lower} if self.is_point else {"lower": self.lower, "upper": self.upper}
        return pd.DataFrame(
            {self.x_name: self.x, **ends, "ci_lower": self.ci_lower, "ci_upper": self.ci_upper}
        )

    def sentences(self) -> list[str]:
        """Say what the numbers assume, what they are, and of which sample."""
        return [
            f"Assumption: {self.assumption}",
            f"Identifies: {self.identifies}",
            f"Sample: {self.n_samples} cases; each {self.confidence_level:.0%} interval covers the value at "
            "one point of the curve.",
        ]

    def plot(self, ax: Any = None, label: str | None = None) -> Any:
        """Draw the curve with its band of intervals.

        Parameters
        ----------
        ax : matplotlib Axes, optional
        label : str, optional
            For the legend.

        Returns
        -------
        matplotlib Axes
        """
        ax = new_axes() if ax is None else ax
        (line,) = ax.plot(self.x, self.lower, label=label)
        if not self.is_point:
            ax.plot(self.x, self.upper, color=line.get_color())
        ax.fill_between(self.x, self.ci_lower, self.ci_upper, color=line.get_color(), alpha=0.2, linewidth=0)
        ax.set(xlabel=self.x_name, ylabel=self.title)
        ax.set_title(self.assumption, fontsize="small", wrap=True)
        return ax


def frame_along(name: str, values: np.ndarray, results: Mapping[str, Sequence[Any]]) -> pd.DataFrame:
    """One row for each value that results run along: its `name`, and the ends of every metric.

    Parameters
    ----------
    name : str
        Of the first column.
    values : (n_points,) array
    results : dict of sequence of Evaluation
        By metric, one for each value.

    Examples
    --------
    >>> from types import SimpleNamespace
    >>> found = SimpleNamespace(lower=0.2, upper=0.3, ci_lower=0.1, ci_upper=0.4)
    >>> frame_along("rate", np.array([0.5]), {"failures": [found]}).to_numpy()
    array([[0.5, 0.2, 0.3, 0.1, 0.4]])
    """
    columns = {name: values}
    for metric, found in results.items():
        for end in ENDS:
            columns[f"{metric}_{end}"] = np.array([getattr(each, end) for each in found])
    return pd.DataFrame(columns)


def in_words(values: Sequence[Any] | np.ndarray, most: int = 5) -> str:
    """List values in a sentence, the first few of many.

    Examples
    --------
    >>> in_words(["a", "b"]), in_words(range(9), most=3)
    ('a, b', '0, 1, 2 and 6 more')
    """
    shown = ", ".join(str(value) for value in list(values)[:most])
    return shown if len(values) <= most else f"{shown} and {len(values) - most} more"


def _thinned(frame: pd.DataFrame, lines_each: int) -> pd.DataFrame:
    """Rows (of as many lines) spread evenly over a long table, the first and the last among them."""
    count = len(frame) // lines_each
    rows = np.unique(np.linspace(0, count - 1, min(count, PRINTED_ROWS)).round().astype(int))
    return frame.iloc[(rows[:, None] * lines_each + np.arange(lines_each)).ravel()]
