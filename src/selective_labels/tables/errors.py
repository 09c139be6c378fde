"""What is wrong with a table, in one sentence."""

from selective_labels.support.errors import InputError


class TableError(InputError):
    """A table, or a role given to one of its columns, that cannot be used; the text says what to do."""
