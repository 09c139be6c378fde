"""What the package asks of a table of features: numbers, under different names."""

from typing import Any

import narwhals as nw
import numpy as np
import pandas as pd
from sklearn.utils.validation import check_array


def numeric_features(X: Any) -> np.ndarray:
    """Features as an array of numbers, NaN allowed.

    Examples
    --------
    >>> numeric_features(pd.DataFrame({"age": [31, None]}))
    array([[31.],
           [nan]])
    """
    refuse_columns(X)
    return check_array(X, dtype="numeric", ensure_all_finite="allow-nan").astype(float, copy=False)


def refuse_columns(frame: Any) -> None:
    """Raise if columns of a frame are not numbers, or two have the same name; arrays have none of either.

    Examples
    --------
    >>> refuse_columns(pd.DataFrame({"age": [31], "job": ["cook"]}))
    Traceback (most recent call last):
    ...
    ValueError: X has columns that are not numbers ('job'); encode them first, say by OrdinalEncoder in a ...
    """
    refuse_repeated_names(frame)
    named = not_numbers(frame)
    if named:
        raise ValueError(
            f"X has columns that are not numbers ({', '.join(map(repr, named))}); encode them first, say by "
            "OrdinalEncoder in a Pipeline."
        )


def not_numbers(frame: Any) -> list[str]:
    """Names of the columns that hold text, categories or dates; of an array, none."""
    table = nw.from_native(frame, eager_only=True, pass_through=True)
    if not isinstance(table, nw.DataFrame):
        return []
    kinds = (nw.String, nw.Categorical, nw.Enum, nw.Date, nw.Datetime, nw.Duration, nw.Time)
    return [name for name, dtype in table.schema.items() if isinstance(dtype, kinds)]


def refuse_repeated_names(frame: Any) -> None:
    """Raise if two columns of a frame have the same name."""
    columns = getattr(frame, "column_names", None) or getattr(frame, "columns", None)
    names = pd.Series([] if columns is None else list(columns), dtype=object)
    repeated = sorted(set(names[names.duplicated()].map(repr)))
    if repeated:
        raise ValueError(f"The table has several columns named {', '.join(repeated)}; rename them.")
