"""One draw of a design: everything a user may ask, and whether the interval has the truth in it."""

import warnings
from collections.abc import Iterator
from functools import cache
from typing import Any

import numpy as np

import selective_labels as sl
from study.coverage.designs import DESIGNS, Cases, Design, classifier

N_POPULATION = 400_000
POPULATION_SEED = 17
CUT_OFFS = (0.3, 0.5)
# What a row of results says: which call, of what, under which assumption.
Key = tuple[str, str, str]


def replicate(name: str, seed: np.random.SeedSequence) -> dict[Key, tuple[float, float]]:
    """Intervals of one draw, by call, metric and assumption."""
    design = DESIGNS[name]
    cases = design.draw(design.n_samples, np.random.default_rng(seed))
    fitting = {"nuisance": design.nuisance, "n_jobs": 1, "random_state": int(seed.generate_state(2)[1])}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # thousands of them; coverage is what is asked
        return {key: (each.ci_lower, each.ci_upper) for key, each in _intervals(design, cases, fitting)}


def _intervals(design: Design, cases: Cases, fitting: dict[str, Any]) -> Iterator[tuple[Key, Any]]:
    guess = classifier(cases.X, design.n_classes)
    given = cases.X, cases.y
    common = {"decision_maker": cases.decision_maker, **cases.roles, **fitting}
    cost = _cost(design.n_classes)
    side = cases.X[:, 0] > 0.0
    found: Any = sl.evaluate(
        guess, *given, metric=design.metrics, assumption=list(design.assumptions), cost=cost, **common
    )
    for each in found:
        yield ("evaluate", each.metric, each.assumption), each
    parts: Any = sl.evaluate(guess, *given, metric="accuracy", by=side, **common)
    for each in parts:
        yield ("by", f"accuracy, {each.subgroup}", "instrument"), each
    yield ("by", "gap of accuracy", "instrument"), parts.gaps[0]
    other = np.roll(guess, 1, axis=1)
    yield ("compare", "accuracy", "instrument"), sl.compare(guess, other, *given, **common)
    yield ("compare", "human", "instrument"), sl.compare(guess, "human", *given, **common)
    curve = sl.threshold_curve(guess, *given, thresholds=CUT_OFFS, **common)
    for metric, points in curve.evaluations.items():
        for cut, each in zip(CUT_OFFS, points, strict=True):
            yield ("threshold", f"{metric} at {cut}", "instrument"), each


@cache
def truths(name: str) -> dict[tuple[str, str], float]:
    """Values by call and metric, from many cases whose labels are all seen."""
    design = DESIGNS[name]
    cases = design.draw(N_POPULATION, np.random.default_rng(POPULATION_SEED))
    guess = classifier(cases.X, design.n_classes)
    weight = {"sample_weight": cases.roles["sample_weight"]} if "sample_weight" in cases.roles else {}
    given = cases.X, cases.y_true
    cost = _cost(design.n_classes)
    found: Any = sl.evaluate(guess, *given, metric=design.metrics, cost=cost, **weight)
    values = {("evaluate", each.metric): each.lower for each in found}
    parts: Any = sl.evaluate(guess, *given, metric="accuracy", by=cases.X[:, 0] > 0.0, **weight)
    values |= {("by", f"accuracy, {each.subgroup}"): each.lower for each in parts}
    values["by", "gap of accuracy"] = parts.gaps[0].lower
    values["compare", "accuracy"] = sl.compare(guess, np.roll(guess, 1, axis=1), *given, **weight).lower
    values["compare", "human"] = _human(cases, guess[:, -1], cases.roles.get("sample_weight"))
    curve = sl.threshold_curve(guess, *given, thresholds=CUT_OFFS, **weight)
    for metric, points in curve.evaluations.items():
        values |= {
            ("threshold", f"{metric} at {cut}"): each.lower
            for cut, each in zip(CUT_OFFS, points, strict=True)
        }
    return values


def _human(cases: Cases, risk: np.ndarray, weight: np.ndarray | None) -> float:
    """Failures if the lowest risks are accepted, at the share that people accept, less those of people."""
    weight = np.ones(len(risk)) if weight is None else weight
    failed = cases.y_true == cases.y_true.max()
    order = np.argsort(risk)
    reached = np.cumsum(weight[order]) / weight.sum()
    accepted = np.zeros(len(risk), dtype=bool)
    accepted[order] = reached <= np.average(cases.decision, weights=weight)
    return float(
        np.average(failed & accepted, weights=weight) - np.average(failed & cases.decision, weights=weight)
    )


def _cost(n_classes: int) -> np.ndarray:
    """Mistakes about the last class cost twice."""
    cost = 1.0 - np.eye(n_classes)
    cost[-1] *= 2.0
    return cost
