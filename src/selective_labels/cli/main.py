"""Where the command `selective-labels` begins and ends."""

import os
import sys

from selective_labels.cli.interrupts import INTERRUPTED, leave, say_interrupted, watch


def main() -> None:
    """Run the command line; Ctrl-C ends it within two seconds."""
    watch()
    # Worker processes, and the one that cleans up after them, have nothing to say to users.
    os.environ.setdefault("PYTHONWARNINGS", "ignore")
    status: int | str | None = 0
    try:
        from selective_labels.cli.app import app

        app(prog_name="selective-labels")
    except KeyboardInterrupt:
        status = INTERRUPTED
    except SystemExit as end:
        status = end.code
    if status == INTERRUPTED:
        say_interrupted()
        leave()
    sys.exit(status)
