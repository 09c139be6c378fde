"""The demonstration: its table, and that a run ends with a page."""

from io import StringIO

import numpy as np
from rich.console import Console

from selective_labels import demo


def test_labels_are_seen_exactly_where_a_loan_was_approved():
    table = demo.make_loans(500).table
    assert (table["defaulted"].notna() == (table["approved"] == 1)).all()
    assert set(table["defaulted"].dropna()) == {"no", "yes"}


def test_approved_loans_look_safer_than_all_are():
    loans = demo.make_loans(20_000)
    seen = loans.sample.y[loans.sample.decision == 1]
    # Ten points apart at this design; five standard errors of a mean of 10,000 are 2.5.
    assert seen.mean() < loans.sample.y_true.mean() - 0.05


def test_units_are_those_of_the_generator_shifted_and_scaled():
    X = np.array([[0.0, 1.0, -1.0, 0.0]])
    assert demo.in_units(X).to_numpy().tolist() == [[52.0, 47.0, 9.0, 8.0]]


def test_a_run_ends_with_a_page_and_says_where(tmp_path, monkeypatch):
    monkeypatch.setattr(demo, "N_APPLICATIONS", 800)
    monkeypatch.setattr(demo, "N_TEST", 1000)
    console = Console(record=True, width=200, file=StringIO())
    page = tmp_path / "demo.html"
    demo.run(page, console)
    shown = console.export_text()
    assert str(page) in shown
    for name in ("What the checks say of each assumption", "UCL, partial", "limit: Bayes rule"):
        assert name in shown, "instrument, learners and limits come before the page"
    assert "Who will default?" in page.read_text(encoding="utf-8")
