"""Parts of a document: computed once, kept by whoever wants to resume, or missing for a stated reason."""

import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol

from selective_labels.support.errors import DiagnosticWarning, InputError, LargeWorkWarning


class SectionStore(Protocol):
    """Keeps finished sections, so that an interrupted assessment can resume."""

    def get(self, name: str) -> dict[str, Any] | None:
        """Return a finished section, if there is one."""

    def put(self, name: str, section: dict[str, Any]) -> None:
        """Keep a finished section."""


@dataclass(frozen=True)
class Part:
    """A section of the document, and what should be said beside the data about how it was made.

    Attributes
    ----------
    content : dict or list of plain values
    notes : list of str
    """

    content: Any
    notes: tuple[str, ...] = ()


def compute_part(name: str, compute: Callable[[], Part], store: SectionStore | None) -> Part:
    """Take a section from the store, or compute it and put it there.

    A section that the data do not allow (an `InputError`) says why it is missing; any other error is a
    mistake in a program and is raised. What the library warns of becomes notes.

    Examples
    --------
    >>> def refuse():
    ...     raise InputError("y shows only one class.")
    >>> compute_part("models", refuse, None).content
    {'missing': 'y shows only one class.'}
    """
    kept = None if store is None else store.get(name)
    if kept is not None:
        return Part(kept["content"], tuple(kept["notes"]))
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            part, allowed = compute(), True
        except InputError as error:
            part, allowed = Part({"missing": str(error)}), False
    # Not before warnings go their way again: what is passed on would be caught, and passed on, without end.
    part = Part(part.content, (*part.notes, *_notes(caught)))
    if not allowed:
        return part
    if store is not None:
        store.put(name, {"content": part.content, "notes": list(part.notes)})
    return part


def _notes(caught: list[warnings.WarningMessage]) -> list[str]:
    """Texts of what users are warned of; other warnings are for programmers and go on their way.

    What a check found is in the diagnosis already, and how long models take was said before.
    """
    texts: dict[str, None] = {}
    for each in caught:
        if not issubclass(each.category, UserWarning):
            warnings.warn_explicit(each.message, each.category, each.filename, each.lineno)
        elif not issubclass(each.category, DiagnosticWarning | LargeWorkWarning):
            texts[str(each.message)] = None
    return list(texts)
