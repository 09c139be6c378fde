"""Finished sections are kept for the same table and options, and for no other."""

import os

import pandas as pd
import pytest

from selective_labels.io.files import SectionStore, fingerprint


def test_sections_survive_the_process(tmp_path):
    SectionStore(tmp_path / "r.html", "same").put("data", {"n": 1})
    assert SectionStore(tmp_path / "r.html", "same").get("data") == {"n": 1}
    assert os.listdir(tmp_path) == [".r.html.partial.json"], "hidden, and not under the final name"


def test_another_table_starts_afresh(tmp_path):
    SectionStore(tmp_path / "r.html", "one").put("data", {"n": 1})
    assert SectionStore(tmp_path / "r.html", "two").get("data") is None


@pytest.mark.parametrize(
    "content", ["", "{", "[]", '{"fingerprint": "same"}', '{"fingerprint": "same", "sections": 1}']
)
def test_a_damaged_store_is_no_store(tmp_path, content):
    (tmp_path / ".r.html.partial.json").write_text(content)
    assert SectionStore(tmp_path / "r.html", "same").names == []


def test_a_finished_report_leaves_nothing(tmp_path):
    store = SectionStore(tmp_path / "r.html", "same")
    store.put("data", {})
    store.remove()
    assert os.listdir(tmp_path) == []


def test_cells_names_and_options_change_the_fingerprint():
    table = pd.DataFrame({"a": [1, 2], "b": ["x", None]})
    prints = {
        fingerprint([table], {}),
        fingerprint([table.rename(columns={"a": "c"})], {}),
        fingerprint([table.assign(a=[2, 1])], {}),
        fingerprint([table], {"seed": 1}),
    }
    assert len(prints) == 4
