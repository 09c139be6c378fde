"""How fast the excess risk falls as cases are added."""

from typing import Any

import numpy as np

import selective_labels as sl
from selective_labels import datasets
from study.engine import Rows
from study.honest.designs import draw_strong, limits_of
from study.scoring import Scorer, Split
from study.tasks import Setup, Task, whole_number

SIZES = (500, 1000, 2000, 4000, 8000, 16000, 32000)
CELLS = tuple(f"additive-n{size}" for size in SIZES)
N_TEST = 20000


def run_rate(task: Task, setup: Setup) -> Rows:
    """Plug-in rules of growing samples of the additive design, judged on many new cases.

    The excess risk of point learning and the excess worst-case risk of partial learning should fall; that
    of training on the labeled cases should not.
    """
    size = min(int(task.cell.rpartition("n")[2]), setup.n_samples or N_TEST + SIZES[-1])
    seeds = task.seeds(setup.entropy, 2)
    n_test = N_TEST if setup.n_samples is None else setup.n_samples
    # One call draws both parts, so that they share the decision-makers and the law.
    sample = datasets.make_decision_makers(size + n_test, mirrored=task.mirrored, random_state=seeds[0])
    split = Split(sample, np.arange(size), np.arange(size, size + n_test))
    scorer = Scorer(split, limits_of(draw_strong, "additive", task.mirrored))
    seed = whole_number(seeds[1])
    # One family of nuisance models at all sizes: a change of model would look like a change of rate.
    methods: dict[str, Any] = {
        "selected": sl.SelectedSampleClassifier("linear", random_state=seed),
        "partial": sl.UCLClassifier("partial", "plug-in", nuisance="quadratic", random_state=seed),
        "point": sl.UCLClassifier("point", "plug-in", nuisance="quadratic", random_state=seed),
    }
    rows = []
    for name, method in methods.items():
        method.fit(split.features, split.y, decision_maker=split.decision_maker)
        classifier = "linear" if name == "selected" else "plug-in"
        rows.append(scorer.row(method.predict(split.test_features), name, classifier, f"n={size}"))
    return rows
