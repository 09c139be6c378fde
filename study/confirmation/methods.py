"""Tilt, point and partial learning beside what has no instrument and what sees every label."""

from collections.abc import Iterator
from typing import Any

import numpy as np

import selective_labels as sl
from study.confirmation.designs import drawn
from study.engine import Rows
from study.honest.classifiers import make_classifier
from study.scoring import Split
from study.task_memory import TaskMemory
from study.tasks import Setup, Task

# Learners of each part, and how often it is repeated.
PARTS: dict[str, tuple[tuple[str, ...], int]] = {
    "main": (("plug-in", "linear"), 20),
    "boosting": (("boosting",), 5),
}
# None: tilt mode compares the families of models by held-out log-loss; the others take what it chose.
NUISANCE = None
Fitted = tuple[str, Any, str]


def run_confirmation(task: Task, setup: Setup) -> Rows:
    """Fit every method with every learner of a part to one draw, and judge all on the same new cases.

    The setting of a row says what the method did: the concentration of tilt mode (the gate opens at 25), the
    mode that point mode ended in, and the family of models of the labeled-only fit.
    """
    scorer, seed = drawn(task, setup)
    features, rows, memory = scorer.split.test_features, [], TaskMemory()
    for name in PARTS[task.part][0]:
        for method, fitted, setting in _fitted(scorer.split, name, seed, memory):
            mode = getattr(fitted, "mode_", "")
            rows.append(scorer.row(fitted.predict(features), method, name, setting, mode))
    return rows


def _fitted(split: Split, name: str, seed: int, memory: TaskMemory) -> Iterator[Fitted]:
    """Every method, fitted to the training rows, one after the other."""
    estimator = make_classifier(name, {}, seed) if name == "boosting" else name

    def learner(mode: str, nuisance: str | None) -> sl.UCLClassifier:
        # The stored results are of the tilt that is the same for all decision-makers.
        return sl.UCLClassifier(
            mode, estimator, nuisance=nuisance, random_state=seed, memory=memory, skill_range=0.0
        )

    X, y, makers = split.features, split.y, split.decision_maker
    tilt = learner("tilt", NUISANCE).fit(X, y, decision_maker=makers)
    yield "tilt", tilt, f"concentration={tilt.concentration_:.1f}"
    family = tilt.nuisance_report_.chosen
    point = learner("point", family).fit(X, y, decision_maker=makers)
    yield "point", point, f"mode={point.mode_}"
    yield "partial", learner("partial", family).fit(X, y, decision_maker=makers), ""
    # One decision-maker for everybody: the same learner, and bounds that know nothing of the instrument.
    nobody = np.zeros(len(makers), dtype=int)
    yield "no-instrument", learner("partial", family).fit(X, y, decision_maker=nobody), ""
    # Where every row has its label, tilt mode is the learner fitted to the rows directly.
    seen = y >= 0
    yield "selected", learner("tilt", family).fit(X[seen], y[seen]), f"family={family}"
    yield "full", learner("tilt", family).fit(X, split.y_true), f"family={family}"
    if name != "plug-in":
        weighted = sl.IPWClassifier(make_classifier(name, {}, seed), random_state=seed)
        yield "ipw", weighted.fit(X, y, decision_maker=makers), ""
