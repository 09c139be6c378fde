"""One evaluation of a table in Parquet, and of the same table in DuckDB and on local Spark: time and memory.

``python -m benchmarks.relations FOLDER --rows 20000000`` writes the table (:mod:`benchmarks.partition_data`)
and a DuckDB file beside it, both kept, and evaluates each engine in a process of its own.
"""

import argparse
import json
import os
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import psutil

from benchmarks.partition_data import FEATURES, ROWS_PER_FILE, loans

ENGINES = ("parquet", "duckdb", "spark")
HOW = {"metric": ["accuracy", "tpr", "fpr"], "random_state": 0}
LOOK_SECONDS = 0.2
# Without it DuckDB keeps what it has read in up to 80 % of the memory of the machine.
LIMIT = {"memory_limit": "700MB"}


def write(folder: Path, n_rows: int, n_decision_makers: int) -> None:
    """Parquet files whose rows have ids, and a DuckDB table of them; files that exist are kept."""
    import duckdb

    files = folder / "loans"
    files.mkdir(parents=True, exist_ok=True)
    for number, start in enumerate(range(0, n_rows, ROWS_PER_FILE)):
        path = files / f"part-{number:05}.parquet"
        if not path.exists():
            frame, _ = loans(min(ROWS_PER_FILE, n_rows - start), n_decision_makers, 0, number)
            draft = path.with_name(f".{path.name}")
            frame.assign(loan=range(start, start + len(frame))).to_parquet(
                draft, row_group_size=ROWS_PER_FILE // 2
            )
            draft.rename(path)
    if not (folder / "loans.db").exists():
        draft = folder / "draft.db"
        draft.unlink(missing_ok=True)
        with duckdb.connect(str(draft)) as connection:
            connection.execute("SET memory_limit = '1GB'")
            connection.execute(f"CREATE TABLE loans AS FROM '{files}/*.parquet'")
        draft.rename(folder / "loans.db")


def evaluate(engine: str, folder: Path, fit_rows: int | None) -> None:
    """Print the results of one engine as JSON."""
    import selective_labels as sl

    roles = {"label": "failed", "decision": "released", "decision_maker": "judge", "case_id": "loan"}
    named: dict[str, Any] = {**roles, "features": FEATURES, "fit_rows": fit_rows}
    if engine == "parquet":
        data = sl.SelectiveLabels.from_parquet(str(folder / "loans"), **named)
    elif engine == "duckdb":
        import duckdb

        connection = duckdb.connect(str(folder / "loans.db"), read_only=True, config=LIMIT)
        data = sl.SelectiveLabels.from_relation(connection.table("loans"), **named)
    else:
        from pyspark.sql import SparkSession

        os.environ["PYSPARK_PYTHON"] = sys.executable
        builder = SparkSession.builder.master("local[2]").config("spark.ui.enabled", "false")
        session = builder.config("spark.driver.host", "127.0.0.1").getOrCreate()
        data = sl.SelectiveLabels.from_relation(session.read.parquet(str(folder / "loans")), **named)
    start = time.time()
    results = sl.evaluate("guess", data, **HOW)
    ends = [[each.ci_lower, each.lower, each.upper, each.ci_upper] for each in results]
    print(json.dumps({"ends": ends, "seconds": time.time() - start}), flush=True)


def watched(command: list[str]) -> tuple[str, float, dict[int, tuple[str, float]]]:
    """What a command prints, its seconds of processor, and the largest resident GiB of each process."""
    child = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    top = psutil.Process(child.pid)
    seconds: dict[int, float] = {}
    memory: dict[int, tuple[str, float]] = {}
    while child.poll() is None:
        try:
            for each in [top, *top.children(recursive=True)]:
                times = each.cpu_times()
                seconds[each.pid] = times.user + times.system
                resident = each.memory_info().rss / 2**30
                if resident > memory.get(each.pid, ("", 0.0))[1]:
                    memory[each.pid] = each.name(), resident
        except psutil.NoSuchProcess:
            pass
        time.sleep(LOOK_SECONDS)
    assert child.stdout is not None
    if child.returncode:
        raise SystemExit(child.returncode)
    return child.stdout.read(), sum(seconds.values()), memory


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--rows", type=int, default=2_000_000)
    parser.add_argument("--decision-makers", type=int, default=1_000)
    parser.add_argument("--fit-rows", type=int, help="default: chosen by the learning curve")
    parser.add_argument("--engines", nargs="*", default=ENGINES, choices=ENGINES, help="none: only write")
    parser.add_argument("--alone", choices=ENGINES, help=argparse.SUPPRESS)  # how it calls itself
    given = parser.parse_args()
    if given.alone:
        evaluate(given.alone, given.folder, given.fit_rows)
        return
    write(given.folder, given.rows, given.decision_makers)
    lines = []
    for engine in given.engines:
        command = [sys.executable, "-m", "benchmarks.relations", str(given.folder), "--alone", engine]
        command += [] if given.fit_rows is None else ["--fit-rows", str(given.fit_rows)]
        said, processor, memory = watched(command)
        found = json.loads(said.splitlines()[-1])
        lines.append(
            {
                "engine": engine,
                "seconds": round(found["seconds"], 1),
                "processor": round(processor, 1),
                "GiB": [f"{name} {most:.2f}" for name, most in memory.values() if most > 0.1],
                "accuracy": found["ends"][0],
            }
        )
        print(lines[-1], flush=True)
    for each in lines[1:]:
        pairs = zip(each["accuracy"], lines[0]["accuracy"], strict=True)
        differs = max(abs(one - other) for one, other in pairs)
        ratios = {name: round(each[name] / lines[0][name], 2) for name in ("seconds", "processor")}
        print(f"{each['engine']} beside {lines[0]['engine']}: {ratios}; ends differ by {differs:.1e}")


if __name__ == "__main__":
    main()
