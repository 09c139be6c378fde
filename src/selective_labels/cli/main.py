"""Where a command begins and ends."""

import os
import sys
from importlib import import_module

from selective_labels.cli.interrupts import STATUSES, leave, say_interrupted, status, watch


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
