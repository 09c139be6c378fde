"""The probability of each arm: what is known is used as it is, and what is not is counted or fitted."""

from dataclasses import replace

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from selective_labels import SelectiveLabels
from selective_labels.assumptions import named
from selective_labels.nuisance.assignment import BY_LOT
from selective_labels.nuisance.cross_fit import CrossFit, FoldModel, arm_propensity, cross_fit
from selective_labels.nuisance.model_selection import NuisanceReport
from selective_labels.nuisance.scores import cross_fit_scores

N_SAMPLES = 60
# Decision-makers 0 and 2 make up the first arm.
LOOKUP = np.array([0, 1, 0])
EVERYBODY = np.arange(N_SAMPLES)


def make_data(**roles) -> SelectiveLabels:
    rng = np.random.default_rng(0)
    y = rng.integers(-1, 2, N_SAMPLES)
    return SelectiveLabels.from_arrays(
        rng.normal(size=(N_SAMPLES, 2)), y, decision_maker=rng.integers(3, size=N_SAMPLES), **roles
    )


@pytest.fixture
def known() -> np.ndarray:
    """Probabilities of three decision-makers that differ from row to row and from their shares."""
    return np.random.default_rng(1).dirichlet([1.0, 2.0, 3.0], N_SAMPLES)


def fit_of(data: SelectiveLabels, lookup=LOOKUP, n_arms=2, assignment=BY_LOT) -> CrossFit:
    """Arms of decision-makers, and what is known of who goes where; no model of decision and label."""
    report = NuisanceReport("injected", "as given", n_arms, banded=True)
    shares = np.bincount(lookup[data.decision_maker_codes], data.weights, n_arms) / data.weights.sum()
    nothing = np.zeros(len(data), dtype=int)
    return CrossFit((FoldModel((), np.asarray(lookup)),), nothing, shares, report, assignment)


def propensity_of(data: SelectiveLabels, **arms):
    return arm_propensity(fit_of(data, **arms), 0, data)


@pytest.mark.parametrize("strata", [None, np.arange(N_SAMPLES) % 2], ids=["no strata", "strata"])
def test_known_assignment_comes_before_everything_else(known, strata):
    rows = np.array([5, 0, 41])
    found = propensity_of(make_data(assignment=known, strata=strata))(rows)
    assert_allclose(found, np.column_stack([known[rows, 0] + known[rows, 2], known[rows, 1]]))


def test_shares_are_those_of_all_rows():
    data = make_data()
    share = np.mean(data.decision_maker_codes == 1)
    assert_allclose(propensity_of(data)(EVERYBODY), np.tile([1 - share, share], (N_SAMPLES, 1)))


def test_shares_are_weighted():
    weight = np.random.default_rng(2).integers(1, 4, N_SAMPLES)
    data = make_data(sample_weight=weight)
    share = np.average(data.decision_maker_codes == 1, weights=weight)
    assert_allclose(propensity_of(data)(EVERYBODY)[:, 1], share)
    injected = cross_fit(data, lambda X: np.full((len(X), 3, 3), 1 / 3))
    assert_allclose(injected.shares[1], share)


def test_shares_are_counted_within_the_stratum_of_each_row():
    strata = np.where(EVERYBODY < 20, "west", "east")
    data = make_data(strata=strata)
    found = propensity_of(data)(EVERYBODY)
    for row in (0, 30, 59):
        same = strata == strata[row]
        assert_allclose(found[row, 1], np.mean(data.decision_maker_codes[same] == 1))


def test_an_arm_without_rows_has_probability_zero():
    assert_array_equal(propensity_of(make_data(), n_arms=3)(EVERYBODY)[:, 2], 0.0)
    in_strata = make_data(strata=EVERYBODY % 2)
    assert_array_equal(propensity_of(in_strata, n_arms=3)(EVERYBODY)[:, 2], 0.0)


def test_some_rows_are_enough_even_if_a_stratum_has_none_of_them():
    strata = EVERYBODY % 3
    some = make_data(strata=strata).take(np.flatnonzero(strata > 0))
    found = propensity_of(some, lookup=np.arange(3), n_arms=3)(np.arange(len(some)))
    for stratum in (1, 2):
        inside = some.strata == stratum
        shares = np.bincount(some.decision_maker_codes[inside], minlength=3) / inside.sum()
        assert_allclose(found[inside], np.tile(shares, (inside.sum(), 1)))


def test_a_lookup_of_other_decision_makers_is_refused():
    with pytest.raises(ValueError, match="data has 3 decision-makers and the nuisance model 2"):
        arm_propensity(replace(fit_of(make_data()), folds=(FoldModel((), np.array([0, 1])),)), 0, make_data())


# Under every decision-maker, the same in every row: unlabeled, first and second class.
JOINT = np.array([[0.5, 0.1, 0.4], [0.2, 0.3, 0.5], [0.7, 0.1, 0.2]])


def by_hand(assumption, y, maker, chances) -> list[float]:
    """Scores of the two classes by the formulas, for one row."""
    seen = [float(y == 0), float(y == 1)]
    labeled = [sum(chances[z] * JOINT[z][1 + k] for z in range(3)) for k in range(2)]
    decided = sum(labeled)
    if assumption == "none":
        return seen
    if assumption == "unconfounded":
        return [
            labeled[k] / decided + (y >= 0) / decided * (seen[k] - labeled[k] / decided) for k in range(2)
        ]
    if assumption == "instrument":  # the second decision-maker is best for both classes
        return [JOINT[1][1 + k] + (maker == 1) / chances[1] * (seen[k] - JOINT[1][1 + k]) for k in range(2)]
    leniency = [1 - JOINT[z][0] for z in range(3)]
    strength = sum(chances[z] * (leniency[z] - decided) * leniency[z] for z in range(3))
    slopes = [
        sum(chances[z] * (leniency[z] - decided) * JOINT[z][1 + k] for z in range(3)) / strength
        for k in range(2)
    ]
    # The slope is drawn to the labeled cases' answer by a thousandth, in the units of the strength.
    drawn = [(slopes[k] * strength + 0.001 * labeled[k] / decided) / (strength + 0.001) for k in range(2)]
    lever = (leniency[maker] - decided) / strength
    return [drawn[k] + lever * (seen[k] - labeled[k] - drawn[k] * ((y >= 0) - decided)) for k in range(2)]


@pytest.mark.parametrize("assumption", ["none", "instrument", "nucem", "unconfounded"])
@pytest.mark.parametrize("given", [True, False], ids=["known assignment", "shares"])
def test_scores_weigh_with_the_chance_of_the_row(assumption, given, known):
    data = make_data(assignment=known if given else None)
    shares = np.bincount(data.decision_maker_codes) / N_SAMPLES
    chances = known if given else np.tile(shares, (N_SAMPLES, 1))
    fit = cross_fit(data, lambda X: np.broadcast_to(JOINT, (len(X), 3, 3)))
    scores = cross_fit_scores(fit, data, [named(assumption)], overlap=1e-9)[assumption]
    expected = [
        by_hand(assumption, *row) for row in zip(data.y, data.decision_maker_codes, chances, strict=True)
    ]
    usable = ~scores.bounded  # elsewhere there are bounds in place of a slope
    assert usable.mean() > 0.5
    assert_allclose(scores.values[usable], np.array(expected)[usable])
