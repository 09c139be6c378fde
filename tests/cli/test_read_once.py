"""A table is read once: the checked object is built once, and the kind of each column decided once."""

from collections import Counter

import pytest

from selective_labels import SelectiveLabels
from selective_labels.data import coding, features
from selective_labels.io import prepare
from selective_labels.report import cases
from tests.cli.conftest import NO_PREDICTIONS, QUICK, ROLES, make_cases

N_CASES = 400


@pytest.fixture
def traced(monkeypatch):
    """How often the checked object was built, and each column's kind decided."""
    counts = {"built": 0, "kinds": Counter()}
    build = SelectiveLabels.from_arrays.__func__

    def counted_build(cls, *args, **keywords):
        counts["built"] += 1
        return build(cls, *args, **keywords)

    def counted(decide):
        def decide_and_count(column):
            counts["kinds"][column.name] += 1
            return decide(column)

        return decide_and_count

    monkeypatch.setattr(SelectiveLabels, "from_arrays", classmethod(counted_build))
    monkeypatch.setattr(prepare, "kind_by_content", counted(features.kind_by_content))
    for module in (coding, cases, features):
        monkeypatch.setattr(module, "kind_by_type", counted(features.kind_by_type))
    return counts


@pytest.fixture
def table(tmp_path):
    path = tmp_path / "cases.csv"
    make_cases(N_CASES).to_csv(path, index=False)
    return path


def test_report_reads_its_table_once(traced, table, run):
    options = ("--predictions", "guess", "--exclude", "score", "--by", "region", "--seed", "0")
    result = run("report", table, *ROLES, *QUICK, *options, "--out", "report.html")
    assert result.exit_code == 0, result.output
    assert traced["built"] == 1
    assert set(traced["kinds"].values()) == {1}
    assert {"age", "job", "region", "day"} <= set(traced["kinds"])


@pytest.mark.parametrize("command", ["evaluate", "check", "fit"])
def test_other_commands_read_their_table_once(command, traced, table, run):
    options = {
        "evaluate": ("--predictions", "guess", "--exclude", "score"),
        "check": NO_PREDICTIONS,
        "fit": (*NO_PREDICTIONS, "--model", "model.skops"),
    }[command]
    result = run(command, table, *ROLES, *QUICK, *options)
    assert result.exit_code == 0, result.output
    assert traced["built"] == 1
    assert set(traced["kinds"].values()) == {1}
