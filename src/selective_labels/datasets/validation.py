"""Checks of the generators' arguments; each failure is one sentence that names the argument."""

from collections.abc import Collection
from numbers import Integral

from selective_labels.support.errors import InputError


def check_count(name: str, value: int, minimum: int) -> None:
    """Raise unless `value` is an integer of at least `minimum`."""
    if not isinstance(value, Integral) or isinstance(value, bool) or value < minimum:
        raise InputError.about(name, f"must be an integer of at least {minimum}, got {value!r}.")


def check_choice(name: str, value: str, choices: Collection[str]) -> None:
    """Raise unless `value` is one of `choices`."""
    if value not in choices:
        raise InputError.about(name, f"must be one of {', '.join(sorted(choices))}; got {value!r}.")


def check_share(name: str, value: float) -> None:
    """Raise unless 0 <= value <= 1."""
    if not 0 <= value <= 1:
        raise InputError.about(name, f"must lie between 0 and 1, got {value!r}.")
