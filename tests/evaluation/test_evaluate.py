"""Evaluation under missing labels: against the law of the data, and against every wrong input."""

import numpy as np
import pytest
from scipy.stats import norm, t
from sklearn.linear_model import LogisticRegression

from selective_labels import DiagnosticWarning, evaluate
from selective_labels.assumptions import Instrument, named, names
from selective_labels.datasets import make_decision_makers
from selective_labels.evaluation.metrics import read_metrics
from selective_labels.evaluation.predictions import ArrayPredictions
from selective_labels.inference.evidence import Evidence
from tests.evaluation.samples import LIMIT, lottery, population, rule

ALL = ["accuracy", "error", "cost", "share", "tpr", "fpr", "ppv", "f1", "log_loss", "brier", "regret"]
COST = np.array([[0, 1, 2], [3, 0, 1], [5, 1, 0]])


@pytest.fixture(scope="module")
def sample():
    return make_decision_makers(2000, random_state=11)


@pytest.fixture(scope="module")
def with_oracle(sample):
    """The law itself as nuisance: what is left is the noise of the scores."""
    return run(sample, lottery(sample.X), ALL, nuisance=sample.oracle.joint, cost=COST)


def run(sample, predictions, metric="accuracy", **options):
    """Assignment is random: no model of who decides is compared, which costs more than all the rest."""
    quick = {"nuisance": "logistic", "propensity": "shares", "random_state": 0}
    options = {"decision_maker": sample.decision_maker} | quick | options
    return evaluate(predictions, sample.X, sample.y, metric=metric, **options)


def sharp_ends(oracle, metric):
    """Ends of everybody: the same definition, on the bounds instead of scores."""
    X, bounds = population(oracle)
    subject = ArrayPredictions(lottery(X), np.arange(3), "a lottery")
    functional = read_metrics(metric, subject, None, COST)[0].functional(subject)
    ends = functional.ends(Evidence(bounds.lower, bounds.slack, bounds.lower), np.ones(len(X)))
    return [end.value for end in ends]


@pytest.mark.parametrize("metric", ALL)
def test_ends_are_the_sharp_ones(metric, sample, with_oracle):
    result = with_oracle.one(metric=metric)
    gaps = np.array([result.lower, result.upper]) - sharp_ends(sample.oracle, metric)
    assert np.abs(gaps / result.standard_errors).max() < LIMIT


@pytest.mark.parametrize("metric", ["auc", "balanced_accuracy"])
def test_ends_of_two_classes_are_the_sharp_ones(metric):
    sample = make_decision_makers(2000, n_classes=2, random_state=12)
    result = run(sample, lottery(sample.X, 2), metric, nuisance=sample.oracle.joint)
    X, bounds = population(sample.oracle)
    subject = ArrayPredictions(lottery(X, 2), np.arange(2), "a lottery")
    functional = read_metrics(metric, subject, None, None)[0].functional(subject)
    ends = functional.ends(Evidence(bounds.lower, bounds.slack, bounds.lower), np.ones(len(X)))
    gaps = np.array([result.lower - ends[0].value, result.upper - ends[1].value])
    assert np.abs(gaps / result.standard_errors).max() < LIMIT


@pytest.mark.parametrize("assumption", ["nucem", "unconfounded"])
def test_point_assumptions_have_no_width(assumption, sample):
    for result in run(sample, lottery(sample.X), ALL, assumption=assumption, cost=COST):
        if assumption == "nucem" and result.sample.bounded_share > 0.0:
            assert result.sample.bounded_share < 0.01  # few rows have bounds in place of a value
            assert abs(result.width) < result.standard_errors[0]
        else:
            assert result.lower == result.upper
        assert result.ci_lower < result.ci_upper


def test_nucem_finds_the_truth(sample):
    """The generator is additive, so NUCEM holds."""
    result = run(sample, rule(sample.X), assumption="nucem", nuisance=sample.oracle.joint)
    X, _ = population(sample.oracle)
    truth = np.mean(sample.oracle.probabilities(X)[np.arange(len(X)), rule(X)])
    assert abs(result.lower - truth) / result.standard_errors[0] < LIMIT


def test_nucem_with_a_weak_instrument_is_bounds_and_says_so():
    weak = make_decision_makers(2000, leniency_spread=0.1, random_state=3)
    with pytest.warns(DiagnosticWarning, match="SL101"):
        nucem, instrument = run(weak, rule(weak.X), assumption=["nucem", "instrument"])
    assert nucem.sample.bounded_share > 0.9
    # Nearly all rows have bounds in place of a value, so the ends are nearly those of the instrument.
    assert nucem.width > 0.9 * instrument.width
    assert "rows enter by their instrument bounds" in repr(nucem)
    assert "SL101" in nucem.sample.refusal
    assert f"Not to be relied on here: {nucem.sample.refusal}" in repr(nucem)
    assert (instrument.sample.bounded_share, instrument.sample.refusal) == (0.0, None)


def test_equal_decision_makers_leave_nothing_but_bounds():
    flat = make_decision_makers(1000, leniency_spread=0.0, random_state=3)
    options = {"nuisance": flat.oracle.joint, "assumption": ["nucem", "instrument"]}
    nucem, instrument = run(flat, rule(flat.X), **options)
    assert nucem.sample.bounded_share == 1.0
    assert (nucem.lower, nucem.upper) == (instrument.lower, instrument.upper)
    assert "All rows enter by their instrument bounds" in repr(nucem)


def test_all_assumptions_side_by_side(sample):
    results = run(sample, rule(sample.X), assumption="all")
    assert [each.assumption for each in results] == ["none", "instrument", "nucem", "unconfounded"]
    none, instrument = results[0], results[1]
    assert none.lower < instrument.lower  # what the instrument buys
    assert instrument.upper < none.upper


def test_all_without_decision_makers_is_what_is_possible(sample):
    results = run(sample, rule(sample.X), assumption="all", decision_maker=None)
    assert [each.assumption for each in results] == ["none", "unconfounded"]


@pytest.mark.parametrize("name", names())
def test_an_object_stands_for_its_name(name, sample):
    by_name, by_object = (run(sample, rule(sample.X), assumption=each) for each in (name, named(name)))
    assert by_object == by_name, "one result, with the name as its assumption"
    several = run(sample, rule(sample.X), assumption=[named(name)])
    assert list(several) == [by_name]


def test_objects_and_names_mix_in_a_list(sample):
    results = run(sample, rule(sample.X), assumption=["none", Instrument()])
    assert [each.assumption for each in results] == ["none", "instrument"]


def test_none_needs_no_model(sample):
    """Manski's ends are shares of what is seen."""
    result = run(sample, rule(sample.X), assumption="none", decision_maker=None)
    seen = sample.y >= 0
    right = np.mean(sample.y == rule(sample.X))
    np.testing.assert_allclose([result.lower, result.upper], [right, right + np.mean(~seen)])


def test_one_decision_maker_is_no_instrument(sample):
    with pytest.warns(UserWarning, match="one value only: there is no instrument"):
        within = run(sample, rule(sample.X), decision_maker=np.zeros(2000))
    none = run(sample, rule(sample.X), assumption="none", decision_maker=None)
    np.testing.assert_allclose([within.lower, within.upper], [none.lower, none.upper])


def with_labels(sample, y, **roles):
    options = {"decision_maker": sample.decision_maker, "nuisance": "logistic", "random_state": 0}
    options |= {"metric": ["accuracy", "tpr", "regret"], "assumption": "all"} | roles
    return evaluate(rule(sample.X), sample.X, y, **options).to_json()


@pytest.fixture(scope="module")
def clean(sample):
    return with_labels(sample, sample.y)


@pytest.mark.parametrize("garbage", [0, 2, 99])
def test_unseen_labels_are_never_read(garbage, sample, clean):
    filled = np.where(sample.decision == 1, sample.y, garbage)
    assert with_labels(sample, filled, decision=sample.decision) == clean  # bit for bit


def test_subgroups_and_their_gaps(sample):
    by = np.where(sample.X[:, 3] > 0, "old", "young")
    results = run(sample, rule(sample.X), ["accuracy", "tpr"], by=by)
    assert [(each.metric, each.subgroup) for each in results] == [
        ("accuracy", "old"),
        ("accuracy", "young"),
        ("tpr", "old"),
        ("tpr", "young"),
    ]
    assert [each.n for each in results.select(metric="tpr")] == [np.sum(by == "old"), np.sum(by == "young")]
    for gap in results.gaps:
        old, young = (results.one(metric=gap.metric, subgroup=each) for each in ("old", "young"))
        # Subgroups are different cases: any value of one goes with any value of the other.
        np.testing.assert_allclose([gap.lower, gap.upper], [old.lower - young.upper, old.upper - young.lower])
        # Before they are widened for few rows that carry them, which are others in each.
        independent = np.hypot(old.basis.spread.errors[0], young.basis.spread.errors[1])
        np.testing.assert_allclose(gap.basis.spread.errors[0], independent, rtol=0.01)


def test_a_subgroup_is_evaluated_as_if_alone(sample):
    """Weights of zero outside the subgroup give the same ends."""
    inside = sample.X[:, 3] > 0
    # Shares would be those of everybody here, and of the subgroup there.
    known = {"nuisance": sample.oracle.joint, "assignment": np.full((len(sample.X), 8), 1 / 8)}
    within = run(sample, rule(sample.X), by=inside, **known).one(subgroup=True)
    weighted = run(sample, rule(sample.X), sample_weight=inside.astype(float), **known)
    np.testing.assert_allclose([within.lower, within.upper], [weighted.lower, weighted.upper])


def test_clusters_of_copies_undo_the_copies(sample):
    """Every case twice: errors by case are those of the single cases."""
    single = run(sample, rule(sample.X), nuisance=sample.oracle.joint)
    twice = {name: np.tile(getattr(sample, name), 2) for name in ("y", "decision_maker")}
    X, case = np.tile(sample.X, (2, 1)), np.tile(np.arange(2000), 2)
    double = evaluate(
        rule(X),
        X,
        twice["y"],
        decision_maker=twice["decision_maker"],
        groups=case,
        cluster="groups",
        nuisance=sample.oracle.joint,
    )
    np.testing.assert_allclose(double.standard_errors, single.standard_errors, rtol=1e-6)
    assert double.sample.n_clusters == 2000


def test_few_decision_makers_as_clusters_widen(sample):
    """Standard errors are multiplied by t / z, which depends on the level; nothing else in them does."""
    narrow, wide = (
        run(
            sample,
            rule(sample.X),
            cluster="decision_maker",
            confidence_level=level,
            nuisance=sample.oracle.joint,
        )
        for level in (0.8, 0.95)
    )
    assert wide.sample.n_clusters == 8
    numbers = np.array(wide.basis.spread.effective)
    assert ((numbers >= 2) & (numbers <= 8)).all()
    assert wide.sample.n_effective == numbers.min()
    factors = [t.ppf(level, numbers - 1) / norm.ppf(level) for level in (0.9, 0.975)]
    ratio = np.divide(wide.standard_errors, narrow.standard_errors)
    np.testing.assert_allclose(ratio, factors[1] / factors[0])


def test_repeats_take_the_median(sample):
    once = run(sample, rule(sample.X))
    repeated = run(sample, rule(sample.X), n_repeats=3)
    assert abs(repeated.lower - once.lower) < 2 * once.standard_errors[0]
    assert (repeated.lower, repeated.upper) != (once.lower, once.upper)  # other folds


def test_same_seed_same_result_for_any_number_of_jobs(sample):
    results = [run(sample, rule(sample.X), n_jobs=n_jobs).to_json() for n_jobs in (1, 2)]
    assert results[0] == results[1]


def envelope_by_hand(sample, chances):
    """Ends of the accuracy of `rule`: φ_k = p_kẑ + 1{Z=ẑ} / e_ẑ (D Y_k - p_kẑ), ẑ the best decision-maker."""
    joint = sample.oracle.joint(sample.X)[:, :, 1:]
    scores = np.empty((len(joint), 3))
    for row, (law, chance) in enumerate(zip(joint, chances, strict=True)):
        for k in range(3):
            best = law[:, k].argmax()
            weight = (sample.decision_maker[row] == best) / chance[best]
            scores[row, k] = law[best, k] + weight * ((sample.y[row] == k) - law[best, k])
    chosen = np.eye(3)[rule(sample.X)]
    return np.sum(chosen * scores) / len(joint), 1 - np.sum((1 - chosen) * scores) / len(joint)


def test_known_assignment_weighs_each_case_by_its_own_chances(sample):
    known = np.random.default_rng(0).dirichlet(np.full(8, 10.0), 2000)  # far from shares, never tiny
    options = {"nuisance": sample.oracle.joint, "strata": (sample.X[:, 3] > 0).astype(int)}
    for assignment in (known, lambda X: known):
        result = run(sample, rule(sample.X), assignment=assignment, **options)
        np.testing.assert_allclose([result.lower, result.upper], envelope_by_hand(sample, known))


def test_strata_weigh_each_case_by_the_shares_of_its_stratum(sample):
    strata = np.where(sample.X[:, 3] > 0.8, "few", "many")
    counts = {name: np.bincount(sample.decision_maker[strata == name]) for name in ("few", "many")}
    shares = np.array([counts[name] / counts[name].sum() for name in strata])
    result = run(sample, rule(sample.X), strata=strata, nuisance=sample.oracle.joint)
    np.testing.assert_allclose([result.lower, result.upper], envelope_by_hand(sample, shares))


def test_set_interval_contains_the_parameter_interval(sample):
    value = run(sample, rule(sample.X))
    whole = run(sample, rule(sample.X), interval="set")
    assert whole.ci_lower < value.ci_lower < value.lower
    assert whole.ci_upper > value.ci_upper > value.upper
    assert value.with_interval("set") == whole  # nothing is fitted again
    assert value.with_interval("parameter", 0.9).ci_lower > value.ci_lower


BAD = [
    (
        {"predictions": np.full((2000, 3), 0.3)},
        "must be non-negative and sum to one, and do not in 2000 rows",
    ),
    ({"predictions": np.full((2000, 2), 0.5)}, "2 columns of probabilities for 3 classes"),
    ({"predictions": np.full(2000, 7)}, "7 is predicted in 2000 rows and is not one of the classes 0, 1, 2"),
    ({"predictions": np.zeros(10)}, "predictions have 10 rows and X has 2000"),
    ({"predictions": np.zeros((2000, 3, 1))}, "predictions have 3 dimensions"),
    ({"predictions": np.zeros(2000), "metric": "log_loss"}, "class probabilities are needed"),
    ({"predictions": np.full(2000, "0"), "metric": "auc", "pos_label": 1}, "scores are needed"),
    ({"metric": "balanced_accuracy"}, "needs two classes"),
    ({"metric": 3}, "metric=3 is neither a name nor a metric object"),
    ({"y": np.full(2000, -1)}, "y has no label at all"),
    ({"y": np.where(np.arange(2000) % 2, 1, -1)}, "y shows only one class"),
    ({"decision_maker": None}, "decision_maker is missing: y has missing labels"),
    ({"decision_maker": np.zeros(2000), "assumption": "nucem"}, "'nucem' needs two or more"),
    ({"decision_maker": np.zeros(5)}, "decision_maker has 5 rows and X has 2000"),
    ({"by": [None] * 2000}, "by is missing in 2000 rows"),
    ({"by": np.zeros(5)}, "by has 5 rows and X has 2000"),
    ({"by": np.arange(2000) % 101}, "by has 101 different values, and 100 are possible"),
    ({"predictions": lambda X: X[:, 0] > 0}, "a function is given; give its predictions"),
    ({"predictions": LogisticRegression}, "the type LogisticRegression is given; give a fitted model"),
    ({"assumption": Instrument}, r"assumption Instrument is a class; write Instrument\(...\)"),
    ({"predictions": "score"}, "'score' is neither a class nor 'human'"),
    ({"assumption": "exogenous"}, "assumption 'exogenous' is not one of 'none', 'instrument'"),
    ({"interval": "both"}, "interval='both' is not one of 'parameter', 'set'"),
    ({"confidence_level": 95}, "confidence_level=95 must lie between 0.5 and 1"),
    ({"cluster": "court"}, "cluster='court' is not one of 'groups', 'decision_maker'"),
    ({"cluster": "groups"}, "cluster='groups' needs groups"),
    ({"n_repeats": 0}, "n_repeats=0 must be a whole number, 1 or more"),
]


@pytest.mark.parametrize(("change", "message"), BAD, ids=[message[:40] for _, message in BAD])
def test_bad_input_is_one_sentence(change, message, sample):
    change = dict(change)
    predictions, y = change.pop("predictions", rule(sample.X)), change.pop("y", sample.y)
    options = {"decision_maker": sample.decision_maker, "nuisance": sample.oracle.joint} | change
    with pytest.raises(ValueError, match=message) as caught:
        evaluate(predictions, sample.X, y, **options)
    assert "\n" not in str(caught.value)


def test_strata_with_one_decision_maker(sample):
    strata = np.where(sample.decision_maker == 3, "alone", "others")
    with pytest.raises(ValueError, match="1 of 2 strata have one decision-maker only \\(one is 'alone'\\)"):
        run(sample, rule(sample.X), strata=strata)


def test_undefined_metric_is_named(sample):
    result = run(sample, np.zeros(2000, dtype=int), "ppv", nuisance=sample.oracle.joint)
    assert np.isnan(result.lower)
    assert "metric 'ppv' is not defined under assumption 'instrument'" in result.reason
