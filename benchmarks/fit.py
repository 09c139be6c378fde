"""``UCLClassifier.fit`` over five bare fits of the model that it chose, and over a plain Algorithm 1."""

import numpy as np

import selective_labels as sl
from benchmarks.floor import floor_seconds, make_table
from benchmarks.plain import plain_partial
from benchmarks.ratios import N_ROUNDS, Ratio, median_ratio, timed
from selective_labels.nuisance.cross_fit import cross_fit

N_SAMPLES, N_DECISION_MAKERS = 100_000, 100


def measure() -> list[Ratio]:
    return [*against_floor(), choice(), against_plain(), against_plain(searched=True), against_labeled()]


def against_floor() -> list[Ratio]:
    X, y, maker = make_table(N_SAMPLES, N_DECISION_MAKERS)
    found = []
    for name, estimator, limit in (("linear", "linear", 2.0), ("boosting", None, 2.5)):
        clf = sl.UCLClassifier("partial", estimator, n_jobs=1, random_state=0)
        ratio = median_ratio(
            f"fit partial {name}, n=100,000, J=100, K=3, over five bare fits of the model chosen",
            lambda c=clf: c.fit(X, y, decision_maker=maker),
            lambda c=clf: floor_seconds(c._identified.joint, X, y, maker),
            limit,
        )
        found.append(_with_remark(ratio, f"chosen: {clf.nuisance_report_.chosen}"))
    return found


def choice() -> Ratio:
    """What choosing costs: the fit of all that may be chosen, less that of the one that was."""
    X, y, maker = make_table(N_SAMPLES, N_DECISION_MAKERS)
    data = sl.SelectiveLabels.from_arrays(X, y, decision_maker=maker)
    settings = {"n_jobs": 1, "random_state": 0}
    searched, fit = timed(lambda: cross_fit(data, **settings))
    alone, _ = timed(lambda: cross_fit(data, fit.report.chosen, **settings))
    floor = floor_seconds(fit, X, y, maker)
    spent = max(searched - alone, 0.0)
    losses = ", ".join(f"{name} {loss:.4f}" for name, loss in sorted(fit.report.losses.items()))
    name = "choosing the model, n=100,000, J=100, K=3, over five bare fits of it"
    return Ratio(name, spent / floor, spent, floor, 0.5, f"held-out losses: {losses}")


def against_plain(*, searched: bool = False) -> Ratio:
    """Ours chooses its model; the plain one has scikit-learn's settings, or (`searched`) chooses them too."""
    sample = sl.datasets.make_paper_synthetic(10_000, selection="uc", random_state=0)
    test = sl.datasets.make_paper_synthetic(50_000, selection="uc", random_state=1)
    clf = sl.UCLClassifier("partial", "linear", n_jobs=1, random_state=0)
    scores: list[np.ndarray] = []

    def plain() -> float:
        known = sample.X, sample.y, sample.decision_maker, 3
        taken, found = timed(lambda: plain_partial(*known, searched=searched))
        scores.append(found)
        return taken

    other = "a plain Algorithm 1 that chooses too" if searched else "a plain Algorithm 1"
    ratio = median_ratio(
        f"fit partial linear, n=10,000, J=5, K=3, over {other}",
        lambda: clf.fit(sample.X, sample.y, decision_maker=sample.decision_maker),
        plain,
        1 / 20,
        n_rounds=1 if searched else N_ROUNDS,
    )
    theirs = (np.column_stack([test.X, np.ones(len(test.X))]) @ scores[-1]).argmax(axis=1)
    accuracy = [np.mean(test.y_true == guess) for guess in (clf.predict(test.X), theirs)]
    return _with_remark(ratio, f"accuracy {accuracy[0]:.4f} against {accuracy[1]:.4f}")


def against_labeled() -> Ratio:
    """Beside what people do today: scikit-learn's boosting on the labeled cases alone."""
    from sklearn.ensemble import HistGradientBoostingClassifier

    X, y, maker = make_table(N_SAMPLES, N_DECISION_MAKERS)
    clf = sl.UCLClassifier("partial", n_jobs=1, random_state=0)
    return median_ratio(
        "fit partial boosting, n=100,000, J=100, K=3, over boosting of the labeled cases",
        lambda: clf.fit(X, y, decision_maker=maker),
        lambda: timed(lambda: HistGradientBoostingClassifier(random_state=0).fit(X[y >= 0], y[y >= 0]))[0],
    )


def _with_remark(ratio: Ratio, remark: str) -> Ratio:
    return Ratio(ratio.name, ratio.value, ratio.seconds, ratio.over, ratio.limit, remark)
