"""Bands of decision-makers by all rows of a table: as from the rows themselves; no row chooses its own."""

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from selective_labels import evaluate
from selective_labels.data.row_hash import hash_folds, row_keys
from selective_labels.evaluation.partitioned.scored_partitions import inner_folds_of, table_arms
from selective_labels.nuisance.bands import INNER_FOLDS, cut_evenly, shrink
from selective_labels.nuisance.learning_curve import draw_rows
from tests.evaluation.partitioned.tables import from_folder, make_table, write

N_ROWS, N_MAKERS, N_BANDS, SEED = 6000, 30, 5, 3


def arms_of(folder, *roles):
    lazy = from_folder(folder, *roles, fit_rows=1500)
    drawn = draw_rows(lazy, SEED)
    data = lazy.reader.coded(drawn.data())
    hashes = lazy.roles.keys(drawn.frame)
    folds = hash_folds(hashes, 5, SEED)
    pairs = [(np.flatnonzero(folds != each), np.flatnonzero(folds == each)) for each in range(5)]
    return drawn.frame, hashes, pairs, table_arms(lazy, data, hashes, pairs, N_BANDS, SEED)


def slow_bands(frame, rows):
    """Within strata, decision by decision; weights are kept small by the table's mean."""
    frame = frame.assign(weight=frame["weight"] / frame["weight"].mean())
    mean = frame.groupby("court")[["weight"]].sum()
    accepted = (frame["weight"] * frame["released"]).groupby(frame["court"]).sum() / mean["weight"]
    surplus = frame["weight"] * (frame["released"] - frame["court"].map(accepted))
    mass = frame["weight"][rows].groupby(frame["judge"][rows]).sum().reindex(range(N_MAKERS)).to_numpy()
    total = surplus[rows].groupby(frame["judge"][rows]).sum().reindex(range(N_MAKERS)).to_numpy()
    share = np.average(frame["released"], weights=frame["weight"])
    return cut_evenly(shrink(total / mass, mass, share * (1 - share) / mass), mass, N_BANDS)


def test_bands_are_those_of_all_rows_off_the_fold_and_off_the_inner_fold(tmp_path):
    frame = make_table(N_ROWS, n_decision_makers=N_MAKERS)
    sample, _, pairs, arms = arms_of(write(frame, tmp_path), "strata", "sample_weight")
    keys = row_keys(np.arange(N_ROWS))
    fold, inner = hash_folds(keys, 5, SEED), inner_folds_of(keys, SEED)
    assert_array_equal(arms[2].lookup, slow_bands(frame, fold != 2))
    train = pairs[2][0]
    for part in range(INNER_FOLDS):
        here = inner[sample.index[train]] == part
        wanted = slow_bands(frame, (fold != 2) & (inner != part))
        assert_array_equal(arms[2].rows[here], wanted[sample["judge"].to_numpy()[train][here]])


def test_cases_that_differ_between_decision_makers_are_no_leniency(tmp_path):
    rng = np.random.default_rng(0)
    frame = make_table(N_ROWS, n_decision_makers=N_MAKERS)
    # Everybody alike; the second half of the decision-makers see cases of which more are accepted.
    frame["x_1"] = rng.normal(np.where(frame["judge"] < N_MAKERS // 2, -1.0, 1.0), 1.0)
    frame["released"] = (rng.random(N_ROWS) < 0.5 + 0.1 * frame["x_1"].clip(-3, 3)).astype(int)
    frame["failed"] = pd.Series(rng.integers(2, size=N_ROWS).astype(float)).where(frame["released"] == 1)
    _, _, _, arms = arms_of(write(frame, tmp_path))
    order = np.corrcoef(arms[0].lookup, np.arange(N_MAKERS) >= N_MAKERS // 2)[0, 1]
    # Unadjusted leniency would put nearly all of one half below the other: a correlation of .85.
    assert abs(order) < 0.5


@pytest.mark.parametrize("all_rows", [True, False])
def test_without_need_nothing_is_counted(tmp_path, all_rows):
    frame = make_table(900, n_decision_makers=25 if all_rows else 6)
    lazy = from_folder(write(frame, tmp_path), fit_rows=900 if all_rows else 300)
    drawn = draw_rows(lazy, 0)
    n_bands = 5 if all_rows else None
    assert table_arms(lazy, lazy.reader.coded(drawn.data()), np.zeros(1), [], n_bands, 0) is None


def test_few_rows_that_fit_models_make_bounds_sharper_by_all_that_are_counted(tmp_path, monkeypatch):
    frame = make_table(20_000, n_decision_makers=100)
    folder = write(frame, tmp_path)
    how = {"nuisance": "logistic", "propensity": "shares", "random_state": 0}
    found = evaluate("guess", from_folder(folder, fit_rows=3000), **how)
    monkeypatch.setattr(
        "selective_labels.evaluation.partitioned.scored_partitions.table_arms", lambda *given: None
    )
    sample_alone = evaluate("guess", from_folder(folder, fit_rows=3000), **how)
    assert found.ci_upper - found.ci_lower < sample_alone.ci_upper - sample_alone.ci_lower
    assert_allclose(found.sample.n, sample_alone.sample.n)
