"""Contents of files: tables and models as people have them, and damaged in every way."""

import gzip
import io
import json
import tempfile
import zipfile
from functools import cache
from pathlib import Path

import numpy as np
import pandas as pd

import selective_labels as sl

from .columns import SEEDS, WORDS

CELLS = [
    *WORDS,
    *("1", "0", "-1", "1.5", "1e5", "1e999", "0x10", "1_000", "1,5", "NA", "null", "True", "2024-02-30"),
    *('"', '""', '"a,b"', '"a\nb"', "'", ";", "\t", "\ufeff", "\u202e", "9" * 400, "inf", "-nan", "\\", "#"),
]
ODDITIES = ["cells", "separator", "ends", "encoding", "uneven", "names", "last"]
PLAIN = ["1", "2.5", "x", "y", ""]
SEPARATORS = [",", ";", "\t", "|", ", "]
ENDS = ["\n", "\r\n", "\r", "\n\n"]
ENCODINGS = ["utf-8", "utf-8-sig", "latin-1", "utf-16"]


def _delimited(seed: int) -> bytes:
    """Text that is nearly a table, with up to two oddities at a time."""
    rng = np.random.default_rng(seed)
    odd = set(rng.choice(ODDITIES, rng.integers(0, 3)))

    def pick(what: str, values: list[str]) -> str:
        return values[int(rng.integers(0, len(values)))] if what in odd else values[0]

    n_columns = int(rng.integers(1, 6))
    cells = [*PLAIN, *(CELLS if "cells" in odd else ())]
    header = [f"c{k}" for k in range(n_columns)]
    header[0] = pick("names", ["c0", "", "c1", "=cmd", "a\0b", "0", " label ", "👩‍⚖️", "c" * 5000, "a\nb"])
    rows = [header]
    for _ in range(int(rng.integers(0, 13))):
        length = n_columns + (int(rng.integers(-1, 2)) if "uneven" in odd else 0)
        rows.append([cells[k] for k in rng.integers(0, len(cells), length)])
    end, separator = pick("ends", ENDS), pick("separator", SEPARATORS)
    text = end.join(separator.join(row) for row in rows) + pick("last", ["\n", "", end + end, ",", "\0"])
    return text.encode(pick("encoding", ENCODINGS), errors="replace")


@cache
def parquet_content() -> bytes:
    """A small table as Parquet."""
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(
        {
            "x": rng.normal(size=40),
            "k": pd.array(rng.integers(0, 3, 40), dtype="Int64"),
            "who": rng.choice(["a", "b"], 40),
            "when": pd.date_range("2024-01-01", periods=40, tz="Europe/Berlin"),
            "level": pd.Categorical(rng.choice(["u", "v"], 40)),
        }
    )
    buffer = io.BytesIO()
    frame.to_parquet(buffer)
    return buffer.getvalue()


@cache
def model_content() -> bytes:
    """A small model file."""
    sample = sl.datasets.make_decision_makers(200, n_classes=2, random_state=0)
    data = sl.SelectiveLabels.from_arrays(
        pd.DataFrame(sample.X, columns=list("abcd")), sample.y, decision_maker=sample.decision_maker
    )
    model = sl.SelectedSampleClassifier("linear").fit(data)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "model.skops")
        sl.save_model(model, path)
        return path.read_bytes()


def damaged(content: bytes, rng: np.random.Generator) -> bytes:
    """Some bytes changed, taken out, doubled or put in; or cut off."""
    found = bytearray(content)
    for _ in range(int(rng.integers(1, 6))):
        place = int(rng.integers(0, max(len(found), 1)))
        size = int(rng.integers(1, 9))
        match int(rng.integers(0, 6)):
            case 0 | 1:
                found[place : place + 1] = rng.bytes(1)
            case 2:
                del found[place : place + size]
            case 3:
                found[place:place] = found[place : place + size]
            case 4:
                found[place:place] = rng.bytes(size)
            case 5:
                if rng.random() < 0.2:
                    del found[place:]
    return bytes(found)


PUT_IN = [
    None,
    5,
    -1,
    2**70,
    "x",
    "",
    [],
    {},
    [None],
    True,
    1.5,
    "builtins.print",
    "os.system",
    "numpy.ndarray",
]


@cache
def model_parts() -> tuple[dict[str, bytes], dict]:
    with zipfile.ZipFile(io.BytesIO(model_content())) as archive:
        parts = {name: archive.read(name) for name in archive.namelist()}
    return parts, json.loads(parts["schema.json"])


def _places(tree, path=()):
    yield path
    items = tree.items() if isinstance(tree, dict) else enumerate(tree) if isinstance(tree, list) else ()
    for key, value in items:
        yield from _places(value, (*path, key))


@cache
def _model_places() -> list:
    return [path for path in _places(model_parts()[1]) if path]


def _changed_model(seed: int) -> bytes:
    """The file with one to three places of its description changed, or without one of its arrays."""
    rng = np.random.default_rng(seed)
    parts, schema = model_parts()
    parts, schema = dict(parts), json.loads(json.dumps(schema))
    for _ in range(int(rng.integers(1, 4))):
        *outer, last = _model_places()[int(rng.integers(0, len(_model_places())))]
        holder = schema
        try:
            for key in outer:
                holder = holder[key]
            if rng.random() < 0.4:
                del holder[last]
            else:
                holder[last] = PUT_IN[int(rng.integers(0, len(PUT_IN)))]
        except (KeyError, IndexError, TypeError):  # an earlier change took it away
            continue
    arrays = sorted(set(parts) - {"schema.json"})
    if arrays and rng.random() < 0.2:
        del parts[arrays[int(rng.integers(0, len(arrays)))]]
    parts["schema.json"] = json.dumps(schema).encode()
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        for name, part in parts.items():
            archive.writestr(name, part)
    return buffer.getvalue()


def table_content(seed: int) -> bytes:
    rng = np.random.default_rng(seed)
    kind = rng.choice(["text", "damaged", "packed", "parquet", "bytes"], p=[0.55, 0.15, 0.1, 0.15, 0.05])
    text = _delimited(seed)
    match kind:
        case "damaged":
            return damaged(text, rng)
        case "packed":
            packed = gzip.compress(text, mtime=0)
            return packed if rng.random() < 0.5 else damaged(packed, rng)
        case "parquet":
            return damaged(parquet_content(), rng)
        case "bytes":
            return rng.bytes(int(rng.integers(0, 64)))
    return text


def _model(seed: int) -> bytes:
    rng = np.random.default_rng(seed)
    return damaged(model_content(), rng) if rng.random() < 0.3 else _changed_model(seed)


tables, models = SEEDS.map(table_content), SEEDS.map(_model)
