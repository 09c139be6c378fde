"""What a model of all rows would buy: LightGBM's Dask estimator on a whole table, beside models of a sample.

``python -m benchmarks.all_rows FOLDER`` (of :mod:`benchmarks.partition_data`; needs lightgbm and dask) prints
the held-out log-loss of decision and label, and what each fit took.
"""

import argparse
import time

import dask.array as da
import dask.dataframe as dd
import numpy as np
import pandas as pd
from distributed import Client, LocalCluster
from sklearn.metrics import log_loss

import selective_labels as sl
from benchmarks.partition_data import FEATURES
from selective_labels.data.partition_sources import parquet_files
from selective_labels.nuisance.cross_fit import held_out_losses
from selective_labels.nuisance.scores import selector_bands

SIZES = (25_000, 50_000, 100_000, 200_000, 400_000)
TESTED = 40_000


def outcome(frame: pd.DataFrame) -> pd.Series:
    """0 where no label was seen, 1 and 2 for the classes."""
    return (frame["failed"] + 1.0).where(frame["released"] == 1, 0.0).fillna(0.0).astype(int)


def with_leniency(frame: pd.DataFrame, leniency: pd.Series) -> pd.DataFrame:
    """Features, and how lenient who decided is."""
    return frame[FEATURES].assign(leniency=frame["judge"].map(leniency).astype(float))


def samples(files: list[str], tested: pd.DataFrame) -> None:
    """The chosen model of this package, on more and more rows."""
    most = pd.concat([pd.read_parquet(each) for each in files[:1]], ignore_index=True).iloc[: SIZES[-1]]
    frame = pd.concat([most, tested], ignore_index=True)
    data = sl.SelectiveLabels.from_frame(
        frame, "failed", decision="released", decision_maker="judge", features=FEATURES
    )
    held_out = np.arange(len(most), len(frame))
    before = None
    for size in SIZES:
        start = time.process_time()
        fold = np.arange(min(size, len(most))), held_out
        losses = held_out_losses(data, fold, n_bands=selector_bands(data), n_jobs=1, random_state=0)
        fall = np.zeros(len(losses)) if before is None else before - losses
        print(
            f"chosen model, {size:,} rows: loss {losses.mean():.5f}, fallen by {fall.mean():.5f} "
            f"(s.e. {fall.std() / np.sqrt(len(fall)):.5f}), {time.process_time() - start:.1f} s of processor",
            flush=True,
        )
        before = losses


def whole(files: list[str], tested: pd.DataFrame, n_trees: int) -> None:
    """LightGBM on all rows, by two workers."""
    from lightgbm import DaskLGBMClassifier

    counts = pd.concat([pd.read_parquet(each, columns=["judge", "released"]) for each in files])
    leniency = counts.groupby("judge")["released"].mean()
    with LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None) as cluster, Client(cluster):
        frame = dd.read_parquet(files)
        X = frame.map_partitions(with_leniency, leniency).to_dask_array(lengths=True)
        y = frame.map_partitions(outcome).to_dask_array(lengths=True)
        start = time.time()
        model = DaskLGBMClassifier(n_estimators=n_trees, num_leaves=15, learning_rate=0.1, verbose=-1)
        model.fit(X.rechunk({1: -1}), da.asarray(y))
        taken = time.time() - start
        predicted = model.to_local().predict_proba(with_leniency(tested, leniency).to_numpy())
    true = outcome(tested).to_numpy()
    losses = -np.log(predicted[np.arange(len(true)), true])
    print(
        f"LightGBM, {len(counts):,} rows, {n_trees} trees: loss {log_loss(true, predicted):.5f} "
        f"(s.e. {losses.std() / np.sqrt(len(losses)):.5f}), {taken:.0f} s passed on two workers",
        flush=True,
    )


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder")
    parser.add_argument("--trees", type=int, default=200)
    given = parser.parse_args()
    *used, last = parquet_files(given.folder)
    rows = pd.read_parquet(last).iloc[:TESTED]
    samples(used, rows)
    whole(used, rows, given.trees)
