"""What users get wrong: one clear sentence, status 1, nothing half-written. What the shell gets wrong: 2."""

import gzip
import os

import numpy as np
import pandas as pd
import pytest

from .conftest import NO_PREDICTIONS, QUICK, ROLES

FEATURES = ("--features", "age,debt")


@pytest.mark.parametrize(
    "option", ["--label", "--decision", "--decision-maker", "--groups", "--strata", "--weight"]
)
def test_a_column_that_does_not_exist_is_named(refused, data, option):
    assert f"{option} 'nowhere' is not a column" in refused("check", data, *ROLES, option, "nowhere")


@pytest.mark.parametrize("option", ["--features", "--exclude", "--allow-leak", "--category"])
def test_a_feature_that_does_not_exist_is_named(refused, data, option):
    assert "'nowhere' is not a column" in refused("check", data, *ROLES, *NO_PREDICTIONS, option, "nowhere")


@pytest.mark.parametrize("option", ["--predictions", "--by"])
def test_predictions_and_subgroups_that_do_not_exist_are_named(refused, data, option):
    given = ("--predictions", "guess", option, "nowhere")
    assert f"{option} 'nowhere' is not a column" in refused("evaluate", data, *ROLES, *FEATURES, *given)


def test_a_label_of_dates_is_refused(refused, data):
    roles = ("--label", "day", "--decision-maker", "officer")
    assert refused("check", data, *roles) == "The label 'day' holds dates; a label is a class, say 0 and 1."


def test_an_empty_file_is_refused(refused, tmp_path):
    (tmp_path / "empty.csv").touch()
    assert refused("check", "empty.csv", *ROLES) == "empty.csv is empty."


def test_a_wrong_separator_is_named_and_the_option_reads_the_file(refused, run, cases, tmp_path):
    cases.to_csv(tmp_path / "cases.csv", sep=";", index=False)
    assert "give --separator ';'" in refused("check", "cases.csv", *ROLES)
    command = (
        "evaluate",
        "cases.csv",
        *ROLES,
        *QUICK,
        *FEATURES,
        "--predictions",
        "guess",
        "--separator",
        ";",
    )
    assert run(*command).exit_code == 0


def test_a_latin_1_file_is_named(refused, tmp_path):
    (tmp_path / "cases.csv").write_bytes("name,y\nJosé,1\n".encode("latin-1"))
    assert "--encoding latin-1 reads it" in refused("check", "cases.csv", *ROLES)


def test_a_bad_line_is_numbered(refused, data):
    data.write_text(data.read_text() + "1,2,3\n")
    assert "line 602 has 3 cells where the header has 13" in refused("check", data, *ROLES)


def test_a_cut_gz_is_refused(refused, data, tmp_path):
    packed = gzip.compress(data.read_bytes())
    (tmp_path / "cases.csv.gz").write_bytes(packed[: len(packed) // 2])
    assert "cut off or damaged" in refused("check", "cases.csv.gz", *ROLES)


def test_an_output_folder_that_does_not_exist_is_told_before_the_work(refused, data):
    for command, option in (("fit", "--model"), ("report", "--out")):
        message = refused(command, "missing.csv", *ROLES, option, "none/out")
        assert message == "none/out cannot be written: there is no folder none."


def test_a_path_without_permission_is_told(refused, data, tmp_path):
    locked = tmp_path / "locked"
    locked.mkdir()
    (locked / "cases.csv").write_bytes(data.read_bytes())
    locked.chmod(0)
    privileged = os.geteuid() == 0
    # Somebody else may not be able to read the package itself: what is imported late is imported now.
    refused("check", tmp_path / "none.csv", *ROLES)
    refused("predict", "m.skops", data, "--out", tmp_path / "none" / "p.csv")
    if privileged:
        os.seteuid(65534)
    try:
        # For somebody else, the folder of the test itself is closed as well.
        assert "ermission denied" in refused("check", locked / "cases.csv", *ROLES)
        assert "cannot be written" in refused("predict", "m.skops", data, "--out", locked / "p.csv")
    finally:
        if privileged:
            os.seteuid(0)


def test_leaks_stop_unless_allowed(refused, run, data, cases):
    cases.assign(weapon=(cases["failed"] == "yes").astype(int)).to_csv(data, index=False)
    command = ("evaluate", data, *ROLES, *QUICK, "--features", "age,weapon", "--predictions", "guess")
    assert "'weapon' (nearly) gives away the label 'failed'" in refused(*command)
    assert run(*command, "--allow-leak", "weapon").exit_code == 0


def test_guessed_roles_need_an_answer(refused, run, data):
    message = refused("check", data)
    assert "give --label 'failed' --decision 'released' --decision-maker 'officer'" in message
    assert run("check", data, "--yes", *QUICK, *NO_PREDICTIONS).exit_code == 0


@pytest.mark.parametrize(("answer", "status"), [("y\ny\n", 0), ("n\n", 1)])
def test_a_terminal_is_asked(run, data, monkeypatch, answer, status):
    monkeypatch.setattr("selective_labels.cli.inputs.sys", _Terminal(), raising=True)
    result = run("evaluate", data, *QUICK, *FEATURES, "--predictions", "guess", input=answer)
    assert "Are these the roles?" in result.stderr
    assert result.exit_code == status


class _Terminal:
    class stdin:  # noqa: N801
        isatty = staticmethod(lambda: True)

    stderr = stdin


def test_predict_names_the_missing_column(refused, cases, model, tmp_path):
    cases.drop(columns="debt").to_csv(tmp_path / "new.csv", index=False)
    message = refused("predict", model, "new.csv", "--out", "p.csv")
    assert message == "The model needs the column 'debt', which the table lacks."
    assert not (tmp_path / "p.csv").exists()


def test_predict_names_a_value_of_another_kind(refused, cases, model, tmp_path):
    cases.assign(age="old").to_csv(tmp_path / "new.csv", index=False)
    assert "Column 'age' must hold numbers; row 1 holds 'old'" in refused(
        "predict", model, "new.csv", "--out", "p.csv"
    )


def test_a_cut_model_file_is_refused(refused, data, model, tmp_path):
    content = model.read_bytes()
    (tmp_path / "cut.skops").write_bytes(content[: len(content) // 2])
    assert "is not a model file, or is cut off or damaged" in refused(
        "predict", "cut.skops", data, "--out", "p.csv"
    )


def test_a_table_is_no_model_file(refused, data):
    assert "is not a model file" in refused("predict", data, data, "--out", "p.csv")


def test_predictions_or_model_not_both(refused, data, model):
    for given in ((), ("--predictions", "guess", "--model", model)):
        assert "one of the two" in refused("evaluate", data, *ROLES, *given)


def test_holes_in_predictions_are_refused(refused, data, cases):
    cases.assign(guess=cases["guess"].where(cases.index > 1)).to_csv(data, index=False)
    message = refused("evaluate", data, *ROLES, *FEATURES, "--predictions", "guess")
    assert "has no prediction in 2 rows (the first is row 1)" in message


def test_errors_of_the_library_are_one_sentence(refused, data):
    command = ("evaluate", data, *ROLES, *QUICK, *FEATURES, "--predictions", "guess")
    assert "'nonsense'" in refused(*command, "--metric", "nonsense")
    assert "--confidence-level 0.2" in refused(*command, "--confidence-level", 0.2)


def test_contestants_that_are_nothing_are_refused(refused, data):
    message = refused("compare", data, *ROLES, *FEATURES, "--a", "guess", "--b", "maybe")
    assert (
        message
        == "--b 'maybe' is neither a column, nor a model file (.skops), nor a class ('no', 'yes'), nor human."
    )


def test_the_shells_own_mistakes_have_status_two(run, data):
    for arguments in (
        ("nonsense",),
        ("check",),
        ("check", data, "--nonsense"),
        ("fit", data, "--folds", "1"),
    ):
        assert run(*arguments).exit_code == 2


@pytest.mark.parametrize("kind", [RuntimeError, ValueError])
def test_an_unexpected_error_asks_for_a_report(refused, data, monkeypatch, kind):
    """Libraries raise ValueError too, and what they say is not about the user's data."""

    def broken(*_, **__):
        raise kind("a bug")

    monkeypatch.setattr("selective_labels.diagnostics.diagnose.diagnose", broken)
    message = refused("check", data, *ROLES, *FEATURES)
    assert f"Something unexpected happened ({kind.__name__}: a bug)" in message
    assert "--debug" in message


LONG = "x" * 10_000
HOSTILE = (
    "=cmd|' /C calc'!A0",
    "<script>window.hacked=1</script>",
    LONG,
    "[red]",
    "\x1b[31m",
    "+1+1",
    "@x",
    "-x",
)


@pytest.fixture
def hostile(cases, tmp_path):
    """Hostile labels, ids, categories and column names."""
    rng = np.random.default_rng(0)
    frame = cases.iloc[:250].rename(
        columns={"age": "=age", "debt": "<script>alert(1)</script>", "years": LONG}
    )
    frame["failed"] = frame["failed"].map({"no": "<script>no</script>", "yes": "=cmd|yes"})
    frame["guess"] = frame["guess"].map({"no": "<script>no</script>", "yes": "=cmd|yes"})
    frame["officer"] = frame["officer"].map(dict(zip(sorted(set(frame["officer"])), HOSTILE, strict=False)))
    frame["job"] = rng.choice(HOSTILE, len(frame))
    frame["=id"] = rng.choice(HOSTILE, len(frame))
    frame.to_csv(tmp_path / "hostile.csv", index=False)
    return frame


def test_hostile_cells_are_only_cells(run, hostile, tmp_path):
    fitting = ("hostile.csv", *ROLES, *QUICK, "--exclude", "guess,score,case")
    for command in (
        ("check", *fitting),
        ("fit", *fitting, "--estimator", "plug-in", "--model", "m.skops"),
        ("evaluate", "hostile.csv", *ROLES, *QUICK, "--predictions", "guess", "--exclude", "score,case"),
        ("predict", "m.skops", "hostile.csv", "--out", "p.csv", "--keep", "=id", "--keep", "case"),
        ("report", *fitting, "--by", "job", "--out", "r.html"),
    ):
        result = run(*command)
        assert result.exit_code == 0, result.output
        assert "\x1b" not in result.output, "nothing steers the terminal"
        assert len(max(result.output.splitlines(), key=len)) <= 2200, "long cells are cut"
    page = (tmp_path / "r.html").read_text()
    assert "<script>alert(1)" not in page
    assert "<script>window.hacked" not in page
    written = pd.read_csv(tmp_path / "p.csv")
    assert "'=id" in written.columns, "no spreadsheet takes it for a formula"
    assert set(written["prediction"]) <= {"<script>no</script>", "'=cmd|yes"}
    assert written["'=id"].str.match(r"[=+@\-]").sum() == 0
