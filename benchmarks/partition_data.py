"""Loans in Parquet, as many as wanted: the table that the pass over partitions is measured on."""

import argparse
from pathlib import Path

import numpy as np
import pandas as pd

N_FEATURES = 20
ROWS_PER_FILE = 500_000


def loans(n_rows: int, n_decision_makers: int, seed: int) -> pd.DataFrame:
    """Two classes, numeric features, decision-makers who differ in leniency; a guess and a score."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n_rows, N_FEATURES), dtype=np.float32)
    hidden = rng.standard_normal(n_rows, dtype=np.float32)
    leniency = np.linspace(-1.5, 1.5, n_decision_makers)
    maker = rng.integers(n_decision_makers, size=n_rows)
    chance = 1.0 / (1.0 + np.exp(-(leniency[maker] + 0.8 * X[:, 0] + 0.5 * hidden)))
    released = (rng.random(n_rows) < chance).astype(np.int8)
    risk = 1.0 / (1.0 + np.exp(X[:, 0] + 0.5 * X[:, 1] * X[:, 2] + 0.5 * hidden))
    failed = (rng.random(n_rows) < risk).astype(float)
    frame = pd.DataFrame(X, columns=[f"x_{number}" for number in range(N_FEATURES)])
    frame["judge"] = maker.astype(np.int32)
    frame["released"] = released
    frame["failed"] = np.where(released == 1, failed, np.nan)
    frame["score"] = (-X[:, 0] - 0.3 * X[:, 1] * X[:, 2]).astype(np.float32)
    frame["guess"] = (frame["score"] > 0).astype(float)
    return frame


def write(folder: Path, n_rows: int, n_decision_makers: int, rows_per_file: int = ROWS_PER_FILE) -> None:
    """Write files until there are enough rows; those that exist are kept."""
    folder.mkdir(parents=True, exist_ok=True)
    for number, start in enumerate(range(0, n_rows, rows_per_file)):
        path = folder / f"part-{number:05}.parquet"
        if not path.exists():
            rows = min(rows_per_file, n_rows - start)
            loans(rows, n_decision_makers, number).to_parquet(path, row_group_size=rows_per_file // 2)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--decision-makers", type=int, default=1_000)
    given = parser.parse_args()
    write(given.folder, given.rows, given.decision_makers)
