"""The two rules of a report, the user's and the robust one: their predictions, metrics and comparison."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass
from functools import cached_property, partial
from itertools import product
from typing import Any

import numpy as np
import pandas as pd

from selective_labels._errors import InputError
from selective_labels._vocabulary import INSPECT
from selective_labels.data.selective_labels import SelectiveLabels
from selective_labels.estimators.selected_sample import SelectedSampleClassifier
from selective_labels.estimators.ucl import UCLClassifier
from selective_labels.evaluation.compare import compare_sample, paired_difference
from selective_labels.evaluation.evaluate import evaluate_sample
from selective_labels.evaluation.metrics import (
    AnyMetric,
    Auc,
    Metric,
    conditional_rate,
    expected_cost,
    named_metrics,
)
from selective_labels.evaluation.policy import acting_as_now, warn_if_reversed
from selective_labels.evaluation.predictions import (
    ArrayPredictions,
    ClassifierPredictions,
    codes_of_decisions,
    read_predictions,
)
from selective_labels.evaluation.results import Evaluation, plain
from selective_labels.evaluation.scored_rows import ScoredSample
from selective_labels.nuisance.folds import make_folds, outcome_codes
from selective_labels.report.cases import Cases, Column, share_by_feature
from selective_labels.report.document import Part

# Name of predictions that have none.
GIVEN = "The given predictions"
# Integers with more distinct values than this are scores, not classes.
MOST_CLASSES = 20
HALVES = (
    "It was learned on one half of the cases and predicts the other half, and the reverse: no case is judged "
    "by a rule that saw it."
)


@dataclass(frozen=True, eq=False)
class DrawnPredictions(ArrayPredictions):
    """Predicted classes, some of which are drawn."""

    drawn: np.ndarray

    @cached_property
    def chosen(self) -> np.ndarray:
        """Probability of predicting each class."""
        return self.drawn


@dataclass(frozen=True, eq=False)
class ReportedRule:
    """Predictions of a rule for every case.

    Attributes
    ----------
    key : "yours" or "ours"
    codes : (n_samples,) int array
        Codes of the predicted classes.
    scores : (n_samples,) array or None
        Score of the event; None if only classes are predicted.
    decided : (n_samples,) bool array or None
        Cases whose optimal class does not depend on the missing labels.
    drawn : (n_samples, n_classes) array or None
        Probabilities of the predicted classes, where those of cases with a score at the cut-off are drawn.
    """

    key: str
    name: str
    description: str
    codes: np.ndarray
    scores: np.ndarray | None = None
    decided: np.ndarray | None = None
    drawn: np.ndarray | None = None

    def subject(self, classes: np.ndarray) -> ArrayPredictions:
        """The predicted classes, in the form that evaluation functions take."""
        predicted = classes[self.codes]
        if self.drawn is None:
            return ArrayPredictions(predicted, classes, self.name)
        return DrawnPredictions(predicted, classes, self.name, self.drawn)

    def constant(self, event: int, data: SelectiveLabels) -> str | None:
        """What the rule does if that is the same for all cases; two classes."""
        if len(data.classes) != 2 or not (self.codes == self.codes[0]).all():
            return None
        yes, _ = codes_of_decisions(event, 2, data.decision_means)
        return "accepts every case" if self.codes[0] == yes else "accepts no case"

    def to_dict(self) -> dict[str, Any]:
        """Convert to JSON-serializable values."""
        return {
            name: value.tolist() if isinstance(value, np.ndarray) else value
            for name, value in asdict(self).items()
        }

    @classmethod
    def from_dict(cls, values: dict[str, Any]) -> "ReportedRule":
        """Restore a rule from the values of `to_dict`."""
        arrays = {
            name: None if values[name] is None else np.asarray(values[name])
            for name in ("codes", "scores", "decided", "drawn")
        }
        return cls(**(values | arrays))


def given_model(
    model: Any,
    cases: Cases,
    event: int,
    trained_elsewhere: bool,
    name: str | None = None,
    threshold: float | None = None,
) -> ReportedRule:
    """Predictions of the user's fitted classifier, or of its scores cut at a threshold."""
    subject = read_predictions(model, cases.data, "model")
    codes = subject.chosen.argmax(axis=1)
    scores = None
    if hasattr(model, "predict_proba"):
        scores = subject.probabilities[:, event]
    elif subject.has_scores:
        scores = subject.score(event)
    if threshold is not None:
        codes = cut_at(threshold, scores, event, cases.data.classes)
    judged = "It is judged on cases that it was not trained on."
    if not trained_elsewhere:
        judged = "It is judged on cases that it may have been trained on; if it was, the numbers flatter it."
    description = f"The fitted classifier that was given ({type(model).__name__}). {judged}"
    return ReportedRule("yours", name or f"The given {type(model).__name__}", description, codes, scores)


def given_predictions(
    values: np.ndarray,
    cases: Cases,
    event: int,
    name: str | None = None,
    cost: Any = None,
    threshold: float | None = None,
) -> ReportedRule:
    """The user's predictions: classes, probabilities of all classes, or a score of the event.

    With a threshold, scores from there on predict the event.

    If costs are given, or if a score is not a probability, the score has no natural cut-off. It then accepts
    the cases with the lowest scores (or inspects those with the highest), as many as the decision-makers
    did, as `evaluate --cost` does.
    """
    data = cases.data
    if pd.isna(values).any():
        raise InputError.about(
            "predictions", f"are missing in {pd.isna(values).sum()} places: predict every case."
        )
    if values.ndim == 1 and _are_scores(values, data.classes):
        chance = values.astype(float)
        warn_if_reversed(chance, data, event)
        if threshold is not None:
            codes = cut_at(threshold, chance, event, data.classes)
            description = f"The scores that were given: from {threshold:g} on they predict the event."
            return ReportedRule("yours", name or GIVEN, description, codes, chance)
        if cost is not None or chance.min() < 0.0 or chance.max() > 1.0:
            return _as_many(chance, cases, event, name)
        values = np.column_stack([chance, 1.0 - chance] if event == 0 else [1.0 - chance, chance])
    if threshold is not None:
        raise InputError("threshold cuts scores, and the predictions are classes; leave it out.", "threshold")
    subject = read_predictions(values, data, "predictions")
    if values.ndim == 1 or values.shape[1] == 1:
        description = "The predicted classes that were given."
        return ReportedRule("yours", name or GIVEN, description, subject.chosen.argmax(axis=1))
    chances = subject.probabilities
    # A probability of exactly one half predicts the event, as a score at the threshold does.
    codes = np.where(chances[:, event] >= 0.5, event, chances.argmax(axis=1))
    description = "The predicted probabilities that were given: the most probable class is predicted."
    return ReportedRule("yours", name or GIVEN, description, codes, chances[:, event])


def cut_at(threshold: float, scores: np.ndarray | None, event: int, classes: np.ndarray) -> np.ndarray:
    """Codes of the classes that scores of the event predict, from a threshold on; two classes.

    Examples
    --------
    >>> cut_at(0.5, np.array([0.2, 0.5]), 1, np.array(["no", "yes"]))
    array([0, 1])
    """
    if scores is None or len(classes) != 2:
        raise InputError("threshold needs scores of the event, and two classes; leave it out.", "threshold")
    return np.where(scores >= threshold, event, 1 - event)


def _as_many(risk: np.ndarray, cases: Cases, event: int, name: str | None) -> ReportedRule:
    """Accept as many cases as the decision-makers did; some at the cut-off are drawn, as in Policy."""
    data = cases.data
    drawn, share = acting_as_now(risk, data, event)
    end = "highest" if data.decision_means == INSPECT else "lowest"
    description = (
        f"The scores that were given: as many cases are accepted as were ({share:.1%}), those with the {end} "
        "scores."
    )
    yes, no = codes_of_decisions(event, 2, data.decision_means)
    codes = np.where(drawn[:, yes] >= 0.5, yes, no)
    return ReportedRule("yours", name or GIVEN, description, codes, risk, drawn=drawn)


def usual_practice(cases: Cases, event: int, seeds: np.ndarray, cost: Any = None) -> ReportedRule:
    """Cross-fit a classifier on labeled cases as if they represented all cases."""
    codes, scores = np.empty(len(cases), dtype=int), np.empty(len(cases))
    for half in predicted_halves(cases, seeds, SelectedSampleClassifier):
        codes[half.rows], scores[half.rows] = half.cheapest(cost), half.subject.probabilities[:, event]
    chosen = "" if cost is None else " It predicts what costs least by its own probabilities."
    description = f"The usual practice: gradient boosting trained on the labeled cases only. {HALVES}{chosen}"
    return ReportedRule("yours", "Learned from labeled cases only", description, codes, scores)


def robust_classifier(cases: Cases, event: int, seeds: np.ndarray, **settings: Any) -> ReportedRule:
    """Cross-fit a classifier that uses bounds on the missing labels."""
    codes, scores = np.empty(len(cases), dtype=int), np.empty(len(cases))
    decided = np.empty(len(cases), dtype=bool)
    for half in predicted_halves(cases, seeds, partial(UCLClassifier, mode="partial", **settings)):
        codes[half.rows], scores[half.rows] = half.codes, half.subject.score(event)
        decided[half.rows] = half.subject.classifier.decided(half.subject.X)
    description = (
        "Learned from the labels seen and from who decided, so that the worst that the missing labels could "
        f"do is as small as possible (UCLClassifier). {HALVES}"
    )
    return ReportedRule("ours", "Robust to missing labels", description, codes, scores, decided)


@dataclass(frozen=True, eq=False)
class Half:
    """Half of the rows, with predictions of a classifier fitted to the other half."""

    rows: np.ndarray
    subject: ClassifierPredictions

    @property
    def codes(self) -> np.ndarray:
        """Codes of the predicted classes."""
        return self.subject.chosen.argmax(axis=1)

    def cheapest(self, cost: Any) -> np.ndarray:
        """Codes of the classes with the lowest expected cost, or the predicted classes if `cost` is None."""
        if cost is None:
            return self.codes
        return np.asarray((self.subject.probabilities @ np.asarray(cost, dtype=float)).argmin(axis=1))


def predicted_halves(cases: Cases, seeds: np.ndarray, make: Callable[..., Any]) -> Iterator[Half]:
    """Yield each half of the cases with predictions of a classifier fitted to the other half."""
    for number, (train, test) in enumerate(_halves(cases, int(seeds[0]))):
        classifier = make(random_state=int(seeds[number + 1])).fit(cases.data.take(train))
        rest = cases.data.take(test)
        yield Half(test, ClassifierPredictions(classifier, rest, cases.data.classes, "the classifier"))


def _halves(cases: Cases, seed: int) -> list[tuple[np.ndarray, np.ndarray]]:
    data = cases.data
    names = ["the unlabeled case", *(f"class {label!r}" for label in data.classes.tolist())]
    return make_folds(outcome_codes(data.y), 2, groups=data.groups, outcome_names=names, random_state=seed)


def _are_scores(values: np.ndarray, classes: np.ndarray) -> bool:
    """Whether the values are scores of the event rather than classes; only with two classes."""
    if len(classes) != 2 or np.isin(values, classes).all():
        return False
    # A few distinct integers are classes; one that is not a known class is an error, raised later.
    return values.dtype.kind == "f" or (values.dtype.kind in "iu" and len(np.unique(values)) > MOST_CLASSES)


OF_TWO_CLASSES = ("accuracy", "tpr", "fpr", "share", "ppv")
# With more classes than this, metrics are shown for the event only.
MOST_CLASSES_SHOWN = 6


def chosen_metrics(
    names: Any, classes: np.ndarray, event: int, cost: Any = None
) -> tuple[list[AnyMetric], list[str]]:
    """Metric objects, and notes about metrics that are left out.

    The default for two classes is accuracy, true and false positive rate, prevalence and predictive value of
    the event. For more classes it is accuracy, and the prevalence and recall of each class. A cost matrix
    adds the mean cost per case.

    Examples
    --------
    >>> [each.name for each in chosen_metrics(None, np.array(["a", "b", "c"]), 2)[0]][:3]
    ['accuracy', "share of 'a'", "P(predicted 'a' | true 'a')"]
    """
    label = classes[event]
    money = [] if cost is None else [expected_cost(cost, classes)]
    if names is not None:
        wanted = [names] if isinstance(names, str | AnyMetric) else list(names)
        objects: list[AnyMetric] = []
        for each in wanted:
            objects += [each] if isinstance(each, AnyMetric) else named_metrics(each, classes, label, cost)
        request = {each.name for each in objects}
        return [*objects, *(each for each in money if each.name not in request)], []
    if len(classes) == 2:
        plain = [each for name in OF_TWO_CLASSES for each in named_metrics(name, classes, label)]
        return [*plain, *money], []
    shown, notes = classes.tolist(), []
    if len(shown) > MOST_CLASSES_SHOWN:
        shown = [classes.tolist()[event]]
        notes = [f"Of {len(classes)} classes, shares and rates are given for {shown[0]!r} only."]
    of_classes = [each for one in shown for each in (_share(one), conditional_rate(one, one))]
    return [*named_metrics("accuracy", classes), *of_classes, *money], notes


def _share(label: Any) -> Metric:
    return Metric(f"share of {label!r}", lambda truth, predicted: truth == label)


def answers_part(
    sample: ScoredSample, rules: Sequence[ReportedRule], metric: AnyMetric, event: int, assumption: str
) -> Part:
    """Evaluate the share of the event and one metric of each rule, on all cases and among labeled cases.

    Values among labeled cases need no assumption, but do not describe all cases.
    """
    classes = sample.data.classes
    share = named_metrics("share", classes, classes[event])[0]
    anybody = ArrayPredictions(np.full(len(sample.data), classes[event]), classes, "everybody")
    return Part(
        {
            "event": _answer(sample, anybody, share, assumption),
            "rules": [
                {"key": each.key, "name": each.name}
                | _answer(sample, each.subject(classes), metric, assumption)
                for each in rules
            ],
        }
    )


def labeled_value(sample: ScoredSample, subject: ArrayPredictions, metric: AnyMetric) -> float | None:
    """The metric among labeled cases, where no label is missing and no assumption is needed."""
    seen = sample.data.labeled
    try:
        found = evaluate_sample(sample, subject, [metric], {"labeled": seen}, assumptions=["none"])[0]
    except InputError:
        return None
    value: float | None = plain(found.lower)
    return value


def _answer(
    sample: ScoredSample, subject: ArrayPredictions, metric: AnyMetric, assumption: str
) -> dict[str, Any]:
    result = evaluate_sample(sample, subject, [metric], assumptions=[assumption])[0]
    return {"labeled": labeled_value(sample, subject, metric), "result": result.to_dict()}


def models_part(
    sample: ScoredSample, rules: Sequence[ReportedRule], metrics: Sequence[AnyMetric], event: int
) -> Part:
    """Evaluate every rule with the same scores, and among labeled cases.

    Metrics and assumptions are evaluated one by one, so that one without a value does not affect the others.
    """
    models, notes = [], []
    for rule in rules:
        results: list[Evaluation] = []
        for metric, assumption in product(metrics, sample.assumptions):
            subject = subject_of(rule, metric, sample.data.classes)
            try:
                results += evaluate_sample(sample, subject, [metric], assumptions=[assumption])
            except InputError as error:
                notes.append(undefined(metric, error))
        models.append(
            {
                "key": rule.key,
                "name": rule.name,
                "description": rule.description,
                "does": rule.constant(event, sample.data),
                "labeled": {
                    metric.name: labeled_value(sample, subject_of(rule, metric, sample.data.classes), metric)
                    for metric in metrics
                },
                "evaluations": [item.to_dict() for item in results],
            }
        )
    return Part(models, tuple(dict.fromkeys(notes)))


def subject_of(rule: ReportedRule, metric: AnyMetric, classes: np.ndarray) -> ArrayPredictions:
    """Predictions that a metric needs: scores for AUC, if there are any, else predicted classes."""
    if isinstance(metric, Auc) and rule.scores is not None:
        return ArrayPredictions(rule.scores, classes, rule.name)
    return rule.subject(classes)


def undefined(metric: AnyMetric, error: InputError) -> str:
    """Note that a metric has no value, and why."""
    text = str(error)
    return f"Left out: {text if metric.name in text else f'{metric.name}: {text}'}"


def comparison_part(
    sample: ScoredSample, yours: ReportedRule, ours: ReportedRule, columns: list[Column], metric: AnyMetric
) -> Part:
    """Bounds on metric(yours) - metric(ours) under every assumption."""
    classes = sample.data.classes
    contest = paired_difference(yours.subject(classes), ours.subject(classes), metric)
    names = yours.name, ours.name
    results = [compare_sample(sample, contest, each, names=names) for each in sample.assumptions]
    differ = yours.codes != ours.codes
    return Part(
        {
            "results": [each.to_dict() for each in results],
            "disagreement": float(np.average(differ, weights=sample.weights)),
            "by_feature": share_by_feature(columns, differ, sample.weights),
        }
    )


DESCRIPTION = (
    "A case is decided if one class is the best prediction whatever the missing labels are, within the "
    "bounds that our classifier estimates from cases of the other half. This assumes the instrument: given "
    "the features, cases reach decision-makers as if at random, and who decides does not change the label. "
    "The bounds have a margin of sampling error by which at most a tenth of the decided cases is expected to "
    "be a mistake."
)


def decided_part(ours: ReportedRule, columns: list[Column], weights: np.ndarray) -> Part:
    """Share of decided cases, overall and by feature."""
    assert ours.decided is not None  # the robust rule always has this array
    return Part(
        {
            "share": float(np.average(ours.decided, weights=weights)),
            "description": DESCRIPTION,
            "by_feature": share_by_feature(columns, ours.decided, weights),
        }
    )
