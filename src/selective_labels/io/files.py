"""Writing of files that appear complete or not at all, safe CSV output, and the cache of report sections."""

import contextlib
import csv
import errno
import hashlib
import io
import json
import os
import re
import secrets
import stat
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pandas as pd

from selective_labels._errors import InputError

# Pipes and character devices (a terminal, the null device) are written to, not replaced.
WRITTEN_INTO = (stat.S_IFIFO, stat.S_IFCHR)
REFUSED = {stat.S_IFDIR: "a folder", stat.S_IFBLK: "a disk", stat.S_IFSOCK: "a socket"}
# No space: the disk is full, or a quota or file size limit is exceeded.
FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)

ENDING = ".unfinished"

# Temporary files of this process, which an interrupt must remove.
_unfinished: set[Path] = set()
# Temporary files of workers, which may be killed: their folder, and the common part of their names.
_of_workers: set[tuple[Path, str]] = set()


def require_writable(path: str | Path) -> None:
    """Raise :class:`InputError` if a file cannot be written. Call it before long work.

    Examples
    --------
    >>> require_writable("no/such/folder/report.html")
    Traceback (most recent call last):
    ...
    selective_labels._errors.InputError: no/such/folder/report.html cannot be written: ...
    """
    path = Path(path)
    target = _target(path)
    folder = target.parent
    if os.path.lexists(folder) and not os.path.isdir(folder):
        raise _unwritable(path, f"{folder} is not a folder")
    if not os.path.isdir(folder):
        raise _unwritable(path, f"there is no folder {folder}")
    kind = _kind(target)
    if kind in REFUSED:
        raise _unwritable(path, f"it is {REFUSED[kind]}")
    # A device is written to directly. A file is replaced, which requires a writable folder.
    needed, rights = (target, os.W_OK) if kind in WRITTEN_INTO else (folder, os.W_OK | os.X_OK)
    # The effective ids count, because a privileged process may have dropped its rights.
    effective = os.access in os.supports_effective_ids
    if not os.access(needed, rights, effective_ids=effective):
        where = "" if kind in WRITTEN_INTO else f" in {folder}"
        raise _unwritable(path, f"permission denied{where}")


def is_replaced(path: str | Path) -> bool:
    """Whether writing replaces a file, instead of writing to a pipe or a device.

    Examples
    --------
    >>> is_replaced("report.html"), is_replaced(os.devnull)
    (True, False)
    """
    return _kind(_target(Path(path))) not in WRITTEN_INTO


@contextlib.contextmanager
def whole_file(path: str | Path, run: str = "") -> Iterator[Path]:
    """Yield a hidden draft beside the target, which replaces the target at the end or is removed.

    Parameters
    ----------
    path : str or Path
    run : str
        Part of the draft's name, from :func:`drafts_of_workers`.

    Examples
    --------
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     with whole_file(Path(folder, "a.txt")) as draft:
    ...         _ = draft.write_text("done")
    ...     os.listdir(folder)
    ['a.txt']
    """
    require_writable(path)
    # A link is followed, so that its target is replaced and not the link.
    target = _target(Path(path))
    into = _kind(target) in WRITTEN_INTO
    folder = Path(tempfile.gettempdir()) if into else target.parent
    handle, name = tempfile.mkstemp(prefix=f".{target.name[:100]}.{run}", suffix=ENDING, dir=folder)
    os.close(handle)
    draft = Path(name)
    _unfinished.add(draft)
    try:
        yield draft
        if into:
            _write_into(target, draft.read_bytes())
            return
        draft.chmod(target.stat().st_mode & 0o777 if target.exists() else 0o666 & ~_umask())
        with draft.open("rb") as written:
            os.fsync(written.fileno())
        draft.replace(target)
    except OSError as error:
        if error.errno not in FULL:
            raise
        words = f"{os.strerror(error.errno).lower()}, and nothing was changed"
        raise _unwritable(Path(path), words) from None
    finally:
        draft.unlink(missing_ok=True)
        _unfinished.discard(draft)


def write_whole(path: str | Path, content: str | bytes) -> None:
    """Write text (UTF-8) or bytes to a file, completely or not at all."""
    with whole_file(path) as draft:
        draft.write_bytes(content.encode() if isinstance(content, str) else content)


@contextlib.contextmanager
def drafts_of_workers(folder: Path) -> Iterator[str]:
    """Yield a name for the drafts that workers write to a folder. Leftover drafts are removed at the end."""
    run = f"{os.getpid()}-{secrets.token_hex(4)}-"
    _of_workers.add((folder, run))
    try:
        yield run
    finally:
        _discard_of_workers(folder, run)
        _of_workers.discard((folder, run))


def discard_unfinished() -> None:
    """Remove temporary files of this process, for a process that is about to exit without unwinding."""
    for draft in list(_unfinished):
        draft.unlink(missing_ok=True)
    for folder, run in list(_of_workers):
        _discard_of_workers(folder, run)


def _discard_of_workers(folder: Path, run: str) -> None:
    for draft in folder.glob(f".*.{run}*{ENDING}"):
        draft.unlink(missing_ok=True)


def _target(path: Path) -> Path:
    """Target of links. The link itself is returned for a pipe without a name (/dev/stdout)."""
    if not os.path.islink(path):  # unlike Path.is_symlink, returns False where access is denied
        return path
    try:
        return path if _kind(path) in WRITTEN_INTO else path.resolve()
    except (OSError, RuntimeError):  # RuntimeError before Python 3.13
        raise _unwritable(path, "its links lead round in a circle") from None


def _kind(target: Path) -> int | None:
    try:
        return stat.S_IFMT(target.stat().st_mode)
    except FileNotFoundError:
        return None
    except OSError as error:
        raise _unwritable(target, (error.strerror or str(error)).lower()) from None
    except ValueError:  # the name contains NUL
        raise _unwritable(target, "no file can have this name") from None


def _write_into(target: Path, content: bytes) -> None:
    """Write to a pipe or a device without replacing it."""
    try:
        # Opening a pipe that has no reader would block forever.
        handle = os.open(target, os.O_WRONLY | os.O_NONBLOCK | os.O_NOCTTY)
    except OSError as error:
        words = "nobody reads from this pipe" if error.errno == errno.ENXIO else os.strerror(error.errno or 0)
        raise _unwritable(target, words) from None
    os.set_blocking(handle, True)
    with os.fdopen(handle, "wb") as stream:
        stream.write(content)


def _unwritable(path: Path, reason: str) -> InputError:
    return InputError(f"{path} cannot be written: {reason}.", "path")


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask


# Spreadsheets interpret cells that start like this as formulas, unless they are numbers.
FORMULA = re.compile(r"[=+\-@\t\r]")
NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?")


def safe_cell(value: Any) -> Any:
    """Prefix text that a spreadsheet would interpret as a formula with an apostrophe.

    Examples
    --------
    >>> safe_cell("=1+1"), safe_cell("-5"), safe_cell(-5), safe_cell("a=b")
    ("'=1+1", '-5', -5, 'a=b')
    """
    if isinstance(value, str) and FORMULA.match(value) and not NUMBER.fullmatch(value):
        return f"'{value}"
    return value


def csv_text(rows: list[dict[str, Any]]) -> str:
    """Format rows as CSV with a header. Missing values are empty cells."""
    text = io.StringIO()
    names = list(dict.fromkeys(name for row in rows for name in row))
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(map(safe_cell, names))
    writer.writerows([safe_cell(row.get(name)) for name in names] for row in rows)
    return text.getvalue()


class SectionStore:
    """Cache of report sections in a hidden JSON file beside the report, for the same table and options.

    Parameters
    ----------
    report : Path
        Path of the report. If it is a pipe or a device, nothing is stored.
    fingerprint : str
        Hash of everything that the sections depend on.

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
        """Names of the finished sections."""
        return list(self._sections)

    def get(self, name: str) -> dict[str, Any] | None:
        """Return a finished section, or None."""
        return self._sections.get(name)

    def put(self, name: str, section: dict[str, Any]) -> None:
        """Store a finished section."""
        self._sections[name] = section
        kept = {"fingerprint": self.fingerprint, "sections": self._sections}
        if self._keeps:
            write_whole(self.path, json.dumps(kept, allow_nan=False))

    def remove(self) -> None:
        """Delete the cache file, once the report is complete."""
        if self._keeps:
            self.path.unlink(missing_ok=True)

    def _read(self) -> dict[str, dict[str, Any]]:
        # An unreadable cache is ignored: the sections are computed again.
        with contextlib.suppress(OSError, ValueError, KeyError, TypeError, AttributeError):
            kept = json.loads(self.path.read_text(encoding="utf-8"))
            if kept["fingerprint"] == self.fingerprint:
                return dict(kept["sections"])
        return {}


def fingerprint(tables: Sequence[pd.DataFrame | pd.Series], options: dict[str, Any]) -> str:
    """Hash of the cells of tables, and of options.

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
