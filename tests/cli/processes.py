"""Commands as processes of their own, and who of them is still alive."""

import os
import time
from pathlib import Path

# As the design says.
SECONDS_TO_END = 2.0


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


def seconds_to_end():
    """Two seconds and two more, as many times as there are processes for a core: each waits for its turn."""
    return SECONDS_TO_END + 2.0 * max(1.0, os.getloadavg()[0] / os.cpu_count())


def wait_until_alone(process):
    """Nobody of the process's group lives."""
    end = time.monotonic() + seconds_to_end()
    while left := living(process.pid):
        assert time.monotonic() < end, f"{left} outlive it"
        time.sleep(0.05)


def environment():
    """One thread for each process."""
    return os.environ | {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
