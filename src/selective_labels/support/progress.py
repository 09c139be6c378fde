"""How far long work has come, for whoever listens; with nobody listening it costs nothing."""

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TypeVar

T = TypeVar("T")
# Called with what is being done, how many steps are done, and how many there are.
Listener = Callable[[str, int, int], None]

_listener: ContextVar[Listener | None] = ContextVar("listener", default=None)


@contextmanager
def listening(listener: Listener) -> Iterator[None]:
    """Tell a listener about all long work inside the block.

    Examples
    --------
    >>> with listening(lambda what, done, total: print(f"{what}: {done} of {total}")):
    ...     squares = list(followed((x * x for x in range(2)), "squares", 2))
    squares: 0 of 2
    squares: 1 of 2
    squares: 2 of 2
    """
    token = _listener.set(listener)
    try:
        yield
    finally:
        _listener.reset(token)


def followed(results: Iterable[T], what: str, total: int) -> Iterator[T]:
    """Hand results on, and tell the listener as each arrives.

    Parameters
    ----------
    results : iterable
        Whose work is done while it is iterated over, such as joblib's with ``return_as="generator"``.
    what : str
        A few words for people.
    total : int
        Number of results.
    """
    listener = _listener.get()
    if listener is None:
        yield from results
        return
    listener(what, 0, total)
    for done, result in enumerate(results, start=1):
        listener(what, done, total)
        yield result
