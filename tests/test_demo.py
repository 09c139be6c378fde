"""The demonstration: its table, and that a run ends with a page."""

from io import StringIO

import numpy as np
from rich.console import Console

from selective_labels import demo
from selective_labels.datasets.loans import CENTRES, FEATURES, SCALES


def test_labels_are_seen_exactly_where_a_loan_was_approved():
    table = demo.make_loans(500).table
    assert (table["defaulted"].notna() == (table["approved"] == 1)).all()
    assert set(table["defaulted"].dropna()) == {"no", "yes"}


def test_approved_loans_look_safer_than_all_are():
    loans = demo.make_loans(20_000)
    seen = loans.table["approved"] == 1
    # Twenty points apart at this design; five standard errors of a mean of 9,000 are 2.6.
    assert loans.defaulted[seen].mean() < loans.defaulted.mean() - 0.15


def test_the_chance_of_a_default_is_the_one_it_says():
    """Within ten bins of the stated chance, defaults are as frequent as stated; 4.5 standard errors."""
    loans = demo.make_loans(40_000, random_state=3)
    order = np.argsort(loans.chance)
    for rows in np.array_split(order, 10):
        stated, seen = loans.chance[rows].mean(), loans.defaulted[rows].mean()
        assert abs(seen - stated) < 4.5 * np.sqrt(stated * (1.0 - stated) / len(rows))


def test_what_the_bureau_says_is_true():
    low, high = demo.KNOWN_SHARE
    assert low < demo.make_loans(200_000).chance.mean() < high


def test_refused_applicants_are_worse_risks_for_every_officer():
    """Trouble raises defaults and refusals alike; 1,000 cases an officer leave no doubt at this design."""
    loans = demo.make_loans(30_000, random_state=4)
    table = loans.table.assign(default=loans.defaulted)
    for _, cases in table.groupby("officer"):
        rates = cases.groupby("approved")["default"].mean()
        assert rates[0] > rates[1]


def test_features_are_in_units_that_people_know():
    table = demo.make_loans(20_000).table[list(FEATURES)]
    # Five standard errors of a mean and of a standard deviation.
    assert (abs(table.mean().to_numpy() - CENTRES) < 5 * SCALES / np.sqrt(20_000)).all()
    assert (abs(table.std().to_numpy() / SCALES - 1.0) < 5 / np.sqrt(40_000)).all()


def test_a_run_ends_with_a_page_and_says_where(tmp_path, monkeypatch):
    monkeypatch.setattr(demo, "N_APPLICATIONS", 2400)
    monkeypatch.setattr(demo, "N_PAGE", 800)
    console = Console(record=True, width=200, file=StringIO())
    page = tmp_path / "demo.html"
    demo.run(page, console)
    shown = console.export_text()
    assert str(page) in shown
    for name in ("approved only", "What officers know narrows it", "The truth", "What would settle it"):
        assert name in shown, "the story comes before the page"
    assert "Who will default?" in page.read_text(encoding="utf-8")
