"""What a model says about every row of a table, and the file that holds it."""

import gzip
import sys
from collections.abc import Sequence
from pathlib import Path

import pandas as pd

from selective_labels.cli.output import safe_cell
from selective_labels.identification.rules import decided
from selective_labels.saving import SavedModel
from selective_labels.saving.atomic import write_whole
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
