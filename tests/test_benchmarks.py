"""What is measured is compared and shown rightly; nothing is timed here."""

import pandas as pd
import pytest

from benchmarks import page, partition_data, pass_rate
from benchmarks.growth import BY_CLASSES, BY_DECISION_MAKERS, BY_ROWS, SIZES, WORKS, Cost, exponent
from benchmarks.pass_rate import Rate
from benchmarks.ratios import Ratio, median_ratio, regressions


def test_loans_are_made_again_with_the_labels_that_nobody_saw(tmp_path):
    partition_data.write(tmp_path, 5000, 20, rows_per_file=2000, seed=3)
    assert [len(pd.read_parquet(each)) for each in sorted(tmp_path.iterdir())] == [2000, 2000, 1000]
    frame, failed = partition_data.loans(2000, 20, 3, 1)
    written = pd.read_parquet(tmp_path / "part-00001.parquet")
    pd.testing.assert_frame_equal(written, frame)
    seen = frame["released"] == 1
    assert (frame["failed"][seen] == failed[seen]).all()
    assert frame["failed"][~seen].isna().all()
    model = pass_rate.labeled_only(20)
    true = partition_data.true_metrics(model, 1, 20, rows_per_file=2000, seed=3)
    first, labels = partition_data.loans(2000, 20, 3, 0)
    assert true["accuracy"] == pytest.approx((model.predict(first[partition_data.FEATURES]) == labels).mean())
    assert true["fpr"] < true["tpr"] < 1.0
    assert 0.5 < true["auc"] < 1.0


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
