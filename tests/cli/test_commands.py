"""Every command, from the shell's side: results, formats, exit status."""

import csv
import io
import json
from importlib.metadata import version

import jsonschema
import pandas as pd
import pytest

from selective_labels import load_model

from .conftest import NO_PREDICTIONS, QUICK, ROLES, schema


def as_json(result, name):
    assert result.exit_code == 0, result.output
    document = json.loads(result.stdout)
    jsonschema.validate(document, schema(name), jsonschema.Draft202012Validator)
    return document


def as_csv(result):
    assert result.exit_code == 0, result.output
    return list(csv.DictReader(io.StringIO(result.stdout)))


def test_check_in_all_formats(run, data):
    command = ("check", data, *ROLES, *QUICK, *NO_PREDICTIONS)
    document = as_json(run(*command, "--format", "json"), "check")
    assert [each["name"] for each in document["data"]["left_out"]] == ["case"]
    assert {each["kind"] for each in document["data"]["features"]} == {"number", "category", "date"}
    rows = as_csv(run(*command, "--format", "csv"))
    assert [row["code"] for row in rows] == [each["code"] for each in document["checks"]]
    table = run(*command)
    assert "Verdict" in table.stdout
    assert table.stderr == "", "progress is silent where there is no terminal"


def test_the_same_seed_gives_the_same_document(run, data):
    command = (
        "evaluate",
        data,
        *ROLES,
        *QUICK,
        "--predictions",
        "guess",
        "--features",
        "age,job",
        "--format",
        "json",
    )
    first = run(*command, "--seed", 1).stdout
    assert run(*command, "--seed", 1, "--jobs", 2).stdout == first, "however many processes"
    assert run(*command, "--seed", 2).stdout != first


def test_fit_says_what_was_learned(run, data, tmp_path):
    command = ("fit", data, *ROLES, *QUICK, *NO_PREDICTIONS, "--estimator", "plug-in", "--model", "m.skops")
    document = as_json(run(*command, "--format", "json"), "fit")
    assert document["model"]["nuisance"]["chosen"] == "logistic"
    assert (tmp_path / "m.skops").exists()


def test_fit_notes_that_costs_make_the_rule_constant(run, data):
    command = ("fit", data, *ROLES, *QUICK, *NO_PREDICTIONS, "--estimator", "plug-in", "--model", "m.skops")
    result = run(*command, "--cost", "[[0,1],[1000000,0]]")
    assert "Note: the rule predicts 'yes' for everybody: with these costs" in result.stderr
    assert "Warning: the rule" not in result.stderr
    assert "the rule predicts" not in run(*command, "--cost", "[[0,1],[1,0]]").stderr


def test_fit_in_point_mode_gives_probabilities(run, data):
    command = ("fit", data, *ROLES, *QUICK, *NO_PREDICTIONS, "--estimator", "plug-in", "--mode", "point")
    as_json(run(*command, "--model", "m.skops", "--format", "json"), "fit")
    run("predict", "m.skops", data, "--out", "p.csv")
    assert {"probability_no", "probability_yes"} <= set(pd.read_csv("p.csv").columns)


def test_predictions_keep_order_and_ids(run, data, cases, model):
    result = run("predict", model, data, "--out", "p.csv", "--keep", "case", "--format", "json")
    document = as_json(result, "predict")
    written = pd.read_csv("p.csv")
    assert written["case"].tolist() == cases["case"].tolist()
    assert list(written.columns) == [
        "case", "prediction", "decided", "lower_no", "upper_no", "lower_yes", "upper_yes"
    ]  # fmt: skip
    assert document["n_decided"] == written["decided"].sum()
    saved = load_model(model)
    own = saved.model.decided(saved.schema.read(cases))
    assert written["decided"].tolist() == own.tolist()
    assert "guess" in document["ignored_columns"], "extra columns are ignored, and said"


def test_predictions_go_to_standard_output(run, data, model, cases):
    assert len(as_csv(run("predict", model, data, "--out", "-"))) == len(cases)


def test_a_category_that_training_had_not_is_counted(run, cases, model, tmp_path):
    cases.assign(job="pilot").to_csv(tmp_path / "new.csv", index=False)
    document = as_json(run("predict", model, "new.csv", "--out", "p.csv", "--format", "json"), "predict")
    assert document["unseen_categories"] == [{"name": "job", "n_rows": len(cases)}]


def test_evaluate_a_column_by_subgroup(run, data):
    command = (
        "evaluate",
        data,
        *ROLES,
        *QUICK,
        "--features",
        "age,debt",
        "--predictions",
        "guess",
        "--by",
        "region",
    )
    command += (
        "--metric",
        "accuracy",
        "--metric",
        "tpr",
        "--assumption",
        "none",
        "--assumption",
        "instrument",
    )
    document = as_json(run(*command, "--format", "json"), "evaluate")
    found = {(each["metric"], each["assumption"], each["subgroup"]) for each in document["evaluations"]}
    assert len(found) == 8
    assert len(document["gaps"]) == 4
    assert len(as_csv(run(*command, "--format", "csv"))) == 12
    assert "north minus south" in run(*command).stdout


def test_assignment_may_be_random_given_features_only(run, data):
    command = (
        "evaluate",
        data,
        *ROLES,
        *QUICK,
        "--features",
        "age",
        "--predictions",
        "guess",
        "--format",
        "json",
    )
    shares, model = (
        as_json(run(*command, "--propensity", each), "evaluate")["evaluations"][0]["lower"]
        for each in ("shares", "model")
    )
    assert shares != model, "the option reaches the estimate"


def test_scores_are_judged_by_auc(run, data):
    command = (
        "evaluate",
        data,
        *ROLES,
        *QUICK,
        "--features",
        "age",
        "--predictions",
        "score",
        "--metric",
        "auc",
    )
    (result,) = as_json(run(*command, "--format", "json"), "evaluate")["evaluations"]
    assert 0.0 <= result["lower"] <= result["upper"] <= 1.0


@pytest.mark.parametrize(("rows", "optimistic"), [(slice(0, 300), True), (slice(300, 600), False)])
def test_a_model_judged_on_its_training_rows_is_called_too_good(
    run, cases, model, tmp_path, rows, optimistic
):
    cases.iloc[rows].to_csv(tmp_path / "some.csv", index=False)
    command = ("evaluate", "some.csv", *ROLES, *QUICK, "--model", model, "--format", "json")
    notes = as_json(run(*command), "evaluate")["notes"]
    assert ("too good" in " ".join(notes)) == optimistic


@pytest.mark.parametrize(("a", "b"), [("guess", "yes"), ("score", "human"), ("guess", "model")])
def test_compare_takes_columns_classes_models_and_human(run, data, model, a, b):
    command = ("compare", data, *ROLES, *QUICK, "--features", "age,income,debt,years,job", "--a", a)
    command += ("--b", str(model) if b == "model" else b)
    result = as_json(run(*command, "--format", "json"), "compare")["comparison"]
    assert result["verdict"] in ("a", "b", "undecided")
    assert "Verdict" in run(*command).stdout


def test_report_writes_a_page_and_prints_its_document(run, data, tmp_path):
    command = ("report", data, *ROLES, *QUICK, "--features", "age,job", "--predictions", "guess")
    command += ("--by", "region", "--out", "r.html", "--title", "Cases & <people>")
    document = as_json(run(*command, "--format", "json"), "report")
    assert document["title"] == "Cases & <people>"
    assert document["command"].startswith("selective-labels report ")
    page = (tmp_path / "r.html").read_text()
    assert "Cases &amp; &lt;people&gt;" in page
    assert sorted(path.name for path in tmp_path.iterdir()) == ["cases.csv", "r.html"], (
        "nothing is left behind"
    )


def test_reports_on_a_model(run, cases, model, tmp_path):
    cases.iloc[300:].to_csv(tmp_path / "new.csv", index=False)
    result = run("report", "new.csv", *ROLES, *QUICK, "--model", model, "--out", "r.html")
    assert result.exit_code == 0, result.output
    assert "Saved: r.html" in result.stdout


def test_an_interrupted_report_goes_on_where_it_stopped(run, data, tmp_path, monkeypatch):
    from selective_labels.cli import run_report

    def interrupted(document):
        raise KeyboardInterrupt

    command = (
        "report",
        data,
        *ROLES,
        *QUICK,
        "--features",
        "age",
        "--predictions",
        "guess",
        "--out",
        "r.html",
    )
    with monkeypatch.context() as patch:
        patch.setattr(run_report, "render", interrupted)
        assert run(*command).exit_code == 130
    assert sorted(path.name for path in tmp_path.iterdir()) == [".r.html.partial.json", "cases.csv"]
    other = run(*command[:-1], "other.html")
    assert "Resuming" not in other.stderr, "another page has nothing to resume"
    again = run(*command)
    assert "Resuming" in again.stderr
    assert sorted(path.name for path in tmp_path.iterdir()) == ["cases.csv", "other.html", "r.html"]


def test_a_table_may_come_from_standard_input(run, data):
    result = run(
        "evaluate",
        "-",
        *ROLES,
        *QUICK,
        "--features",
        "age",
        "--predictions",
        "guess",
        input=data.read_bytes(),
    )
    assert result.exit_code == 0, result.output


def test_warnings_of_the_library_are_one_line_each(run, data, cases):
    cases.assign(officer="one").to_csv(data, index=False)
    result = run(
        "fit", data, *ROLES, *QUICK, "--features", "age", "--estimator", "plug-in", "--model", "m.skops"
    )
    assert result.exit_code == 0, result.output
    assert result.stderr.startswith("Warning: decision_maker has one value only")
    assert len(result.stderr.splitlines()) == 1


def test_every_command_has_help_with_an_example(run):
    for command in ("demo", "check", "fit", "predict", "evaluate", "ladder", "compare", "report"):
        result = run(command, "--help")
        assert result.exit_code == 0
        assert f"Example: selective-labels {command}" in result.stdout


def test_the_version_is_told(run):
    assert run("--version").stdout.strip() == version("selective-labels")


def test_a_metric_without_a_value_in_one_subgroup_leaves_the_others_alone(run, cases, tmp_path):
    """Two cases without a flagged one among them: no predictive value there, and no interval of two rows."""
    table = cases.assign(kind=["rare" if row < 2 else "common" for row in range(len(cases))])
    table.loc[table["kind"] == "rare", "guess"] = "no"
    table.to_csv("some.csv", index=False)
    command = (
        "evaluate",
        "some.csv",
        *ROLES,
        *QUICK,
        "--predictions",
        "guess",
        "--features",
        "age",
        "--by",
        "kind",
    )
    command += ("--metric", "ppv", "--metric", "accuracy", "--assumption", "none")
    document = as_json(run(*command, "--format", "json"), "evaluate")
    found = {(each["metric"], each["subgroup"]): each for each in document["evaluations"]}
    assert found["ppv", "rare"]["lower"] is None
    assert "metric 'ppv' is not defined" in found["ppv", "rare"]["reason"]
    assert found["ppv", "common"]["ci_lower"] is not None
    assert "five cases or more" in found["accuracy", "rare"]["reason"]
    text = " ".join(run(*command).stdout.split())
    assert "No value: metric 'ppv' is not defined under assumption 'none'" in text


def test_that_work_will_take_long_is_a_line_before_the_result(run, data, monkeypatch):
    monkeypatch.setattr("selective_labels.nuisance.cross_fit.SAID_FROM_SECONDS", 0.0)
    command = ("evaluate", data, *ROLES, "--predictions", "guess", *QUICK)
    result = run(*command)
    assert result.exit_code == 0
    lines = [line for line in result.stderr.splitlines() if "models of decision and label" in line]
    assert len(lines) == 1
    assert lines[0].startswith("Warning: 600 rows with ")
