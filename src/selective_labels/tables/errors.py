"""What is wrong with a table, in one sentence."""

from selective_labels.support.errors import InputError


class TableError(InputError):
    """A table, or a role given to one of its columns, that cannot be used; the text says what to do."""


def shown(value: object, limit: int = 60) -> str:
    r"""A value for a message: quoted, cut if long, without control characters.

    Examples
    --------
    >>> shown("plain"), shown("x" * 100, limit=5), shown("bell\x07")
    ("'plain'", "'xxxxx…'", "'bell\\x07'")
    """
    text = str(value)
    return repr(text if len(text) <= limit else text[:limit] + "…")


def several(values: list[str], limit: int = 5) -> str:
    """The first few of several values for a message.

    Examples
    --------
    >>> several(["a", "b", "c"], limit=2)
    "'a', 'b' and 1 more"
    """
    words = ", ".join(shown(value) for value in values[:limit])
    return words if len(values) <= limit else f"{words} and {len(values) - limit} more"
