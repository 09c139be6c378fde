"""The study of tables in partitions goes on where it stopped, and counts what it drew."""

import pytest

from study.coverage import partitions


@pytest.fixture
def small(monkeypatch):
    monkeypatch.setattr(partitions, "N_SAMPLES", 3000)
    monkeypatch.setattr(partitions, "FEW", 1500)
    monkeypatch.setattr(partitions, "ALL", 3000)
    monkeypatch.setattr(partitions, "DESIGNS", {"J=8": partitions.DESIGNS["J=8"]})


def test_draws_are_kept_and_the_truth_of_the_share_lies_at_its_upper_end(small, tmp_path, monkeypatch):
    partitions.run_partitions(tmp_path, 2, 1)
    found = partitions.table(tmp_path).set_index("metric")
    assert found["draws"].tolist() == [2] * len(partitions.METRICS)
    assert found["pairs"].tolist() == [1] * len(partitions.METRICS)
    lower, upper, low, high, true = partitions._intervals(tmp_path, "J=8 fit 1500")[0]["share"]
    assert low < lower < upper < high
    assert abs(true - upper) < 0.08  # six standard errors of .013: at the end, not in the middle
    assert true - lower > 0.1

    def draw(*given):
        raise AssertionError("drawn again")

    monkeypatch.setattr(partitions, "draw", draw)
    partitions.run_partitions(tmp_path, 2, 1)
