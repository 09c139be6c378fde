"""--pending and --matured: the same numbers as in Python, and one sentence where they do not fit."""

import json

import jsonschema
import numpy as np
import pandas as pd
import pytest

import selective_labels as sl
from selective_labels.cli.options import Pending
from selective_labels.data.pending import PENDING
from tests.pending_designs import DATED, delayed

from .conftest import schema

ROLES = ["--label", "y", "--decision", "accepted", "--decision-maker", "who"]
FAST = ["--nuisance", "logistic", "--folds", "2", "--features", "x*"]


@pytest.fixture(scope="module")
def source(tmp_path_factory):
    drawn = delayed(1200, 8, DATED)
    frame = pd.DataFrame(drawn.X, columns=[f"x{number}" for number in range(5)])
    due = pd.Timestamp("2023-01-01") + pd.to_timedelta((drawn.due * 365).astype(int), unit="D")
    frame = frame.assign(
        y=drawn.matured, accepted=drawn.decision, who=[f"w{each}" for each in drawn.maker], due=due
    )
    frame["rule"] = drawn.predictions
    path = tmp_path_factory.mktemp("pending") / "cases.csv"
    frame.to_csv(path, index=False)
    return path


def evaluate(run, source, *options):
    return run("evaluate", source, *ROLES, *FAST, "--predictions", "rule", "--format", "json", *options)


def test_the_option_takes_what_the_library_takes():
    assert tuple(Pending) == PENDING


@pytest.mark.parametrize("pending", ["at-random", "worst-case"])
def test_numbers_are_those_of_python(run, source, pending):
    found = json.loads(evaluate(run, source, "--pending", pending, "--matured", "due").stdout)
    frame = pd.read_csv(source, parse_dates=["due"])
    data = sl.SelectiveLabels.from_frame(
        frame,
        "y",
        decision="accepted",
        decision_maker="who",
        features=[f"x{number}" for number in range(5)],
        pending=pending,
        matured="due",
    )
    expected = sl.evaluate(frame["rule"], data, nuisance="logistic", cv=2, random_state=0)
    (row,) = found["evaluations"]
    np.testing.assert_allclose([row["lower"], row["ci_upper"]], [expected.lower, expected.ci_upper])
    assert found["data"]["roles"]["matured"] == "due"
    jsonschema.validate(found, schema("evaluate"))


def test_without_the_option_the_remedy_is_named(run, source):
    assert "--pending at-random" in evaluate(run, source).stderr


def test_settings_are_saved(run, source, tmp_path):
    saved = tmp_path / "settings.toml"
    how = ["--pending", "worst-case", "--matured", "due"]
    first = evaluate(run, source, *how, "--save-config", saved)
    again = run("evaluate", source, "--config", saved)
    assert 'pending = "worst-case"' in saved.read_text()
    assert json.loads(first.stdout)["evaluations"] == json.loads(again.stdout)["evaluations"]
