"""What is measured is compared and shown rightly; nothing is timed here."""

import pytest

from benchmarks import page
from benchmarks.growth import BY_CLASSES, BY_DECISION_MAKERS, BY_ROWS, SIZES, WORKS, Cost, exponent
from benchmarks.pass_rate import Rate
from benchmarks.ratios import Ratio, median_ratio, regressions


def ratio(value, name="fit"):
    return Ratio(name, value, value, 1.0)


def test_a_ratio_may_grow_by_less_than_half():
    assert regressions([ratio(1.5)], [ratio(1.01)]) == []
    assert regressions([ratio(1.5)], [ratio(0.99)]) == ["fit: 1.500, 1.52 times the 0.990 that is stored"]


def test_a_ratio_that_nobody_stored_is_named():
    assert regressions([ratio(1.0, "new")], [ratio(1.0)]) == ["new: nothing is stored"]


def test_both_sides_are_measured_in_turn():
    order = []

    def other():
        order.append("other")
        return 1.0

    found = median_ratio("x", lambda: order.append("one"), other, n_rounds=3)
    assert order == ["one", "other"] * 3
    assert found.over == 1.0


def costs():
    """Cost ∝ rows × √decision-makers × classes²."""
    return [Cost(work, n, J, K, 1e-4 * n * J**0.5 * K**2, 1.0, 0.5) for n, J, K in SIZES for work in WORKS]


@pytest.mark.parametrize(
    ("sizes", "axis", "expected"), [(BY_ROWS, 0, 1.0), (BY_DECISION_MAKERS, 1, 0.5), (BY_CLASSES, 2, 2.0)]
)
def test_exponents_are_slopes_of_logarithms(sizes, axis, expected):
    assert exponent(costs(), "fit", sizes, axis) == pytest.approx(expected)


def test_the_page_has_every_ratio_and_every_size(tmp_path, monkeypatch):
    monkeypatch.setattr(page, "DOCS", tmp_path)
    page.write_page([ratio(1.25), ratio(0.75, "evaluate")], costs(), Rate(1000, 10, 0.1))
    text = (tmp_path / "benchmarks.md").read_text()
    assert "| fit | 1.250 |" in text
    assert "| evaluate | 0.750 |" in text
    assert text.count("GiB |") == len(SIZES) * len(WORKS)
    assert (tmp_path / "benchmarks.svg").read_text().startswith("<?xml")
