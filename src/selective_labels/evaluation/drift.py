"""Drift: acceptance rate, observed labels and bounds on a metric, by period."""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd

from selective_labels._display import Described
from selective_labels.data.selective_labels import class_code
from selective_labels.evaluation.display import ENDS, assumption_text, sample_text, shared_notes
from selective_labels.evaluation.evaluate import evaluate_sample
from selective_labels.evaluation.fitted_table import Judged
from selective_labels.evaluation.results import Evaluation
from selective_labels.inference.confidence_intervals import NAN
from selective_labels.inference.exact_intervals import clopper_pearson


@dataclass(frozen=True, eq=False, kw_only=True)
class Drift(Described):
    """A metric, the acceptance rate and the share of the event among labeled cases, by period.

    Attributes
    ----------
    pos_label : class label
        The event.
    table : DataFrame
        One row for each period: "period", "n", "acceptance" and "event" (among the labeled) with "_ci_lower"
        and "_ci_upper", and "lower", "upper", "ci_lower", "ci_upper" of the metric.
    evaluations : tuple of Evaluation
        Evaluations of the metric, one for each period, which is their `subgroup`.
    """

    pos_label: Any
    table: pd.DataFrame
    evaluations: tuple[Evaluation, ...]

    @property
    def title(self) -> str:  # type: ignore[override]
        """Title with the name of the metric."""
        return f"{self.evaluations[0].metric}, period by period"

    def to_frame(self) -> pd.DataFrame:
        """Return a frame with one row per period."""
        return self.table

    def printed_frame(self) -> pd.DataFrame:
        """Return the table without the intervals of observed shares."""
        return self.table[["period", "n", "acceptance", "event", *ENDS]]

    def sentences(self) -> list[str]:
        """Describe the columns, the assumption, and the changes that exceed sampling error."""
        first = self.evaluations[0]
        return [
            *self._notes(),
            f"acceptance: share accepted; event: share of {self.pos_label!r} among the labeled; lower to "
            f"ci_upper: bounds and interval of {first.metric} on everybody of the period.",
            *self.moves(),
            assumption_text(first.assumption, first.sample.sentence),
            f"Sample: {sample_text(first.sample)} (first period). Models are those of all periods together; "
            f"each {first.confidence_level:.0%} interval covers the value of one period.",
        ]

    def _notes(self) -> list[str]:
        """Cautions, and reasons why there is no number; the table shows which periods have few cases."""
        several = [replace(each, sample=replace(each.sample, n_effective=NAN)) for each in self.evaluations]
        return shared_notes(several)

    def moves(self) -> list[str]:
        """Compare the first and the last period."""
        if len(self.table) < 2:
            return []
        first, last = self.table.iloc[0], self.table.iloc[-1]
        start, end = self.table["period"].iloc[[0, -1]].tolist()  # a row of numbers would be one of floats
        said = [
            f"From {start} to {end} acceptance went from {first['acceptance']:.1%} to "
            f"{last['acceptance']:.1%}."
        ]
        metric = self.evaluations[0].metric
        if last["ci_lower"] > first["ci_upper"] or last["ci_upper"] < first["ci_lower"]:
            way = "higher" if last["ci_lower"] > first["ci_upper"] else "lower"
            said.append(f"The last period's {metric} is {way} than the first's: their intervals are apart.")
        else:
            said.append(f"Whether {metric} has moved between them, the data leave open.")
        return said

    def plot(self, axes: Any = None) -> Any:
        """Draw observed shares in the upper panel, bounds and intervals in the lower one.

        Parameters
        ----------
        axes : pair of matplotlib Axes, optional

        Returns
        -------
        pair of matplotlib Axes
        """
        if axes is None:
            from matplotlib import pyplot

            _, axes = pyplot.subplots(2, 1, sharex=True, figsize=(7.0, 5.6), layout="constrained")
        above, below = axes
        places = np.arange(len(self.table))
        for name, words, color in (
            ("acceptance", "accepted", "C0"),
            ("event", f"{self.pos_label} among the labeled", "C1"),
        ):
            values = self.table[name]
            errors = [values - self.table[f"{name}_ci_lower"], self.table[f"{name}_ci_upper"] - values]
            above.errorbar(places, values, yerr=np.array(errors), color=color, marker="o", label=words)
        above.set_ylim(0.0, 1.0)
        above.legend(fontsize="small")
        below.vlines(places, self.table["ci_lower"], self.table["ci_upper"], color="C2", linewidth=1.5)
        below.vlines(places, self.table["lower"], self.table["upper"], color="C2", linewidth=6)
        below.set(ylabel=self.evaluations[0].metric)
        below.set_xticks(places, self.table["period"].astype(str), rotation=45, ha="right")
        return axes


def drift_of_judged(judged: Judged, assumption: str, pos_label: Any, confidence_level: float = 0.95) -> Drift:
    """Track the first metric over its subgroups, which are periods."""
    metric, seen = judged.metrics[0], judged.seen
    sample, subject, cells = judged.sample(metric), judged.subject(metric), judged.cells(metric)
    assert cells is not None
    event = class_code(pos_label, subject.classes)
    accepted, failed = seen.outcome > 0, seen.outcome == event + 1
    labeled = accepted & (seen.outcome <= len(subject.classes))  # others are pending
    found, table = [], []
    for label, rows in cells.items():
        here = seen.masks[label]
        (each,) = evaluate_sample(
            sample, subject, [metric], {label: rows}, "parameter", confidence_level, [assumption]
        )
        found.append(each)
        row = {"period": label, "n": int(seen.rows[here].sum())}
        for name, happened, among in (("acceptance", accepted, here), ("event", failed, here & labeled)):
            row |= _share(name, *seen.share(happened, among), confidence_level)
        table.append(row | {end: getattr(each, end) for end in ENDS})
    label = subject.classes.tolist()[event]
    return Drift(pos_label=label, table=pd.DataFrame(table), evaluations=tuple(found))


def _share(name: str, share: float, number: float, confidence_level: float) -> dict[str, float]:
    tail = (1.0 - confidence_level) / 2.0
    low, high = clopper_pearson(share * number, number, (tail, tail))
    return {name: share, f"{name}_ci_lower": float(low), f"{name}_ci_upper": float(high)}
