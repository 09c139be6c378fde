"""The option --share-labels, from the shell's side."""

import json
from pathlib import Path

import jsonschema
import numpy as np
import pandas as pd
import pytest

from tests.panel_designs import make_panels

from .conftest import QUICK, schema

ROLES = ("--label", "failed", "--decision", "released", "--decision-maker", "officer", "--groups", "case")


@pytest.fixture
def table():
    sample = make_panels(300, 0)
    label = np.where(sample.decision == 1, np.array(["no", "yes"])[sample.y], None)
    return pd.DataFrame(
        {
            "age": sample.X[:, 0].round(3),
            "officer": [f"officer {code}" for code in sample.decision_maker],
            "released": sample.decision,
            "failed": label,
            "case": [f"c{code}" for code in sample.case],
            "guess": np.where(sample.X[:, 0] > 0, "yes", "no"),
        }
    )


@pytest.fixture
def rows(table, tmp_path):
    table.to_csv(tmp_path / "rows.csv", index=False)
    return tmp_path / "rows.csv"


def test_evaluate(run, rows, table):
    command = ("evaluate", rows, *ROLES, *QUICK, "--predictions", "guess", "--format", "json")
    results = []
    for option in ((), ("--share-labels",)):
        result = run(*command, *option)
        assert result.exit_code == 0, result.output
        document = json.loads(result.stdout)
        jsonschema.validate(document, schema("evaluate"), jsonschema.Draft202012Validator)
        results.append(document)
    apart, shared = results
    anyone = table.groupby("case")["released"].transform("max")
    assert apart["data"]["n_labeled"] == table["released"].sum()
    assert apart["data"]["n_panels"] is None
    assert shared["data"]["n_labeled"] == anyone.sum()
    assert shared["data"]["n_decision_makers"] == 12
    assert shared["data"]["n_panels"] > 12
    widths = [each["evaluations"][0]["upper"] - each["evaluations"][0]["lower"] for each in results]
    assert widths[1] < widths[0]


def test_other_commands_take_it(run, rows):
    others = ("--share-labels", "--exclude", "guess")
    check = run("check", rows, *ROLES, *QUICK, *others)
    assert check.exit_code == 0, check.output
    assert "shared within 'case'" in " ".join(check.stdout.split())
    fit = run("fit", rows, *ROLES, *QUICK, *others, "--estimator", "plug-in", "--model", "m.skops")
    assert fit.exit_code == 0, fit.output
    compare = run("compare", rows, *ROLES, *QUICK, "--share-labels", "--a", "guess", "--b", "no")
    assert compare.exit_code == 0, compare.output


def test_a_report_can_be_made(run, rows):
    report = run(
        "report", rows, *ROLES, *QUICK, "--share-labels", "--predictions", "guess", "--out", "page.html"
    )
    assert report.exit_code == 0, report.output
    assert "panels of 12 people" in Path("page.html").read_text(encoding="utf-8")


def test_it_is_suggested(run, rows):
    result = run("check", rows, *ROLES, *QUICK, "--exclude", "guess")
    assert "--share-labels lets every row count it" in " ".join(result.stdout.split())


def test_refusals(refused, rows, table, tmp_path):
    roles = ROLES[:-2]
    assert refused("check", rows, *roles, *QUICK, "--share-labels") == (
        "--share-labels needs --groups: which rows are one case."
    )
    table.loc[table["case"] == "c7", ["released", "failed"]] = [1, "no"]
    table.loc[table.index[table["case"] == "c7"][:1], "failed"] = "yes"
    table.loc[len(table)] = [0.0, "officer 1", 1, "no", "c7", "no"]
    table.to_csv(tmp_path / "wrong.csv", index=False)
    said = refused("check", tmp_path / "wrong.csv", *ROLES, *QUICK, "--share-labels")
    assert "'c7' has 'no' and 'yes'" in said
    assert said.startswith("The groups 'case' ")
