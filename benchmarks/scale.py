"""Growth with rows and decision-makers: each size in a process of its own, for its peak of memory.

``python -m benchmarks scale`` runs all sizes; ``python -m benchmarks.scale 100000 100 fit`` runs one.
"""

import resource
import subprocess
import sys
import time

import numpy as np

import selective_labels as sl
from benchmarks._floor import make_table

WORKS = ("fit", "evaluate", "diagnose", "predict_bounds")
SIZES = ((100_000, 10), (100_000, 100), (100_000, 1000), (1_000_000, 1000))
METRICS = [
    "accuracy",
    "error",
    "cost",
    "share",
    "tpr",
    "fpr",
    "ppv",
    "f1",
    "auc",
    "log_loss",
    "brier",
    "regret",
]


def main() -> None:
    for n_samples, n_decision_makers in SIZES:
        for work in WORKS:
            command = [sys.executable, "-m", "benchmarks.scale", str(n_samples), str(n_decision_makers), work]
            subprocess.run(command, check=True)


def measure(n_samples: int, n_decision_makers: int, work: str) -> None:
    X, y, maker = make_table(n_samples, n_decision_makers)
    clf = sl.UCLClassifier("partial", "linear", random_state=0)
    if work == "predict_bounds":
        clf.fit(X, y, decision_maker=maker)
    wall, start = time.perf_counter(), time.process_time()
    if work == "fit":
        clf.fit(X, y, decision_maker=maker)
    elif work == "predict_bounds":
        clf.predict_bounds(X)
    elif work == "diagnose":
        sl.diagnose(X, y, decision_maker=maker, random_state=0)
    else:
        guess = np.exp(X[:, :3])
        guess /= guess.sum(axis=1, keepdims=True)
        cost = 1.0 - np.eye(3)
        sl.evaluate(guess, X, y, decision_maker=maker, metric=METRICS, cost=cost, random_state=0)
    taken, passed = time.process_time() - start, time.perf_counter() - wall
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    chosen = clf.nuisance_report_.chosen if hasattr(clf, "nuisance_report_") else ""
    print(
        f"{work:14s} n={n_samples:9,} J={n_decision_makers:5,} K=3  {taken:7.1f} s of processor, "
        f"{passed:7.1f} s passed, {memory:.2f} GiB  {chosen}",
        flush=True,
    )


if __name__ == "__main__":
    if len(sys.argv) > 1:
        measure(int(sys.argv[1]), int(sys.argv[2]), sys.argv[3])
    else:
        main()
