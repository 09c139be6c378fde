"""Ends and intervals under the four names, to compare with those of before assumptions combined.

``tests/evaluation/four_names.json`` was made by this file on commit e82d5f4, the last one in which the names
were all there was::

    git worktree add --detach before e82d5f4
    PYTHONPATH=before/src python tests/evaluation/four_names.py > tests/evaluation/four_names.json

Since then, intervals of AUC and of rates with a condition have been made anew, because they have Wilson's
limits now; no bound moved by more than 1e-9, and no interval of accuracy or regret by more than 1e-6. Fitted
figures beside "nucem" have been made anew, because they no longer come from its models of two halves;
those of "nucem" and all with known chances did not move.
"""

import json
import warnings

import numpy as np

import selective_labels as sl

NAMES = ("none", "instrument", "nucem", "unconfounded")
METRICS = {
    2: ["accuracy", "tpr", "ppv", "f1", "auc", "balanced_accuracy", "regret"],
    3: ["accuracy", "tpr", "f1", "auc"],
}
N = 600


def known(sample):
    """The generator's own chances, so that nothing is fitted: joint of shape (n, makers, classes + 1)."""
    return lambda X: sample.oracle.joint(np.asarray(X))


def calls(n_classes):
    """Settings of `evaluate`: known chances and fitted ones, with weights, groups and strata."""
    sample = sl.datasets.make_decision_makers(
        N, n_classes=n_classes, n_decision_makers=3, mirrored=True, additive=False, random_state=n_classes
    )
    number = np.arange(N)
    given = {"X": sample.X, "y": sample.y, "decision_maker": sample.decision_maker}
    roles = {"sample_weight": 1.0 + number % 3, "groups": number // 2, "strata": number % 2}
    guess = 1.0 / (1.0 + np.exp(-sample.X[:, :1] * np.linspace(1.0, -1.0, n_classes) - sample.X[:, 1:2]))
    guess = guess / guess.sum(axis=1, keepdims=True)
    yield f"known, {n_classes}", guess, {**given, "nuisance": known(sample)}
    yield f"known, roles, {n_classes}", guess, {**given, **roles, "nuisance": known(sample)}
    yield f"fitted, roles, {n_classes}", guess, {**given, **roles, "nuisance": "logistic", "cv": 2}


def figures():
    """Numbers by call, metric and assumption."""
    found = {}
    for n_classes in METRICS:
        for call, guess, given in calls(n_classes):
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                results = sl.evaluate(
                    guess,
                    **given,
                    metric=METRICS[n_classes],
                    assumption=list(NAMES),
                    random_state=0,
                    n_jobs=1,
                )
                hard = guess.argmax(axis=1)
                compared = sl.compare(hard, (hard + 1) % n_classes, **given, random_state=0, n_jobs=1)
            for each in results:
                ends = each.lower, each.upper, each.ci_lower, each.ci_upper
                found[f"{call}: {each.metric}, {each.assumption}"] = ends
            found[f"{call}: compare"] = compared.lower, compared.upper, compared.ci_lower, compared.ci_upper
    return found


if __name__ == "__main__":
    print(json.dumps({key: list(map(float, ends)) for key, ends in figures().items()}, indent=0))
