"""Growth with rows, decision-makers, classes: each size in a process of its own, for its peak of memory."""

import json
import os
import resource
import subprocess
import sys
import time
from dataclasses import asdict, dataclass

import numpy as np

import selective_labels as sl
from benchmarks.evaluate import evaluate_all
from benchmarks.floor import make_table, some_probabilities

WORKS = ("fit", "evaluate", "diagnose", "predict_bounds")
# Rows, decision-makers, classes.
BY_ROWS = ((100_000, 1000, 3), (1_000_000, 1000, 3))
BY_DECISION_MAKERS = ((100_000, 10, 3), (100_000, 100, 3), (100_000, 1000, 3))
BY_CLASSES = ((100_000, 100, 2), (100_000, 100, 3), (100_000, 100, 6))
SIZES = tuple(dict.fromkeys((*BY_DECISION_MAKERS, *BY_CLASSES, *BY_ROWS)))


@dataclass(frozen=True)
class Cost:
    """What one piece of work cost."""

    work: str
    n_samples: int
    n_decision_makers: int
    n_classes: int
    processor: float
    passed: float
    gibibytes: float

    @property
    def size(self) -> tuple[int, int, int]:
        """Rows, decision-makers, classes."""
        return self.n_samples, self.n_decision_makers, self.n_classes

    def __str__(self) -> str:
        return (
            f"{self.work:14s} n={self.n_samples:9,} J={self.n_decision_makers:5,} K={self.n_classes}  "
            f"{self.processor:7.1f} s of processor, {self.passed:7.1f} s passed, {self.gibibytes:.2f} GiB"
        )


def measure(most_rows: int = 1_000_000) -> list[Cost]:
    """All sizes up to so many rows."""
    costs = []
    for size in SIZES:
        for work in WORKS if size[0] <= most_rows else ():
            costs.append(in_own_process(work, *size))
            print(costs[-1], flush=True)
    return costs


def exponent(costs: list[Cost], work: str, sizes: tuple[tuple[int, int, int], ...], axis: int) -> float:
    """Slope of log cost on log size, by least squares."""
    by_size = {each.size: each.processor for each in costs if each.work == work}
    there = [size for size in sizes if size in by_size]
    return float(np.polyfit(np.log([s[axis] for s in there]), np.log([by_size[s] for s in there]), 1)[0])


def in_own_process(work: str, n_samples: int, n_decision_makers: int, n_classes: int) -> Cost:
    """Run one size by itself."""
    size = [str(each) for each in (n_samples, n_decision_makers, n_classes)]
    command = [sys.executable, "-m", "benchmarks.growth", work, *size]
    done = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True)
    return Cost(**json.loads(done.stdout.splitlines()[-1]))


def one(work: str, n_samples: int, n_decision_makers: int, n_classes: int) -> Cost:
    """Do the work here and now."""
    X, y, maker = make_table(n_samples, n_decision_makers, n_classes=n_classes)
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
        evaluate_all(some_probabilities(X, n_classes), X, y, maker, random_state=0)
    taken, passed = time.process_time() - start, time.perf_counter() - wall
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    return Cost(work, n_samples, n_decision_makers, n_classes, taken, passed, memory)


if __name__ == "__main__":
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    print(json.dumps(asdict(one(sys.argv[1], *map(int, sys.argv[2:])))))
