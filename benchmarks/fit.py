"""``UCLClassifier.fit`` over five bare fits of the model that it chose, and over a plain Algorithm 1."""

import numpy as np

import selective_labels as sl
from benchmarks._floor import floor_seconds, make_table, timed
from benchmarks._plain import plain_partial

N_ROUNDS = 3


def main() -> None:
    against_floor(100_000, 100)
    against_plain(10_000)


def against_floor(n_samples: int, n_decision_makers: int) -> None:
    X, y, maker = make_table(n_samples, n_decision_makers)
    for name, estimator in (("linear", "linear"), ("boosting", None)):
        clf = sl.UCLClassifier("partial", estimator, n_jobs=1, random_state=0)
        times = []
        for _ in range(N_ROUNDS):  # interleaved, so that a busy moment hits both
            whole, _ = timed(lambda c=clf: c.fit(X, y, decision_maker=maker))
            times.append((whole, floor_seconds(clf._identified.joint, X, y, maker)))
        whole, floor = np.median(times, axis=0)
        print(
            f"fit  n={n_samples:,} J={n_decision_makers:,} K=3  partial {name:9s} {whole:7.2f} s   "
            f"{whole / floor:5.2f} x five bare fits of {clf.nuisance_report_.chosen} ({floor:.2f} s)"
        )


def against_plain(n_samples: int) -> None:
    sample = sl.datasets.make_paper_synthetic(n_samples, selection="uc", random_state=0)
    test = sl.datasets.make_paper_synthetic(50_000, selection="uc", random_state=1)
    clf = sl.UCLClassifier("partial", "linear", n_jobs=1, random_state=0)
    times = []
    for _ in range(N_ROUNDS):
        ours, _ = timed(lambda: clf.fit(sample.X, sample.y, decision_maker=sample.decision_maker))
        theirs, scores = timed(lambda: plain_partial(sample.X, sample.y, sample.decision_maker, 3))
        times.append((ours, theirs))
    ours, theirs = np.median(times, axis=0)
    plain = np.column_stack([test.X, np.ones(len(test.X))]) @ scores
    accuracies = (np.mean(test.y_true == guess) for guess in (clf.predict(test.X), plain.argmax(axis=1)))
    print(
        f"fit  n={n_samples:,} J=5 K=3  partial linear    {ours:7.2f} s   {theirs / ours:5.1f} x faster than "
        f"a plain Algorithm 1 ({theirs:.1f} s); accuracies {next(accuracies):.4f} and {next(accuracies):.4f}"
    )


if __name__ == "__main__":
    main()
