"""The finished sections of a report under way, so that an interrupted one goes on where it stopped."""

import contextlib
import hashlib
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pandas as pd

from selective_labels.saving.atomic import is_replaced, write_whole


class SectionStore:
    """Sections kept in a hidden JSON file beside the report, for the same table and options only.

    Parameters
    ----------
    report : Path
        The page that is being made. Beside a pipe or a device nothing is kept.
    fingerprint : str
        Of everything that the sections depend on.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     page = Path(folder, "report.html")
    ...     SectionStore(page, "this table").put("data", {"n_cases": 3})
    ...     SectionStore(page, "this table").get("data"), SectionStore(page, "another").get("data")
    ({'n_cases': 3}, None)
    """

    def __init__(self, report: Path, fingerprint: str):
        self.path = report.with_name(f".{report.name}.partial.json")
        self.fingerprint = fingerprint
        self._keeps = is_replaced(report)
        self._sections: dict[str, dict[str, Any]] = self._read()

    @property
    def names(self) -> list[str]:
        """Sections that are finished."""
        return list(self._sections)

    def get(self, name: str) -> dict[str, Any] | None:
        """A finished section, or None."""
        return self._sections.get(name)

    def put(self, name: str, section: dict[str, Any]) -> None:
        """Keep a finished section."""
        self._sections[name] = section
        kept = {"fingerprint": self.fingerprint, "sections": self._sections}
        if self._keeps:
            write_whole(self.path, json.dumps(kept, allow_nan=False))

    def remove(self) -> None:
        """Forget everything: the report is whole."""
        if self._keeps:
            self.path.unlink(missing_ok=True)

    def _read(self) -> dict[str, dict[str, Any]]:
        # What cannot be read is made again: nothing is lost but time.
        with contextlib.suppress(OSError, ValueError, KeyError, TypeError, AttributeError):
            kept = json.loads(self.path.read_text(encoding="utf-8"))
            if kept["fingerprint"] == self.fingerprint:
                return dict(kept["sections"])
        return {}


def fingerprint(tables: Sequence[pd.DataFrame | pd.Series], options: dict[str, Any]) -> str:
    """Hash of tables, cell by cell, and of options.

    Examples
    --------
    >>> table = pd.DataFrame({"a": [1, 2]})
    >>> fingerprint([table], {}) == fingerprint([table.copy()], {})
    True
    >>> fingerprint([table], {}) == fingerprint([table + 1], {})
    False
    """
    digest = hashlib.sha256(json.dumps(options, sort_keys=True, default=str).encode())
    for table in tables:
        digest.update(str(list(table.columns) if isinstance(table, pd.DataFrame) else table.name).encode())
        digest.update(pd.util.hash_pandas_object(table, index=False).to_numpy().tobytes())
    return digest.hexdigest()
