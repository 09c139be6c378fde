"""A mean with its error, and what may be said of it."""

from dataclasses import dataclass

import numpy as np
import pandas as pd
from scipy.stats import t as student

# Clear is what a two-sided test at 5 % calls different from nothing.
CONFIDENCE = 0.95


def margin(error: float | np.ndarray, freedom: float | np.ndarray) -> np.ndarray:
    """Half the width of a confidence interval, by Student's quantile: few repetitions need more.

    Examples
    --------
    >>> margin(1.0, 19).round(2), margin(1.0, 2).round(2)
    (np.float64(2.09), np.float64(4.3))
    """
    return error * student.ppf(0.5 + CONFIDENCE / 2, freedom)


@dataclass(frozen=True)
class Estimate:
    """A mean over draws.

    Attributes
    ----------
    mean : float
    error : float
        Standard error; not a number if there is one draw only.
    freedom : int
        Degrees of freedom of the error.
    """

    mean: float
    error: float
    freedom: int

    @property
    def low(self) -> float:
        """Lower end of the confidence interval."""
        return self.mean - float(margin(self.error, self.freedom))

    @property
    def high(self) -> float:
        """Upper end of the confidence interval."""
        return self.mean + float(margin(self.error, self.freedom))

    @property
    def is_known(self) -> bool:
        """Whether there are draws enough for an interval."""
        return self.freedom > 0


def over_cells(values: pd.Series) -> Estimate:
    """Mean over designs of what repetitions of each give: these vary, the designs are what they are.

    A design of one draw has no error of its own; it is left out where others have more.

    Parameters
    ----------
    values : Series
        Indexed by cell, mirrored and repetition.

    Examples
    --------
    >>> draws = [("a", False, 0), ("a", False, 1), ("b", False, 0), ("b", False, 1)]
    >>> index = pd.MultiIndex.from_tuples(draws, names=["cell", "mirrored", "repetition"])
    >>> over_cells(pd.Series([1.0, 1.5, 5.0, 5.5], index))  # the designs differ, the draws hardly
    Estimate(mean=3.25, error=0.17..., freedom=2)
    >>> over_cells(pd.Series([1.0, 1.5, 5.0], index[:3]))
    Estimate(mean=1.25, error=0.25, freedom=1)
    """
    design = ["cell", "mirrored"]
    repeated = values[values.groupby(level=design).transform("size") > 1]
    each = (repeated if len(repeated) else values).groupby(level=design)
    errors, counts = each.sem(), each.size()
    error = float(np.sqrt((errors**2).sum(skipna=False)) / len(counts)) if len(counts) else float("nan")
    return Estimate(float(each.mean().mean()), error, int((counts - 1).sum()))
