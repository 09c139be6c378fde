"""The confirmation as an experiment of the study."""

from study.confirmation.designs import CELLS, PROMISED
from study.confirmation.methods import PARTS, run_confirmation
from study.engine import Experiment

# Cells of which nothing was asked beforehand.
FEWER = 5

EXPERIMENTS = (
    Experiment(
        "tilt",
        "honest",
        CELLS,
        {part: repetitions for part, (_, repetitions) in PARTS.items()},
        run_confirmation,
        needs_data=True,
        at_most={cell: FEWER for cell in CELLS if cell not in PROMISED},
    ),
)
