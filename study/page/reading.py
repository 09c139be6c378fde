"""What runs left behind: results, times, chosen settings, seed and size."""

import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import pandas as pd

from selective_labels import InputError
from study.engine import CHOICE_COLUMNS, RESULT_COLUMNS, RUN_FILE, TIME_COLUMNS
from study.table import COUNT, TASK_COLUMNS, TEXT_COLUMNS, read_rows
from study.tasks import ENTROPY

KEY = [*TASK_COLUMNS, "method", "classifier", "setting"]
USUAL_RUN = {"seed": ENTROPY, "samples": None}


def read_results(paths: Iterable[Path]) -> pd.DataFrame:
    """Read results from folders and CSV files; each task is taken once.

    Columns that older files lack are empty: `constant` where it was not kept, and `mode` with it.
    """
    rows = read_tables(paths, KEY)
    if rows.empty:
        raise InputError(f"There are no results in {', '.join(map(str, paths))}.")
    return _with_columns(rows, RESULT_COLUMNS)


def read_times(paths: Iterable[Path]) -> pd.DataFrame:
    """Read how long tasks took, as far as it was kept."""
    return _with_columns(read_tables(paths, TASK_COLUMNS, TIME_COLUMNS[:-1]), TIME_COLUMNS)


def _with_columns(rows: pd.DataFrame, columns: Iterable[str]) -> pd.DataFrame:
    """The columns of this version in its order; those of older files that are not there are empty."""
    frame = rows.reindex(columns=[*TASK_COLUMNS, *columns, COUNT])
    texts = [name for name in TEXT_COLUMNS if name in frame]
    return frame.astype(dict.fromkeys(texts, object)).fillna(dict.fromkeys(texts, ""))


def read_settings(paths: Iterable[Path]) -> pd.DataFrame:
    """Read which settings were chosen on separate draws, as far as they were kept."""
    return read_tables(paths, (*TASK_COLUMNS, CHOICE_COLUMNS[0]), CHOICE_COLUMNS[1:])


def read_run(paths: Iterable[Path]) -> Mapping[str, Any]:
    """Read seed and size of the runs, which must be one; the study's own where nothing is said."""
    files = [file for path in paths if path.is_dir() for file in sorted(path.glob(f"*{RUN_FILE}"))]
    runs = {file: json.loads(file.read_text()) for file in files}
    for file, run in runs.items():
        if run != runs[files[0]]:
            raise InputError(
                f"{files[0].parent} and {file.parent} hold runs of different --seed or --samples; "
                "make a page of each."
            )
    return runs[files[0]] if files else USUAL_RUN


def read_tables(paths: Iterable[Path], key: Iterable[str], others: Iterable[str] = ()) -> pd.DataFrame:
    """Read every CSV file that has these columns, in folders or named; rows of one key are taken once."""
    columns = [*key, *others, COUNT]
    frames = [pd.DataFrame(columns=columns)]
    for path in paths:
        for file in sorted(path.glob("*.csv")) if path.is_dir() else [path]:
            if set(columns) <= set(pd.read_csv(file, nrows=0).columns):
                frames.append(read_rows(file))
    rows = pd.concat(frames[1:] or frames, ignore_index=True)
    return rows.drop_duplicates([*key]).sort_values([*key], ignore_index=True)
