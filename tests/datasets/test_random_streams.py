from itertools import combinations

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from selective_labels.datasets import make_decision_makers, make_paper_synthetic, make_selective
from selective_labels.datasets.oracle import draw_classes, seed_sequence, spawn_streams

COLUMNS = ("X", "y", "decision", "decision_maker", "y_true")
N = 400


def semi_synthetic(n_samples, random_state):
    X = np.linspace(-1, 1, 3 * n_samples).reshape(n_samples, 3)
    return make_selective(X, X[:, 0] > 0, score=X[:, 1], hidden=X[:, 2], random_state=random_state)


GENERATORS = [make_paper_synthetic, make_decision_makers, semi_synthetic]


@pytest.mark.parametrize("make", GENERATORS)
@pytest.mark.parametrize(
    "seed",
    [
        lambda value: value,
        np.random.SeedSequence,
        np.random.default_rng,
        np.random.RandomState,
    ],
    ids=["int", "SeedSequence", "Generator", "RandomState"],
)
def test_same_seed_same_data_other_seed_other_data(make, seed):
    first, again, other = (make(N, random_state=seed(value)) for value in (7, 7, 8))
    for name in COLUMNS:
        assert_array_equal(getattr(first, name), getattr(again, name), err_msg=name)
    assert (first.decision_maker != other.decision_maker).any(), "another seed assigns otherwise"
    assert (first.decision != other.decision).any(), "and decides otherwise"


@pytest.mark.parametrize("make", GENERATORS)
@pytest.mark.parametrize("source", [np.random.SeedSequence, np.random.default_rng, np.random.RandomState])
def test_a_source_of_seeds_is_never_used_twice(make, source):
    shared = source(0)
    first, second = make(N, random_state=shared), make(N, random_state=shared)
    assert (first.decision_maker != second.decision_maker).any(), "two calls draw two samples"


@pytest.mark.parametrize("make", GENERATORS)
def test_no_seed_gives_fresh_data(make):
    assert (make(N, random_state=None).decision_maker != make(N, random_state=None).decision_maker).any()


def test_streams_are_pairwise_independent():
    n_draws = 10_000
    draws = [generator.random(n_draws) for generator in spawn_streams(0)]
    for one, other in combinations(draws, 2):
        # |correlation| < 5.3 / sqrt(n): false alarm 1e-7 for each of the 15 pairs; a reused stream gives 1.
        assert abs(np.corrcoef(one, other)[0, 1]) < 5.3 / np.sqrt(n_draws), "no stream repeats another"


def test_an_integer_is_the_entropy_itself():
    assert seed_sequence(11).entropy == 11


def test_drawn_classes_never_leave_the_classes():
    probabilities = np.full((1000, 3), 1 / 3 - 1e-3)  # sums that fall short must not create a fourth class
    codes = draw_classes(probabilities, np.random.default_rng(0))
    assert set(codes) == {0, 1, 2}


@pytest.mark.parametrize("make", [make_paper_synthetic, make_decision_makers])
def test_every_ingredient_has_a_stream_of_its_own(make):
    short, long = make(N, random_state=0), make(2 * N, random_state=0)
    for name in COLUMNS:
        # A stream shared by two ingredients would shift the second when the first draws more.
        assert_array_equal(getattr(short, name), getattr(long, name)[:N], err_msg=name)
