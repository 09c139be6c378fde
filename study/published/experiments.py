"""The experiments of the published protocol."""

from study.engine import Experiment
from study.honest.designs import FICO_CELLS, SYNTHETIC_CELLS
from study.published import fico, synthetic

PROTOCOL = "published"
# "usual": all methods but point learning, which takes about ten times as long.
PARTS = {"usual": 3, "point": 1}

EXPERIMENTS = (
    Experiment(
        "synthetic", PROTOCOL, tuple(SYNTHETIC_CELLS), PARTS, synthetic.run_synthetic, mirrors=(False,)
    ),
    Experiment("fico", PROTOCOL, tuple(FICO_CELLS), PARTS, fico.run_fico, needs_data=True),
    Experiment(
        "sensitivity",
        PROTOCOL,
        synthetic.SENSITIVITY_CELLS,
        {"partial": 3, "point": 1},
        synthetic.run_sensitivity,
        mirrors=(False,),
    ),
    Experiment("artefact", PROTOCOL, synthetic.ARTEFACT_CELLS, {"all": 5}, synthetic.run_artefact),
)
