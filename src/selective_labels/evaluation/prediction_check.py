"""Predictions are checked like features: they must not depend on who decides, given the features."""

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from selective_labels._errors import InputError, several
from selective_labels.data.selective_labels import SelectiveLabels
from selective_labels.diagnostics.prediction_balance import PredictionBalance
from selective_labels.evaluation.predictions import (
    ArrayPredictions,
    ClassifierPredictions,
    Predictions,
    argument_of,
)
from selective_labels.evaluation.scored_rows import ScoredSample
from selective_labels.identification.bounds import Array
from selective_labels.nuisance.cross_fit import CrossFit

# Balanced predictions are refused once in ten thousand times, and called doubtful once in a hundred.
REFUSED, DOUBTFUL = 1e-4, 1e-2
WAYS_OUT = (
    'give "human" for the decisions taken, Policy(score, with_human=...) for a team of score and human, or '
    "add the feature that the predictions use and the table lacks"
)


# What must not depend on who decides: predictions, cases left to the human, subgroups.
Checked = Predictions | Array | Mapping[Any, np.ndarray]


@dataclass(eq=False)
class PredictionCheck:
    """The check of predictions on the rows that the models are fitted to; each prediction is tested once.

    Parameters
    ----------
    data : SelectiveLabels
    fit : CrossFit or None
        Has the model of who decides.
    seed : int
    """

    data: SelectiveLabels
    fit: CrossFit | None
    seed: int
    _known: dict[bytes, tuple[float, str]] = field(default_factory=dict, init=False)

    def __post_init__(self) -> None:
        self._balance = PredictionBalance(self.data, self.fit, self.seed)

    def doubts(self, subject: Checked, name: str) -> tuple[str, ...]:
        """Return why results on a prediction are doubtful; raise an error if the bounds do not hold for it.

        Parameters
        ----------
        subject : Predictions, (n_samples,) array of cases that a policy leaves to the human, or dict of masks
            Masks are those of subgroups or periods.
        name : str
            Name in messages.
        """
        if isinstance(subject, Mapping):
            return self._subgroup_doubts(subject)
        columns = self._columns(subject)
        if columns is None:
            return ()
        p_value, refusal = self._found(columns)
        if refusal:
            raise InputError(
                f"{name}: {refusal}, and bounds hold only for predictions that do not depend on who decides: "
                f"{WAYS_OUT}.",
                argument_of(name),
            )
        if p_value < DOUBTFUL:
            return (
                f"The result is doubtful: given the features, predictions ({name}) seem to depend on who "
                f"decided (p = {p_value:.1g}), or the model of who decides misses something.",
            )
        return ()

    def _subgroup_doubts(self, masks: Mapping[Any, np.ndarray]) -> tuple[str, ...]:
        """Return why results by subgroup or period are doubtful: these are sets of cases, like predictions.

        Shares and models of who decides are those of all cases. Where the staff differs between subgroups,
        and no feature or stratum says so, cases of different decision-makers are not comparable within one.
        """
        if len(masks) < 2:
            return ()
        p_value, copies = self._found(np.column_stack(list(masks.values())[1:]).astype(float))
        if not copies and p_value >= DOUBTFUL:
            return ()
        return (
            "Results by subgroup are doubtful: given the features, who decides differs between the subgroups "
            f"(p = {p_value:.1g}), so cases of different decision-makers are not comparable within one. Give "
            "the column of the subgroups as strata, or as a feature.",
        )

    def _columns(self, subject: Predictions | Array) -> Array | None:
        """Return numbers of a prediction to test; None if it is a function of the features, or decisions."""
        if isinstance(subject, np.ndarray):
            return subject[:, None]
        if isinstance(subject, ClassifierPredictions):
            if not len(self._balance.columns_of_who_decides):
                return None
            found = subject.probabilities if hasattr(subject.classifier, "predict_proba") else subject.chosen
        elif not isinstance(subject, ArrayPredictions):
            return None
        elif subject.values.ndim == 1 and subject.has_scores:
            return subject.score(0)[:, None]
        else:
            found = subject.chosen
        return found[:, 1:] if found.shape[1] == 2 else found

    def _found(self, columns: Array) -> tuple[float, str]:
        """Return the p-value of the test of balance, and why the predictions are refused, if they are."""
        key = hashlib.blake2b(np.asarray(columns, dtype=float).tobytes(), digest_size=16).digest()
        if key not in self._known:
            self._known[key] = self._tested(columns)
        return self._known[key]

    def _tested(self, columns: Array) -> tuple[float, str]:
        repeated = self._balance.repeats_decisions(columns)
        if repeated is not None:
            return 0.0, f"the predictions {repeated}"
        p_value = self._balance.p_value(columns)
        if p_value < REFUSED and self._balance.knows_assignment(columns):
            given = f"given the features{self._without()}"
            return p_value, f"{given}, the predictions depend on who decided (p = {p_value:.1g})"
        return p_value, ""

    def _without(self) -> str:
        """Name the features that tell who decides, which are no features of the case."""
        columns = self._balance.columns_of_who_decides.tolist()
        if not columns:
            return ""
        names = self.data.feature_names
        return f" other than {several([names[each] for each in columns])}, which tell who decides"


def with_doubts(sample: ScoredSample, sentences: Sequence[str]) -> ScoredSample:
    """Add cautions to the assumptions that compare decision-makers."""
    if not sentences:
        return sample
    cautions = {
        name: (*sample.cautions.get(name, ()), *sentences)
        for name in sample.assumptions
        if sample.assumed(name).needs_decision_makers
    }
    return replace(sample, cautions=sample.cautions | cautions)
