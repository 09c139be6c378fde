"""One draw of a design: everything a user may ask, and whether the interval has the truth in it."""

import warnings
from collections.abc import Iterator
from functools import cache
from typing import Any

import numpy as np

import selective_labels as sl
from study.coverage.designs import DESIGNS, Cases, Design

N_POPULATION = 400_000
POPULATION_SEED = 17
CUT_OFFS = (0.3, 0.5)
INSTRUMENT = "instrument"
# What a row of results says: which call, of what, under which assumption.
Key = tuple[str, str, str]


def replicate(name: str, seed: np.random.SeedSequence) -> tuple[dict[Key, tuple[float, float]], list[str]]:
    """Intervals of one draw by call, metric and assumption, and every caution that stands beside one."""
    design = DESIGNS[name]
    cases = design.draw(design.n_samples, np.random.default_rng(seed))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # thousands of them; coverage is what is asked
        found = dict(_intervals(design, cases, int(seed.generate_state(2)[1])))
    cautions = {caution for each in found.values() for caution in each.sample.cautions}
    return {key: (each.ci_lower, each.ci_upper) for key, each in found.items()}, sorted(cautions)


def _intervals(design: Design, cases: Cases, seed: int) -> Iterator[tuple[Key, Any]]:
    """Results of `evaluate`, `compare` and `threshold_curve`, from models that are fitted once."""
    data = sl.SelectiveLabels.from_arrays(
        cases.X, cases.y, decision_maker=cases.decision_maker, **cases.roles
    )
    evaluator = sl.Evaluator(
        data,
        assumption=list(design.assumptions),
        nuisance=design.nuisance,
        propensity=design.propensity,
        n_jobs=1,
        random_state=seed,
    )
    guess = design.predictions(cases.X)
    found: Any = evaluator.evaluate(guess, metric=list(design.metrics), cost=_cost(design.n_classes))
    for each in found:
        yield ("evaluate", each.metric, each.assumption), each
    if design.calls == ("evaluate",):
        return
    parts: Any = evaluator.evaluate(
        guess, metric=design.metrics[0], by=cases.X[:, 0] > 0.0, assumption=INSTRUMENT
    )
    for each in parts:
        yield ("by", f"accuracy, {each.subgroup}", INSTRUMENT), each
    yield ("by", "gap of accuracy", INSTRUMENT), parts.gaps[0]
    other = np.roll(guess, 1, axis=1)
    yield ("compare", "accuracy", INSTRUMENT), evaluator.compare(guess, other, assumption=INSTRUMENT)
    yield ("compare", "human", INSTRUMENT), evaluator.compare(guess, "human", assumption=INSTRUMENT)
    curve = evaluator.threshold_curve(guess, thresholds=CUT_OFFS, assumption=INSTRUMENT)
    for metric, points in curve.evaluations.items():
        for cut, each in zip(CUT_OFFS, points, strict=True):
            yield ("threshold", f"{metric} at {cut}", INSTRUMENT), each


@cache
def truths(name: str) -> dict[tuple[str, str], float]:
    """Values by call and metric, from many cases whose labels are all seen."""
    design = DESIGNS[name]
    cases = design.draw(N_POPULATION, np.random.default_rng(POPULATION_SEED))
    guess = design.predictions(cases.X)
    weight = {"sample_weight": cases.roles["sample_weight"]} if "sample_weight" in cases.roles else {}
    given = cases.X, cases.y_true
    cost = _cost(design.n_classes)
    found: Any = sl.evaluate(guess, *given, metric=design.metrics, cost=cost, **weight)
    values = {("evaluate", each.metric): each.lower for each in found}
    if design.calls == ("evaluate",):
        return values
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
