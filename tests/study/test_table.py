"""A table that grows by whole tasks, whatever cuts it off."""

import pytest

from study.table import TaskTable
from study.tasks import Task

COLUMNS = ("method", "accuracy")
ROWS = [{"method": "full", "accuracy": 0.7}, {"method": 'odd, "quoted"', "accuracy": None}]


def task(repetition, mirrored=False):
    return Task("rate", "honest", "additive", mirrored, "all", repetition)


def written(path, n_tasks):
    table = TaskTable(path, COLUMNS)
    for repetition in range(n_tasks):
        table.append(task(repetition), ROWS)
    return table


def test_a_cut_at_any_byte_loses_the_last_task_only(tmp_path):
    whole = written(tmp_path / "whole.csv", 2).path.read_bytes()
    first = len(written(tmp_path / "first.csv", 1).path.read_bytes())
    for cut in range(first, len(whole)):
        table = TaskTable(tmp_path / "cut.csv", COLUMNS)
        table.path.write_bytes(whole[:cut])
        assert table.recover() == {task(0)}, "a task that is not whole is not done"
        table.append(task(1), ROWS)
        assert table.path.read_bytes() == whole, "doing it again gives the same file"


def test_a_whole_table_is_left_alone(tmp_path):
    table = written(tmp_path / "results.csv", 3)
    before = table.path.read_bytes()
    assert table.recover() == {task(0), task(1), task(2)}
    assert table.path.read_bytes() == before


def test_tasks_come_back_as_they_went(tmp_path):
    table = TaskTable(tmp_path / "results.csv", COLUMNS)
    table.append(task(3, mirrored=True), ROWS)
    assert table.recover() == {task(3, mirrored=True)}, "directions are told apart"


def test_there_is_no_table_before_the_first_task(tmp_path):
    assert TaskTable(tmp_path / "results.csv", COLUMNS).recover() == set()


def test_a_task_that_is_there_twice_is_an_error(tmp_path):
    table = written(tmp_path / "results.csv", 1)
    table.append(task(0), ROWS)
    with pytest.raises(ValueError, match="twice"):
        table.recover()


def test_other_columns_are_an_error(tmp_path):
    path = written(tmp_path / "results.csv", 1).path
    with pytest.raises(ValueError, match="columns"):
        TaskTable(path, ("method",)).recover()


def test_damage_in_the_middle_is_an_error(tmp_path):
    table = written(tmp_path / "results.csv", 1)
    with table.path.open("a") as file:
        file.write("no,such,row\n")
    with pytest.raises(ValueError, match="damaged"):
        table.recover()
