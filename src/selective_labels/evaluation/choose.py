"""The best of several classifiers, with an interval that holds after choosing."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import pandas as pd

from selective_labels._display import Described
from selective_labels._errors import InputError, UndefinedError
from selective_labels._validation import the_only
from selective_labels.evaluation.display import (
    ENDS,
    assumption_text,
    notes_of,
    plot_intervals,
    sample_text,
)
from selective_labels.evaluation.evaluate import evaluate_sample
from selective_labels.evaluation.fitted_table import FittedTable
from selective_labels.evaluation.policy import Policy
from selective_labels.evaluation.predictions import EvaluationRequest
from selective_labels.evaluation.results import Evaluation
from selective_labels.evaluation.simultaneous import require_bands, simultaneous_intervals


@dataclass(frozen=True, eq=False, kw_only=True)
class Choice(Described):
    """The best of several candidates, and the intervals of all, which hold at once.

    Attributes
    ----------
    best : str
        The candidate with the best guarantee: the largest estimated lower bound if a larger value is better,
        else the smallest estimated upper bound.
    evaluations : dict of Evaluation
        By candidate. The intervals cover all values together with probability `confidence_level`, so that of
        the best holds although it was chosen.
    """

    best: str
    greater_is_better: bool
    evaluations: Mapping[str, Evaluation]

    @property
    def chosen(self) -> Evaluation:
        """Evaluation of the best candidate."""
        return self.evaluations[self.best]

    @property
    def title(self) -> str:  # type: ignore[override]
        """The verdict."""
        return f"Best of {len(self.evaluations)} by {self._end} bound on {self.chosen.metric}: {self.best}"

    def __len__(self) -> int:
        return len(self.evaluations)

    def to_frame(self) -> pd.DataFrame:
        """Return a frame with one row per candidate: bounds and interval, and whether it was chosen."""
        rows = [
            {"candidate": name} | {end: getattr(each, end) for end in ENDS} | {"best": name == self.best}
            for name, each in self.evaluations.items()
        ]
        return pd.DataFrame(rows)

    def sentences(self) -> list[str]:
        """Describe the choice, its interval, the assumption and the sample."""
        best = self.chosen
        return [
            f"{self.best}: {best.metric} between {best.lower:.3f} and {best.upper:.3f}, "
            f"{100 * best.confidence_level:.4g} % interval {best.ci_lower:.3f} to {best.ci_upper:.3f}.",
            "The intervals cover the values of all candidates at once, so that of the best one holds "
            "although it was chosen.",
            "Use compare to see whether it is better than another one: the difference of two is known more "
            "precisely than these intervals suggest.",
            *notes_of(best),
            assumption_text(best.assumption, best.sample.sentence),
            f"Sample: {sample_text(best.sample)}",
        ]

    def plot(self, ax: Any = None) -> Any:
        """Draw the intervals of all candidates; return the matplotlib axes."""
        ax = plot_intervals(list(self.evaluations.values()), ax)
        ax.set_yticks(range(len(self)), list(self.evaluations))
        ax.set_title(f"{self.chosen.metric} ({self.chosen.assumption})", fontsize="small")
        return ax

    @property
    def _end(self) -> str:
        return "the largest lower" if self.greater_is_better else "the smallest upper"


def choose_request(
    fitted: FittedTable, request: EvaluationRequest, interval: str, confidence_level: float
) -> Choice:
    """Evaluate the candidates of a request, and choose the one with the best guarantee."""
    judged = fitted.judge(request)
    metric = the_only(judged.metrics, "metric", "choose takes one metric.")
    sample = judged.sample(metric)
    assumed = the_only(sample.assumptions, "assumption", "choose takes one assumption.")
    require_bands(sample, assumed)
    subjects = [judged.subject(metric, place) for place in range(len(request.given))]
    found = [
        evaluate_sample(sample, each, [metric], None, interval, confidence_level)[0] for each in subjects
    ]
    functionals = [metric.functional(each) for each in subjects]
    together = simultaneous_intervals(sample, assumed, functionals, found)
    evaluations = dict(zip(request.names, together, strict=True))
    defined = {name: each for name, each in evaluations.items() if each.defined}
    if not defined:
        raise UndefinedError(str(found[0].reason), "metric")
    if metric.greater_is_better:
        best = max(defined, key=lambda name: defined[name].lower)
    else:
        best = min(defined, key=lambda name: defined[name].upper)
    return Choice(best=best, greater_is_better=metric.greater_is_better, evaluations=evaluations)


def read_candidates(candidates: Mapping[str, Any], request: EvaluationRequest) -> EvaluationRequest:
    """Return the request with the candidates and their names."""
    if not isinstance(candidates, Mapping) or not candidates:
        raise InputError.about("candidates", "must be a dict of names and classifiers, one or more.")
    for name, each in candidates.items():
        if isinstance(each, Policy):
            raise InputError.about(
                "candidates",
                f"has a Policy, {name!r}; give classifiers or predictions. The thresholds of one score are "
                "compared by policy_curve.",
            )
    return replace(request, given=tuple(candidates.values()), labels=tuple(map(str, candidates)))
