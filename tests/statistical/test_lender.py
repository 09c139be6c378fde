"""A lender's table of 12,000 rows, from the shell to a report: true figures lie in their intervals as said.

``python -m tests.statistical.test_lender FOLDER`` keeps every draw in a file, goes on where it stopped, and
says what was covered and how long commands took.
"""

import json
import resource
import subprocess
import sys
from pathlib import Path

import pytest
from scipy.stats import binom

from tests.cli.lender_run import misread, run_lender

# Fixed before any of them was drawn.
SEEDS = range(3100, 3110)
# Chance that any figure with coverage .95 is covered in fewer draws than the limit.
FALSE_ALARM = 0.001


def draw(seed, folder):
    """Run the five commands on one table; what was found is kept."""
    kept = folder / f"{seed}.json"
    if kept.exists():
        return json.loads(kept.read_text())
    seconds = {}

    def run(*arguments):
        before = resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime
        command = [sys.executable, "-m", "selective_labels", *map(str, arguments)]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
        assert "Traceback" not in done.stderr
        spent = resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime - before
        name = " ".join(map(str, arguments[:1]))
        seconds[name] = max(spent, seconds.get(name, 0.0))
        return done.stdout

    place = folder / f"draw {seed}"
    place.mkdir(parents=True, exist_ok=True)
    documents, figures = run_lender(run, place, 12_000, seed)
    found = {"figures": figures, "misread": misread(documents), "seconds": seconds}
    kept.write_text(json.dumps(found, default=float))
    return json.loads(kept.read_text())


def covered(draws):
    """In how many draws the interval of each figure holds its truth."""
    counts = {}
    for found in draws:
        for name, truth, (low, high) in found["figures"]:
            counts[name] = counts.get(name, 0) + (low <= truth <= high)
    return counts


@pytest.mark.statistical
def test_true_figures_are_covered_and_nothing_is_misread(tmp_path):
    draws = [draw(seed, tmp_path) for seed in SEEDS]
    counts = covered(draws)
    limit = binom.ppf(FALSE_ALARM / len(counts), len(SEEDS), 0.95)
    assert {name: n for name, n in counts.items() if n < limit} == {}
    assert [each["misread"] for each in draws] == [[]] * len(draws)


if __name__ == "__main__":
    out = Path(sys.argv[1])
    out.mkdir(parents=True, exist_ok=True)
    found = [draw(seed, out) for seed in SEEDS]
    for name, n in covered(found).items():
        print(f"{name}: {n} of {len(found)}")
    for name in found[0]["seconds"]:
        each = [draw["seconds"][name] for draw in found]
        print(f"{name}: {min(each):.1f} to {max(each):.1f} s of processor")
    print("misread:", [each["misread"] for each in found if each["misread"]])
