"""Parquet into a frame, whole or not at all."""

import io
from typing import Any

import pandas as pd

from selective_labels.support.words import needs, several, shown
from selective_labels.tables.errors import TableError

PARQUET = b"PAR1"
# Beyond this, floats merge whole numbers.
LARGEST_EXACT = 2**53


def parse_parquet(content: bytes, name: str) -> pd.DataFrame:
    """Parse Parquet; checksums of pages are compared where the file has them.

    Parameters
    ----------
    content : bytes
    name : str
        Of the file, for messages.
    """
    try:
        from pyarrow import parquet
    except ImportError:
        raise TableError(f"{name} is Parquet, which {needs('pyarrow')}.") from None
    try:
        table = parquet.read_table(io.BytesIO(content), page_checksum_verification=True)
        table.validate(full=True)  # text that is not UTF-8, lengths that are not there
        frame = table.to_pandas()
        frame = frame.assign(**_exact_integers(table))
    except (ValueError, OSError, ArithmeticError, LookupError, TypeError, NotImplementedError) as error:
        reason = (str(error).splitlines() or [type(error).__name__])[0]
        raise TableError(f"{name} is not a whole Parquet file ({shown(reason, 200)}).") from None
    # An index that was written is a column that was meant; rows that are counted otherwise are counted anew.
    frame = frame.reset_index(drop=isinstance(frame.index, pd.RangeIndex) and frame.index.name is None)
    frame.columns = frame.columns.astype(str)
    if not frame.columns.is_unique:
        repeated = sorted(set(frame.columns[frame.columns.duplicated()]))
        raise TableError(f"{name} has several columns named {several(repeated)}; rename them.")
    return frame


def _exact_integers(table: Any) -> dict[str, pd.Series]:
    """Whole numbers with holes that are too large for floats, as whole numbers."""
    from pyarrow import compute, types

    found = {}
    for field in table.schema:
        if types.is_integer(field.type) and table.schema.names.count(field.name) == 1:
            column = table[field.name]
            ends = compute.min_max(column).as_py()
            if column.null_count and max(abs(ends["min"] or 0), abs(ends["max"] or 0)) > LARGEST_EXACT:
                kind = pd.UInt64Dtype() if types.is_unsigned_integer(field.type) else pd.Int64Dtype()
                found[field.name] = column.to_pandas(types_mapper=lambda _, kind=kind: kind)
    return found
