"""``python -m tests.fuzz.guided TARGET``: atheris changes the content of files to reach new lines of readers.

Targets: "table" (CSV, packed CSV, Parquet), "model" (a whole model file), "description" (what is written
inside a model file). Needs ``pip install atheris``. What comes after the target goes to libFuzzer; the corpus
is kept in .fuzz/guided/TARGET and starts from a few files that are made here.
"""

import argparse
import io
import json
import sys
import zipfile
from collections.abc import Callable
from importlib import import_module
from pathlib import Path

ROOMS = ("tables", "saving")
# More processor time than this for one file is a hang; more memory, a bomb.
LIMITS = ("-timeout=20", "-rss_limit_mb=3000", "-max_len=40000", "-len_control=0")
TARGETS = ("table", "model", "description")


def target_and_seeds(name: str) -> tuple[Callable[[bytes], str], list[bytes]]:
    """A reader as a function of bytes, and a few files to begin with."""
    from tests.fuzz.readers import check_reader
    from tests.strategies.contents import model_content, model_parts, parquet_content, table_content

    if name == "table":
        seeds = [parquet_content(), *map(table_content, range(40))]
        return lambda content: check_reader("prepare_table", content), seeds
    if name == "model":
        return lambda content: check_reader("load_model", content), [model_content()]
    parts, description = model_parts()

    def load(content: bytes) -> str:
        buffer = io.BytesIO()
        with zipfile.ZipFile(buffer, "w") as archive:
            for part, data in (parts | {"schema.json": content}).items():
                archive.writestr(part, data)
        return check_reader("load_model", buffer.getvalue())

    return load, [json.dumps(description).encode()]


def main() -> None:
    """Fuzz one target until libFuzzer is told to stop."""
    import atheris

    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("target", choices=TARGETS)
    parser.add_argument("--out", type=Path, default=Path(".fuzz", "guided"))
    arguments, others = parser.parse_known_args()
    with atheris.instrument_imports(include=["selective_labels", "skops"]):
        for room in ROOMS:
            folder = Path(import_module(f"selective_labels.{room}").__file__ or "").parent
            for file in folder.glob("[a-z]*.py"):
                import_module(f"selective_labels.{room}.{file.stem}")
        run, seeds = target_and_seeds(arguments.target)
    corpus = arguments.out / arguments.target
    corpus.mkdir(parents=True, exist_ok=True)
    for number, content in enumerate(seeds):
        (corpus / f"seed-{number}").write_bytes(content)
    prefix = f"-artifact_prefix={arguments.out}/{arguments.target}-"
    atheris.Setup([sys.argv[0], str(corpus), prefix, *LIMITS, *others], lambda content: run(content) and None)
    atheris.Fuzz()


if __name__ == "__main__":
    main()
