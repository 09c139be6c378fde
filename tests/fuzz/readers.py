"""Readers of files, as functions of their content: what fuzzers of any kind call."""

import tempfile
import warnings
from functools import cache
from pathlib import Path

import numpy as np
import pandas as pd

import selective_labels as sl
from selective_labels.io.prepare import FeatureRules, prepare_table
from selective_labels.io.read import read_table
from selective_labels.io.table_roles import Roles


@cache
def _folder() -> tempfile.TemporaryDirectory:
    return tempfile.TemporaryDirectory(prefix="selective-labels-fuzz-")  # removed when the process ends


def _file(content: bytes, name: str) -> Path:
    path = Path(_folder().name, name)
    path.write_bytes(content)
    return path


def read_content(content: bytes) -> pd.DataFrame:
    """A table of any format; rows are counted from 0 and every column has a name."""
    frame = read_table(_file(content, "table"))
    assert len(frame) > 0
    assert list(frame.index) == list(range(len(frame)))
    assert all(isinstance(name, str) for name in frame.columns)
    return frame


def prepare_content(content: bytes) -> None:
    """The same, with its first columns in roles."""
    frame = read_content(content)
    names = list(frame.columns)
    if len(names) > 2:
        prepare_table(frame, Roles(label=names[0], decision_maker=names[1]), FeatureRules())


def load_content(content: bytes) -> None:
    """A model file; what is loaded can predict."""
    saved = sl.load_model(_file(content, "model.skops"))
    predicted = saved.predict(saved.schema.example())
    assert len(predicted) == 1
    assert isinstance(np.asarray(predicted), np.ndarray)


READERS = {"read_table": read_content, "prepare_table": prepare_content, "load_model": load_content}


def check_reader(name: str, content: bytes) -> str:
    """Run a reader: "refused" or "done". Anything but one sentence is an error."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            READERS[name](content)
        except sl.InputError:
            return "refused"
    return "done"
