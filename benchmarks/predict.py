"""``predict`` over the final estimator alone, and the import of the package over that of numpy."""

import subprocess
import sys
import time

import numpy as np

import selective_labels as sl
from benchmarks.floor import make_table
from benchmarks.ratios import Ratio, median_ratio, timed
from selective_labels import LinearScore

N_SAMPLES = 1_000_000


def measure() -> list[Ratio]:
    return [*prediction(), importing()]


def prediction() -> list[Ratio]:
    X, y, maker = make_table(20_000, 20)
    many = make_table(N_SAMPLES, 20, random_state=7)[0]
    ratios = []
    for name, estimator in (("linear", "linear"), ("boosting", None)):
        clf = sl.UCLClassifier("partial", estimator, random_state=0).fit(X, y, decision_maker=maker)
        clf.predict(many)  # the first call finds memory for all that follow
        ratios.append(
            median_ratio(
                f"predict {name}, 1,000,000 rows, over the final estimator alone",
                lambda c=clf: c.predict(many),
                lambda c=clf: timed(lambda: alone(c, many))[0],
                1.1,
            )
        )
    return ratios


def alone(clf: sl.UCLClassifier, X: np.ndarray) -> np.ndarray:
    """What the final estimator says, as codes, with nothing checked before."""
    learned = clf._scores
    return learned.scores(X).argmax(axis=1) if isinstance(learned, LinearScore) else learned.best(X)


def importing() -> Ratio:
    """Wall-clock seconds of a new process, of which those of starting Python are taken off."""
    rounds = [[_process(line) for line in ("", "import selective_labels", "import numpy")] for _ in range(7)]
    bare, ours, numpy = (min(column) for column in zip(*rounds, strict=True))
    name = "import selective_labels, over import numpy"
    return Ratio(name, (ours - bare) / (numpy - bare), ours - bare, numpy - bare)


def _process(line: str) -> float:
    start = time.perf_counter()
    subprocess.run([sys.executable, "-c", line], check=True)
    return time.perf_counter() - start
