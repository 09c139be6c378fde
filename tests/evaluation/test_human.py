"""The human as a subject: sharp ends by linear programs, and the same figures wherever they are asked for."""

from dataclasses import replace
from itertools import product
from types import SimpleNamespace

import numpy as np
import pytest
from numpy.testing import assert_allclose

import selective_labels as sl
from selective_labels.assumptions import Informed, Instrument, Prevalence
from selective_labels.evaluation.metrics import metric_objects
from selective_labels.evaluation.policy import read_cost
from selective_labels.evaluation.predictions import HumanPredictions, codes_of_decisions
from selective_labels.inference.evidence import Evidence
from tests.evaluation.partitioned.tables import from_folder, make_table, write
from tests.reference.linear_programs import minima, over_response_types

QUICK = {"nuisance": "logistic", "propensity": "shares", "cv": 2, "random_state": 0}
METRICS = ["accuracy", "error", "cost", "tpr", "fpr", "ppv", "f1", "balanced_accuracy", "share"]
COST = [[0, 1], [5, 0]]
MAKER_SHARES = np.array([0.5, 0.3, 0.2])


class Population:
    """Two kinds of cases, three decision-makers: the law of (Y, D(1), D(2), D(3)) behind what is seen."""

    def __init__(self, n_classes, seed):
        generator = np.random.default_rng(seed)
        self.n_classes, self.kinds = n_classes, np.array([0.4, 0.6])
        self.responses = np.array(list(product([0, 1], repeat=3)))
        law = generator.dirichlet(np.full(n_classes * 8, 0.4), size=2).reshape(2, n_classes, 8)
        labeled = np.einsum("xkr,rz->xzk", law, self.responses)
        self.joint = np.concatenate([1 - labeled.sum(axis=2, keepdims=True), labeled], axis=2)

    def cells(self):
        """One row for each kind, decision-maker and outcome, with its probability as weight."""
        kind, maker, outcome = (each.ravel() for each in np.indices(self.joint.shape))
        weights = self.kinds[kind] * MAKER_SHARES[maker] * self.joint[kind, maker, outcome]
        lower = self.joint[:, :, 1:].max(axis=1)[kind]
        evidence = Evidence(lower, 1 - lower.sum(axis=1), lower)
        cases = SimpleNamespace(
            row_decision=(outcome > 0).astype(int),
            y=outcome - 1,
            decision_means="accept",
            label_weights=None,
        )
        return cases, evidence, weights

    def smallest(self, value):
        """Smallest E[value(Y, D)] over all laws of labels and decisions that look the same."""
        labels, accepts = (
            np.repeat(np.arange(self.n_classes), 8),
            np.tile(self.responses, (self.n_classes, 1)),
        )
        each = np.array([[value(k, d) for d in row] for k, row in zip(labels, accepts, strict=True)])
        programs = [
            replace(
                over_response_types(np.zeros(self.n_classes), joint), objective=share * each @ MAKER_SHARES
            )
            for joint, share in zip(self.joint, self.kinds, strict=True)
        ]
        return minima(programs).sum()


def subject_of(cases, n_classes, event):
    return HumanPredictions(cases, np.arange(n_classes), event)


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize(("n_classes", "event"), [(2, 1), (2, 0), (3, 2), (3, 0)])
def test_ends_are_those_of_a_linear_program_over_response_types(n_classes, event, seed):
    """θ is the smallest N / M if the smallest N - θ M is zero: a yes says "no event", a no says "event"."""
    population = Population(n_classes, seed)
    cases, evidence, weights = population.cells()
    cost = np.arange(1.0, 2 * n_classes + 1).reshape(n_classes, 2) ** 2 % 7
    accepted, refused = read_cost(cost, np.arange(n_classes), event)
    ratios = {
        "accuracy": (lambda k, d: (k == event) != d, lambda k, d: 1),
        "error": (lambda k, d: (k == event) == d, lambda k, d: 1),
        "cost": (lambda k, d: accepted[k] if d else refused[k], lambda k, d: 1),
        "share": (lambda k, d: k == event, lambda k, d: 1),
        "tpr": (lambda k, d: (k == event) and not d, lambda k, d: k == event),
        "fpr": (lambda k, d: (k != event) and not d, lambda k, d: k != event),
        "ppv": (lambda k, d: (k == event) and not d, lambda k, d: not d),
        "f1": (lambda k, d: (k == event) and not d, lambda k, d: (int(k == event) + int(not d)) / 2),
    }
    for name, (above, below) in ratios.items():
        (metric,) = metric_objects(name, np.arange(n_classes), event, cost, with_human=True)
        low, high = metric.functional(subject_of(cases, n_classes, event)).ends(evidence, weights)
        for end, sign in ((low.value, 1), (high.value, -1)):
            left = population.smallest(lambda k, d: sign * (above(k, d) - end * below(k, d)))  # noqa: B023
            assert_allclose(left, 0.0, atol=1e-8, err_msg=f"{name} {sign}")


@pytest.mark.parametrize("n_classes", [2, 3])
def test_balanced_accuracy_by_brute_force(n_classes):
    """All but the share of the event is seen, so every value lies on a curve over its range."""
    population, event = Population(n_classes, 5), 1
    cases, evidence, weights = population.cells()
    share = [sign * population.smallest(lambda k, d, sign=sign: sign * (k == event)) for sign in (1, -1)]
    happened, accepted = cases.y == event, cases.row_decision == 1
    missed, passed = (weights[accepted & each].sum() for each in (happened, ~happened))
    grid = np.linspace(*share, 1001)
    values = (1 - missed / grid + passed / (1 - grid)) / 2
    (metric,) = metric_objects("balanced_accuracy", np.arange(n_classes), event, None, with_human=True)
    low, high = metric.functional(subject_of(cases, n_classes, event)).ends(evidence, weights)
    assert_allclose([low.value, high.value], [values.min(), values.max()], atol=1e-8)


def test_influence_of_balanced_accuracy_is_its_derivative():
    """Moving a thousandth of the weight to one cell moves the value by a thousandth of its influence."""
    cases, evidence, weights = Population(2, 7).cells()
    (metric,) = metric_objects("balanced_accuracy", np.arange(2), 1, None, with_human=True)
    functional = metric.functional(subject_of(cases, 2, 1))
    (end, _), step = functional.ends(evidence, weights), 1e-6
    for cell in (0, 4, 11):
        moved = (1 - step) * weights
        moved[cell] += step
        value = functional.ends(evidence, moved)[0].value
        change = (value - end.value) / step
        assert_allclose(change, end.influence[cell] * weights.mean() / weights[cell], rtol=1e-3, atol=1e-4)


def make_sample(n_classes=2, n_samples=900, seed=3):
    sample = sl.datasets.make_decision_makers(
        n_samples, n_classes=n_classes, n_decision_makers=4, additive=False, random_state=seed
    )
    roles = {"decision_maker": sample.decision_maker}
    return sample, sl.SelectiveLabels.from_arrays(sample.X, sample.y, **roles)


def ends(result):
    return [result.lower, result.upper, result.ci_lower, result.ci_upper]


def test_the_human_has_the_figures_of_the_policy_curve_to_the_last_digit():
    sample, data = make_sample()
    evaluator = sl.Evaluator(data, **QUICK)
    for cost, metric in ((COST, "cost"), ([[0, 1], [1, 0]], "error")):
        human = evaluator.policy_curve(-sample.X[:, 0], rates=[0.5], cost=cost).human["cost"]
        assert ends(evaluator.evaluate("human", metric=metric, cost=cost)) == ends(human)
    values = [[0, 1], [2, 0], [4, 1]]  # accepting and refusing
    sample, data = make_sample(n_classes=3)
    evaluator = sl.Evaluator(data, **QUICK)
    human = evaluator.policy_curve(-sample.X[:, 0], rates=[0.5], cost=values).human["cost"]
    assert ends(evaluator.evaluate("human", metric="cost", cost=values)) == ends(human)


def test_with_every_label_seen_the_human_is_an_array():
    """Someone accepted every case, so that all labels are shared; each row's own decision is the human's."""
    generator = np.random.default_rng(0)
    case, X = np.repeat(np.arange(200), 2), np.repeat(generator.normal(size=(200, 2)), 2, axis=0)
    y = (X[:, 0] + np.repeat(generator.normal(size=200), 2) > 0).astype(int)
    decision = np.tile([1, 0], 200)
    decision[generator.random(400) < 0.3] = 1
    data = sl.SelectiveLabels.from_arrays(
        X,
        np.where(decision == 1, y, -1),
        decision_maker=generator.integers(0, 3, 400),
        groups=case,
        share_labels=True,
    )
    found = sl.evaluate("human", data, metric=METRICS, cost=COST, assumption="none")
    known = sl.evaluate(1 - decision, X, y, metric=METRICS, cost=COST)
    assert_allclose([each.lower for each in found], [each.lower for each in known], atol=1e-12)
    assert_allclose([each.upper for each in found], [each.lower for each in known], atol=1e-12)


def test_weights_count_as_repeated_rows():
    sample, _ = make_sample(n_samples=300)
    times = np.random.default_rng(1).integers(1, 4, 300)
    rows = np.repeat(np.arange(300), times)
    roles = {"assumption": ["none"], "metric": METRICS, "cost": COST, "random_state": 0}
    oracle = lambda X: sample.oracle.joint(X)  # noqa: E731
    weighted = sl.evaluate(
        "human", sample.X, sample.y, decision_maker=sample.decision_maker, sample_weight=times,
        nuisance=oracle, **roles,
    )  # fmt: skip
    repeated = sl.evaluate(
        "human", sample.X[rows], sample.y[rows], decision_maker=sample.decision_maker[rows], groups=rows,
        nuisance=oracle, **roles,
    )  # fmt: skip
    assert_allclose([ends(each)[:2] for each in weighted], [ends(each)[:2] for each in repeated], atol=1e-12)


def test_subgroups_gaps_and_combinations():
    sample, data = make_sample()
    evaluator = sl.Evaluator(data, **QUICK)
    half = sample.X[:, 1] > 0
    assumed = ["none", Instrument() & Informed(1), Instrument() & Prevalence(1, (0.3, 0.7))]
    found = evaluator.evaluate("human", metric=METRICS[3:], by=half, assumption=assumed)
    assert len(found) == 2 * 3 * len(METRICS[3:])
    assert len(found.gaps) == 3 * len(METRICS[3:])
    whole = evaluator.evaluate("human", metric="accuracy", assumption=assumed)
    for free, stated in zip([whole[0]] * 2, whole.items[1:], strict=True):
        assert free.lower - 0.02 <= stated.lower <= stated.upper <= free.upper + 0.02


def test_other_questions_take_the_human():
    sample, data = make_sample()
    evaluator = sl.Evaluator(data, **QUICK)
    accuracy = evaluator.evaluate("human")
    assert evaluator.ladder("human").steps[1].evaluation.lower == accuracy.lower
    assert len(evaluator.drift("human", period=sample.X[:, 1] > 0).table) == 2
    assert evaluator.sensitivity_curve("human", values=[1.0]).limit_lower == pytest.approx(accuracy.lower)
    assert evaluator.plan("human", width=0.1).answers


@pytest.mark.parametrize("metric", ["accuracy", "tpr", "fpr", "cost", "ppv", "f1", "balanced_accuracy"])
def test_a_comparison_by_a_metric_of_classes_lies_within_the_difference_of_two_evaluations(metric):
    sample, data = make_sample()
    evaluator = sl.Evaluator(data, cost=COST, **QUICK)
    mine = (sample.X[:, 0] < 0).astype(int)
    a, b = (evaluator.evaluate(each, metric=metric) for each in (mine, "human"))
    found = evaluator.compare(mine, "human", metric=metric)
    turned = evaluator.compare("human", mine, metric=metric)
    assert a.lower - b.upper - 1e-9 <= found.lower <= found.upper <= a.upper - b.lower + 1e-9
    assert_allclose([turned.lower, turned.upper], [-found.upper, -found.lower], atol=1e-12)
    assert found.sharp == (metric not in ("f1", "balanced_accuracy"))


@pytest.mark.parametrize("metric", ["auc", "log_loss", "brier", "calibration", "regret"])
def test_metrics_of_scores_are_refused_in_one_sentence(metric):
    _, data = make_sample(n_samples=100)
    with pytest.raises(sl.InputError, match=f"metric '{metric}': the human gives decisions, not scores"):
        sl.evaluate("human", data, metric=metric, **QUICK)


@pytest.mark.parametrize(
    ("ask", "message"),
    [
        (lambda ev: ev.threshold_curve("human"), "decisions, not scores"),
        (lambda ev: ev.policy_curve("human"), "decisions and no scores"),
        (lambda ev: ev.compare("human", 1), "give it as b"),
        (lambda ev: ev.compare(1, "human", metric="failures"), "leave metric out"),
        (lambda ev: ev.evaluate("human", metric=sl.conditional_rate(0, 1)), "which class is predicted"),
    ],
)
def test_what_the_human_cannot_be_asked(ask, message):
    _, data = make_sample(n_classes=3, n_samples=300)
    with pytest.raises(sl.InputError, match=message):
        ask(sl.Evaluator(data, **QUICK))


def test_the_word_wins_over_a_class_and_a_column_of_that_name(tmp_path):
    sample, _ = make_sample()
    names = np.array(["bad", "human"])
    y = np.where(sample.y < 0, None, names[sample.y])
    result = sl.evaluate("human", sample.X, y, decision_maker=sample.decision_maker, **QUICK)
    known = sl.evaluate("human", sample.X, sample.y, decision_maker=sample.decision_maker, **QUICK)
    assert ends(result) == ends(known)
    table = make_table(600).assign(human="b")
    lazy = from_folder(write(table, tmp_path))
    assert sl.evaluate("human", lazy, metric="share", **QUICK).sample.n == 600


def test_a_yes_and_a_no_predict_in_one_place():
    assert codes_of_decisions(1, 2) == (0, 1)
    assert codes_of_decisions(2, 3) == (0, 2)


def test_subgroups_by_the_name_of_a_feature_or_of_the_strata():
    table = sl.datasets.make_loans(600, random_state=1).table
    data = sl.SelectiveLabels.from_frame(
        table.assign(branch=np.where(table.index % 2, "east", "west")),
        label="defaulted",
        decision="approved",
        decision_maker="officer",
        strata="branch",
    )
    evaluator = sl.Evaluator(data, **QUICK)
    for name, column in {"region": data.X["region"], "branch": data.stratum_labels[data.strata]}.items():
        named, given = (evaluator.evaluate("human", metric="tpr", by=by).to_frame() for by in (name, column))
        assert named.equals(given)
    with pytest.raises(sl.InputError, match="neither a feature nor the strata"):
        evaluator.evaluate("human", by="religion")
