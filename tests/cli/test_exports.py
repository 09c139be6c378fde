"""Other forms of a report, and a model card beside a model."""

from selective_labels.report import render as pdf_module
from tests.cli.conftest import NO_PREDICTIONS, QUICK, ROLES


def test_a_report_in_markdown_names_the_rule_by_its_column(run, data, tmp_path):
    command = ("report", data, *ROLES, *QUICK, "--features", "age", "--predictions", "guess")
    result = run(*command, "--out", "r.md")
    assert result.exit_code == 0, result.output
    text = (tmp_path / "r.md").read_text()
    assert text.startswith("# What the data can tell\n")
    assert "“failed” among the released cases" in text
    assert "| guess |" in text


def test_a_pdf_without_a_browser_is_refused_before_anything_is_read(run, tmp_path, monkeypatch):
    monkeypatch.setattr(pdf_module.shutil, "which", lambda name: None)
    result = run("report", "nowhere.csv", *ROLES, "--out", "r.pdf")
    assert result.exit_code != 0
    assert "none was found" in result.output
    assert list(tmp_path.iterdir()) == []


def test_a_model_card_is_written_beside_the_model(run, data, tmp_path):
    command = ("fit", data, *ROLES, *QUICK, *NO_PREDICTIONS, "--estimator", "linear")
    result = run(*command, "--model", "m.skops", "--card", "card.md")
    assert result.exit_code == 0, result.output
    card = (tmp_path / "card.md").read_text()
    assert card.startswith("# Model card: m.skops\n")
    assert "600 cases" in card
