"""Ctrl-C ends the process within two seconds, whatever it is doing, and leaves nothing half-written."""

import multiprocessing
import os
import signal
import socket
import sys
import threading
import time

INTERRUPTED = 130
# So long may the main thread take to end by itself, which it cannot inside a long call of compiled code.
GRACE_SECONDS = 1.0

_advice = ["Nothing was written; run the same command again to start over."]
_said = threading.Event()
# Kept open as long as the process lives.
_sockets: list[socket.socket] = []


def advise(sentence: str) -> None:
    """Set what is said after an interrupt: how to resume."""
    _advice[0] = sentence


def say_interrupted() -> None:
    """Say once that the work was interrupted and how to resume."""
    if not _said.is_set():
        _said.set()
        # Written at once: buffers may be locked by a thread that does not come back.
        os.write(2, f"\nInterrupted. {_advice[0]}\n".encode())


def watch() -> None:
    """Start a thread that ends the process one second after an interrupt, if it has not ended by itself.

    The signal's byte reaches the thread through a socket even while the main thread is in compiled code,
    where Python's own handler has to wait.
    """
    reader, writer = socket.socketpair()
    writer.setblocking(False)
    signal.set_wakeup_fd(writer.fileno(), warn_on_full_buffer=False)
    _sockets.append(writer)

    def wait() -> None:
        while signal.SIGINT not in reader.recv(64):
            pass
        time.sleep(GRACE_SECONDS)
        say_interrupted()
        leave()

    threading.Thread(target=wait, name="interrupts", daemon=True).start()


def leave(status: int = INTERRUPTED) -> None:
    """End at once: remove temporary files, end worker processes, run no other clean-up, which might wait."""
    # An import could wait for the thread that does not come back; unloaded, it has written nothing.
    atomic = sys.modules.get("selective_labels.saving.atomic")
    if atomic is not None:
        atomic.discard_unfinished()
    for child in multiprocessing.active_children():
        child.kill()
    os._exit(status)
