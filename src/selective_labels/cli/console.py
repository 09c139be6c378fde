"""Messages on standard error (progress, warnings, errors) and the exit status of a command."""

import contextlib
import functools
import sys
import traceback
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextvars import ContextVar
from typing import Any

import typer

from selective_labels._errors import ConstantRuleWarning, InputError, WorkerError
from selective_labels._vocabulary import Vocabulary
from selective_labels.cli.main import say_interrupted, status

WRONG = 1
LONGEST = 2000
# scikit-learn warns itself when two threads set warning filters at once; users cannot act on it.
OF_THREADS = "`sklearn.utils.parallel.delayed` should be used"
_told: ContextVar[Sequence[str]] = ContextVar("told")
_spoken: ContextVar[Vocabulary] = ContextVar("spoken")


def speak(vocabulary: Vocabulary) -> None:
    """Let this command speak in the words of a domain from here on."""
    _spoken.set(vocabulary)


def spoken(text: str) -> str:
    """A text in the words of the command's domain; in neutral words before its table is read."""
    vocabulary = _spoken.get(None)
    return text if vocabulary is None else vocabulary.say(text)


def say(kind: str, message: object) -> None:
    """Print one line to standard error.

    Parameters
    ----------
    kind : str
        Such as "Error".
    message : object
        Line breaks become spaces. Control characters are dropped, because they could control a terminal.
    """
    line = "".join(each for each in " ".join(spoken(str(message)).split()) if each.isprintable())
    shortened = line if len(line) <= LONGEST else line[:LONGEST] + "…"
    print(f"{kind}: {shortened}", file=sys.stderr, flush=True)


def guarded(function: Callable[..., None]) -> Callable[..., None]:
    """Make a command end with a one-sentence error and an exit status instead of a traceback.

    Errors that users can fix (InputError, a missing package, a full disk) exit with status 1. So do all
    others, with a request to report them. The option --debug before the command shows the traceback.
    """

    @functools.wraps(function)
    def command(**values: Any) -> None:
        try:
            with warnings_as_lines():
                function(**values)
        except KeyboardInterrupt:
            say_interrupted()
            raise typer.Exit(status()) from None
        except (typer.Exit, typer.Abort, BrokenPipeError):
            raise
        except Exception as error:
            if _debugging(values):
                traceback.print_exc()
            say("Error", _sentence(error))
            raise typer.Exit(WRONG) from None

    return command


def _debugging(values: dict[str, Any]) -> bool:
    context = values.get("context")
    return bool(context is not None and (context.obj or {}).get("debug"))


def _sentence(error: Exception) -> str:
    if isinstance(error, InputError | ImportError | WorkerError):
        return str(error)
    if isinstance(error, OSError):
        where = "" if error.filename is None else f"{error.filename}: "
        return f"{where}{error.strerror or error}."
    if isinstance(error, MemoryError):
        return "There is not enough memory for this table; try fewer rows or features."
    return (
        f"Something unexpected happened ({type(error).__name__}: {error}). Please report this, with what "
        "the same line prints with --debug before the command."
    )


@contextlib.contextmanager
def warnings_as_lines() -> Iterator[None]:
    """Show Python warnings for users as one line each, without repetition; results list the same lines.

    Other warnings, such as deprecations, are hidden, because they address programmers.
    """
    shown: list[str] = []

    def show(message: Warning | str, *_: Any, **__: Any) -> None:
        if str(message) not in shown and not str(message).startswith(OF_THREADS):
            shown.append(str(message))
            say("Note" if isinstance(message, ConstantRuleWarning) else "Warning", message)

    token = _told.set(shown)
    silent = _spoken.set(Vocabulary())
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            for kind in (UserWarning, RuntimeWarning):
                warnings.simplefilter("always", kind)
            warnings.showwarning = show
            yield
    finally:
        _told.reset(token)
        _spoken.reset(silent)


def warnings_told() -> list[str]:
    """Warnings of this command so far."""
    return list(_told.get(()))


@contextlib.contextmanager
def working() -> Iterator[None]:
    """Show progress bars with the time left for long work; nothing if standard error is not a terminal."""
    if not sys.stderr.isatty():
        yield
        return
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TaskID, TextColumn, TimeElapsedColumn, TimeRemainingColumn

    from selective_labels._parallel import listening

    columns = (TextColumn("{task.description}"), BarColumn(), TextColumn("{task.completed}/{task.total}"))
    clocks = (TimeElapsedColumn(), TextColumn("left:"), TimeRemainingColumn())
    tasks: dict[str, TaskID] = {}
    with Progress(*columns, *clocks, console=Console(stderr=True), transient=True) as bars:

        def listen(what: str, done: int, total: int) -> None:
            if what not in tasks:
                tasks[what] = bars.add_task(what, total=total)
            if done == 0:
                bars.reset(tasks[what], total=total)
            bars.update(tasks[what], completed=done)

        with listening(listen):
            yield
