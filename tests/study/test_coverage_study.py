"""The coverage study: draws belong to their seeds, a run goes on, and the table counts rightly."""

import json

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from study.coverage import designs, run, table
from study.coverage.designs import DESIGNS, Cases, Design
from study.coverage.replication import truths


@pytest.mark.parametrize("name", DESIGNS)
def test_a_design_draws_what_it_says(name):
    design = DESIGNS[name]
    cases = design.draw(600, np.random.default_rng(0))
    assert set(np.unique(cases.y_true)) == set(range(design.n_classes))
    assert_array_equal(cases.y[cases.decision], cases.y_true[cases.decision])
    assert (cases.y[~cases.decision] == -1).all()


def test_the_truth_is_a_mean_over_many_cases():
    cases = DESIGNS["rare class"].draw(400_000, np.random.default_rng(3))
    chosen = designs.classifier(cases.X, 2)
    expected = np.mean(chosen[np.arange(len(chosen)), cases.y_true])
    assert_allclose(truths("rare class")["evaluate", "accuracy"], expected, atol=0.005)  # six standard errors


def test_a_run_goes_on_and_counts(tmp_path, monkeypatch):
    def draw(name, number):
        # The truth is .5; three of four intervals have it, one is declined.
        ends = [(0.4, 0.6), (0.45, 0.5), (0.6, 0.7), (0.5, 0.5), (float("nan"), float("nan"))][number]
        rows = [["evaluate", "accuracy", "instrument", *ends]]
        return {"draw": number, "intervals": rows, "cautions": ["doubtful"] if number == 2 else []}

    only = {"one": Design("one", lambda n, rng: Cases(*[np.zeros(n)] * 4), n_replications=5)}
    for module in (run, table):
        monkeypatch.setattr(module, "DESIGNS", only)
    monkeypatch.setattr(run, "draw", draw)
    monkeypatch.setattr(table, "truths", lambda name: {("evaluate", "accuracy"): 0.5})
    run.run(tmp_path, n_replications=2)
    run.run(tmp_path)
    kept = [json.loads(line)["draw"] for line in run.path(tmp_path, "one").read_text().splitlines()]
    assert sorted(kept) == [0, 1, 2, 3, 4]
    (row,) = table.coverage_table(tmp_path).to_dict("records")
    assert row["draws"] == 4
    assert row["coverage"] == 0.75
    assert_allclose(row["no_interval"], 0.2)
    table.write_page(tmp_path, tmp_path)
    page = (tmp_path / "coverage.md").read_text()
    assert "| one | 4 | 1 | 0.750 (evaluate accuracy, instrument) | 0.750 | 0 | 0.200 |" in page
