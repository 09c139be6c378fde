"""Entry point of the command line, with handling of signals."""

import contextlib
import multiprocessing
import os
import signal
import socket
import sys
import threading
import time
from importlib import import_module
from types import FrameType
from typing import NoReturn

# SIGINT is Ctrl-C, SIGTERM ends services and cluster jobs, SIGHUP means that the terminal was closed.
SIGNALS = {signal.SIGINT: "Interrupted.", signal.SIGTERM: "Ended.", signal.SIGHUP: "Ended."}
STATUSES = tuple(128 + number for number in SIGNALS)
# Time for the main thread to end by itself, which it cannot do inside a long call of compiled code.
GRACE_SECONDS = 1.0

_advice = ["Nothing was written; run the same command again to start over."]
_said = threading.Event()
_raised = threading.Event()
_received: list[int] = []
# Referenced here so that the socket stays open as long as the process lives.
_sockets: list[socket.socket] = []


def advise(sentence: str) -> None:
    """Set the message that says how to resume after an interrupt."""
    _advice[0] = sentence


def status() -> int:
    """Exit status after a signal: 128 plus its number, as in shells."""
    return 128 + (_received[0] if _received else signal.SIGINT)


def say_interrupted() -> None:
    """Print once that the work was interrupted and how to resume."""
    if not _said.is_set():
        _said.set()
        word = SIGNALS[signal.Signals(status() - 128)]
        # Written directly, because a blocked thread may hold the lock of the buffer.
        with contextlib.suppress(OSError):  # the terminal may be closed
            os.write(2, f"\n{word} {_advice[0]}\n".encode())


def watch() -> None:
    """Start a thread that ends the process one second after a signal, if it has not ended by itself.

    The signal's byte reaches the thread through a socket even while the main thread runs compiled code, where
    Python's own handler has to wait.
    """
    reader, writer = socket.socketpair()
    writer.setblocking(False)
    signal.set_wakeup_fd(writer.fileno(), warn_on_full_buffer=False)
    _sockets.append(writer)
    for number in SIGNALS:
        if signal.getsignal(number) != signal.SIG_IGN:  # nohup and background jobs ignore some signals
            signal.signal(number, _interrupt)

    def wait() -> None:
        while not (received := [each for each in reader.recv(64) if each in SIGNALS]):
            pass
        _received.extend(received)
        time.sleep(GRACE_SECONDS)
        try:
            say_interrupted()
        finally:
            leave()

    threading.Thread(target=wait, name="interrupts", daemon=True).start()


def leave() -> NoReturn:
    """End at once: kill worker processes, remove temporary files, skip other clean-up, which might block."""
    try:
        _end_workers()
        # An import could block on a stuck thread. If the module is not loaded, it has written no files.
        atomic = sys.modules.get("selective_labels.io.files")
        if atomic is not None:
            atomic.discard_unfinished()
    finally:  # the process must end whatever happens above
        os._exit(status())


def _end_workers() -> None:
    """Kill child processes by id, because some process objects cannot be killed and those of joblib raise.

    A worker that joblib starts after this checks for its parent by itself (_parallel.py).
    """
    with contextlib.suppress(RuntimeError):  # the set of children changes if one ends meanwhile
        for child in multiprocessing.active_children():
            if child.pid is not None:
                with contextlib.suppress(OSError):
                    os.kill(child.pid, signal.SIGKILL)


def _interrupt(number: int, _: FrameType | None) -> None:
    # Do not test `_received`: the thread above may have recorded the signal before this runs. A second
    # signal is ignored here, because the thread ends the process in any case.
    if not _raised.is_set():
        _raised.set()
        _received.append(number)
        raise KeyboardInterrupt


def main(module: str = "selective_labels.cli.app", name: str = "selective-labels") -> None:
    """Run a command line; Ctrl-C and SIGTERM end it within two seconds.

    Parameters
    ----------
    module : str
        Module with the typer `app`. It is imported here, so that an interrupt during the import is handled.
    name : str
        Name of the command.
    """
    watch()
    # Warnings of worker processes and of joblib's resource tracker do not concern users.
    os.environ.setdefault("PYTHONWARNINGS", "ignore")
    end: int | str | None = 0
    try:
        import_module(module).app(prog_name=name)
    except KeyboardInterrupt:
        end = status()
    except SystemExit as raised:
        end = raised.code
    if end in STATUSES:
        say_interrupted()
        leave()
    sys.exit(end)
