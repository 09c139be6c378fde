"""Files in, or one sentence that says what is wrong."""

import gzip
import io
import os
import time
from contextlib import contextmanager

import numpy as np
import pandas as pd
import pytest

from selective_labels._errors import TableError
from selective_labels.io.read import read_table

ROWS = "age,officer,failed\n31,b,\n40,a,yes\n"


@pytest.fixture
def write(tmp_path):
    def write(content, name="cases.csv"):
        path = tmp_path / name
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        return path

    return write


@contextmanager
def without_privileges():
    """Root reads everything; give that up for a moment."""
    privileged = os.geteuid() == 0
    if privileged:
        os.seteuid(65534)
    try:
        yield
    finally:
        if privileged:
            os.seteuid(0)


def refused(path, **options):
    with pytest.raises(TableError) as caught:
        read_table(path, **options)
    message = str(caught.value)
    assert "\n" not in message, "one sentence stands on one line"
    return message


def test_the_same_table_comes_out_of_every_format(write, tmp_path):
    plain = read_table(write(ROWS))
    plain.to_parquet(tmp_path / "cases.parquet")
    for path in (write(gzip.compress(ROWS.encode()), "cases.csv.gz"), tmp_path / "cases.parquet"):
        pd.testing.assert_frame_equal(read_table(path), plain)


def test_a_folder_with_one_table_is_that_table(write, tmp_path):
    write(ROWS)
    write("notes", "README.txt")
    assert len(read_table(tmp_path)) == 2


def test_a_folder_with_two_tables_names_them(write, tmp_path):
    write(ROWS, "a.csv")
    write(ROWS, "b.csv")
    assert "'a.csv', 'b.csv'" in refused(tmp_path)


def test_a_folder_without_a_table_is_refused(tmp_path):
    assert "holds no table" in refused(tmp_path)


def test_standard_input_is_read(monkeypatch):
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(ROWS.encode())))
    assert list(read_table("-").columns) == ["age", "officer", "failed"]


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"", "is empty"),
        (b" \n\n", "is empty"),
        (gzip.compress(b"", mtime=0), "is empty"),
        (b"a,b\n", "has a header and no rows"),
        (b"a,b,a\n1,2,3\n", "several columns named 'a'"),
        (b"a,b\n1,2\n1,2,3\n", "line 3 has 3 cells where the header has 2"),
        (b"a,b\n1,2\n1\n", "line 3 has 1 cell where the header has 2"),
        (b"a,b\n1,2,3\n1,2,3\n", "line 2 has 3 cells where the header has 2"),
        (b'a,b\n"x\ny",1\n\n1,2,3\n', "line 5 has 3 cells"),
        (b'a,b\n1,"2\n3,4\n', "never closed"),
        (b"PK\x03\x04\x00\x00", "a damaged Excel file"),
        (b"\x80\x04\x95pickle", "a pickle, which is never opened"),
        (b"<!DOCTYPE html><html></html>", "a web page"),
        (b"a\x00b\x00c", "is not text"),
        ("a,b\n1,2\n".encode("utf-16"), "--encoding utf-16 reads it"),
        (b"PAR1 and then nothing", "not a whole Parquet file"),
    ],
)
def test_what_is_wrong_is_said(write, content, words):
    assert words in refused(write(content))


def test_a_missing_file_is_named(tmp_path):
    assert refused(tmp_path / "none.csv") == f"There is no file {tmp_path / 'none.csv'}."


def test_a_file_without_permission_is_named(write):
    path = write(ROWS)
    path.chmod(0)
    with without_privileges():
        assert refused(path) == f"{path} cannot be read: permission denied."


@pytest.mark.parametrize(("separator", "name"), [(";", "';'"), ("\t", "tab"), ("|", "'|'")])
def test_a_wrong_separator_is_found_and_the_right_one_named(write, separator, name):
    path = write(ROWS.replace(",", separator))
    assert f"give --separator {name}" in refused(path)
    given = "tab" if separator == "\t" else separator
    assert read_table(path, separator=given).shape == (2, 3)


def test_latin_1_is_said_and_read(write):
    path = write("city,y\nParis,1\nGenève,0\n".encode("latin-1"))
    message = refused(path)
    assert "is not UTF-8 (see line 3)" in message
    assert "--encoding latin-1" in message
    assert read_table(path, encoding="latin-1")["city"].tolist() == ["Paris", "Genève"]


def test_an_unknown_encoding_is_refused(write):
    assert "no encoding 'klingon'" in refused(write(ROWS), encoding="klingon")


def test_a_mark_of_byte_order_is_no_part_of_a_name(write):
    assert list(read_table(write(b"\xef\xbb\xbfa,b\n1,2\n")).columns) == ["a", "b"]


def test_a_cut_gz_is_refused(write):
    whole = gzip.compress((ROWS * 1000).encode())
    assert "cut off or damaged" in refused(write(whole[: len(whole) // 2], "cases.csv.gz"))


@pytest.mark.parametrize("bad", ["1", "1,2,3,4"])
def test_one_bad_line_in_a_million_is_found_quickly(write, bad):
    lines = ["a,b,c", *["12,3.5,"] * 1_000_000]
    lines[654_321] = bad
    path = write("\n".join(lines) + "\n")
    began = time.process_time()
    assert "line 654,322 has" in refused(path)
    assert time.process_time() - began < 20.0, "a million lines are read in seconds"


def test_columns_stay_text_when_asked(write):
    frame = read_table(write("code,n\n05,1\n5,2\n"), text=["code"])
    assert frame["code"].tolist() == ["05", "5"]
    assert read_table(write("code,n\n05,1\n"), text=["c*"])["code"].tolist() == ["05"]


def test_further_marks_of_missing_values(write):
    frame = read_table(write("age,y\n?,1\n40,0\n"), missing=["?"])
    assert np.isnan(frame["age"][0])


def test_a_separator_of_two_characters_is_refused(write):
    assert "is not one character" in refused(write(ROWS), separator=";;")
