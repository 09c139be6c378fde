"""Rows per second and core of the pass over a table in partitions: two classes, twenty features."""

import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

import pandas as pd
from sklearn.linear_model import LogisticRegression

import selective_labels as sl
from benchmarks.partition_data import FEATURES, loans, write
from selective_labels.evaluation.partitioned.fitted_partitions import partition_pass


@dataclass(frozen=True)
class Rate:
    """What the pass cost, on one core."""

    n_rows: int
    n_decision_makers: int
    processor: float

    @property
    def rows_per_second(self) -> float:
        """Of one core."""
        return self.n_rows / self.processor

    def minutes(self, n_rows: float, n_cores: int) -> float:
        """What so many rows take on so many cores, models aside."""
        return n_rows / self.rows_per_second / n_cores / 60.0

    def __str__(self) -> str:
        return (
            f"pass over {self.n_rows:,} rows, {self.n_decision_makers:,} decision-makers: "
            f"{self.rows_per_second:,.0f} rows per second and core"
        )


def measure(n_rows: int = 500_000, n_decision_makers: int = 1000) -> Rate:
    """Score all rows in this process; models are fitted before the clock starts."""
    with tempfile.TemporaryDirectory() as folder:
        write(Path(folder), n_rows, n_decision_makers, rows_per_file=n_rows)
        data = sl.SelectiveLabels.from_parquet(
            folder,
            label="failed",
            decision="released",
            decision_maker="judge",
            features=FEATURES,
            fit_rows=50_000,
        )
        model = labeled_only(n_decision_makers)
        question = partition_pass(model, data, metric=["accuracy", "tpr", "fpr", "auc"], random_state=0)
        step = question.function
        start = time.process_time()
        parts = [step(frame) for part in data.source.parts for frame in part.frames(question.columns)]
        taken = time.process_time() - start
    assert len(parts) >= n_rows // 100_000
    return Rate(n_rows, n_decision_makers, taken)


def labeled_only(n_decision_makers: int) -> LogisticRegression:
    """What is judged: a classifier with scores, fitted to other rows."""
    frame, _ = loans(20_000, n_decision_makers, seed=1)
    seen: pd.DataFrame = frame[frame["released"] == 1]
    return LogisticRegression().fit(seen[FEATURES], seen["failed"])


if __name__ == "__main__":
    print(measure())
