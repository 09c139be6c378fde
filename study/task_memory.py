"""A memory that lasts as long as a task."""

from collections.abc import Callable, Sequence
from typing import Any

import joblib


class TaskMemory:
    """Keeps what functions returned, by the hash of their arguments; asked like a `joblib.Memory`.

    Nothing goes to disk: writing thousands of small trees and reading them again takes as long as a third
    of the fits that it saves.

    Examples
    --------
    >>> calls = []
    >>> remembered = TaskMemory().cache(calls.append)
    >>> remembered(1), remembered(1), calls
    (None, None, [1])
    """

    def __init__(self) -> None:
        self._kept: dict[str, Any] = {}

    def cache(self, function: Callable[..., Any], ignore: Sequence[str] = ()) -> Callable[..., Any]:
        """Wrap a function; keyword arguments named in `ignore` do not matter."""

        def remembered(*arguments: Any, **settings: Any) -> Any:
            mattering = {name: value for name, value in settings.items() if name not in ignore}
            key = joblib.hash((function.__name__, arguments, mattering))
            if key not in self._kept:
                self._kept[key] = function(*arguments, **settings)
            return self._kept[key]

        return remembered
