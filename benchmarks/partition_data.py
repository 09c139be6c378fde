"""Loans in Parquet, as many as wanted: the table that the pass over partitions is measured on.

The truth is known: :func:`true_metrics` makes the same rows again, with the labels that nobody saw.
"""

import argparse
import json
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

N_FEATURES = 20
FEATURES = [f"x_{number}" for number in range(N_FEATURES)]
ROWS_PER_FILE = 500_000


def loans(n_rows: int, n_decision_makers: int, seed: int, file: int = 0) -> tuple[pd.DataFrame, np.ndarray]:
    """Two classes, numeric features, decision-makers who differ in leniency; a guess and a score.

    Returns
    -------
    pandas.DataFrame
        As a lender has it.
    (n_rows,) array
        The labels of all rows.
    """
    rng = np.random.default_rng([seed, file])
    X = rng.standard_normal((n_rows, N_FEATURES), dtype=np.float32)
    hidden = rng.standard_normal(n_rows, dtype=np.float32)
    leniency = np.linspace(-1.5, 1.5, n_decision_makers)
    maker = rng.integers(n_decision_makers, size=n_rows)
    chance = 1.0 / (1.0 + np.exp(-(leniency[maker] + 0.8 * X[:, 0] + 0.5 * hidden)))
    released = (rng.random(n_rows) < chance).astype(np.int8)
    risk = 1.0 / (1.0 + np.exp(X[:, 0] + 0.5 * X[:, 1] * X[:, 2] + 0.5 * hidden))
    failed = (rng.random(n_rows) < risk).astype(float)
    frame = pd.DataFrame(X, columns=FEATURES)
    frame["judge"] = maker.astype(np.int32)
    frame["released"] = released
    frame["failed"] = np.where(released == 1, failed, np.nan)
    frame["score"] = (-X[:, 0] - 0.3 * X[:, 1] * X[:, 2]).astype(np.float32)
    frame["guess"] = (frame["score"] > 0).astype(float)
    return frame, failed


def write(
    folder: Path, n_rows: int, n_decision_makers: int, rows_per_file: int = ROWS_PER_FILE, seed: int = 0
) -> None:
    """Write files until there are enough rows; those that exist are kept."""
    folder.mkdir(parents=True, exist_ok=True)
    for number, start in enumerate(range(0, n_rows, rows_per_file)):
        path = folder / f"part-{number:05}.parquet"
        if not path.exists():
            rows = min(rows_per_file, n_rows - start)
            frame, _ = loans(rows, n_decision_makers, seed, number)
            draft = path.with_name(f".{path.name}")
            frame.to_parquet(draft, row_group_size=rows_per_file // 2)
            draft.rename(path)


def true_metrics(
    model: Any, n_files: int, n_decision_makers: int, rows_per_file: int = ROWS_PER_FILE, seed: int = 0
) -> dict[str, float]:
    """Metrics of a fitted model by the labels of all rows, those that nobody saw among them."""
    from sklearn.metrics import roc_auc_score

    right, ranks = np.zeros((2, 2)), []
    for number in range(n_files):
        frame, failed = loans(rows_per_file, n_decision_makers, seed, number)
        X = frame[FEATURES]
        right += pd.crosstab(failed, np.asarray(model.predict(X)) == 1).to_numpy()
        ranks.append(roc_auc_score(failed, model.decision_function(X)))
    return {
        "accuracy": float(np.trace(right) / right.sum()),
        "tpr": float(right[1, 1] / right[1].sum()),
        "fpr": float(right[0, 1] / right[0].sum()),
        "auc": float(np.mean(ranks)),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--decision-makers", type=int, default=1_000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--truth", type=Path, help="a saved model: print its true metrics, write nothing")
    given = parser.parse_args()
    if given.truth is None:
        write(given.folder, given.rows, given.decision_makers, seed=given.seed)
        return
    from selective_labels import load_model

    model = load_model(str(given.truth)).model
    n_files = max(1, given.rows // ROWS_PER_FILE)
    print(json.dumps(true_metrics(model, n_files, given.decision_makers, seed=given.seed)))


if __name__ == "__main__":
    main()
