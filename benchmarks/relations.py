"""Seconds of processor for one evaluation of a table in DuckDB, and of the same table in Parquet."""

import argparse
import tempfile
import time
from pathlib import Path

import duckdb

import selective_labels as sl
from benchmarks.partition_data import FEATURES, write

HOW = {"metric": ["accuracy", "tpr"], "nuisance": "logistic", "random_state": 0}


def measure(n_rows: int, fit_rows: int, n_decision_makers: int = 1000) -> dict[str, float]:
    """One process, all threads of DuckDB counted; models are fitted to the same rows."""
    roles = {"label": "failed", "decision": "released", "decision_maker": "judge", "case_id": "loan"}
    named = roles | {"features": FEATURES, "fit_rows": fit_rows, "n_jobs": 1}
    found = {}
    with tempfile.TemporaryDirectory() as folder, duckdb.connect(f"{folder}/loans.db") as connection:
        plain, keyed = Path(folder, "plain"), Path(folder, "keyed")
        write(plain, n_rows, n_decision_makers)
        keyed.mkdir()
        for path in sorted(plain.glob("*.parquet")):
            loan = "(hash(x_0, x_1, x_2)::HUGEINT % 4000000000000000000)::BIGINT"
            query = f"SELECT *, {loan} AS loan FROM '{path}'"
            connection.execute(f"COPY ({query}) TO '{keyed / path.name}'")
        connection.execute(f"CREATE TABLE loans AS FROM '{keyed}/*.parquet'")
        tables = {
            "Parquet": sl.SelectiveLabels.from_parquet(str(keyed), **named),
            "DuckDB": sl.SelectiveLabels.from_relation(connection.table("loans"), **named),
        }
        for name, data in tables.items():
            start = time.process_time()
            result = sl.evaluate("guess", data, **HOW)
            found[name] = time.process_time() - start
            print(
                f"{name}: {found[name]:.1f} s of processor; accuracy from {result[0].lower:.12f}", flush=True
            )
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=2_000_000)
    parser.add_argument("--fit-rows", type=int, default=25_000)
    given = parser.parse_args()
    measure(given.rows, given.fit_rows)


if __name__ == "__main__":
    main()
