"""A weight of two is a row that occurs twice: for every entry that takes weights.

With injected nuisances and the same folds, estimates are those of repeated rows and intervals those of
repeated rows clustered by row.
"""

from dataclasses import replace
from functools import cache

import numpy as np
import pytest
from numpy.testing import assert_allclose

import selective_labels as sl
from selective_labels.assumptions import names
from selective_labels.evaluation.metrics import NAMES

N_SAMPLES = 240
EXACT = {"rtol": 1e-8, "atol": 1e-8}
COST = [[0.0, 1.0, 2.0], [1.0, 0.0, 1.0], [4.0, 1.0, 0.0]]


class Twice:
    """A sample with weights, and the same with repeated rows in groups; equal folds."""

    def __init__(self, n_classes=3, seed=0):
        self.sample = sl.datasets.make_decision_makers(
            N_SAMPLES, n_classes=n_classes, n_decision_makers=4, random_state=seed
        )
        rng = np.random.default_rng(seed)
        self.weight = rng.integers(1, 4, N_SAMPLES)
        self.rows = np.repeat(np.arange(N_SAMPLES), self.weight)
        self.fold = rng.integers(0, 3, N_SAMPLES)
        scores = np.exp(self.sample.X[:, :n_classes].round(1))
        self.probabilities = scores / scores.sum(axis=1, keepdims=True)
        self.strata = rng.integers(0, 2, N_SAMPLES)
        self.assignment = rng.dirichlet(np.full(4, 5.0), N_SAMPLES)

    def both(self, call, *given, roles=(), **options):
        """Call an entry with weights, and with repeated rows; `given` are columns of what is judged."""
        everything = np.arange(N_SAMPLES)
        weighted = self._call(call, everything, given, roles, options, sample_weight=self.weight)
        return weighted, self._call(call, self.rows, given, roles, options, groups=self.rows)

    def cv(self, rows):
        """Folds of rows, or of their repetitions."""
        fold = self.fold[rows]
        return [(np.flatnonzero(fold != each), np.flatnonzero(fold == each)) for each in range(3)]

    def _call(self, call, rows, given, roles, options, **extra):
        return call(
            *(each[rows] if isinstance(each, np.ndarray) else each for each in given),
            self.sample.X[rows],
            self.sample.y[rows],
            decision_maker=self.sample.decision_maker[rows],
            nuisance=self.sample.oracle.joint,
            cv=self.cv(rows),
            random_state=0,
            **{role: getattr(self, role)[rows] for role in roles},
            **options,
            **extra,
        )


@pytest.fixture(scope="module")
def twice():
    return Twice()


@cache
def evaluators(n_classes=3, roles=()):
    """A sample, and evaluators of its weighted and of its repeated rows for all questions."""
    twice = Twice(n_classes)
    pair = twice.both(sl.Evaluator, roles=roles, assumption=list(names()), cluster=None)
    return twice, dict(zip(pair, (np.arange(N_SAMPLES), twice.rows), strict=True))


def assert_equal(one, two, fields=("lower", "upper", "ci_lower", "ci_upper")):
    for field in fields:
        assert_allclose(getattr(one, field), getattr(two, field), **EXACT, err_msg=f"{one} {field}")


@pytest.mark.parametrize("roles", [(), ("strata",), ("assignment",)], ids=["shares", "strata", "assignment"])
@pytest.mark.parametrize("metric", NAMES)
def test_evaluate(metric, roles):
    # Balanced accuracy is for two classes.
    twice, asked = evaluators(2 if metric == "balanced_accuracy" else 3, roles)
    given = twice.probabilities if metric in ("log_loss", "brier") else twice.probabilities.argmax(axis=1)
    if metric in ("auc", "calibration"):
        given = twice.probabilities[:, 2]
    options = {"cost": COST} if metric == "cost" else {}
    if metric == "calibration":
        given = twice.probabilities
    one, two = (each.evaluate(given[rows], metric=metric, **options) for each, rows in asked.items())
    assert len(one) == len(two) > 0
    for each, other in zip(one, two, strict=True):
        assert (each.metric, each.assumption) == (other.metric, other.assumption)
        # Multiplier draws of AUC are those of rows here and of groups there: they are the same.
        assert_equal(each, other)


@pytest.mark.parametrize("assumption", names())
@pytest.mark.parametrize("other", ["array", "human", "class"])
def test_compare(assumption, other):
    twice, asked = evaluators()
    predicted = twice.probabilities.argmax(axis=1)
    b = {"array": (predicted + (twice.sample.X[:, 3] > 0.5)) % 3, "human": "human", "class": 1}[other]
    a = twice.probabilities if other == "human" else predicted
    one, two = (
        each.compare(a[rows], b[rows] if other == "array" else b, assumption=assumption)
        for each, rows in asked.items()
    )
    assert_equal(one, two)


def test_threshold_curve(twice):
    one, two = twice.both(sl.threshold_curve, twice.probabilities, pos_label=2)
    assert_allclose(one.thresholds, two.thresholds)
    for metric, points in one.evaluations.items():
        for each, other in zip(points, two.evaluations[metric], strict=True):
            assert_equal(each, other)


@pytest.mark.parametrize("parameter", ["gamma", "kappa"])
def test_sensitivity_curve(twice, parameter):
    predicted = twice.probabilities.argmax(axis=1)
    one, two = twice.both(sl.sensitivity_curve, predicted, parameter=parameter)
    fields = ("x", "lower", "upper", "ci_lower", "ci_upper", "limit_lower", "limit_upper", "crossed")
    assert_equal(one, two, fields)


@pytest.mark.parametrize("mode", ["partial", "point"])
def test_learning(twice, mode):
    X, y, maker = twice.sample.X, twice.sample.y, twice.sample.decision_maker

    def learned(rows, weight, groups):
        learner = sl.UCLClassifier(
            mode, "plug-in", nuisance=twice.sample.oracle.joint, cv=twice.cv(rows), random_state=0
        )
        given = {"decision_maker": maker[rows], "sample_weight": weight, "groups": groups}
        learner.fit(X[rows], y[rows], **given)
        return learner, learner.score(X[rows], y[rows], **given)

    one, score = learned(np.arange(N_SAMPLES), twice.weight, None)
    two, repeated = learned(twice.rows, None, twice.rows)
    assert_allclose(repeated, score, **EXACT)
    assert_allclose(two.worst_case_regret_, one.worst_case_regret_, **EXACT)
    assert_equal(two.predict_bounds(X), one.predict_bounds(X), ("lower", "upper"))
    if mode == "point":
        assert_allclose(two.predict_proba(X), one.predict_proba(X), **EXACT)


@pytest.mark.parametrize("scale", [1e300, 1e-320, 7.0], ids=str)
def test_only_ratios_of_weights_count(scale):
    """Also where sums of weights overflow, or where a number is so small that it loses digits."""
    sample = sl.datasets.make_decision_makers(400, n_decision_makers=4, random_state=1)
    weight = np.where(np.arange(400) % 2, 1.0, 2.0) if scale > 1e-300 else np.ones(400)
    guess = sample.X[:, :3].argmax(axis=1)
    options = {"decision_maker": sample.decision_maker, "nuisance": "logistic", "random_state": 0}
    options |= {"metric": ["accuracy", "tpr"], "assumption": "all"}
    one = sl.evaluate(guess, sample.X, sample.y, sample_weight=weight, **options)
    two = sl.evaluate(guess, sample.X, sample.y, sample_weight=weight * scale, **options)
    for each, other in zip(one, two, strict=True):
        assert_equal(each, other)


def test_rows_taken_from_a_table_have_weights_of_mean_one():
    data = sl.SelectiveLabels.from_arrays(
        np.eye(4), [0, 1, 0, 1], decision_maker=["a", "b"] * 2, sample_weight=[1, 1, 3, 3]
    )
    assert_allclose(data.sample_weight, [0.5, 0.5, 1.5, 1.5])
    assert_allclose(data.take(np.array([2, 3])).compact().sample_weight, 1.0)
    assert data.take(np.array([2, 3])).sample_weight.tolist() == [1.5, 1.5]  # part of the same table still
    assert replace(data, sample_weight=None).weights.tolist() == [1.0] * 4
