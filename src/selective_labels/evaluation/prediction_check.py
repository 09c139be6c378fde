"""Predictions are checked: they must not depend on who decides, nor be those of training rows."""

import hashlib
import warnings
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.model_selection import GroupShuffleSplit
from sklearn.utils import _safe_indexing

from selective_labels._errors import InputError, several
from selective_labels.data.selective_labels import SelectiveLabels, class_code
from selective_labels.diagnostics.prediction_balance import PredictionBalance
from selective_labels.evaluation.predictions import (
    ArrayPredictions,
    ClassifierPredictions,
    Predictions,
    argument_of,
    codes_of,
)
from selective_labels.evaluation.scored_rows import ScoredSample
from selective_labels.identification.bounds import Array
from selective_labels.inference.evidence import covariance, mean_estimate
from selective_labels.inference.standard_errors import cluster_codes
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


# Labeled rows that are compared: enough to see a difference, few enough to refit a classifier quickly.
MOST_ROWS = 4000
FEWEST_ROWS = 40
# A classifier is refitted if it beats the held-out models by so many standard errors and by so much.
SUSPICIOUS_ERRORS, SUSPICIOUS_GAIN = 2.0, 0.02
# The same where all labels are seen, so that there are no held-out models: so few errors.
SUSPICIOUS_ERROR_RATE = 0.02
# Share of the gap between training rows and other rows above which it was trained on these rows.
TRAINED_SHARE, TRAINED_ERRORS = 0.5, 1.0
# An array has no classifier to refit: it needs fewer errors than this share of the held-out models' errors.
PERFECT_SHARE, PERFECT_ERRORS = 0.1, 4.0
UNSEEN = "Evaluate it on rows that it has not seen."


def subject_cautions(sample: ScoredSample, subjects: Iterable[Predictions], pos_label: Any) -> list[str]:
    """Return the reasons to doubt the numbers of these predictions on these rows."""
    event = class_code(pos_label, sample.classes)
    found = (training_rows_caution(sample, subject, event) for subject in subjects)
    return [caution for caution in found if caution is not None]


def training_rows_caution(sample: ScoredSample, subject: Predictions, event: int) -> str | None:
    """Return a caution if a classifier seems to be evaluated on rows that it was trained on; else None.

    The share of correct predictions among labeled rows is compared with that of the held-out models of
    decision and label. If it is larger, the classifier is refitted to half of the labeled rows:

        share = (accuracy on the other half - accuracy of the refit there)
                / (accuracy of the refit on its own half - accuracy of the refit on the other half)

    With errors of order 1 / n, the share is three quarters for a classifier trained on these rows and one
    quarter for one trained on as many other rows; for interpolating classifiers it is one and near zero.
    Predictions given as an array cannot be refitted. They get the caution only if they are nearly perfect,
    because they may use more than the features of this table.
    """
    data = sample.data
    labeled = np.flatnonzero(data.labeled & (data.weights > 0.0))
    if len(labeled) < FEWEST_ROWS:
        return None
    rows = labeled[np.linspace(0, len(labeled) - 1, min(len(labeled), MOST_ROWS)).astype(int)]
    among = _Labeled(data, rows, cluster_codes(sample.cluster, data))
    try:
        right, known = _correct(subject, among, _held_out(sample)[rows], event)
    except InputError:  # the metric says what is wrong with the predictions
        return None
    accuracy, reference = among.mean(right)[0], among.mean(known)[0]
    gain, error = among.mean(right - known)
    if isinstance(subject, ClassifierPredictions):
        suspicious = gain > max(SUSPICIOUS_ERRORS * error, SUSPICIOUS_GAIN)
        if data.labeled.all():
            suspicious = accuracy > 1.0 - SUSPICIOUS_ERROR_RATE
        return _refit_caution(subject, among, right) if suspicious else None
    nearly_perfect = 1.0 - accuracy < PERFECT_SHARE * (1.0 - reference)
    if data.labeled.all() or not nearly_perfect or gain <= PERFECT_ERRORS * error:
        return None
    return (
        f"The predictions are right in {accuracy:.1%} of the labeled rows, and models that have not seen the "
        f"row in {reference:.1%}: if a model was trained on these rows, its numbers are not to be trusted. "
        f"{UNSEEN}"
    )


@dataclass(frozen=True, eq=False)
class _Labeled:
    """Labeled rows on which predictions are compared."""

    data: SelectiveLabels
    rows: np.ndarray
    clusters: np.ndarray | None

    @property
    def y(self) -> np.ndarray:
        return self.data.y[self.rows]

    def features(self) -> Any:
        return _safe_indexing(self.data.X, self.rows)

    def take(self, places: np.ndarray) -> "_Labeled":
        return _Labeled(self.data, self.rows[places], self.clusters)

    def right(self, classifier: Any, name: str) -> Array:
        """Whether the predictions of a classifier are right."""
        labels = np.asarray(classifier.predict(self.features()))
        return (codes_of(labels, self.data.classes, name) == self.y).astype(float)

    def mean(self, values: Array) -> tuple[float, float]:
        """Weighted mean, and its standard error."""
        found = mean_estimate(values, self.data.weights[self.rows])
        units = None if self.clusters is None else self.clusters[self.rows]
        if units is not None and (units == units[0]).all():
            return found.value, np.inf
        return found.value, float(np.sqrt(covariance([found.influence], units)[0, 0]))


def _held_out(sample: ScoredSample) -> np.ndarray:
    """Class with the largest held-out probability of being seen, for every row."""
    evidence = next(iter(sample.repeats[0].values()), None)
    if evidence is None:  # the event tilt
        evidence = sample.tilted[0].instrument
    return evidence.model.argmax(axis=1)


def _correct(subject: Predictions, among: _Labeled, known: np.ndarray, event: int) -> tuple[Array, Array]:
    """Whether the predictions, and the held-out models, are right: one number per labeled row."""
    y, found = among.y, (known == among.y).astype(float)
    if isinstance(subject, ClassifierPredictions):
        return among.right(subject.classifier, subject.name), found
    if not isinstance(subject, ArrayPredictions):
        raise InputError("predictions of another kind.", "classifier")
    if subject.values.ndim == 2 or not subject.has_scores:
        return (subject.chosen[among.rows].argmax(axis=1) == y).astype(float), found
    # A score: the highest are events, as many as there are.
    score, happened = subject.score(event)[among.rows], y == event
    flagged = score > np.quantile(score, 1.0 - happened.mean())
    return (flagged == happened).astype(float), ((known == event) == happened).astype(float)


def _refit_caution(subject: ClassifierPredictions, among: _Labeled, right: Array) -> str | None:
    """Refit the classifier to half of the rows, and compare it with what it is like on training rows."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            units = np.arange(len(among.rows)) if among.clusters is None else among.clusters[among.rows]
            own, other = next(GroupShuffleSplit(1, test_size=0.5, random_state=0).split(units, groups=units))
            halves = [among.take(own), among.take(other)]
            model = clone(subject.classifier)
            if "random_state" in model.get_params() and model.get_params()["random_state"] is None:
                model.set_params(random_state=0)  # leaves the global generator alone
            model.fit(halves[0].features(), among.data.classes[halves[0].y])
            trained, fresh = (half.right(model, subject.name) for half in halves)
    except Exception:  # a classifier of the user can fail in any way, and the evaluation must not
        return None
    best, best_error = halves[0].mean(trained)
    worse, _ = halves[1].mean(fresh)
    here, here_error = halves[1].mean(right[other] - (1.0 - TRAINED_SHARE) * fresh)
    excess = here - TRAINED_SHARE * best
    if best - worse < SUSPICIOUS_GAIN or excess <= TRAINED_ERRORS * np.hypot(
        here_error, TRAINED_SHARE * best_error
    ):
        return None
    return (
        f"The classifier is right in {among.mean(right)[0]:.1%} of the labeled rows. Refitted to half of "
        f"them, it is right in {best:.1%} of that half and {worse:.1%} of the other: it was probably trained "
        f"on these rows, so its numbers are not to be trusted. {UNSEEN}"
    )
