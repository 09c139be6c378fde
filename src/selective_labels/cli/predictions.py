"""What a model says about every row of a table, and the file that holds it."""

import gzip
import sys
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pandas as pd

from selective_labels.identification.rules import decided
from selective_labels.saving import SavedModel
from selective_labels.saving.atomic import write_whole
from selective_labels.saving.spreadsheets import safe_cell
from selective_labels.support.words import shown
from selective_labels.tables import TableError
from selective_labels.tables.roles import require_column

STANDARD_OUTPUT = "-"


def prediction_table(
    saved: SavedModel, X: pd.DataFrame, frame: pd.DataFrame, keep: Sequence[str] = ()
) -> pd.DataFrame:
    """Predictions, bounds of class probabilities, and whether the data decide; rows in their order.

    Parameters
    ----------
    saved : SavedModel
    X : pandas.DataFrame
        The table as the model's schema reads it.
    frame : pandas.DataFrame
        The table.
    keep : sequence of str
        Columns of the table to put first, such as ids.
    """
    for column in keep:
        require_column(frame, column, "--keep")
    bounds = saved.model.predict_bounds(X)
    # As the model's own `decided`, which would compute the bounds a second time.
    columns = {"prediction": saved.model.predict(X), "decided": decided(bounds, saved.model.cost_)}
    for place, name in enumerate(saved.classes_.tolist()):
        columns |= {f"lower_{name}": bounds.lower[:, place], f"upper_{name}": bounds.upper[:, place]}
    if hasattr(saved.model, "predict_proba"):
        probabilities = saved.model.predict_proba(X)
        columns |= {
            f"probability_{name}": probabilities[:, place]
            for place, name in enumerate(saved.classes_.tolist())
        }
    for column in keep:
        if column in columns:
            raise TableError(f"--keep {shown(column)} has the name of a column of the output; rename it.")
    return pd.DataFrame({column: frame[column].to_numpy() for column in keep} | columns)


@dataclass(frozen=True)
class Predicted:
    """Counts of what was predicted: of a table, or of its parts together.

    Attributes
    ----------
    classes : dict of int
        Rows by predicted class.
    n_decided : int
        Rows at which only one class can be best.
    columns : tuple of str
        Of what was written.
    unseen : dict of int
        By column, rows that hold a category that training had not.
    """

    classes: Mapping[Any, int]
    n_decided: int
    columns: tuple[str, ...]
    unseen: Mapping[str, int]

    @classmethod
    def of(cls, predictions: pd.DataFrame, unseen: Mapping[str, int]) -> "Predicted":
        """Count."""
        counts = predictions["prediction"].value_counts(sort=False)
        decided = int(predictions["decided"].sum())
        return cls({name: int(n) for name, n in counts.items()}, decided, (*predictions.columns,), unseen)

    @classmethod
    def added(cls, several: Sequence["Predicted"]) -> "Predicted":
        """Add the counts of parts."""
        classes: Counter[Any] = Counter()
        unseen: Counter[str] = Counter()
        for each in several:
            classes.update(each.classes)
            unseen.update(each.unseen)
        return cls(classes, sum(each.n_decided for each in several), several[0].columns, unseen)

    @property
    def n_rows(self) -> int:
        """All rows."""
        return sum(self.classes.values())


def write_predictions(predictions: pd.DataFrame, out: str) -> None:
    """Write CSV (compressed if the name ends in .gz), whole or not at all; "-" is standard output.

    Text that a spreadsheet would take for a formula gets a leading apostrophe, in cells and names.
    """
    safe = {
        safe_cell(name): column if pd.api.types.is_numeric_dtype(column) else column.map(safe_cell)
        for name, column in predictions.items()
    }
    text = pd.DataFrame(safe).to_csv(index=False, lineterminator="\n")
    if out == STANDARD_OUTPUT:
        sys.stdout.write(text)
        return
    content = text.encode()
    write_whole(Path(out), gzip.compress(content, mtime=0) if out.endswith(".gz") else content)
