"""Cost of ``evaluate`` with all metrics over that of its nuisance fits and their predictions."""

import time
from collections.abc import Callable

import numpy as np

from selective_labels.data import SelectiveLabels
from selective_labels.datasets import SelectiveSample, make_decision_makers
from selective_labels.evaluation import evaluate
from selective_labels.nuisance.cross_fit import cross_fit
from selective_labels.nuisance.scores import selector_bands

N_SAMPLES, N_ROUNDS = 100_000, 3
METRICS = [
    "accuracy",
    "error",
    "cost",
    "share",
    "tpr",
    "fpr",
    "ppv",
    "f1",
    "balanced_accuracy",
    "auc",
    "log_loss",
    "brier",
    "regret",
]


def main() -> None:
    sample = make_decision_makers(N_SAMPLES, n_classes=2, random_state=0)
    probabilities = np.exp(sample.X[:, :2])
    probabilities /= probabilities.sum(axis=1, keepdims=True)
    for nuisance in ("logistic", "quadratic", "boosting"):
        whole, bare = [], []
        for _ in range(N_ROUNDS):  # interleaved, so that a busy moment hits both
            bare.append(seconds(lambda n=nuisance: fit_and_predict(sample, n)))
            whole.append(
                seconds(
                    lambda n=nuisance: evaluate(
                        probabilities,
                        sample.X,
                        sample.y,
                        decision_maker=sample.decision_maker,
                        metric=METRICS,
                        cost=[[0, 1], [5, 0]],
                        nuisance=n,
                        random_state=0,
                    )
                )
            )
        ratio = np.median(np.array(whole) / np.array(bare))
        print(
            f"evaluate  n={N_SAMPLES:,} J=8 K=2  {len(METRICS)} metrics  {nuisance:10s} "
            f"{np.median(whole):6.2f} s   {ratio:.2f} x its nuisance fits and their predictions"
        )


def fit_and_predict(sample: SelectiveSample, nuisance: str) -> None:
    """Fit the nuisances that `evaluate` fits, and predict every row under every arm."""
    data = SelectiveLabels.from_arrays(sample.X, sample.y, decision_maker=sample.decision_maker)
    fit = cross_fit(data, nuisance, n_bands=selector_bands(data), random_state=0)
    for number, fold in enumerate(fit.folds):
        fold.joint(sample.X[fit.held_out == number])


def seconds(work: Callable[[], object]) -> float:
    start = time.perf_counter()
    work()
    return time.perf_counter() - start


if __name__ == "__main__":
    main()
