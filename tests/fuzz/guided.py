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
from pathlib import Path

import atheris

with atheris.instrument_imports(include=["selective_labels", "skops"]):
    import selective_labels.saving.model_file
    import selective_labels.saving.schema
    import selective_labels.saving.trusted
    import selective_labels.tables.delimited
    import selective_labels.tables.parquet
    import selective_labels.tables.prepare
    import selective_labels.tables.read  # noqa: F401
    from tests.fuzz.readers import check_reader
    from tests.strategies.contents import model_content, model_parts, parquet_content, table_content

# More processor time than this for one file is a hang; more memory, a bomb.
LIMITS = ("-timeout=20", "-rss_limit_mb=3000", "-max_len=40000", "-len_control=0")


def with_description(text: bytes) -> bytes:
    """The model file of the tests with another description of itself."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        for name, part in (model_parts()[0] | {"schema.json": text}).items():
            archive.writestr(name, part)
    return buffer.getvalue()


TARGETS = {
    "table": lambda content: check_reader("prepare_table", content),
    "model": lambda content: check_reader("load_model", content),
    "description": lambda content: check_reader("load_model", with_description(content)),
}


def seeds(target: str) -> list[bytes]:
    """A few files to begin with."""
    if target == "table":
        return [parquet_content(), *map(table_content, range(40))]
    return [model_content()] if target == "model" else [json.dumps(model_parts()[1]).encode()]


def main() -> None:
    """Fuzz one target until libFuzzer is told to stop."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("target", choices=list(TARGETS))
    parser.add_argument("--out", type=Path, default=Path(".fuzz", "guided"))
    arguments, others = parser.parse_known_args()
    folder = arguments.out / arguments.target
    folder.mkdir(parents=True, exist_ok=True)
    for number, content in enumerate(seeds(arguments.target)):
        (folder / f"seed-{number}").write_bytes(content)
    run = TARGETS[arguments.target]
    prefix = f"-artifact_prefix={arguments.out}/{arguments.target}-"
    atheris.Setup([sys.argv[0], str(folder), prefix, *LIMITS, *others], lambda content: run(content) and None)
    atheris.Fuzz()


if __name__ == "__main__":
    main()
