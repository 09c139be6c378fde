"""Files that appear whole or not at all."""

import contextlib
import os
import tempfile
from collections.abc import Iterator
from pathlib import Path

from selective_labels.support.errors import InputError

# Temporary files of this process, so that an interrupt can remove them.
_unfinished: set[Path] = set()


def require_writable(path: str | Path) -> None:
    """Raise if a file could not be written; ask before long work, not after.

    Examples
    --------
    >>> require_writable("no/such/folder/report.html")
    Traceback (most recent call last):
    ...
    selective_labels.support.errors.InputError: no/such/folder/report.html cannot be written: ...
    """
    path = Path(path)
    folder = path.parent
    if os.path.lexists(folder) and not os.path.isdir(folder):
        raise InputError(f"{path} cannot be written: {folder} is not a folder.", "path")
    if not os.path.isdir(folder):
        raise InputError(f"{path} cannot be written: there is no folder {folder}.", "path")
    if os.path.isdir(path):
        raise InputError(f"{path} cannot be written: it is a folder.", "path")
    # Access is asked with the rights in effect, which a privileged process may have given up.
    effective = os.access in os.supports_effective_ids
    if not os.access(folder, os.W_OK | os.X_OK, effective_ids=effective):
        raise InputError(f"{path} cannot be written: permission denied in {folder}.", "path")


@contextlib.contextmanager
def whole_file(path: str | Path) -> Iterator[Path]:
    """A hidden file beside the target to write to; it takes the target's name at the end, or is removed.

    Examples
    --------
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     with whole_file(Path(folder, "a.txt")) as draft:
    ...         _ = draft.write_text("done")
    ...     os.listdir(folder)
    ['a.txt']
    """
    path = Path(path)
    require_writable(path)
    # A link is followed, so that what it points to is replaced and not the link.
    target = path.resolve() if path.is_symlink() else path
    handle, name = tempfile.mkstemp(prefix=f".{target.name[:100]}.", suffix=".unfinished", dir=target.parent)
    os.close(handle)
    draft = Path(name)
    _unfinished.add(draft)
    try:
        yield draft
        draft.chmod(target.stat().st_mode & 0o777 if target.exists() else 0o666 & ~_umask())
        with draft.open("rb") as written:
            os.fsync(written.fileno())
        draft.replace(target)
    finally:
        draft.unlink(missing_ok=True)
        _unfinished.discard(draft)


def write_whole(path: str | Path, content: str | bytes) -> None:
    """Write text (UTF-8) or bytes to a file, whole or not at all."""
    with whole_file(path) as draft:
        draft.write_bytes(content.encode() if isinstance(content, str) else content)


def discard_unfinished() -> None:
    """Remove the temporary files of this process; for a process about to end without unwinding."""
    for draft in list(_unfinished):
        draft.unlink(missing_ok=True)


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask
