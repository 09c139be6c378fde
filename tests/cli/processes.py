"""Commands as processes of their own, and who of them is still alive."""

import os
import time
from pathlib import Path

# As the design says; a loaded machine gets some more.
SECONDS_TO_END = 2.0
LOADED = 2.0


def living(group):
    """Processes of a group that are not dead and waiting to be buried."""
    found = []
    for path in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = path.read_text().rpartition(")")[2].split()
        except OSError:
            continue
        if int(fields[2]) == group and fields[0] not in "ZX":
            found.append(path.parent.name)
    return found


def wait_until_alone(process, seconds=SECONDS_TO_END + LOADED):
    """Nobody of the process's group lives."""
    end = time.monotonic() + seconds
    while left := living(process.pid):
        assert time.monotonic() < end, f"{left} outlive it"
        time.sleep(0.05)


def environment():
    """One thread for each process."""
    return os.environ | {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
