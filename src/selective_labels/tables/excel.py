"""Excel into a frame: one sheet, whole or not at all."""

import io
import zipfile
from importlib.util import find_spec
from typing import Any

import pandas as pd

from selective_labels.support.expansion import MIB, largest_expansion
from selective_labels.support.words import needs, several, shown
from selective_labels.tables.errors import TableError

ZIP = b"PK\x03\x04"
WORKBOOK = "xl/workbook.xml"


def is_excel(content: bytes) -> bool:
    """Whether a zip archive is a workbook."""
    if not content.startswith(ZIP):
        return False
    try:
        with zipfile.ZipFile(io.BytesIO(content)) as archive:
            return WORKBOOK in archive.namelist()
    except zipfile.BadZipFile:
        return False


def parse_excel(content: bytes, name: str, sheet: str | None, missing: tuple[str, ...] = ()) -> pd.DataFrame:
    """Parse one sheet: the one that is named, or the only one that is not empty.

    Parameters
    ----------
    content : bytes
    name : str
        Of the file, for messages.
    sheet : str, optional
    missing : tuple of str
        Cells that mean missing, besides the usual.
    """
    _refuse_large(content, name)
    if find_spec("openpyxl") is None:
        raise TableError(f"{name} is an Excel file, which {needs('openpyxl')}.")
    try:
        # As cells are typed in the file: a parser would make 2139 of the text "02139".
        settings: dict[str, Any] = {"na_values": list(missing), "dtype": object, "engine": "openpyxl"}
        found = pd.read_excel(io.BytesIO(content), sheet_name=None, **settings)
    except Exception as error:  # a damaged workbook fails in many ways
        reason = (str(error).splitlines() or [type(error).__name__])[0]
        raise TableError(f"{name} is not a whole Excel file ({shown(reason, 200)}).") from None
    frame = _chosen({str(each): frame for each, frame in found.items()}, name, sheet)
    frame.columns = frame.columns.astype(str)
    return frame.infer_objects()


def _refuse_large(content: bytes, name: str) -> None:
    limit = largest_expansion(len(content))
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        size = sum(each.file_size for each in archive.infolist())
    if size > limit:
        raise TableError(
            f"{name} unpacks to {size / MIB:,.0f} MiB, more than the {limit / MIB:,.0f} MiB allowed; "
            "save it as CSV."
        )


def _chosen(sheets: dict[str, pd.DataFrame], name: str, sheet: str | None) -> pd.DataFrame:
    if sheet is not None:
        if sheet not in sheets:
            raise TableError(
                f"--sheet {shown(sheet)} is not in {name}; there are {several(list(sheets), 8)}."
            )
        return sheets[sheet]
    filled = {each: frame for each, frame in sheets.items() if len(frame)}
    if len(filled) > 1:
        raise TableError(f"{name} has the sheets {several(list(filled), 8)}; choose one with --sheet.")
    return next(iter(filled.values()), pd.DataFrame())
