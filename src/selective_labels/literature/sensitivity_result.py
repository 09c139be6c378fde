"""A curve over a sensitivity parameter, with the value at which a conclusion flips."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from selective_labels.evaluation.curves import Curve


@dataclass(frozen=True, eq=False, kw_only=True)
class SensitivityCurve(Curve):
    """Ends of a metric as an assumption is relaxed, and where a conclusion flips.

    Attributes
    ----------
    limit : "none" or "instrument"
        What is still assumed at the far end of the curve.
    limit_lower, limit_upper : float
        Estimated ends there.
    crossed : (n_points,) array
        Share of cases in which the models find the assumption in contradiction to the instrument.
    ends_crossed : (n_points,) bool array
        Where the estimated ends were in the wrong order; they are then set to where they meet, or NaN (see
        :func:`selective_labels.inference.reported.uncross`).
    units : str
        What standard errors take as independent, in words; empty if every row.
    threshold : float or None
    conclusion : str or None
        What the first point of the curve says about the threshold.
    break_even : float or None
        The value up to which the estimate supports the conclusion; infinite if it always does.
    break_even_ci : float or None
        The value up to which the confidence interval does; None if it never does.
    """

    limit: str
    limit_lower: float
    limit_upper: float
    crossed: np.ndarray
    ends_crossed: np.ndarray
    units: str = ""
    threshold: float | None = None
    conclusion: str | None = None
    break_even: float | None = None
    break_even_ci: float | None = None

    def to_frame(self) -> pd.DataFrame:
        """One row per value, with the share of contradictions where there is an instrument."""
        frame = super().to_frame()
        return frame.assign(crossed=self.crossed) if self.limit == "instrument" else frame

    def sentences(self) -> list[str]:
        """Say what the numbers assume and are, of which sample, and where the conclusion flips."""
        sentences = super().sentences()
        if self.units:
            sentences.append(f"Units: {self.units}.")
        if self.ends_crossed.any():
            sentences.append(
                f"The ends crossed at {self.ends_crossed.sum()} of {len(self)} points: they are set to where "
                f"they meet, or left out ({np.isnan(self.lower).sum()}) where noise does not explain it."
            )
        name = "the instrument alone" if self.limit == "instrument" else "no assumption at all"
        sentences.append(f"With {name}: [{self.limit_lower:.4g}, {self.limit_upper:.4g}].")
        if self.limit == "instrument":
            sentences.append(
                f"In {self.crossed[0]:.0%} of the cases at the start, and {self.crossed[-1]:.0%} at the end, "
                "the models find the assumption in contradiction to the instrument, by noise or in earnest; "
                "the instrument is set aside there."
            )
        if self.conclusion is not None:
            sentences.append(f"Conclusion: {self.conclusion}. {self._break_even_sentence()}")
        return sentences

    def plot(self, ax: Any = None, label: str | None = None) -> Any:
        """Draw the curve, its limit, the threshold and the break-even value."""
        ax = super().plot(ax, label)
        for end in (self.limit_lower, self.limit_upper):
            ax.axhline(end, linestyle=":", color="gray")
        if self.threshold is not None:
            ax.axhline(self.threshold, color="black", linewidth=0.8)
        if self.break_even is not None and self.x[0] <= self.break_even <= self.x[-1]:
            ax.axvline(self.break_even, linestyle="--", color="black", linewidth=0.8)
        return ax

    def _break_even_sentence(self) -> str:
        if self.break_even is None:
            return "The estimate supports no conclusion at the start."
        if np.isinf(self.break_even):
            estimate = "The estimate supports it at every value"
        else:
            estimate = f"The estimate supports it up to {self.x_name} = {self.break_even:.4g}"
        if self.break_even_ci is None:
            return f"{estimate}; the confidence interval does not support it at all."
        if np.isinf(self.break_even_ci):
            return f"{estimate}, the confidence interval too."
        return f"{estimate}, the confidence interval up to {self.break_even_ci:.4g}."
