"""``evaluate`` with all metrics over five bare fits of the model that it chose."""

import numpy as np

import selective_labels as sl
from benchmarks._floor import floor_seconds, make_table, timed
from benchmarks.scale import METRICS
from selective_labels.nuisance.cross_fit import cross_fit
from selective_labels.nuisance.scores import selector_bands

N_SAMPLES, N_DECISION_MAKERS, N_ROUNDS = 100_000, 100, 3


def main() -> None:
    X, y, maker = make_table(N_SAMPLES, N_DECISION_MAKERS)
    guess = np.exp(X[:, :3])
    guess /= guess.sum(axis=1, keepdims=True)
    data = sl.SelectiveLabels.from_arrays(X, y, decision_maker=maker)
    for nuisance in (None, "logistic", "quadratic", "boosting"):
        settings = {"nuisance": nuisance, "n_jobs": 1, "random_state": 0}
        fit = cross_fit(data, n_bands=selector_bands(data), **settings)

        def work(settings: dict = settings) -> None:
            sl.evaluate(guess, X, y, decision_maker=maker, metric=METRICS, cost=1.0 - np.eye(3), **settings)

        # Interleaved, so that a busy moment hits both.
        times = [(timed(work)[0], floor_seconds(fit, X, y, maker)) for _ in range(N_ROUNDS)]
        whole, floor = np.median(times, axis=0)
        print(
            f"evaluate  n={N_SAMPLES:,} J={N_DECISION_MAKERS} K=3  {len(METRICS)} metrics  "
            f"{nuisance or 'chosen':10s} {whole:7.2f} s   {whole / floor:5.2f} x five bare fits of "
            f"{fit.report.chosen} ({floor:.2f} s)"
        )


if __name__ == "__main__":
    main()
