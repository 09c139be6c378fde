"""How long work is expected to take: grows with every size, and is said of large work alone."""

from dataclasses import replace

import pytest

from selective_labels.nuisance.cross_fit import (
    BUILT_FOR,
    SAID_FROM_SECONDS,
    Work,
    expected_seconds,
    runtime_sentence,
)

ALL = ("logistic", "quadratic", "index", "boosting")
USUAL = Work(n_rows=10_000, n_columns=20, n_classes=2, n_arms=10, families=ALL)
SIZES = ("n_rows", "n_columns", "n_classes", "n_arms", "n_folds", "times")


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("families", [ALL, *((name,) for name in ALL)])
def test_more_of_anything_takes_longer(size, families):
    work = replace(USUAL, families=families)
    taken = [
        expected_seconds(replace(work, **{size: factor * getattr(work, size)})) for factor in (1, 2, 5, 40)
    ]
    assert taken == sorted(set(taken))


def test_columns_that_enter_no_product_cost_as_in_a_linear_model():
    wide = replace(USUAL, n_columns=170, families=("quadratic",))
    linear = expected_seconds(replace(wide, families=("logistic",)))
    few = expected_seconds(replace(wide, n_factors=5))
    assert expected_seconds(wide) == expected_seconds(replace(wide, n_factors=170)) > 20 * few
    assert few == pytest.approx(linear, rel=0.2)


def test_each_further_family_takes_longer():
    taken = [expected_seconds(replace(USUAL, families=ALL[: n + 1])) for n in range(len(ALL))]
    assert taken == sorted(set(taken))


@pytest.mark.parametrize(
    "work",
    [
        USUAL,
        replace(USUAL, n_rows=100_000, n_arms=20, n_classes=3),
        replace(USUAL, n_rows=20_000, n_classes=50),
        replace(USUAL, n_rows=5_000, n_columns=300, families=("logistic", "index", "boosting")),
        replace(USUAL, n_rows=1_000_000, n_arms=20, n_classes=3, families=("logistic",)),
    ],
)
def test_nothing_is_said_of_ordinary_sizes(work):
    assert runtime_sentence(work) == ""


def test_long_work_is_said_with_its_sizes_its_time_and_what_takes_less():
    work = Work(20_000, 5_000, 3, 8, ("logistic", "index", "boosting"))
    assert expected_seconds(work) > SAID_FROM_SECONDS
    said = runtime_sentence(work)
    assert said.startswith("20,000 rows with 5,000 columns and 3 classes: models of decision and label will ")
    assert f"take about {expected_seconds(work) / 60:.0f} minutes on one core" in said
    assert "nuisance 'logistic' takes about 2 minutes" in said
    assert said.endswith("; fewer features take less.")
    assert "logistic" not in runtime_sentence(replace(work, families=("logistic",), times=10))


@pytest.mark.parametrize(
    ("size", "name"), [("n_rows", "rows"), ("n_columns", "columns"), ("n_classes", "classes")]
)
def test_a_size_beyond_what_it_is_built_for_is_said_also_if_it_is_quick(size, name):
    small = Work(1_000, 2, 2, 2, ("logistic",))
    assert runtime_sentence(replace(small, **{size: BUILT_FOR[name]})) == ""
    large = replace(small, **{size: BUILT_FOR[name] + 1})
    assert expected_seconds(large) < SAID_FROM_SECONDS
    assert f"{BUILT_FOR[name] + 1:,} {name}" in runtime_sentence(large)
