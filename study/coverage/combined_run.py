"""Run the study of combinations: laws in turn, so that all have as many draws at any time."""

import json
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from study.coverage.combinations import LAWS, draw
from study.coverage.run import draws, path

SEED = 20261118


def run_combinations(out: Path, n_replications: int, laws: Sequence[str] = ()) -> None:
    """Draw what is missing, one line for each draw; an interrupted run goes on."""
    out.mkdir(parents=True, exist_ok=True)
    chosen = {law: place for place, law in enumerate(LAWS) if not laws or law in laws}
    done = {law: {each["draw"] for each in draws(out, law)} for law in chosen}
    for number in range(n_replications):
        for law, place in chosen.items():
            if number in done[law]:
                continue
            found = draw(law, np.random.SeedSequence(SEED, spawn_key=(place, number)))
            with path(out, law).open("a") as file:
                file.write(json.dumps({"draw": number, "intervals": found}) + "\n")
