"""Cells between thresholds say of a rule what its rows say, to rounding."""

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose

from selective_labels import Evaluator, SelectiveLabels
from selective_labels import assumptions as a
from selective_labels.datasets import make_decision_makers
from selective_labels.evaluation import fitted_table
from selective_labels.evaluation.thresholds import METRICS, threshold_curve_of_sample
from tests.evaluation.partitioned.tables import numbers

QUICK = {"nuisance": "logistic", "propensity": "shares", "cv": 2, "random_state": 0}
CLOSE = {"rtol": 1e-9, "atol": 1e-9}
CASES = {
    "plain": {},
    "weights": {"roles": ["sample_weight"]},
    "groups": {"roles": ["groups", "sample_weight"]},
    "clusters are decision-makers": {"cluster": "decision_maker"},
    "no assumption, so counts": {"assumption": "none"},
    "a value": {"assumption": "unconfounded"},
    "repeated": {"n_repeats": 3},
    "three classes": {"n_classes": 3},
    "an event's slack": {
        "n_classes": 3,
        "assumption": a.Instrument() & a.Refused((1, 2), 0.3, scale="share"),
    },
    "known share": {"assumption": a.Instrument() & a.Prevalence(1, (0.45, 0.55))},
    "known shares of groups": {
        "assumption": a.Instrument() & a.Prevalence(1, {"north": 0.5, "south": (0.4, 0.6)}, by="court")
    },
    "whole set": {"interval": "set", "confidence_level": 0.9},
}


def table(n_classes=2, roles=(), n_samples=300):
    sample = make_decision_makers(n_samples, n_classes=n_classes, n_decision_makers=5, random_state=4)
    generator = np.random.default_rng(4)
    frame = pd.DataFrame(sample.X, columns=list("abcd"))
    frame["court"] = generator.choice(["north", "south"], n_samples)
    given = {"sample_weight": generator.uniform(0.0, 2.0, n_samples), "groups": np.arange(n_samples) // 3}
    given = {role: given[role] for role in roles}
    data = SelectiveLabels.from_arrays(frame, sample.y, decision_maker=sample.decision_maker, **given)
    return data, sample.X[:, 0].round(1)


def both(n_classes=2, roles=(), assumption="instrument", n_samples=300, **settings):
    """The curve from cells, as it is computed, and from rows."""
    data, scores = table(n_classes, roles, n_samples)
    evaluator = Evaluator(data, assumption=assumption, **QUICK, **settings)
    found = evaluator.threshold_curve(scores, metric=METRICS, thresholds=[-9.0, -0.5, 0.0, 0.3, 9.0])
    sample = evaluator.scores()
    how = settings.get("confidence_level", 0.95), settings.get("interval", "parameter")
    return found, threshold_curve_of_sample(
        sample, scores, n_classes - 1, sample.assumptions[0], found.thresholds, METRICS, *how
    )


@pytest.mark.filterwarnings("ignore:two ways to use the known share")
@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
def test_a_curve_is_that_of_its_rows(case):
    found, wanted = both(**case)
    for name, points in wanted.evaluations.items():
        for one, other in zip(found.evaluations[name], points, strict=True):
            assert_allclose(numbers(one), numbers(other), err_msg=name, **CLOSE)
            assert one.sample.cautions == other.sample.cautions


CROSSING = a.Instrument() & a.Informed((0, 1, 2)) & a.Informed((1, 2, 3))


@pytest.mark.parametrize(
    ("assumption", "n_classes"), [("tilt", 2), (CROSSING, 4)], ids=["tilt", "upper bounds on classes"]
)
def test_where_sums_do_not_suffice_rows_are_used(assumption, n_classes):
    data, scores = table(n_classes)
    evaluator = Evaluator(data, assumption=assumption, **QUICK)
    assert fitted_table.cells_between(evaluator.scores(), scores, np.array([0.0])) is None
    (point,) = evaluator.threshold_curve(scores, metric="accuracy", thresholds=[0.0]).evaluations["accuracy"]
    assert point.defined


def test_classes_without_sums_of_fourth_powers_use_rows(monkeypatch):
    monkeypatch.setattr(fitted_table, "MOST_PARTS", 2)
    data, scores = table()
    assert fitted_table.cells_between(Evaluator(data, **QUICK).scores(), scores, np.array([0.0])) is None
