"""The how-to of warehouses runs as it stands, on DuckDB."""

import re
from pathlib import Path

import pytest

PAGE = Path(__file__).parents[1] / "docs" / "how-to" / "warehouse.md"


def test_the_page_runs(capsys):
    pytest.importorskip("duckdb", reason="optional: duckdb")
    blocks = re.findall(r"^```\{run\}\n(.*?)^```", PAGE.read_text(encoding="utf-8"), flags=re.M | re.S)
    assert len(blocks) == 4
    here = {}
    for block in blocks:
        exec(block, here)  # a block goes on where the one before it ended
    said = capsys.readouterr().out
    assert "6,000 cases, a relation of duckdb" in said
    assert "accuracy" in said
    assert (len(here["cases"]), len(here["cases"].decision_makers)) == (6000, 16)
    scored = here["connection"].sql("SELECT count(*), count(DISTINCT loan) FROM scored").fetchall()
    assert scored == [(6000, 6000)]
