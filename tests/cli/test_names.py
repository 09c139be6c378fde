"""Ids and labels as they stand in the file, from the table to the predictions."""

import io
import json

import numpy as np
import pandas as pd
import pytest

from .conftest import NO_PREDICTIONS, QUICK, ROLES


@pytest.fixture
def renamed(cases, tmp_path):
    """The table with other names for classes or officers."""

    def renamed(column, names, **others):
        frame = cases.copy()
        for name in (column, *others):
            words = names if name == column else others[name]
            frame[name] = frame[name].map(
                dict(zip(sorted(frame[name].dropna().unique()), words, strict=True))
            )
        frame.to_csv(tmp_path / "cases.csv", index=False)
        return tmp_path / "cases.csv"

    return renamed


def evaluated(run, data, *options):
    settings = ("--predictions", "guess", "--exclude", "score", "--format", "json")
    result = run("evaluate", data, *ROLES, *QUICK, *settings, *options)
    assert result.exit_code == 0, result.output
    return json.loads(result.stdout)


def numbers(document):
    return [(each["lower"], each["ci_upper"]) for each in document["evaluations"]]


def test_officers_07_and_7_are_two_people(run, renamed):
    """Broke: four officers were counted, and the numbers were those of four."""
    plain = evaluated(run, renamed("officer", list("abcde")))
    padded = evaluated(run, renamed("officer", ["07", "1e5", "100000", "7", "9"]))
    assert padded["data"]["n_decision_makers"] == 5
    assert plain["data"]["n_decision_makers"] == 5


def test_the_names_of_officers_change_no_number_but_by_their_order(run, renamed):
    first = evaluated(run, renamed("officer", ["1", "2", "3", "4", "5"]))
    second = evaluated(run, renamed("officer", ["01", "02", "03", "04", "05"]))
    assert numbers(first) == numbers(second)


@pytest.mark.parametrize("labels", [("0", "1"), ("0.0", "1.0")])
def test_classes_that_are_plain_numbers_are_as_ever(run, renamed, labels):
    data = renamed("failed", labels, guess=("0", "1"))
    document = evaluated(run, data, "--metric", "tpr", "--pos-label", "1")
    assert document["data"]["classes"] == [0, 1]


def test_classes_07_and_7_are_two_and_predictions_name_them(run, renamed):
    """Broke: one class, so nothing could be evaluated."""
    plain = evaluated(run, renamed("failed", ("07", "7"), guess=("07", "7")), "--pos-label", "7")
    assert plain["data"]["classes"] == ["07", "7"]
    words = evaluated(run, renamed("failed", ("no", "yes"), guess=("no", "yes")))
    assert numbers(plain) == numbers(words)


@pytest.mark.parametrize("labels", [("0", "1"), ("07", "7"), ("no", "yes")])
def test_predictions_are_written_as_labels_stand_in_the_file(run, renamed, tmp_path, labels):
    data = renamed("failed", labels)
    result = run("fit", data, *ROLES, *QUICK, *NO_PREDICTIONS, "--estimator", "plug-in", "--model", "m.skops")
    assert result.exit_code == 0, result.output
    result = run("predict", "m.skops", data, "--out", "-")
    written = pd.read_csv(io.StringIO(result.stdout), dtype=str)["prediction"]
    assert set(written) <= set(labels)
    assert written.nunique() == 2


def test_guessed_roles_from_standard_input_are_read_as_written(run, renamed):
    data = renamed("officer", ["07", "1e5", "100000", "7", "9"])
    result = run("check", "-", "--yes", *QUICK, *NO_PREDICTIONS, "--format", "json", input=data.read_text())
    assert result.exit_code == 0, result.output
    assert json.loads(result.stdout)["data"]["n_decision_makers"] == 5


def test_scores_of_named_classes_stay_numbers(run, cases, tmp_path):
    frame = cases.assign(failed=np.where(cases["failed"] == "yes", "7", "07"))
    frame.loc[cases["failed"].isna(), "failed"] = None
    frame.to_csv(tmp_path / "cases.csv", index=False)
    options = ("--predictions", "score", "--exclude", "guess", "--metric", "auc", "--format", "json")
    result = run("evaluate", tmp_path / "cases.csv", *ROLES, *QUICK, *options)
    assert result.exit_code == 0, result.output
