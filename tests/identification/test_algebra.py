"""Closed forms of combined assumptions against linear programs over response types."""

import numpy as np
import pytest

from selective_labels import InputError
from selective_labels.identification.costs import best_case_costs, linear_extremes, worst_case_costs
from selective_labels.identification.event_bounds import (
    Chord,
    Floor,
    LaminarBounds,
    best_floor,
    complement,
    constant,
    identified_set,
    mirrored,
    odds,
    ratio,
)
from selective_labels.identification.prevalence import Share, shared_ratio_extremes
from selective_labels.identification.rates import balanced_accuracy_extremes
from tests.reference.assumption_programs import Population
from tests.reference.population_bounds import auc_extremes, event_range, f1_extremes, rate_extremes

DRAWS = 200
TOLERANCE = 1e-8
INFORMED = (lambda m: m, np.ones_like)


def at_least(event, functions):
    return Floor(event, *functions)


def at_most(event, functions, n_classes):
    return Floor(complement(event, n_classes), *mirrored(*functions))


def random_joint(generator, n_cells, n_makers, n_classes, *, worse_refused=1.0):
    """Cells from hidden labels and decisions, refused cases of class 0 rarer by a factor."""
    probabilities = generator.dirichlet(np.ones(n_classes), size=n_cells)
    joint = np.empty((n_cells, n_makers, n_classes + 1))
    for cell in range(n_cells):
        for z in range(n_makers):
            accepted = generator.uniform(0.1, 0.9, n_classes)
            accepted[0] = 1.0 - (1.0 - accepted[0]) ** worse_refused
            joint[cell, z, 1:] = probabilities[cell] * accepted
            joint[cell, z, 0] = 1.0 - joint[cell, z, 1:].sum()
    return joint


def closed_set(joint, floors):
    """From (cells, makers, outcomes) to the closed form."""
    by_maker = joint.transpose(1, 0, 2)
    lower = by_maker[:, :, 1:].max(axis=0)
    values = {}
    for floor in floors:
        found = best_floor(floor, by_maker)
        values[floor.event] = np.maximum(values.get(floor.event, 0.0), found)
    return identified_set(lower, values)


def say(population, floors_and_words):
    for word in floors_and_words:
        word(population)


CASES = {
    "informed": lambda K: (
        [at_least((K - 1,), INFORMED)],
        [lambda p: p.refused_at_least([K - 1], lambda m: m)],
    ),
    "informed of two": lambda K: (
        [at_least(tuple(range(1, K)), INFORMED)],
        [lambda p: p.refused_at_least(list(range(1, K)), lambda m: m)],
    ),
    "nested": lambda K: (
        [at_least((K - 1,), INFORMED), at_least(tuple(range(1, K)), ratio(0.9))],
        [
            lambda p: p.refused_at_least([K - 1], lambda m: m),
            lambda p: p.refused_at_least(list(range(1, K)), lambda m: 0.9 * m),
        ],
    ),
    "ratio, both sides": lambda K: (
        [at_least((K - 1,), ratio(0.8)), at_most((K - 1,), ratio(2.0), K)],
        [
            lambda p: p.refused_at_least([K - 1], lambda m: 0.8 * m),
            lambda p: p.refused_at_most([K - 1], lambda m: min(2.0 * m, 1.0)),
        ],
    ),
    "odds and a share": lambda K: (
        [
            at_least((K - 1,), odds(0.7)),
            at_most((K - 1,), odds(3.0), K),
            at_least((K - 1,), constant(0.1)),
        ],
        [
            lambda p: p.refused_at_least([K - 1], lambda m: 0.7 * m / (1 - m + 0.7 * m)),
            lambda p: p.refused_at_most([K - 1], lambda m: 3 * m / (1 - m + 3 * m)),
            lambda p: p.refused_at_least([K - 1], lambda m: 0.1),
        ],
    ),
    "similar bias": lambda K: (
        [Chord((k,), 0.06) for k in range(K)] + [Chord(complement((k,), K), 0.06) for k in range(K)],
        [lambda p: p.similar_bias(0.06)],
    ),
}


def populations(case, n_classes, n_makers, n_draws, n_cells=DRAWS):
    """Populations of cells in which the assumption is possible, with its closed form; each cell is a draw."""
    generator = np.random.default_rng([n_classes, n_makers, len(case)])
    floors, words = CASES[case](n_classes)
    for _ in range(n_draws):
        kept = np.empty((0, n_makers, n_classes + 1))
        while len(kept) < n_cells:
            if case == "similar bias":  # near NUCEM: a line with small errors
                joint = near_line(generator, n_cells, n_makers, n_classes)
            else:
                joint = random_joint(generator, n_cells, n_makers, n_classes, worse_refused=3.0)
            kept = np.concatenate([kept, joint[~closed_set(joint, floors).crossed]])
        joint = kept[:n_cells]
        population = Population(joint, generator.dirichlet(np.ones(n_cells)))
        say(population, words)
        yield generator, population, closed_set(joint, floors)


def near_line(generator, n_cells, n_makers, n_classes):
    joint = np.empty((n_cells, n_makers, n_classes + 1))
    for cell in range(n_cells):
        eta = generator.dirichlet(np.full(n_classes, 4.0))
        for z in range(n_makers):
            noise = generator.uniform(-0.03, 0.03, n_classes)
            joint[cell, z, 1:] = np.clip(eta * generator.uniform(0.3, 0.8) + noise - noise.mean(), 0.01, eta)
            joint[cell, z, 0] = 1.0 - joint[cell, z, 1:].sum()
    return joint


each_case = pytest.mark.parametrize("case", CASES)
sizes = pytest.mark.parametrize(("n_classes", "n_makers"), [(2, 2), (2, 3), (3, 2), (3, 3), (4, 2), (4, 3)])


@each_case
@sizes
def test_linear_functionals_are_those_of_the_program(case, n_classes, n_makers):
    for generator, population, known in populations(case, n_classes, n_makers, 1):
        population.mass = np.full(DRAWS, 1.0)  # a sum of 200 minima, each found by itself
        coefficients = generator.standard_normal((DRAWS, n_classes))
        found = [each.sum() for each in linear_extremes(coefficients, known)]
        np.testing.assert_allclose(found, population.extremes(coefficients), atol=TOLERANCE, rtol=0)


@each_case
@pytest.mark.parametrize("n_classes", [2, 3, 4])
def test_costs_and_regrets_are_those_of_the_program(case, n_classes):
    for _, population, known in populations(case, n_classes, 2, 1, n_cells=40):
        check_regrets(population, known)


def check_regrets(population, known):
    n_classes = population.n_classes
    worst, best = worst_case_costs(known), best_case_costs(known)
    population.mass = np.ones(population.n_cells)
    for action in range(n_classes):
        smallest = population.smallest_regrets([action] * population.n_cells)
        np.testing.assert_allclose(best[:, action], smallest, atol=TOLERANCE, rtol=0)
        # Of each rival the largest contrast, all cells at once; the rival is then chosen cell by cell.
        rivals = [j for j in range(n_classes) if j != action]
        for j in rivals:
            contrast = np.tile(np.eye(n_classes)[j] - np.eye(n_classes)[action], (population.n_cells, 1))
            most = linear_extremes(contrast, known)[1]
            assert (worst[:, action] >= most - TOLERANCE).all()
            assert most.sum() == pytest.approx(population.extremes(contrast)[1], abs=TOLERANCE)
        contrasts = np.eye(n_classes)[rivals] - np.eye(n_classes)[action]
        largest = np.max([linear_extremes(each, known)[1] for each in contrasts], axis=0)
        np.testing.assert_allclose(worst[:, action], np.maximum(largest, 0.0), atol=1e-12)


def test_nested_earmarks_and_the_rest_of_a_class():
    """A set of two among four and one of three that holds it: regrets too."""
    floors = [at_least((2, 3), INFORMED), at_least((1, 2, 3), ratio(0.9))]
    joint = random_joint(np.random.default_rng(0), 120, 2, 4, worse_refused=3.0)
    joint = joint[~closed_set(joint, floors).crossed]
    assert len(joint) > 40
    population = Population(joint, np.ones(len(joint)))
    population.refused_at_least([2, 3], lambda m: m)
    population.refused_at_least([1, 2, 3], lambda m: 0.9 * m)
    check_regrets(population, closed_set(joint, floors))


@each_case
@sizes
def test_rates_by_dinkelbach_are_those_of_the_program(case, n_classes, n_makers):
    """True positive rate and F1 of the last class, through the range of the event alone."""
    for generator, population, known in populations(case, n_classes, n_makers, 10, n_cells=4):
        predicted = generator.integers(0, 2, 4) if generator.random() < 0.5 else generator.random(4)
        event = np.eye(n_classes)[-1]
        ends = event_range(known, n_classes - 1)
        found = rate_extremes(predicted, *ends, population.mass)
        expected = population.ratio_extremes(predicted[:, None] * event, np.tile(event, (4, 1)))
        np.testing.assert_allclose((found.minimum, found.maximum), expected, atol=TOLERANCE, rtol=0)
        hard = (predicted > 0.5).astype(float)
        found = f1_extremes(hard, *ends, population.mass)
        expected = population.ratio_extremes(2 * hard[:, None] * event, hard[:, None] + event)
        np.testing.assert_allclose((found.minimum, found.maximum), expected, atol=TOLERANCE, rtol=0)


@pytest.mark.parametrize(("n_classes", "n_makers"), [(2, 2), (3, 3), (4, 2)])
@pytest.mark.parametrize("case", ["informed", "nested", "ratio, both sides"])
def test_shares_are_those_of_the_program(case, n_classes, n_makers):
    """A share within an interval: means, rates and F1, for an event that crosses the others too."""
    event = [0, n_classes - 1] if n_classes > 2 else [1]
    members = np.isin(np.arange(n_classes), event).astype(float)
    for generator, population, known in populations(case, n_classes, n_makers, 10, n_cells=4):
        ends = [population.mass @ each for each in linear_extremes(members, known)]
        low, high = np.sort(generator.uniform(*ends, 2))
        population.share_between(event, low, high)
        share = Share(members, low, high, np.ones(4, dtype=bool))
        for numerator, denominator in (
            (generator.standard_normal((4, n_classes)), np.ones((4, n_classes))),
            (generator.integers(0, 2, (4, 1)) * members, np.tile(members, (4, 1))),
            (generator.random((4, n_classes)), generator.random((4, n_classes))),
        ):
            found = shared_ratio_extremes(numerator, denominator, known, [share], population.mass)
            expected = population.ratio_extremes(numerator, denominator)
            np.testing.assert_allclose(found, expected, atol=TOLERANCE, rtol=0)


def test_shares_of_groups_have_a_multiplier_each():
    for generator, population, known in populations("informed", 2, 2, 10, n_cells=6):
        shares = []
        for cells in ([0, 1, 2], [3, 4, 5]):
            rows = np.isin(np.arange(6), cells)
            mass = population.mass[rows] / population.mass[rows].sum()
            ends = [mass @ each[rows] for each in linear_extremes(np.array([0.0, 1.0]), known)]
            low, high = np.sort(generator.uniform(*ends, 2))
            population.share_between([1], low, high, cells)
            shares.append(Share(np.array([0.0, 1.0]), low, high, rows))
        numerator = generator.standard_normal((6, 2))
        found = shared_ratio_extremes(numerator, np.ones((6, 2)), known, shares, population.mass)
        np.testing.assert_allclose(found, population.extremes(numerator), atol=TOLERANCE, rtol=0)


@pytest.mark.parametrize("n_makers", [2, 3])
@pytest.mark.parametrize("n_classes", [2, 3, 4])
def test_rising_risk(n_classes, n_makers):
    """Cases in one order, the risk of those accepted next rising."""
    generator, event = np.random.default_rng(n_classes), (n_classes - 1,)
    joint = np.zeros((DRAWS, n_makers, n_classes + 1))
    for cell in range(DRAWS):
        leniency = np.sort(generator.uniform(0.1, 0.9, n_makers))
        risks = np.sort(generator.random(n_makers + 1))
        seen = np.zeros(n_classes)
        for z, size in enumerate(np.diff(np.append(0.0, leniency))):
            rest = generator.dirichlet(np.ones(n_classes - 1)) * (1 - risks[z])
            seen = seen + size * np.append(rest, risks[z])
            joint[cell, z] = np.append(1 - seen.sum(), seen)
    known = closed_set(joint, [Floor(event, *INFORMED), Chord(event, beyond=True)])
    population = Population(joint, np.ones(DRAWS))
    population.rising_risk(list(event))
    coefficients = generator.standard_normal((DRAWS, n_classes))
    found = [each.sum() for each in linear_extremes(coefficients, known)]
    np.testing.assert_allclose(found, population.extremes(coefficients), atol=TOLERANCE, rtol=0)


def test_balanced_accuracy_and_auc_depend_on_the_range_of_the_event():
    """Any values between the ends of the event are possible: a dense search over them finds no more."""
    generator = np.random.default_rng(0)
    for _, population, known in populations("ratio, both sides", 2, 2, 10, n_cells=4):
        score, hard = generator.random(4), generator.integers(0, 2, 4).astype(float)
        low, high = event_range(known, 1)
        grid = np.array(np.meshgrid(*[np.linspace(a, b, 6) for a, b in zip(low, high, strict=True)]))
        event = population.mass * grid.reshape(4, -1).T  # one row for each choice
        rest = population.mass - event
        share = event.sum(axis=1)
        balanced = 0.5 * (event @ hard / share + rest @ (1 - hard) / (1 - share))
        pairs = np.sign(score[:, None] - score[None]) / 2 + 0.5
        ranked = np.einsum("gi,ij,gj->g", event, pairs, rest) / (share * (1 - share))
        for values, found in (
            (balanced, balanced_accuracy_extremes(hard, low, high, population.mass)),
            (ranked, auc_extremes(score, low, high, population.mass)),
        ):
            assert found.minimum - TOLERANCE <= values.min()
            assert values.max() <= found.maximum + TOLERANCE


def test_crossing_events_are_refused_unless_they_bound_single_classes():
    lower, crossing = np.full((1, 4), 0.1), {(0, 1): np.array([0.3]), (1, 2): np.array([0.3])}
    with pytest.raises(InputError, match="no closed form"):
        identified_set(lower, crossing)
    assert not isinstance(identified_set(lower[:, :3], crossing), LaminarBounds)


def test_contains_and_repair():
    known = LaminarBounds.from_floors(
        np.array([[0.2, 0.1, 0.1], [0.6, 0.3, 0.3]]), {(1, 2): np.array([0.5, 0.7])}
    )
    assert known.crossed.tolist() == [False, True]
    mended, rows = known.repaired()
    assert rows.tolist() == [False, True]
    assert not mended.crossed.any()
    np.testing.assert_allclose(mended.lower[1].sum() + mended.event_slack[1].sum(), 1.0)
    inside = np.array([[0.4, 0.5, 0.1], [0.4, 0.5, 0.1]])
    assert known.contains(inside)[0]
    assert not known.contains(np.array([[0.6, 0.2, 0.2]] * 2))[0]
