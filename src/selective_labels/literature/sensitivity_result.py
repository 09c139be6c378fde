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
        Share of cases in which the models find nothing that fits all that is assumed.
    ends_crossed : (n_points,) bool array
        Where the estimated ends were in the wrong order; they are then set to where they meet, or NaN (see
        :func:`selective_labels.inference.reported.uncross`).
    units : str
        What standard errors take as independent, in words; empty if every row.
    threshold : float or None
    conclusion : str or None
        What the curve says about the threshold at `concluded_at`.
    concluded_at : float or None
        The first value that has a number; for odds and ratios 1, where refused cases are like accepted ones.
    break_even : float or None
        The value up to which the estimate supports the conclusion; infinite if it always does.
    break_even_ci : float or None
        The value up to which the confidence interval does; None if it never does.
    break_even_below, break_even_below_ci : float or None
        The same towards smaller values, where a curve runs to both sides; infinite if it always does.
    supported : list of pairs, or None
        Odds ratios that the instrument does not reject, for a curve over odds: infinite where the set is not
        bounded, empty if none is left; None without an instrument, and for other curves.
    """

    limit: str
    limit_lower: float
    limit_upper: float
    crossed: np.ndarray
    ends_crossed: np.ndarray
    units: str = ""
    threshold: float | None = None
    conclusion: str | None = None
    concluded_at: float | None = None
    break_even: float | None = None
    break_even_ci: float | None = None
    break_even_below: float | None = None
    break_even_below_ci: float | None = None
    supported: list[tuple[float, float]] | None = None

    def to_frame(self) -> pd.DataFrame:
        """One row per value, with the share of contradictions where there are any."""
        frame = super().to_frame()
        return frame.assign(crossed=self.crossed) if self.crossed.any() else frame

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
        if self.crossed.any():
            sentences.append(
                f"In {self.crossed[0]:.0%} of the cases at the start, and {self.crossed[-1]:.0%} at the end, "
                "the models find nothing that fits all that is assumed, by noise or in earnest."
            )
        if self.supported is not None:
            sentences.append(self.supported_sentence())
        if self.conclusion is not None:
            sentences.append(f"Conclusion: {self.conclusion}. {self._break_even_sentence()}")
        return sentences

    def supported_sentence(self) -> str:
        """Say which odds the instrument supports."""
        if not self.supported:
            return (
                "The instrument rejects every odds ratio that is the same for all cases and decision-makers."
            )
        pieces = " or ".join(f"{low:.3g} to {high:.3g}" for low, high in self.supported)
        return (
            "If the odds ratio is the same for all cases and decision-makers, the instrument supports "
            f"{pieces} ({self.confidence_level:.0%} confidence set). No test is known to notice if it "
            "is not the same."
        )

    def plot(self, ax: Any = None, label: str | None = None) -> Any:
        """Draw the curve, its limit, the threshold, the break-even value and what the instrument supports."""
        ax = super().plot(ax, label)
        if self.x_name in ("gamma", "odds", "ratio"):
            ax.set_xscale("log")
        for low, high in self.supported or ():
            ends = np.clip([low, high], self.x[0], self.x[-1])
            ax.axvspan(*ends, color="C2", alpha=0.15, linewidth=0)
        for end in (self.limit_lower, self.limit_upper):
            ax.axhline(end, linestyle=":", color="gray")
        if self.threshold is not None:
            ax.axhline(self.threshold, color="black", linewidth=0.8)
        for value in (self.break_even, self.break_even_below):
            if value is not None and self.x[0] <= value <= self.x[-1]:
                ax.axvline(value, linestyle="--", color="black", linewidth=0.8)
        return ax

    def _break_even_sentence(self) -> str:
        said = self._side(self.break_even, self.break_even_ci, "up to")
        if self.break_even_below is None and self.break_even_below_ci is None:
            return said
        return f"{said} {self._side(self.break_even_below, self.break_even_below_ci, 'down to')}"

    def _side(self, estimate: float | None, interval: float | None, word: str) -> str:
        way = "upwards" if word == "up to" else "downwards"
        if estimate is None:
            return f"The estimate supports no conclusion at {self.x_name} = {self.concluded_at:.4g}."
        if np.isinf(estimate):
            said = f"The estimate supports it at every value {way}"
        else:
            said = f"The estimate supports it {word} {self.x_name} = {estimate:.4g}"
        if interval is None:
            return f"{said}; the confidence interval does not support it at all."
        if np.isinf(interval):
            return f"{said}, the confidence interval too."
        return f"{said}, the confidence interval {word} {interval:.4g}."
