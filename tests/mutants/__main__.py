"""Mutation run: ``python -m tests.mutants [FILES] [--count N] [--seed S] [--jobs J] [--again]``.

Wrong versions of the mathematical core are made (`generate`), a sample of them meets the tests near by
(`run`), and what no test noticed is listed. Results are kept: a run that was stopped goes on.
"""

import argparse
import hashlib
import json
import tomllib
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from itertools import chain
from pathlib import Path

from tests.mutants.calls import Test
from tests.mutants.generate import Mutant, mutants
from tests.mutants.run import Outcome, Project, Task, judge, record

HERE = Path(__file__).parent
OURS = Project(
    HERE.parents[1],
    "selective_labels",
    ("hypothesis", "matplotlib.pyplot", "narwhals", "scipy.stats", "sklearn.ensemble", "sklearn.pipeline"),
)
ROOMS = ("identification", "nuisance", "inference", "evaluation")
# Names alone, and how numbers look: nothing is computed there.
NOT_COMPUTED = ("__init__.py", "display.py")
# Tests that are nearest although they stand in another room.
ELSEWHERE = {
    "evaluation/compare.py": ["tests/evaluation/test_wiring.py", "tests/test_corridor.py"],
    "evaluation/evaluate.py": ["tests/test_corridor.py"],
    "evaluation/metrics.py": ["tests/evaluation/test_wiring.py"],
    "evaluation/scorer.py": ["tests/test_corridor.py"],
    "evaluation/predictions.py": ["tests/test_errors.py"],
    "evaluation/thresholds.py": ["tests/evaluation/test_wiring.py", "tests/test_corridor.py"],
    "evaluation/scored_rows.py": ["tests/evaluation/test_clusters.py", "tests/evaluation/test_evaluate.py"],
    "inference/standard_errors.py": ["tests/evaluation/test_clusters.py"],
    "nuisance/cross_fit.py": ["tests/evaluation/test_evaluate.py"],
    "nuisance/models/boosting.py": ["tests/evaluation/test_wiring.py"],
    "identification/marginal_outcomes.py": ["tests/evaluation/test_extrapolation.py"],
}
RESULTS = ".mutants/results.jsonl"
# A mutant that takes so many times as long as it should, and so many seconds more, has been noticed.
PATIENCE, EXTRA_SECONDS = 3.0, 10.0


def main(arguments: Sequence[str] | None = None, project: Project = OURS) -> None:
    """Generate, sample, test what has not been tested yet, report."""
    parser = argparse.ArgumentParser(prog="python -m tests.mutants")
    parser.add_argument("files", nargs="*", default=ROOMS, help="files and folders of the package")
    parser.add_argument("--count", type=int, default=300, help="how many mutants; 0 for all")
    parser.add_argument("--seed", default="0", help="which ones")
    parser.add_argument("--jobs", type=int, default=1, choices=(1, 2))
    parser.add_argument("--again", action="store_true", help="test the survivors of earlier runs once more")
    options = parser.parse_args(arguments)
    chosen = sample(every_mutant(project, options.files), options.seed, options.count)
    known = earlier(project, options.again)
    todo = [mutant for mutant in chosen if mutant.key not in known]
    print(f"{len(chosen)} mutants, {len(todo)} of them to test.", flush=True)
    project.prepare()
    for mutant, outcome in tested(project, todo, options.jobs):
        known[mutant.key] = outcome.outcome
        remember(project, mutant, outcome)
    print(report(chosen, known))


def every_mutant(project: Project, files: Sequence[str]) -> list[Mutant]:
    """All wrong versions of the files, apart from those known to be no different from the right one."""
    equal = {(each["file"], each["function"], change) for each in equivalents() for change in each["changes"]}
    found = []
    for file in files:
        place = project.path(file)
        for path in sorted(place.rglob("*.py")) if place.is_dir() else [place]:
            if path.name not in NOT_COMPUTED:
                found += mutants(path.read_text(), path.relative_to(project.path("")).as_posix())
    return [each for each in found if (each.file, each.function, each.change) not in equal]


def equivalents() -> list[dict]:
    """The list of changes that change no behaviour, each with its reason."""
    return tomllib.loads((HERE / "equivalent.toml").read_text())["equivalent"]


def sample(every: list[Mutant], seed: str, count: int) -> list[Mutant]:
    """Some of them; an edit elsewhere in the code does not change which."""

    def draw(mutant: Mutant) -> str:
        return hashlib.sha1(f"{seed} {mutant.key}".encode()).hexdigest()

    chosen = sorted(every, key=draw)[: count or None]
    return sorted(chosen, key=lambda mutant: (mutant.file, mutant.line))


def earlier(project: Project, again: bool) -> dict[str, str]:
    """Outcomes of earlier runs by key of the mutant."""
    path = project.root / RESULTS
    lines = path.read_text().splitlines() if path.exists() else []
    known = {each["key"]: each["outcome"] for each in map(json.loads, lines)}
    return {key: outcome for key, outcome in known.items() if not (again and outcome == "survived")}


def remember(project: Project, mutant: Mutant, outcome: Outcome) -> None:
    path = project.root / RESULTS
    path.parent.mkdir(exist_ok=True)
    where = {"file": mutant.file, "line": mutant.line, "function": mutant.function, "change": mutant.change}
    with path.open("a") as file:
        file.write(json.dumps({"key": mutant.key, **where, **asdict(outcome)}) + "\n")


def tested(project: Project, todo: list[Mutant], n_jobs: int) -> Iterator[tuple[Mutant, Outcome]]:
    """Outcomes, as they come."""
    files = {mutant.file: tests_of(project, mutant.file) for mutant in todo}
    tests = record(project, list(dict.fromkeys(chain(*files.values())))) if todo else []
    tasks = [task_of(mutant, files[mutant.file], tests) for mutant in todo]
    for number, (mutant, outcome) in enumerate(judge(project, tasks, n_jobs), start=1):
        print(f"{number}/{len(todo)} {mutant.file}:{mutant.line} {outcome.outcome} {outcome.by}", flush=True)
        yield mutant, outcome


def tests_of(project: Project, file: str) -> list[str]:
    """Files with tests, the nearest first: of the same name, the doctest, then those of the same room."""
    path = Path(file)
    room = sorted((project.root / "tests" / path.parent).glob("test_*.py"))
    names = [each.relative_to(project.root).as_posix() for each in room]
    nearest = [each for each in names if Path(each).stem == f"test_{path.stem}"]
    own = project.path(file).relative_to(project.root).as_posix()
    return list(dict.fromkeys([*nearest, own, *ELSEWHERE.get(file, []), *names]))


def task_of(mutant: Mutant, files: Sequence[str], tests: Sequence[Test]) -> Task:
    """Tests in these files that call the function; what stands outside functions concerns all of the file."""
    place = mutant.file, mutant.function
    known = any(place in test.calls for test in tests)
    chosen = [
        test
        for test in tests
        if test.file in files
        and (place in test.calls if known else any(file == mutant.file for file, _ in test.calls))
    ]
    # Fixtures are shared within a file, so files stay together; quick tests come first.
    chosen.sort(key=lambda test: (files.index(test.file), test.seconds))
    return Task(mutant, chosen, int(PATIENCE * sum(test.seconds for test in chosen) + EXTRA_SECONDS))


def report(chosen: list[Mutant], known: dict[str, str]) -> str:
    """A table by file, then every survivor as a diff."""
    counts: dict[str, Counter[str]] = defaultdict(Counter)
    survivors = []
    for mutant in chosen:
        survived = known[mutant.key] == "survived"
        for name in (mutant.file, "all"):
            counts[name]["survived" if survived else "killed"] += 1
        if survived:
            survivors += [
                "",
                f"{mutant.file}:{mutant.line} in {mutant.function or 'the module'}",
                *mutant.diff,
            ]
    rows = [f"{'file':40} killed survived  score"]
    for name, count in sorted(counts.items(), key=lambda item: (item[0] == "all", item[0])):
        score = count["killed"] / count.total()
        rows.append(f"{name:40} {count['killed']:6} {count['survived']:8} {score:6.1%}")
    return "\n".join(rows + survivors)


if __name__ == "__main__":
    main()
