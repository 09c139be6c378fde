"""Excel, SQLite, DuckDB and SQLAlchemy addresses give the same table as CSV."""

import sqlite3
import zipfile
from contextlib import closing

import pandas as pd
import pytest

from selective_labels._errors import TableError
from selective_labels.io.read import read_table, without_password

LOANS = pd.DataFrame(
    {"zip": ["02139", "10115"], "age": [31, 40], "officer": ["a", "b"], "failed": ["unknown", "no"]}
)


@pytest.fixture
def sqlite(tmp_path):
    path = tmp_path / "loans.db"
    with closing(sqlite3.connect(path)) as connection:
        LOANS.to_sql("loans", connection, index=False)
    return path


def same(frame):
    assert frame.astype(object).to_dict("list") == LOANS.astype(object).to_dict("list")


def test_excel_is_read_sheet_by_sheet(tmp_path):
    pytest.importorskip("openpyxl", reason="optional: openpyxl")
    path = tmp_path / "loans.xlsx"
    LOANS.to_excel(path, index=False)
    same(read_table(path))
    assert read_table(path, missing=["unknown"])["failed"].isna().tolist() == [True, False]
    with pd.ExcelWriter(path) as writer:
        LOANS.to_excel(writer, sheet_name="old", index=False)
        LOANS.to_excel(writer, sheet_name="new", index=False)
        pd.DataFrame().to_excel(writer, sheet_name="empty")
    same(read_table(path, sheet="new"))
    with pytest.raises(TableError, match="has the sheets 'old', 'new'; choose one with --sheet"):
        read_table(path)
    with pytest.raises(TableError, match="--sheet 'none' is not in"):
        read_table(path, sheet="none")
    path.write_bytes(path.read_bytes()[:-200])
    with pytest.raises(TableError):
        read_table(path)


def test_a_zip_archive_is_no_workbook(tmp_path):
    with zipfile.ZipFile(tmp_path / "a.zip", "w") as archive:
        archive.writestr("cases.csv", "a,b\n1,2\n")
    with pytest.raises(TableError, match="is a zip archive"):
        read_table(tmp_path / "a.zip")


def test_a_sqlite_file_is_read_and_never_written(sqlite):
    same(read_table(sqlite))
    assert read_table(sqlite, sql="SELECT age FROM loans WHERE officer = 'b'")["age"].tolist() == [40]
    assert read_table(sqlite, missing=["unknown"])["failed"].isna().tolist() == [True, False]
    for query in ("DROP TABLE loans", "SELECT nothing FROM loans", "nonsense"):
        with pytest.raises(TableError, match="cannot be read"):
            read_table(sqlite, sql=query)
    same(read_table(sqlite))


def test_several_tables_need_a_query(sqlite):
    with closing(sqlite3.connect(sqlite)) as connection:
        LOANS.to_sql("other", connection, index=False)
    with pytest.raises(TableError, match="has the tables 'loans', 'other'; say what to read, as in --sql"):
        read_table(sqlite)


def test_a_duckdb_file_is_read(tmp_path):
    duckdb = pytest.importorskip("duckdb", reason="optional: duckdb")
    path = tmp_path / "loans.duckdb"
    with closing(duckdb.connect(str(path))) as connection:
        connection.register("given", LOANS)
        connection.execute("CREATE TABLE loans AS SELECT * FROM given")
    same(read_table(path))
    assert len(read_table(path, sql="SELECT * FROM loans WHERE age > 35")) == 1


def test_an_address_is_asked(sqlite):
    pytest.importorskip("sqlalchemy", reason="optional: sqlalchemy")
    same(read_table(f"sqlite:///{sqlite}"))
    assert len(read_table(f"sqlite:///{sqlite}", sql="SELECT * FROM loans WHERE age > 35")) == 1
    with pytest.raises(TableError, match="cannot be read"):
        read_table("nosuchdatabase://me:secret@localhost/x", sql="SELECT 1")


def test_passwords_are_never_shown():
    assert "secret" not in without_password("postgresql+psycopg://me:secret@host:5432/loans")
    with pytest.raises(TableError) as caught:
        read_table("nosuchdatabase://me:secret@localhost/x", sql="SELECT 1")
    assert "secret" not in str(caught.value)


def test_options_of_other_sources_are_refused(tmp_path):
    LOANS.to_csv(tmp_path / "t.csv", index=False)
    with pytest.raises(TableError, match="--sql asks a database"):
        read_table(tmp_path / "t.csv", sql="SELECT 1")
    with pytest.raises(TableError, match="--sheet is for Excel"):
        read_table(tmp_path / "t.csv", sheet="one")
