"""Where a command begins and ends."""

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

# Ctrl-C; what ends services and jobs of a cluster; a terminal that was closed.
SIGNALS = {signal.SIGINT: "Interrupted.", signal.SIGTERM: "Ended.", signal.SIGHUP: "Ended."}
STATUSES = tuple(128 + number for number in SIGNALS)
# So long may the main thread take to end by itself, which it cannot inside a long call of compiled code.
GRACE_SECONDS = 1.0

_advice = ["Nothing was written; run the same command again to start over."]
_said = threading.Event()
_raised = threading.Event()
_received: list[int] = []
# Kept open as long as the process lives.
_sockets: list[socket.socket] = []


def advise(sentence: str) -> None:
    """Set what is said after an interrupt: how to resume."""
    _advice[0] = sentence


def status() -> int:
    """What the process ends with: 128 and the number of the signal, as shells say it."""
    return 128 + (_received[0] if _received else signal.SIGINT)


def say_interrupted() -> None:
    """Say once that the work was interrupted and how to resume."""
    if not _said.is_set():
        _said.set()
        word = SIGNALS[signal.Signals(status() - 128)]
        # Written at once: buffers may be locked by a thread that does not come back.
        with contextlib.suppress(OSError):  # of a terminal that is gone
            os.write(2, f"\n{word} {_advice[0]}\n".encode())


def watch() -> None:
    """Start a thread that ends the process one second after a signal, if it has not ended by itself.

    The signal's byte reaches the thread through a socket even while the main thread is in compiled code,
    where Python's own handler has to wait.
    """
    reader, writer = socket.socketpair()
    writer.setblocking(False)
    signal.set_wakeup_fd(writer.fileno(), warn_on_full_buffer=False)
    _sockets.append(writer)
    for number in SIGNALS:
        if signal.getsignal(number) != signal.SIG_IGN:  # nohup, and shells' background jobs, ignore some
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
    """End at once: end worker processes, remove temporary files, run no other clean-up, which might wait."""
    try:
        _end_workers()
        # An import could wait for the thread that does not come back; unloaded, it has written nothing.
        atomic = sys.modules.get("selective_labels.io.files")
        if atomic is not None:
            atomic.discard_unfinished()
    finally:  # whatever happens here: a process that stays is the worst of ends
        os._exit(status())


def _end_workers() -> None:
    """Kill children by their number: not all of their objects can, and joblib's raise instead.

    One that a thread of joblib starts after this looks for its parent by itself (_parallel.py).
    """
    with contextlib.suppress(RuntimeError):  # a child that ends meanwhile changes the set that is read
        for child in multiprocessing.active_children():
            if child.pid is not None:
                with contextlib.suppress(OSError):
                    os.kill(child.pid, signal.SIGKILL)


def _interrupt(number: int, _: FrameType | None) -> None:
    # Not what was received decides: the thread above may have noted the signal before this runs.
    # A second signal does not disturb the end; the thread sees to it that there is one.
    if not _raised.is_set():
        _raised.set()
        _received.append(number)
        raise KeyboardInterrupt


def main(module: str = "selective_labels.cli.app", name: str = "selective-labels") -> None:
    """Run a command line; Ctrl-C and a request to end (SIGTERM) end it within two seconds.

    Parameters
    ----------
    module : str
        Whose `app` is the command line; imported here, so that an interrupt of the import ends in order, too.
    name : str
        What users type.
    """
    watch()
    # Worker processes, and the one that cleans up after them, have nothing to say to users.
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
