"""A Dask cluster of two workers does the same work; one that is killed in the middle changes nothing."""

import os
import signal
import subprocess
import sys

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose

from selective_labels import SelectiveLabels, evaluate
from selective_labels._errors import WorkerError
from selective_labels.data.partition_sources import active_client
from tests.evaluation.partitioned.tables import FEATURES, NAMED, from_folder, make_table, numbers, write

dask = pytest.importorskip("dask", reason="optional: dask")
distributed = pytest.importorskip("distributed", reason="optional: distributed")
import dask.dataframe as dd  # noqa: E402

QUICK = {
    "nuisance": "logistic",
    "propensity": "shares",
    "random_state": 0,
    "metric": ["accuracy", "tpr", "fpr"],
}


@pytest.fixture(scope="module")
def client():
    options = {"distributed.worker.memory.terminate": False, "distributed.comm.timeouts.connect": "10s"}
    with (
        dask.config.set(options),
        distributed.LocalCluster(
            n_workers=2, threads_per_worker=1, host="127.0.0.1", dashboard_address="127.0.0.1:0"
        ) as cluster,
        distributed.Client(cluster, set_as_default=False) as client,
    ):
        yield client


class Killer:
    """Predicts; the first time it is asked on a worker, the worker is killed."""

    classes_ = np.array([0.0, 1.0])

    def __init__(self, flag):
        self.flag = str(flag)

    def predict(self, X):
        try:
            os.close(os.open(self.flag, os.O_CREAT | os.O_EXCL))
        except FileExistsError:
            return np.where(X["x_1"] > 0, 0.0, 1.0)
        os.kill(os.getpid(), signal.SIGKILL)
        raise AssertionError("nobody comes here")


def from_frame(frame, n_parts=4):
    return SelectiveLabels.from_dask(dd.from_pandas(frame, npartitions=n_parts), **NAMED, features=FEATURES)


def agree(found, wanted):
    for one, other in zip(found, wanted, strict=True):
        assert_allclose(numbers(one), numbers(other), rtol=1e-8, atol=1e-8)


def test_without_a_cluster_a_dask_frame_is_streamed_here(tmp_path):
    frame = make_table(900)
    assert active_client() is None
    lazy = from_frame(frame)
    assert "4 partitions of a Dask frame" in repr(lazy)
    agree(evaluate("guess", lazy, **QUICK), evaluate("guess", from_folder(write(frame, tmp_path)), **QUICK))


def test_a_client_that_is_active_is_used_and_may_lose_a_worker(client, tmp_path):
    frame = make_table(900)
    folder = tmp_path / "files"
    folder.mkdir()
    wanted = evaluate("guess", from_folder(write(frame, folder, 6)), **QUICK)
    with client.as_current():
        assert active_client() is client
        agree(evaluate("guess", from_folder(folder), **QUICK), wanted)
        agree(evaluate("guess", from_frame(frame), **QUICK), wanted)
        flag = tmp_path / "killed"
        agree(evaluate(Killer(flag), from_folder(folder), **QUICK), wanted)
    assert flag.exists()


CLUSTER = """
import time
from distributed import LocalCluster
tcp = {"protocol": "tcp://", "host": "127.0.0.1", "dashboard_address": None}
print(LocalCluster(n_workers=1, threads_per_worker=1, processes=False, **tcp).scheduler_address, flush=True)
time.sleep(100)
"""


class Ender:
    """Ends the cluster instead of predicting."""

    classes_ = np.array([0.0, 1.0])

    def predict(self, X):
        os._exit(1)


def test_a_cluster_that_goes_away_is_told_in_a_sentence(tmp_path):
    """Broke: a FutureCancelledError of several lines."""
    folder = write(make_table(300), tmp_path)
    cluster = subprocess.Popen([sys.executable, "-c", CLUSTER], stdout=subprocess.PIPE, text=True)
    try:
        address = cluster.stdout.readline().strip()
        with (
            distributed.Client(address, set_as_default=False) as client,
            client.as_current(),
            pytest.raises(WorkerError, match=r"The Dask cluster is gone, or lost its workers .* again\.$"),
        ):
            evaluate(Ender(), from_folder(folder), **QUICK)
    finally:
        cluster.kill()
        cluster.communicate()


def test_an_empty_partition_of_a_dask_frame(tmp_path):
    frame = make_table(600)
    parts = [frame.iloc[:300], frame.iloc[:0], frame.iloc[300:]]
    delayed = [dask.delayed(part) for part in parts]
    lazy = SelectiveLabels.from_dask(
        dd.from_delayed(delayed, meta=frame.iloc[:0]), **NAMED, features=FEATURES
    )
    assert len(lazy) == 600
    agree(evaluate("guess", lazy, **QUICK), evaluate("guess", from_frame(frame, 2), **QUICK))
    assert isinstance(lazy.sample_frame(600), pd.DataFrame)
