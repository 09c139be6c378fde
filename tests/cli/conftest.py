"""One small messy table, and a way to run commands on it."""

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner

from selective_labels.cli.app import app
from selective_labels.datasets import make_decision_makers

ROLES = ("--label", "failed", "--decision", "released", "--decision-maker", "officer")
QUICK = ("--nuisance", "logistic", "--folds", "2")
NO_PREDICTIONS = ("--exclude", "guess,score")


def make_cases(n_cases=600):
    """Numbers, text, dates, holes, an id, and two columns of predictions."""
    sample = make_decision_makers(n_cases, n_classes=2, n_decision_makers=5, random_state=0)
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(sample.X.round(3), columns=["age", "income", "debt", "years"])
    frame.loc[rng.random(n_cases) < 0.1, "income"] = None
    frame["job"] = rng.choice(["cook", "clerk", None], n_cases)
    frame["region"] = rng.choice(["north", "south"], n_cases)
    frame["day"] = (pd.Timestamp("2024-01-01") + pd.to_timedelta(rng.integers(0, 90, n_cases), "D")).astype(
        str
    )
    frame["case"] = [f"c{number}" for number in range(n_cases)]
    frame["officer"] = [f"officer {code}" for code in sample.decision_maker]
    frame["released"] = sample.decision
    frame["failed"] = np.where(sample.decision == 1, np.array(["no", "yes"])[sample.y], None)
    frame["guess"] = np.where(sample.X[:, 0] < 0, "yes", "no")
    frame["score"] = (1 / (1 + np.exp(sample.X[:, 0]))).round(4)
    return frame


@pytest.fixture(scope="session")
def cases():
    return make_cases()


@pytest.fixture
def data(cases, tmp_path):
    path = tmp_path / "cases.csv"
    cases.to_csv(path, index=False)
    return path


@pytest.fixture
def run(monkeypatch, tmp_path):
    """Run a command in an empty folder; the result has stdout, stderr and exit_code."""
    monkeypatch.chdir(tmp_path)

    def run(*arguments, **settings):
        result = CliRunner().invoke(app, [str(each) for each in arguments], **settings)
        assert "Traceback" not in result.output, result.output
        return result

    return run


@pytest.fixture
def refused(run):
    """Run a command that must end with status 1 and one sentence, and return the sentence."""

    def refused(*arguments, **settings):
        result = run(*arguments, **settings)
        assert result.exit_code == 1, result.output
        lines = [line for line in result.stderr.splitlines() if line]
        assert len(lines) == 1, f"one sentence, not {lines}"
        assert lines[0].startswith("Error: ")
        assert result.stdout == "", "results only on standard output"
        return lines[0].removeprefix("Error: ")

    return refused


@pytest.fixture(scope="session")
def model(cases, tmp_path_factory):
    """A model fitted on the first half of the cases."""
    folder = tmp_path_factory.mktemp("model")
    cases.iloc[:300].to_csv(folder / "half.csv", index=False)
    arguments = ("fit", folder / "half.csv", *ROLES, *QUICK, *NO_PREDICTIONS)
    arguments += ("--estimator", "plug-in", "--model", folder / "model.skops")
    result = CliRunner().invoke(app, [str(each) for each in arguments])
    assert result.exit_code == 0, result.output
    return folder / "model.skops"


def schema(name):
    path = Path(__file__).parents[2] / "docs" / "schemas" / f"{name}.schema.json"
    return json.loads(path.read_text())
