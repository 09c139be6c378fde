"""Combinations of assumptions: laws in which they hold, what they leave possible, and one draw of each."""

import warnings
from functools import cache
from typing import Any

import numpy as np

from selective_labels import Bounds, Evaluator, SelectiveLabels
from selective_labels.assumptions import Assumption, Combination, Informed, Instrument, Prevalence, Refused
from selective_labels.datasets import make_decision_makers
from selective_labels.datasets.decision_makers import population
from selective_labels.identification.event_bounds import best_floor, identified_set
from selective_labels.identification.prevalence import Share, shared_ratio_extremes
from study.coverage.designs import classifier

N_SAMPLES = 2000
METRICS = ("accuracy", "tpr")
# Cases refused are of the last class more often, at every x and by every decision-maker. Decision-makers
# who are all alike tie in everything.
LAWS: dict[str, dict[str, Any]] = {
    f"{words}, {n_classes} classes": {
        "n_classes": n_classes,
        "n_decision_makers": n_makers,
        "leniency_spread": spread,
        "mirrored": True,
    }
    for words, n_makers, spread in (("J=4", 4, 1.0), ("J=8", 8, 1.0), ("J=4, all alike", 4, 0.0))
    for n_classes in (2, 3)
}


def rule(X: np.ndarray, n_classes: int) -> np.ndarray:
    """What is judged: a fixed and imperfect rule."""
    return np.asarray(classifier(X, n_classes).argmax(axis=1))


@cache
def combinations(law: str) -> dict[str, Assumption]:
    """What is assumed, all of it true in the law (or, at a tie, at an end of what is possible)."""
    _, joint, eta, predicted = _population(law)
    adverse = eta.shape[1] - 1
    instrument, informed = Instrument(), Informed(adverse)
    refused = Refused(adverse, at_least=0.8, at_most=4.0)
    known = Prevalence(adverse, round(float(eta[:, -1].mean()), 4))
    # With this share two multipliers of the lowest accuracy are equally good.
    lower = joint[:, :, 1:].max(axis=0)
    slack = 1.0 - lower.sum(axis=1)
    tie = Prevalence(adverse, round(float(np.mean(lower[:, -1] + slack * (predicted != adverse))), 4))
    return {
        "instrument": instrument,
        "informed": instrument & informed,
        "refused, ratio": instrument & refused,
        "refused, odds": instrument & Refused(adverse, at_least=1.5, at_most=5.0, scale="odds"),
        "prevalence": instrument & known,
        "prevalence, at a tie": instrument & tie,
        "informed and refused": instrument & informed & refused,
        "informed and prevalence": instrument & informed & known,
        "refused and prevalence": instrument & refused & known,
    }


@cache
def population_ends(law: str) -> dict[tuple[str, str], tuple[float, float, float]]:
    """Lower end, upper end and truth of each combination and metric; no truth at a tie."""
    X, _, eta, predicted = _population(law)
    coefficients = _coefficients(predicted, eta.shape[1])
    found = {}
    for name, assumption in combinations(law).items():
        known = _identified(law, assumption)
        parts = assumption.parts if isinstance(assumption, Combination) else (assumption,)
        stated = [each.value for each in parts if isinstance(each, Prevalence)] or [(0.0, 1.0)]
        low, high = stated[0]
        share = Share(np.eye(eta.shape[1])[-1], low, high, np.ones(len(X), dtype=bool))
        for metric, (above, below) in coefficients.items():
            low, high = shared_ratio_extremes(above, below, known, [share])
            truth = float((above * eta).sum() / (below * eta).sum())
            found[name, metric] = low, high, truth if name != "prevalence, at a tie" else float("nan")
    return found


def draw(law: str, seed: np.random.SeedSequence) -> list[list[Any]]:
    """Ends and intervals of one sample, scored once: combination, metric, lower, upper, and the interval."""
    sample = make_decision_makers(N_SAMPLES, random_state=np.random.default_rng(seed), **LAWS[law])
    data = SelectiveLabels.from_arrays(sample.X, sample.y, decision_maker=sample.decision_maker)
    chosen = combinations(law)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # thousands of them, and not what is measured
        evaluator = Evaluator(
            data,
            assumption=list(chosen.values()),
            nuisance="logistic",
            propensity="shares",  # assignment is random by design
            n_jobs=1,
            random_state=int(seed.generate_state(2)[1]),
        )
        predicted = rule(sample.X, LAWS[law]["n_classes"])
        results: Any = evaluator.evaluate(predicted, metric=list(METRICS))
    names = {assumption.name: name for name, assumption in chosen.items()}
    return [
        [names[each.assumption], each.metric, each.lower, each.upper, each.ci_lower, each.ci_upper]
        for each in results
    ]


@cache
def _population(law: str) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Features, joint probabilities by decision-maker, class probabilities, and what is predicted."""
    X = population()
    oracle = make_decision_makers(10, random_state=0, **LAWS[law]).oracle
    joint = oracle.joint(X).transpose(1, 0, 2)
    return X, joint, oracle.probabilities(X), rule(X, LAWS[law]["n_classes"])


def _identified(law: str, assumption: Assumption) -> Bounds:
    _, joint, eta, _ = _population(law)
    floors: dict[tuple[int, ...], np.ndarray] = {}
    for floor in assumption.floors(np.arange(eta.shape[1])):
        floors[floor.event] = np.maximum(floors.get(floor.event, 0.0), best_floor(floor, joint))
    return identified_set(joint[:, :, 1:].max(axis=0), floors)


def _coefficients(predicted: np.ndarray, n_classes: int) -> dict[str, tuple[np.ndarray, np.ndarray]]:
    """Numerator and denominator of each metric, of the last class where one is meant."""
    right, everybody = np.eye(n_classes)[predicted], np.ones((len(predicted), n_classes))
    event = np.tile(np.eye(n_classes)[-1], (len(predicted), 1))
    positive = (predicted == n_classes - 1)[:, None].astype(float)
    return {
        "accuracy": (right, everybody),
        "tpr": (positive * event, event),
    }
