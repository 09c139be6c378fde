"""Tables that are read in partitions: a folder or a glob of Parquet, or one large file."""

import os
from collections.abc import Sequence
from glob import has_magic
from pathlib import Path

import pandas as pd

from selective_labels.data.lazy import PartitionedLabels
from selective_labels.data.survey import RoleColumns
from selective_labels.partitions.sources import ParquetSource
from selective_labels.tables.roles import Roles

PARQUET = ".parquet"
# One Parquet file with more rows than this is read in parts.
MANY_ROWS = 1_000_000
# Rows that roles, kinds of columns and leaks are read off, from parts at equal distances.
SHOWN_ROWS, SHOWN_PARTS = 50_000, 20


def partitions_of(name: str) -> ParquetSource | None:
    """Files that are read in parts; None if the table is small enough to be read whole."""
    if has_magic(name) and not os.path.exists(name):
        return ParquetSource.find(name) if name.endswith(PARQUET) else None
    if os.path.isdir(name):
        tables = [each for each in os.listdir(name) if each.lower().endswith((PARQUET, ".csv", ".csv.gz"))]
        if len(tables) < 2 or not all(each.lower().endswith(PARQUET) for each in tables):
            return None
        return ParquetSource.find(name)
    if os.path.isfile(name) and name.lower().endswith(PARQUET):
        source = ParquetSource.find(name)
        return source if source.n_rows > MANY_ROWS else None
    return None


def shown_rows(source: ParquetSource) -> pd.DataFrame:
    """Some rows of all columns, from parts at equal distances, to find roles and kinds by."""
    source.check(source.columns)
    step = max(1, len(source.parts) // SHOWN_PARTS)
    parts = source.parts[::step][:SHOWN_PARTS]
    each = max(1, SHOWN_ROWS // len(parts))
    frames = [next(part.frames(source.columns)) for part in parts]
    return pd.concat([frame.iloc[:: max(1, len(frame) // each)].iloc[:each] for frame in frames])


def as_labels(
    source: ParquetSource,
    roles: Roles,
    features: Sequence[str],
    fit_rows: int | None,
    keep_scores: Path | None = None,
) -> PartitionedLabels:
    """The table with its roles, lazily."""
    named = RoleColumns(
        roles.label,
        roles.decision_maker,
        roles.decision,
        roles.weight,
        roles.groups,
        roles.strata,
    )
    return PartitionedLabels.of(source, named, features, None, fit_rows, None, keep_scores)
