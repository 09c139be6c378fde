"""Time expected beforehand against time measured: ``python -m benchmarks.expected``, half an hour.

Each shape of table runs in a process of its own, on one core; seconds are of the processor.
"""

import os
import resource
import subprocess
import sys
import time
import warnings

import selective_labels as sl
from benchmarks.floor import make_table, some_probabilities
from selective_labels import LargeWorkWarning
from selective_labels.nuisance.bands import N_BANDS
from selective_labels.nuisance.cross_fit import Work, expected_seconds
from selective_labels.nuisance.model_selection import candidates

# Rows, columns, classes, decision-makers.
SHAPES = (
    # What seconds were fitted to,
    (5_000, 100, 2, 8),
    (5_000, 1_000, 2, 8),
    (5_000, 5_000, 2, 8),
    (20_000, 1_000, 3, 8),
    (20_000, 20, 50, 8),
    (100_000, 20, 3, 100),
    (100_000, 100, 10, 100),
    (1_000_000, 20, 3, 1_000),
    # and what they were not.
    (10_000, 2_000, 4, 30),
    (50_000, 200, 5, 50),
)
MODELS = {"logistic": "logistic", "default": None}


def expected(name: str, shape: tuple[int, ...]) -> float:
    """Seconds that are expected beforehand."""
    families = tuple(dict.fromkeys(each.family for each in candidates(MODELS[name], shape[1], 0)[0]))
    return expected_seconds(Work(*shape[:3], min(shape[3], N_BANDS), families))


def main() -> None:
    """A row of the table of docs/limits.md for each shape and model, as it is done."""
    print("| rows | columns | classes | decision-makers | `nuisance` | `evaluate` | `fit` | expected |")
    print("| --- | --- | --- | --- | --- | --- | --- | --- |")
    for shape in SHAPES:
        for name in MODELS:
            taken = [in_own_process(each, name, shape) for each in ("evaluate", "fit")]
            said = (*(f"{each:,}" for each in shape), name, *taken, f"{expected(name, shape):.1f} s")
            print("|", " | ".join(said), "|", flush=True)


def in_own_process(what: str, name: str, shape: tuple[int, ...]) -> str:
    """Processor seconds and largest memory of one piece of work."""
    command = [sys.executable, "-m", "benchmarks.expected", what, name, *map(str, shape)]
    done = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True)
    return done.stdout.splitlines()[-1]


def one(what: str, name: str, n_samples: int, n_columns: int, n_classes: int, n_makers: int) -> str:
    """Do the work here and now."""
    X, y, maker = make_table(n_samples, n_makers, n_columns, n_classes)
    how = {"nuisance": MODELS[name], "n_jobs": 1, "random_state": 0}
    start = time.process_time()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", LargeWorkWarning)
        if what == "fit":
            sl.UCLClassifier("partial", "linear", **how).fit(X, y, decision_maker=maker)
        else:
            guess = some_probabilities(X, n_classes).argmax(axis=1)
            sl.evaluate(guess, X, y, decision_maker=maker, metric="accuracy", **how)
    taken = time.process_time() - start
    return f"{taken:.1f} s, {resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20:.1f} GiB"


if __name__ == "__main__":
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    if len(sys.argv) == 1:
        main()
    else:
        print(one(*sys.argv[1:3], *map(int, sys.argv[3:])))
