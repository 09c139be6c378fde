"""``python -m tests.fuzz``: thousands of odd tables, a hundred at a time; what is done is not done again."""

import argparse
import json
import signal
import time
import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from hypothesis import HealthCheck, Phase, given, seed, settings

from tests.fuzz.entries import MANY, check, inputs

CHUNK = 100
# More processor time than this for a table of a few rows is a hang.
LONGEST = 20.0


class HangError(Exception):
    """An example that takes too long."""


@contextmanager
def limited(seconds: float) -> Iterator[None]:
    """Raise after so much processor time."""

    def stop(*_: object) -> None:
        raise HangError(f"more than {seconds:g} s of processor time")

    signal.signal(signal.SIGPROF, stop)
    # Again and again: what is raised inside a callback of the collector gets lost.
    signal.setitimer(signal.ITIMER_PROF, seconds, 1.0)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0.0)


def run_chunk(name: str, number: int) -> dict[str, object]:
    """A hundred examples of one entry, with what was found."""
    counts: dict[str, int] = {"refused": 0, "done": 0, "failed": 0}
    found: dict[str, str] = {}
    slowest = 0.0

    @seed(number)
    @settings(
        max_examples=CHUNK,
        deadline=None,
        database=None,
        phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
    )
    @given(inputs(name))
    def run(example):  # type: ignore[no-untyped-def]
        nonlocal slowest
        began = time.process_time()
        try:
            with limited(LONGEST):
                counts[check(name, example)] += 1
        except Exception as error:  # every one is a finding; the run goes on
            counts["failed"] += 1
            frames = traceback.extract_tb(error.__traceback__)
            where = [f"{Path(each.filename).name}:{each.lineno}" for each in frames][-3:]
            found.setdefault(f"{type(error).__name__} {str(error)[:120]} {where}", repr(example)[:2000])
        slowest = max(slowest, time.process_time() - began)

    run()
    return {"entry": name, "chunk": number, **counts, "slowest": round(slowest, 1), "found": found}


def main() -> None:
    """Run what is not done yet; results are lines of JSON."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, default=Path(".fuzz"))
    parser.add_argument("--entry", action="append", choices=list(MANY))
    parser.add_argument("--minutes", type=float, default=float("inf"), help="begin no chunk after so long")
    arguments = parser.parse_args()
    began = time.monotonic()
    arguments.out.mkdir(exist_ok=True, parents=True)
    path = arguments.out / "chunks.jsonl"
    lines = path.read_text().splitlines() if path.exists() else []
    done = {(each["entry"], each["chunk"]) for each in map(json.loads, lines)}
    names = arguments.entry or list(MANY)
    wanted = [(name, chunk) for name in names for chunk in range(MANY[name] // CHUNK)]
    for name, chunk in sorted(set(wanted) - done, key=lambda each: (each[1], names.index(each[0]))):
        if time.monotonic() - began > 60.0 * arguments.minutes:
            break
        result = run_chunk(name, chunk)
        with path.open("a") as file:
            file.write(json.dumps(result) + "\n")
        print(json.dumps(result), flush=True)


if __name__ == "__main__":
    main()
