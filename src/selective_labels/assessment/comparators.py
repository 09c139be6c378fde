"""What others do about refused cases, in one table beside ours: what each assumes, claims and is worth."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from selective_labels.assessment.acceptance import ends
from selective_labels.assessment.cases import Cases
from selective_labels.assessment.contenders import Contender, predicted_halves
from selective_labels.assessment.sections import Part
from selective_labels.estimators.baselines import (
    BivariateProbitClassifier,
    FuzzyAugmentationClassifier,
    HeckmanClassifier,
    ParcellingClassifier,
    ReweightingClassifier,
    SelectedSampleClassifier,
)
from selective_labels.evaluation.compare import compare_sample, paired_contest
from selective_labels.evaluation.evaluate import evaluate_sample
from selective_labels.inference.sample import ScoredSample
from selective_labels.measures.metrics import AnyMetric
from selective_labels.support.errors import InputError

# A lender parcels with a guess of how much worse the refused are; this is a common one.
FACTOR = 1.5
# Linear models: what lenders use, and a second for all of them at 10,000 cases.
LINEAR = "linear"


@dataclass(frozen=True)
class Method:
    """A way of others to deal with refused cases.

    Attributes
    ----------
    name, assumes : str
        For readers: what it is called, and its assumption in one sentence.
    make : callable
        From a seed to an unfitted classifier.
    """

    name: str
    assumes: str
    make: Any
    two_classes: bool = False


METHODS = (
    Method(
        "Labeled cases only",
        "Cases that were refused turn out like accepted ones with the same features.",
        lambda random_state: SelectedSampleClassifier(LINEAR, random_state=random_state),
    ),
    Method(
        "Reweighting",
        "The same; accepted cases count more where few were accepted.",
        lambda random_state: ReweightingClassifier(LINEAR, random_state=random_state),
    ),
    Method(
        "Fuzzy augmentation",
        "The same; refused cases enter with the chances that accepted ones have.",
        lambda random_state: FuzzyAugmentationClassifier(LINEAR, random_state=random_state),
    ),
    Method(
        "Parcelling",
        f"Refused cases fail {FACTOR:g} times as often as accepted ones of the same score, by a guess.",
        lambda random_state: ParcellingClassifier(LINEAR, factor=FACTOR, random_state=random_state),
    ),
    Method(
        "Heckman's two steps",
        "What nobody recorded moves decision and outcome by a normal law and along a line.",
        lambda random_state: HeckmanClassifier(),
        two_classes=True,
    ),
    Method(
        "Bivariate probit",
        "What nobody recorded moves decision and outcome by a bivariate normal law, exactly.",
        lambda random_state: BivariateProbitClassifier(),
        two_classes=True,
    ),
)


def comparators_part(
    sample: ScoredSample,
    cases: Cases,
    contenders: Sequence[Contender],
    metric: AnyMetric,
    event: int,
    assumption: str,
    seeds: np.ndarray,
    cost: Any = None,
) -> Part:
    """Learn each on halves, and judge all on everybody under one assumption, the best of ours beside them.

    Where costs are known, each predicts what costs least by its own probabilities. `claims` is the share of
    the event among everybody that a method's own probabilities add up to.
    """
    ours = contenders[-1]
    rows, notes = [], []
    classes = sample.data.classes
    for method in METHODS:
        if method.two_classes and len(classes) != 2:
            continue
        try:
            codes, chances = _predicted(method, cases, event, seeds, cost)
        except InputError as error:
            notes.append(f"{method.name} could not be fitted: {error}")
            continue
        contender = Contender("other", method.name, method.assumes, codes)
        claims = float(np.average(chances, weights=sample.weights))
        rows.append(_row(sample, contender, ours, metric, assumption) | {"claims": claims})
    rows += [_row(sample, each, ours, metric, assumption) | {"claims": None} for each in contenders]
    return Part({"metric": metric.name, "assumption": assumption, "rows": rows}, tuple(notes))


def _predicted(
    method: Method, cases: Cases, event: int, seeds: np.ndarray, cost: Any
) -> tuple[np.ndarray, np.ndarray]:
    codes, chances = np.empty(len(cases), dtype=int), np.empty(len(cases))
    for half in predicted_halves(cases, seeds, method.make):
        codes[half.rows], chances[half.rows] = half.cheapest(cost), half.subject.probabilities[:, event]
    return codes, chances


def _row(
    sample: ScoredSample, contender: Contender, ours: Contender, metric: AnyMetric, assumption: str
) -> dict[str, Any]:
    classes = sample.data.classes
    subject = contender.subject(classes)
    value = evaluate_sample(sample, subject, [metric], assumptions=[assumption])[0]
    difference = None
    if contender is not ours:
        contest = paired_contest(subject, ours.subject(classes), metric)
        found = compare_sample(sample, contest, assumption)
        difference = ends(found) | {"verdict": {"a": "this", "b": "ours"}.get(found.verdict, "undecided")}
    return {
        "key": contender.key,
        "name": contender.name,
        "assumes": contender.description if contender.key == "other" else None,
        "value": ends(value),
        "against_ours": difference,
    }
