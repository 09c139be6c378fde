"""Files that are not what they seem: each was read without a word, or with a foreign one."""

import csv
import gzip
import io
import sys

import numpy as np
import pandas as pd
import pytest

from selective_labels._errors import TableError
from selective_labels.io.read import read_table


def test_a_nul_far_into_the_file_is_refused(tmp_path):
    """Broke: only the first 4,096 bytes were looked at."""
    path = tmp_path / "cases.csv"
    path.write_bytes(b"a,b\n" + b"1,2\n" * 2000 + b"1,\x00\n")
    with pytest.raises(TableError, match="not text"):
        read_table(path)


@pytest.mark.parametrize("content", [b"\xef\xbb\xbf", b"\xef\xbb\xbf\n", b"\xef\xbb\xbf \n", b'""\n'])
def test_a_table_of_nothing_but_marks_is_empty(tmp_path, content):
    """Broke: a mark of the order of bytes alone ended in StopIteration."""
    (tmp_path / "cases.csv").write_bytes(content)
    with pytest.raises(TableError, match=r"is empty\.|no rows"):
        read_table(tmp_path / "cases.csv")


@pytest.mark.parametrize("rows", ["1,2,3\n4,5,6\n", "0,2,3\n1,5,6\n", "x,2,3\ny,5,6\n"])
def test_a_cell_too_many_in_every_row_shifts_nothing(tmp_path, rows):
    """Broke with pandas 3: evenly spaced first cells were taken for numbers of rows, and the rest shifted."""
    (tmp_path / "cases.csv").write_text("a,b\n" + rows)
    with pytest.raises(TableError, match="line 2 has 3 cells where the header has 2"):
        read_table(tmp_path / "cases.csv")
    (tmp_path / "cases.csv").write_text("a\n1,2\n4,5\n")
    with pytest.raises(TableError, match="line 2 has 2 cells where the header has 1"):
        read_table(tmp_path / "cases.csv")


def test_rows_of_parquet_are_counted_from_zero(tmp_path):
    """Broke: rows that were cut out of a larger table kept their numbers."""
    pytest.importorskip("pyarrow", reason="optional: pyarrow")
    pd.DataFrame({"x": [1, 2]}, index=pd.RangeIndex(3, 5)).to_parquet(tmp_path / "cases.parquet")
    assert read_table(tmp_path / "cases.parquet").index.tolist() == [0, 1]


def test_a_separator_at_the_end_of_every_line_is_no_column(tmp_path):
    """Broke: it became a feature without a value, 'Unnamed: 2'."""
    path = tmp_path / "cases.csv"
    path.write_text("a,b,\n1,2,\n3,4,\n")
    assert list(read_table(path).columns) == ["a", "b"]
    path.write_text("a,b,\n1,2,\n3,4,5\n")
    assert read_table(path).shape == (2, 3), "a value is never dropped"


def test_a_packed_file_that_fills_the_memory_is_refused(tmp_path, monkeypatch):
    """Broke: gzip was unpacked without a limit."""
    monkeypatch.setattr("selective_labels._parallel.ALWAYS_ALLOWED", 10_000)
    path = tmp_path / "cases.csv.gz"
    path.write_bytes(gzip.compress(b"a,b\n" + b"1,2\n" * 1_000_000))
    with pytest.raises(TableError, match=r"unpacks to more than .* unpack it first"):
        read_table(path)


def test_links_in_a_circle_are_said_in_words(tmp_path):
    (tmp_path / "a").symlink_to(tmp_path / "b")
    (tmp_path / "b").symlink_to(tmp_path / "a")
    with pytest.raises(TableError, match=r"cannot be read: (Too many levels|its links)"):
        read_table(tmp_path / "a")


def test_a_name_with_a_nul_is_no_file():
    with pytest.raises(TableError, match="There is no file"):
        read_table("a\0b")


@pytest.mark.parametrize("stdin", [None, io.StringIO()])
def test_standard_input_that_is_closed_is_said(monkeypatch, stdin):
    """Broke: AttributeError, 'NoneType' object has no attribute 'buffer'."""
    if stdin is not None:
        stdin.close()
    monkeypatch.setattr(sys, "stdin", stdin)
    with pytest.raises(TableError, match="standard input is closed"):
        read_table("-")


@pytest.fixture
def pages(tmp_path):
    """A Parquet file with checksums, and where the bytes of its columns lie."""
    parquet = pytest.importorskip("pyarrow.parquet", reason="optional: Parquet needs pyarrow")
    pyarrow = pytest.importorskip("pyarrow", reason="optional: Parquet needs pyarrow")
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"n": rng.normal(size=5000), "word": rng.choice(["ä", "b"], 5000)})
    path = tmp_path / "cases.parquet"
    parquet.write_table(pyarrow.Table.from_pandas(frame), path, write_page_checksum=True, compression="none")
    return path


def test_bytes_that_changed_in_a_parquet_page_are_seen(pages):
    """Broke: checksums were there and nobody compared them."""
    content = bytearray(pages.read_bytes())
    for place in range(200, 30_000, 1500):
        damaged = bytearray(content)
        damaged[place] ^= 0xFF
        pages.write_bytes(damaged)
        with pytest.raises(TableError, match="not a whole Parquet file"):
            read_table(pages)


def test_random_bytes_in_parquet_end_in_a_sentence_or_a_table(pages):
    content = pages.read_bytes()
    rng = np.random.default_rng(0)
    said = []
    for _ in range(100):
        damaged = bytearray(content)
        place = int(rng.integers(4, len(content) - 20))
        damaged[place : place + 16] = rng.bytes(16)
        pages.write_bytes(damaged)
        try:
            read_table(pages)
        except TableError as error:
            said.append(str(error))
    assert said
    assert not any("\n" in sentence for sentence in said)


def test_a_refused_table_leaves_no_limit_behind(tmp_path):
    """Broke: as long as the refusal was kept, no cell longer than that file could be read in the process."""
    (tmp_path / "long.csv").write_text("a,b\n1,2,3\n")
    (tmp_path / "uneven.csv").write_text("a,b\n1,2\n1\n")
    before, kept = csv.field_size_limit(), []
    for name in ("long.csv", "uneven.csv", "long.csv"):
        with pytest.raises(TableError) as refusal:
            read_table(tmp_path / name)
        kept.append(refusal)  # with its traceback, and all that the traceback holds
        assert csv.field_size_limit() == before
