"""Overhead of ``UCLClassifier.fit`` over the bare cost of its model fits and their predictions."""

import time
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

import selective_labels as sl
from selective_labels.nuisance.coding import outcome_codes
from selective_labels.nuisance.folds import make_folds
from selective_labels.nuisance.selection import Candidate, candidates

N_SAMPLES, N_ROUNDS = 10_000, 3


def main() -> None:
    sample = sl.datasets.make_paper_synthetic(N_SAMPLES, selection="uc", random_state=0)
    for mode in ("partial", "point"):
        for nuisance in ("logistic", "quadratic", "boosting", None):
            clf = sl.UCLClassifier(mode, "plug-in", nuisance=nuisance, random_state=0)
            clf.fit(sample.X, sample.y, decision_maker=sample.decision_maker)
            whole, bare = [], []
            for _ in range(N_ROUNDS):  # interleaved, so that a busy moment hits both
                whole.append(
                    seconds(partial(clf.fit, sample.X, sample.y, decision_maker=sample.decision_maker))
                )
                bare.append(seconds(partial(fit_bare, sample, clf)))
            ratio = np.median(np.array(whole) / np.array(bare))
            name = nuisance or "all three compared"
            print(
                f"fit  n={N_SAMPLES:,} J=5 K=3  {mode:8s} {name:20s} {np.median(whole):6.2f} s   "
                f"{ratio:.2f} x its model fits and their predictions"
            )


def fit_bare(sample: sl.datasets.SelectiveSample, clf: sl.UCLClassifier) -> None:
    """Fit the models that `clf` fitted and predict under every decision-maker, with nothing around it."""
    X, arm = sample.X, np.unique(sample.decision_maker, return_inverse=True)[1]
    outcome = outcome_codes(sample.y)
    options, _ = candidates(clf.nuisance, X.shape[1], 0)
    folds = make_folds(outcome, 5, random_state=0)
    for option in options:
        fit_one(option, X, arm, outcome, folds[0][0])
    report = clf.nuisance_report_
    for family in report.losses:
        option = next(each for each in options if each.family == family)
        if family == report.chosen:
            option = next(
                each for each in options if each.settings == report.settings and each.family == family
            )
        models = [fit_one(option, X, arm, outcome, train) for train, _ in folds[1:]]
        if family == report.chosen and clf.mode == "point":
            parts = [part for train, _ in folds for part in (train[::2], train[1::2])]
            models = [fit_one(option, X, arm, outcome, part) for part in parts]
        elif family == report.chosen:
            models.append(models[-1])
        if family == report.chosen:
            for model in models:
                model.joint(X)


def fit_one(option: Candidate, X: np.ndarray, arm: np.ndarray, outcome: np.ndarray, rows: np.ndarray) -> Any:
    return option.factory(arm.max() + 1, outcome.max() + 1).fit(X[rows], arm[rows], outcome[rows])


def seconds(work: Callable[[], object]) -> float:
    start = time.perf_counter()
    work()
    return time.perf_counter() - start


if __name__ == "__main__":
    main()
