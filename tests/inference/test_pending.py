"""The worst case of pending outcomes against linear programs, and figures of people at random."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

import selective_labels as sl
from selective_labels.assumptions import Informed, Instrument
from selective_labels.inference.bound_estimators import PendingRatio, ratio_difference
from selective_labels.inference.evidence import Evidence
from selective_labels.nuisance.maturity import without_pending
from selective_labels.nuisance.score_formulas import Rows
from tests.pending_designs import delayed
from tests.reference.pending_programs import worst_case_program


def law(n_arms, n_classes, seed):
    """P(Y=k, D=1, R=1 | z), P(D=1, R=0 | z) and shares of decision-makers of a random law."""
    generator = np.random.default_rng(seed)
    share = generator.dirichlet(np.ones(n_classes))
    accepted, matured = generator.uniform([0.2], [0.95], (2, n_arms, n_classes))
    seen = share * accepted * matured
    return seen, (share * accepted * (1.0 - matured)).sum(axis=1), generator.dirichlet(np.full(n_arms, 3.0))


def lower_bounds(assumption, seen, pending, shares):
    """Lower bounds of the classes at one x, by the package."""
    chances = np.column_stack([1.0 - seen.sum(axis=1) - pending, seen, pending])[:, None]
    joint = without_pending(chances, "worst-case")
    one = np.zeros(1, dtype=int)
    rows = Rows(joint, joint, one, one - 1, shares[None], 0.0, accepted=np.zeros(1, dtype=bool))
    return assumption.score(rows, 1e-9).plug_in[0]


@pytest.mark.parametrize("informed", [None, 1])
@pytest.mark.parametrize(("n_arms", "n_classes"), [(1, 2), (4, 2), (3, 3), (5, 4)])
def test_bounds_of_classes_are_those_of_the_program(n_arms, n_classes, informed):
    assumption = Instrument() if informed is None else Instrument() & Informed(informed)
    for seed in range(12):
        seen, pending, shares = law(n_arms, n_classes, seed)
        if informed is not None:  # the program may be empty: the assumption is a restriction
            others = np.delete(seen.max(axis=0), informed).sum()
            if others + (seen[:, informed] / (seen.sum(axis=1) + pending)).max() > 1.0:
                continue
        lower = lower_bounds(assumption, seen, pending, shares)
        worth = np.random.default_rng(seed).normal(size=n_classes)
        slack = 1.0 - lower.sum()
        expected = worst_case_program(seen, pending, worth, worth, shares, informed)
        assert_allclose([lower @ worth + slack * worth.min(), lower @ worth + slack * worth.max()], expected)


def people(seen, pending, shares, declined_worth, accepted_worth):
    """Ends of E[Σ_k c0_k 1{Y=k, D=0} + c1_k 1{Y=k, D=1}] at one x, by the package."""
    n_classes = seen.shape[1]
    average, rest = shares @ seen, float(shares @ pending)
    label = np.vstack([np.zeros(n_classes), np.eye(n_classes), np.zeros(n_classes)])
    accepted = np.array([False, *[True] * n_classes, True])
    weights = np.array([1.0 - average.sum() - rest, *average, rest])
    lower = np.tile(seen.max(axis=0), (len(weights), 1))
    functional = PendingRatio(
        np.tile(declined_worth, (len(weights), 1)),
        np.ones_like(lower),
        worth=np.stack([accepted_worth - declined_worth, np.zeros(n_classes)]),
        accepted=accepted,
        label=label,
    )
    low, high = functional.ends(Evidence(lower, 1.0 - lower.sum(axis=1), lower), weights)
    return low.value, high.value


@pytest.mark.parametrize(("n_arms", "n_classes"), [(1, 2), (1, 3), (2, 2), (4, 3)])
def test_figures_of_people_contain_the_program_and_equal_it_without_an_instrument(n_arms, n_classes):
    for seed in range(12):
        seen, pending, shares = law(n_arms, n_classes, seed)
        worth = np.random.default_rng(seed).normal(size=(2, n_classes))
        expected = worst_case_program(seen, pending, *worth, shares)
        found = people(seen, pending, shares, *worth)
        assert found[0] <= expected[0] + 1e-9
        assert found[1] >= expected[1] - 1e-9
        if n_arms == 1:
            assert_allclose(found, expected, atol=1e-9)


def test_the_difference_of_a_decision_to_itself_is_zero():
    known = {"accepted": np.array([True, False]), "label": np.zeros((2, 2))}
    one = PendingRatio(np.eye(2), np.ones((2, 2)), worth=[1.0, 0.0] * np.eye(2), **known)
    difference = ratio_difference(one, one)
    assert difference is not None
    low, high = difference.ends(Evidence(np.full((2, 2), 0.2), np.full(2, 0.6), np.full((2, 2), 0.2)), None)
    assert low.value == high.value == 0.0


def test_worst_case_contains_and_at_random_is_near_the_complete_table():
    drawn = delayed(4000, 11)
    found = {}
    for pending in (None, "at-random", "worst-case"):
        ev = sl.Evaluator(drawn.labels(pending), nuisance="logistic", cv=3, random_state=0)
        rule, human = ev.evaluate(drawn.predictions), ev.evaluate("human")
        gap = ev.compare(drawn.predictions, "human", metric="accuracy")
        found[pending] = np.array([[each.lower, each.upper] for each in (rule, human, gap)])
    assert np.abs(found["at-random"] - found[None]).max() < 0.03
    wider = np.diff(found["worst-case"]) - np.diff(found[None])
    assert (wider > 0.05).all()


@pytest.mark.parametrize("assumption", ["unconfounded", "nucem", "tilt"])
def test_what_names_a_value_refuses_the_worst_case(assumption):
    drawn = delayed(900, 2)
    with pytest.raises(sl.InputError, match=f"{assumption}.*needs the label of every accepted case"):
        sl.evaluate(drawn.predictions, drawn.labels("worst-case"), assumption=assumption)


def test_all_leaves_out_what_refuses():
    drawn = delayed(900, 2)
    data = drawn.labels("worst-case")
    found = sl.evaluate(drawn.predictions, data, assumption="all", nuisance="logistic", cv=2, random_state=0)
    assert [each.assumption for each in found] == ["none", "instrument"]
