"""Runs that are killed, resumed, repeated or sent to a cluster give one and the same table."""

import multiprocessing
import random
import signal
import time
import warnings
from dataclasses import replace

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning

from selective_labels._parallel import listening
from study.catalogue import find_experiment
from study.engine import RESULT_COLUMNS, TIME_COLUMNS, Experiment, Workers, current_commit, reproduce
from study.honest.designs import draw_strong
from study.table import TaskTable
from study.tasks import Setup

N_KILLS = 20
REAL = find_experiment("rate", "honest")
SMALL = Setup(n_samples=120)


def draw_numbers(task, setup):
    """A task as short as a write to disk, so that kills fall everywhere."""
    time.sleep(0.005)
    seed = task.seeds(setup.entropy, 1)[0]
    values = np.random.default_rng(seed).random(4)
    return [{"method": f"m{number}", "accuracy": float(value)} for number, value in enumerate(values)]


def choose_number(task, setup):
    return [{"name": "number", "value": str(task.repetition)}]


TOY = Experiment("toy", "honest", ("a", "b"), {"x": 40, "y": 10}, draw_numbers, choose_number)


def run_toy(out):
    reproduce(TOY, TOY.tasks(), SMALL, out, resume=True)


def size_of(folder):
    return sum(path.stat().st_size for path in folder.glob("*.csv"))


def sorted_lines(path):
    return sorted(path.read_bytes().splitlines())


def small_tasks(repetitions):
    return REAL.tasks(["additive-n500"], repetitions=repetitions)


@pytest.fixture(scope="module")
def real_table(tmp_path_factory):
    out = tmp_path_factory.mktemp("once")
    return reproduce(REAL, small_tasks(2), SMALL, out).path


def test_twenty_kills_and_resumes_give_the_table_of_one_run(tmp_path):
    run_toy(tmp_path / "once")
    # A server that has imported everything makes processes at once, and no lock of this one is copied.
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload([__name__, "study.catalogue"])
    delays, killed = random.Random(0), 0
    while killed < N_KILLS:
        before = size_of(tmp_path / "killed")
        process = context.Process(target=run_toy, args=(tmp_path / "killed",))
        process.start()
        # Every fourth kill falls anywhere; the others within the work, however slow the machine is.
        while killed % 4 and process.is_alive() and size_of(tmp_path / "killed") == before:
            time.sleep(0.001)
        time.sleep(delays.uniform(0.0, 0.03))
        process.kill()
        process.join()
        assert process.exitcode == -signal.SIGKILL, "the run was cut off, not finished"
        killed += 1
    results = TaskTable(tmp_path / "killed" / "results.csv", RESULT_COLUMNS)
    assert 0 < len(results.recover()) < len(TOY.tasks()), "the kills fell within the work"
    run_toy(tmp_path / "killed")
    for name in ("results.csv", "settings.csv"):
        assert sorted_lines(tmp_path / "killed" / name) == sorted_lines(tmp_path / "once" / name)


def stop_early(task, setup):
    warnings.warn("no", ConvergenceWarning, stacklevel=1)
    warnings.warn("of no interest", UserWarning, stacklevel=1)
    return draw_numbers(task, setup)


def test_fits_that_did_not_converge_are_counted(tmp_path):
    once = Experiment("toy", "honest", ("a",), {"x": 1}, stop_early, mirrors=(False,))
    reproduce(once, once.tasks(), SMALL, tmp_path)
    took = TaskTable(tmp_path / "times.csv", TIME_COLUMNS).read()
    assert took["unconverged"].tolist() == [1]
    assert took["commit"].tolist() == [current_commit()], "rows say which commit made them"


def test_a_resumed_run_does_nothing_twice(tmp_path):
    said = []
    reproduce(TOY, TOY.tasks(repetitions=2), SMALL, tmp_path)
    with listening(lambda what, done, total: said.append((what, total))):
        reproduce(TOY, TOY.tasks(repetitions=3), SMALL, tmp_path, resume=True)
    # Two cells, two directions, two parts: one more repetition is eight tasks; settings were chosen before.
    assert set(said) == {("toy tasks", 8)}


def test_a_single_repetition_alone_gives_the_same_rows(tmp_path, real_table):
    task = small_tasks(2)[-1]
    alone = reproduce(REAL, [task], SMALL, tmp_path).path
    assert set(sorted_lines(alone)) < set(sorted_lines(real_table))


def test_two_processes_give_the_same_table(tmp_path, real_table):
    again = reproduce(REAL, small_tasks(2), SMALL, tmp_path, workers=Workers(2)).path
    assert sorted_lines(again) == sorted_lines(real_table)


def test_a_cluster_of_two_workers_gives_the_same_table(tmp_path, real_table):
    distributed = pytest.importorskip("distributed", reason="optional: Dask is not installed")
    cluster = distributed.LocalCluster(
        n_workers=2, threads_per_worker=1, processes=True, dashboard_address="127.0.0.1:0"
    )
    with cluster:
        workers = Workers(-1, "dask", cluster.scheduler_address)
        again = reproduce(REAL, small_tasks(2), SMALL, tmp_path, workers=workers).path
    assert sorted_lines(again) == sorted_lines(real_table)


def test_results_are_not_overwritten(tmp_path):
    reproduce(TOY, TOY.tasks(repetitions=1), SMALL, tmp_path)
    with pytest.raises(ValueError, match="--resume"):
        reproduce(TOY, TOY.tasks(repetitions=1), SMALL, tmp_path)


def test_results_of_other_sizes_do_not_mix(tmp_path):
    reproduce(TOY, TOY.tasks(repetitions=1), SMALL, tmp_path)
    with pytest.raises(ValueError, match="--samples 120"):
        reproduce(TOY, TOY.tasks(repetitions=1), Setup(n_samples=130), tmp_path, resume=True)


def test_mirrored_designs_share_features_and_differ_in_seen_labels():
    seeds = [task.seeds(0, 1)[0].generate_state(4).tolist() for task in small_tasks(1)]
    assert seeds[0] == seeds[1], "direction has no share in the seed"
    designed, mirrored = (
        draw_strong(replace(task, cell="additive"), SMALL, task.seeds(0, 1)[0]) for task in small_tasks(1)
    )
    np.testing.assert_array_equal(designed.X, mirrored.X)
    np.testing.assert_array_equal(designed.y_true, mirrored.y_true)
    assert (designed.decision != mirrored.decision).any()


def test_cells_and_repetitions_have_seeds_of_their_own():
    tasks = [task for task in REAL.tasks(repetitions=3) if not task.mirrored]
    seeds = {tuple(task.seeds(0, 1)[0].generate_state(4)) for task in tasks}
    assert len(seeds) == len(tasks)


def test_unknown_cells_are_named():
    with pytest.raises(ValueError, match="--cells nowhere matches none of additive-n500"):
        REAL.tasks(["nowhere"])


def test_a_scheduler_is_asked_for(tmp_path):
    with pytest.raises(ValueError, match="--scheduler"):
        reproduce(TOY, TOY.tasks(repetitions=1), SMALL, tmp_path, workers=Workers(1, "dask"))
