"""Columns from which the target can be read are named, and others are not."""

import numpy as np
import pandas as pd
import pytest
from scipy.stats import binom

from selective_labels.data import features
from selective_labels.data.features import leaking_columns

N_ROWS = 300


def make_target(n_rows=N_ROWS, share=0.3, seed=0):
    rng = np.random.default_rng(seed)
    return (rng.random(n_rows) < share).astype(int)


def disguises(target):
    rng = np.random.default_rng(1)
    n_rows = len(target)
    notes = pd.Series([f"note {row}" for row in range(n_rows)])
    return {
        "copy": pd.Series(7 - 2 * target),
        "text": pd.Series(np.where(target == 1, "closed", "open")),
        "category": pd.Series(pd.Categorical(np.where(target == 1, "closed", "open"))),
        "boolean": pd.Series(target == 1),
        "score with noise": pd.Series(target + rng.uniform(0, 0.5, n_rows)),
        "nullable integers": pd.Series(rng.integers(0, 1000, n_rows) + 2000 * target).astype("Int64"),
        "two intervals": pd.Series(
            rng.uniform(0, 1, n_rows) + np.where(target, 2.0, 4.0 * rng.integers(0, 2, n_rows))
        ),
        "with infinities": pd.Series(np.where(target == 1, np.inf, rng.normal(size=n_rows))),
        "free text if one": notes.where(target == 1),
        "free text if zero": notes.where(target == 0),
        "date if one": pd.Series(pd.date_range("2020-01-01", periods=n_rows)).where(target == 1),
        "duration": pd.Series(pd.to_timedelta(rng.integers(0, 20, n_rows) + 50 * target, unit="D")),
    }


@pytest.mark.parametrize("kind", list(disguises(make_target())))
def test_a_disguise_of_any_type_is_named(kind):
    target = make_target()
    assert leaking_columns(pd.DataFrame({kind: disguises(target)[kind]}), target) == [kind]


@pytest.mark.parametrize("n_rows", [60, 1000, 50_000])
@pytest.mark.parametrize("share", [0.5, 0.1])
def test_a_noisy_score_is_named_at_any_size(n_rows, share):
    target = make_target(n_rows, share)
    score = target + np.random.default_rng(1).normal(scale=0.05, size=n_rows)
    assert leaking_columns(pd.DataFrame({"score": score}), target) == ["score"]


def test_rows_in_order_hide_nothing():
    target = np.sort(make_target())
    assert leaking_columns(pd.DataFrame({"copy": target, "row": np.arange(N_ROWS)}), target) == [
        "copy",
        "row",
    ]


def test_a_strong_feature_is_no_leak():
    target = make_target(2000, 0.5)
    wrong = np.random.default_rng(1).random(2000) < 0.05
    frame = pd.DataFrame({"flag": np.where(wrong, 1 - target, target)})
    assert leaking_columns(frame, target) == []  # errs on 5 % of rows, far above the 1 % of a leak


def test_noise_of_any_type_is_no_leak():
    rng = np.random.default_rng(2)
    target = rng.integers(0, 3, N_ROWS)
    frame = pd.DataFrame(
        {
            **{f"normal {number}": rng.normal(size=N_ROWS) for number in range(20)},
            "id": np.arange(N_ROWS),
            "name": [f"person {row}" for row in range(N_ROWS)],
            "constant": np.ones(N_ROWS),
            "empty": np.full(N_ROWS, np.nan),
            "missing": np.where(rng.random(N_ROWS) < 0.5, np.nan, rng.normal(size=N_ROWS)),
            "infinite": np.where(rng.random(N_ROWS) < 0.5, np.inf, rng.normal(size=N_ROWS)),
            "complex": rng.normal(size=N_ROWS) + 1j,
        }
    )
    assert leaking_columns(frame, target) == []


def test_a_rare_target_raises_few_false_alarms():
    rng = np.random.default_rng(3)
    n_tables, n_columns, alarms = 40, 5, 0
    for _ in range(n_tables):
        target = (np.arange(100) < 5).astype(int)
        alarms += len(leaking_columns(pd.DataFrame(rng.integers(0, 2, (100, n_columns))), target))
    # A coin must separate 5 rows from 95; more than 1 % of columns named would be a fault (false alarm 1e-6).
    assert alarms <= binom.isf(1e-6, n_tables * n_columns, 0.01)


@pytest.mark.parametrize(
    "target", [np.zeros(100, dtype=int), np.array([0, 1] * 5)], ids=["constant", "ten rows"]
)
def test_nothing_can_leak_without_two_values_and_rows_enough(target):
    assert leaking_columns(pd.DataFrame({"copy": target}), target) == []


@pytest.mark.parametrize("signal", [0.0, 0.2, 1.0])
def test_no_tree_errs_less_than_is_promised_without_one(signal, monkeypatch):
    """Also with ties and holes, and with four intervals, where the promise is not far from the truth."""
    monkeypatch.setattr(features, "N_INTERVALS", 4)
    for seed in range(20):
        rng = np.random.default_rng(seed)
        target = rng.integers(0, 2, 120)
        column = np.round(signal * target + rng.normal(size=120), seed % 3)
        column[rng.random(120) < 0.1] = np.nan
        learn = np.arange(120) % 2 == 0
        least = features._least_error(column[~learn], target[~learn])
        *_, of_tree = features._bins(pd.Series(column), target, learn, threshold=1.1)
        assert least <= features._error(of_tree, target, learn, 0)
        assert (least > 0.1) or signal == 1.0
