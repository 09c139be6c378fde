"""Workers: as many as cores unless told otherwise, one inside another's, and one thread each."""

import threading

import joblib
import numpy as np
import pytest
from sklearn import config_context, get_config
from threadpoolctl import threadpool_info, threadpool_limits

from selective_labels._parallel import Workers


def n_workers(*_):
    with Workers() as workers:
        return workers.n_jobs


@pytest.mark.usefixtures("as_many_jobs_as_cores")
def test_the_default_is_the_cores_there_are():
    assert n_workers() == joblib.cpu_count()


@pytest.mark.parametrize("backend", ["threading", "loky"])
def test_what_joblib_is_told_comes_first(backend):
    with joblib.parallel_config(backend=backend, n_jobs=3):
        assert n_workers() == 3
        with Workers(1) as workers:
            assert workers.n_jobs == 1, "and what we are told before that"


@pytest.mark.usefixtures("as_many_jobs_as_cores")
def test_inside_another_task_there_is_one():
    inside = joblib.Parallel(n_jobs=2, prefer="threads")(joblib.delayed(n_workers)(each) for each in range(2))
    assert inside == [1, 1]


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_results_come_in_the_order_of_their_tasks(n_jobs):
    with Workers(n_jobs) as workers:
        assert workers.do([(pow, base, 2) for base in range(5)], "squares") == [0, 1, 4, 9, 16]
        assert workers.do([], "nothing") == []


def settings():
    # The names of threads tell that tasks do not run in the caller's.
    return threading.current_thread().name, max(each["num_threads"] for each in threadpool_info())


def test_each_task_has_one_thread_and_the_caller_gets_his_back():
    np.ones((2, 2)) @ np.ones((2, 2))
    with threadpool_limits(2):
        with Workers(2) as workers:
            found = workers.do([(settings,)] * 4, "threads")
        after = settings()[1]
    assert {count for _, count in found} == {1}
    assert after == 2
    assert threading.current_thread().name not in {name for name, _ in found}


def test_tasks_know_the_configuration_of_scikit_learn():
    with config_context(enable_metadata_routing=True), Workers(2) as workers:
        found = workers.do([(get_config,)] * 2, "configuration")
    assert all(each["enable_metadata_routing"] for each in found)
