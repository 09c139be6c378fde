"""Combined assumptions through the whole corridor, with known probabilities and with estimated ones."""

import warnings

import numpy as np
import pandas as pd
import pytest

import selective_labels as sl
from selective_labels import InputError
from selective_labels.assumptions import (
    Informed,
    Instrument,
    Prevalence,
    Refused,
    RisingRisk,
    SameRanking,
    SimilarBias,
)
from selective_labels.identification.costs import linear_extremes
from selective_labels.identification.event_bounds import best_floor, identified_set
from selective_labels.identification.prevalence import Share, shared_ratio_extremes

INSTRUMENT = Instrument()
pytestmark = pytest.mark.filterwarnings("ignore:two ways to use", "ignore:.*delayed:UserWarning")


class CellMoments:
    """A few kinds of cases with known chances of decision and label, in exact proportions of a big sample."""

    def __init__(self, seed, n_classes, n_makers=2, n_kinds=3, rising=False):
        generator = np.random.default_rng(seed)
        self.n_classes = n_classes
        eta = generator.dirichlet(np.full(n_classes, 3.0), n_kinds)
        accept = generator.uniform(0.3, 0.9, (n_makers, n_kinds, n_classes))
        accept[:, :, -1] *= 0.7  # the last class is what decision-makers avoid
        labeled = accept * eta
        if rising:  # a first group whom both accept, a riskier one whom the second accepts besides
            risks = np.sort(generator.uniform(0.1, 0.7, (2, n_kinds, 1)), axis=0)
            rest = np.full((2, n_kinds, n_classes - 1), 1.0 / (n_classes - 1)) * (1.0 - risks)
            labeled = np.cumsum(0.35 * np.concatenate([rest, risks], axis=2), axis=0)
        self.joint = np.concatenate([1 - labeled.sum(axis=2, keepdims=True), labeled], axis=2)

    def __call__(self, X):
        return self.joint[:, np.asarray(X)[:, 0].astype(int)].transpose(1, 0, 2)

    def data(self, size=2000, seed=0):
        """Cases in which every outcome has the share that it should have, up to rounding."""
        rows = []
        for kind in range(self.joint.shape[1]):
            for z in range(len(self.joint)):
                counts = np.floor(self.joint[z, kind] * size).astype(int)
                counts[0] += size - counts.sum()
                rows += [(kind, z, k - 1) for k in range(self.n_classes + 1) for _ in range(counts[k])]
        kind, z, y = np.array(rows).T
        X = pd.DataFrame({"kind": kind.astype(float), "region": np.where(kind > 0, "north", "south")})
        return sl.SelectiveLabels.from_arrays(X, y, decision_maker=z, decision=(y >= 0).astype(int))


def population_ends(cells, data, coefficients, assumption):
    """Closed forms at the chances themselves."""
    kind = data.X["kind"].to_numpy().astype(int)
    joint = cells.joint[:, kind]
    floors = {}
    for floor in assumption.floors(np.arange(cells.n_classes)):
        found = best_floor(floor, joint)
        floors[floor.event] = np.maximum(floors.get(floor.event, 0.0), found)
    known = identified_set(joint[:, :, 1:].max(axis=0), floors)
    shares = assumption.shares(data)
    if shares:
        return shared_ratio_extremes(coefficients, np.ones_like(coefficients), known, shares)
    return [each.mean() for each in linear_extremes(coefficients, known)]


COMBINATIONS = {
    "informed": lambda K, share: INSTRUMENT & Informed(K - 1),
    "refused": lambda K, share: INSTRUMENT & Refused(K - 1, at_least=0.9, at_most=3.0),
    "odds": lambda K, share: INSTRUMENT & Refused(K - 1, at_least=0.8, at_most=4.0, scale="odds"),
    "share of refused": lambda K, share: INSTRUMENT & Refused(K - 1, at_most=0.9, scale="share"),
    "nested": lambda K, share: INSTRUMENT & Informed(K - 1) & Refused(tuple(range(1, K)), at_least=0.9),
    "similar bias": lambda K, share: INSTRUMENT & SimilarBias(0.2),
    "rising risk": lambda K, share: INSTRUMENT & RisingRisk(K - 1),
    "prevalence": lambda K, share: INSTRUMENT & Prevalence(K - 1, share),
    "prevalence between": lambda K, share: INSTRUMENT & Prevalence(K - 1, (share - 0.02, share + 0.02)),
    "two": lambda K, share: INSTRUMENT & Informed(K - 1) & Prevalence(K - 1, share),
}


@pytest.mark.parametrize("n_classes", [2, 3, 4])
@pytest.mark.parametrize("case", COMBINATIONS)
def test_known_probabilities_give_the_closed_form(case, n_classes):
    """With cases in exact proportions, scores average to the chances: only rounding of counts is left."""
    cells = CellMoments(n_classes, n_classes, rising=case == "rising risk")
    data = cells.data()
    kind = data.X["kind"].to_numpy().astype(int)
    event = np.tile(np.eye(n_classes)[-1], (len(data), 1))
    # A share that is possible, off the middle where two multipliers tie.
    low, high = population_ends(cells, data, event, INSTRUMENT & Informed(n_classes - 1))
    assumption = COMBINATIONS[case](n_classes, low + 0.3 * (high - low))
    prediction = np.where(kind > 0, n_classes - 1, 0)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        found = sl.evaluate(prediction, data, assumption=assumption, nuisance=cells, random_state=0, n_jobs=1)
    expected = population_ends(cells, data, np.eye(n_classes)[prediction], assumption)
    if any("cannot be told apart" in str(each.message) for each in caught):  # then wider, never wrong
        assert found.lower <= expected[0] + 5e-3
        assert found.upper >= expected[1] - 5e-3
    else:
        np.testing.assert_allclose((found.lower, found.upper), expected, atol=5e-3)
    assert found.assumption == assumption.name


def small(n_classes=2, seed=0, n=800):
    sample = sl.datasets.make_decision_makers(
        n, n_classes=n_classes, n_decision_makers=3, additive=False, mirrored=True, random_state=seed
    )
    data = sl.SelectiveLabels.from_arrays(sample.X, sample.y, decision_maker=sample.decision_maker)
    return sample, data, np.where(sample.X[:, 0] < 0, n_classes - 1, 0)


FIT = {"nuisance": "logistic", "propensity": "shares", "cv": 2, "random_state": 0}


@pytest.mark.parametrize("metric", ["accuracy", "tpr", "f1", "ppv", "auc", "balanced_accuracy", "regret"])
def test_every_metric_takes_a_combination_and_a_share_never_widens(metric):
    sample, data, prediction = small()
    share = float(sample.y_true.mean())
    assumption_steps = [INSTRUMENT, INSTRUMENT & Prevalence(1, (share - 0.05, share + 0.05))]
    weak, strong = sl.evaluate(prediction, data, metric=metric, assumption=assumption_steps, cv=2, **QUICK)
    assert strong.lower >= weak.lower - 1e-9
    assert strong.upper <= weak.upper + 1e-9
    assert strong.ci_lower <= strong.lower <= strong.upper <= strong.ci_upper


QUICK = {"nuisance": "logistic", "propensity": "shares", "random_state": 0}


def test_parts_that_say_nothing_leave_all_as_it_was():
    _, data, prediction = small(3)
    alone = sl.evaluate(prediction, data, cv=2, **QUICK)
    for nothing in (SameRanking(), Refused(2, at_least=0.0), SimilarBias(10.0), Prevalence(2, (0.0, 1.0))):
        found = sl.evaluate(prediction, data, assumption=INSTRUMENT & nothing, cv=2, **QUICK)
        np.testing.assert_allclose((found.lower, found.upper), (alone.lower, alone.upper), atol=1e-12)


def test_a_share_that_the_rest_rules_out_gives_no_number():
    sample, data, prediction = small(n=2000)
    share = float(sample.y_true.mean())
    wrong = INSTRUMENT & Informed(0) & Prevalence(1, share)  # the direction is the other one
    found = sl.evaluate(prediction, data, assumption=wrong, **QUICK)
    assert np.isnan([found.lower, found.upper, found.ci_lower, found.ci_upper]).all()
    assert found.empty
    assert found.reason.startswith("contradicted")
    assert "contradicted" in repr(found)
    compared = sl.compare(prediction, 0, data, assumption=wrong, **QUICK)
    assert compared.empty
    assert compared.verdict == "undecided"


def test_the_error_of_a_share_widens_the_interval():
    sample, data, prediction = small()
    share = float(sample.y_true.mean())
    sure, unsure = (
        sl.evaluate(prediction, data, assumption=INSTRUMENT & Prevalence(1, share, error), cv=2, **QUICK)
        for error in (None, 0.03)
    )
    assert sure.lower == pytest.approx(unsure.lower, abs=0.02)
    assert unsure.standard_errors[0] > sure.standard_errors[0]


def test_shares_of_groups_are_those_of_the_column():
    cells = CellMoments(0, 2, n_kinds=4)
    data = cells.data()
    kind = data.X["kind"].to_numpy().astype(int)
    lowest = cells.joint[:, kind, 2].max(axis=0)
    north = data.X["region"].to_numpy() == "north"
    values = (("north", lowest[north].mean() + 0.1), ("south", lowest[~north].mean() + 0.1))
    assumption = INSTRUMENT & Prevalence(1, values, by="region")
    prediction = (kind > 1).astype(int)
    found = sl.evaluate(prediction, data, assumption=assumption, nuisance=cells, random_state=0, n_jobs=1)
    expected = population_ends(cells, data, np.eye(2)[prediction], assumption)
    np.testing.assert_allclose((found.lower, found.upper), expected, atol=5e-3)
    with pytest.raises(InputError, match="no case has 'east'"):
        sl.evaluate(0, data, assumption=INSTRUMENT & Prevalence(1, (("east", 0.1),), by="region"), cv=2)


@pytest.mark.parametrize("library", ["polars", "pyarrow"])
def test_groups_of_a_share_in_tables_of_any_library(library):
    module = pytest.importorskip(library, reason=f"optional: {library}")
    table = getattr(module, "table", None) or module.DataFrame
    columns = {"region": ["north", "south", "north"], "failed": [0, 1, None]}
    data = sl.SelectiveLabels.from_frame(table(columns), label="failed")
    (share,) = Prevalence(1, (("north", 0.5),), by="region").shares(data)
    assert share.rows.tolist() == [True, False, True]


def test_a_subgroup_knows_the_share_of_everybody():
    """What the others may take of the share is left to the subgroup, and no more."""
    cells = CellMoments(1, 2)
    data = cells.data()
    kind = data.X["kind"].to_numpy().astype(int)
    highest = 1.0 - cells.joint[:, kind, 1].max(axis=0)
    share = highest.mean() - 0.03  # nearly all slack is of class 1
    found = sl.evaluate(
        0,
        data,
        assumption=INSTRUMENT & Prevalence(1, share),
        by=kind == 0,
        nuisance=cells,
        random_state=0,
        n_jobs=1,
    ).one(subgroup=True)
    mine = kind == 0
    lower = cells.joint[:, kind, 1].max(axis=0)
    assert found.upper == pytest.approx(min(lower[mine].mean() + 0.03 / mine.mean(), 1.0), abs=5e-3)


def test_compare_and_thresholds_take_combinations():
    _, data, prediction = small()
    weak = sl.compare(prediction, 1 - prediction, data, cv=2, **QUICK)
    strong = sl.compare(prediction, 1 - prediction, data, assumption=INSTRUMENT & Informed(1), cv=2, **QUICK)
    assert strong.upper - strong.lower < weak.upper - weak.lower
    human = sl.compare(prediction, "human", data, assumption=INSTRUMENT & Informed(1), cv=2, **QUICK)
    assert human.lower <= human.upper
    curve = sl.threshold_curve(
        -data.features[:, 0], data, assumption=INSTRUMENT & Informed(1), thresholds=[0.0], cv=2, **QUICK
    )
    assert "informed(1)" in repr(curve)
    policies = sl.policy_curve(
        -data.features[:, 0], data, assumption=INSTRUMENT & Informed(1), rates=[0.5], cv=2, **QUICK
    )
    assert "informed(1)" in str(policies)


def test_two_multipliers_that_cannot_be_told_apart_are_said_to_be():
    """The share lies where "all slack to one side" and "no use of it" give the same end."""
    _, data, prediction = small(n=1500)
    shares = np.linspace(0.4, 0.6, 9)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        for share in shares:
            sl.evaluate(prediction, data, assumption=INSTRUMENT & Prevalence(1, float(share)), cv=2, **QUICK)
    said = [each for each in caught if "cannot be told apart" in str(each.message)]
    assert len(said) > 0


def test_several_rungs_share_one_fit():
    _, data, _ = small()
    assumption_steps = [
        "none",
        INSTRUMENT,
        INSTRUMENT & Informed(1),
        INSTRUMENT & Informed(1) & Prevalence(1, 0.5),
    ]
    sample = sl.Evaluator(data, assumption=assumption_steps, **FIT).scores()
    assert sample.assumptions[2:] == [
        "instrument & informed(1)",
        "instrument & informed(1) & prevalence(1, 0.5)",
    ]
    assert isinstance(sample.repeats[0]["instrument & informed(1) & prevalence(1, 0.5)"].shares[0], Share)


def test_a_difference_of_predictive_values_has_no_interval_under_a_share():
    """Its standard error would leave out what the two denominators add."""
    sample, data, prediction = small()
    assumption = INSTRUMENT & Prevalence(1, float(sample.y_true.mean()))
    other = (data.features[:, 1] > 0).astype(int)
    found = sl.compare(prediction, other, data, metric="ppv", assumption=assumption, cv=2, **QUICK)
    assert np.isnan(found.ci_lower)
    assert "predictive values" in found.reason
