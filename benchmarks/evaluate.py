"""``evaluate`` with all metrics over five bare fits, and several questions on one ``Evaluator`` over one."""

import numpy as np

import selective_labels as sl
from benchmarks.floor import floor_seconds, make_table, some_probabilities
from benchmarks.ratios import N_ROUNDS, Ratio, median_ratio, timed
from selective_labels.nuisance.cross_fit import FittingSettings
from selective_labels.nuisance.scores import selector_bands

N_SAMPLES, N_DECISION_MAKERS = 100_000, 100
METRICS = [
    "accuracy",
    "error",
    "cost",
    "share",
    "tpr",
    "fpr",
    "ppv",
    "f1",
    "auc",
    "log_loss",
    "brier",
    "regret",
]


# Rows, and pairs of classes and decision-makers, for several questions on one table.
N_QUESTIONED = 15_000
QUESTIONED = ((2, 8), (2, 40), (3, 8))


def measure() -> list[Ratio]:
    return [
        *all_metrics(),
        *(several_questions(*each) for each in QUESTIONED),
        *people(),
    ]


def all_metrics() -> list[Ratio]:
    X, y, maker = make_table(N_SAMPLES, N_DECISION_MAKERS)
    guess = some_probabilities(X)
    data = sl.SelectiveLabels.from_arrays(X, y, decision_maker=maker)
    ratios = []
    for nuisance in (None, "logistic", "quadratic", "boosting"):
        settings = {"nuisance": nuisance, "n_jobs": 1, "random_state": 0}
        fitting = FittingSettings.read(cv=5, n_repeats=1, **settings)
        fit = fitting.cross_fit(data, seed=fitting.repeated_seeds[0], n_bands=selector_bands(data))
        ratio = median_ratio(
            f"evaluate all metrics, n=100,000, J=100, K=3, nuisance={nuisance}, over five bare fits",
            lambda s=settings: evaluate_all(guess, X, y, maker, **s),
            lambda f=fit: floor_seconds(f, X, y, maker),
            1.5 if nuisance is None else None,
            f"chosen: {fit.report.chosen}",
        )
        ratios.append(ratio)
    return ratios


def evaluate_all(
    guess: np.ndarray, X: np.ndarray, y: np.ndarray, maker: np.ndarray, **settings: object
) -> None:
    """All metrics under the instrument."""
    cost = 1.0 - np.eye(guess.shape[1])
    sl.evaluate(guess, X, y, decision_maker=maker, metric=METRICS, cost=cost, **settings)


def several_questions(n_classes: int, n_makers: int) -> Ratio:
    """An evaluation, a comparison, a threshold curve and a second metric: the models are fitted once."""
    sample = sl.datasets.make_decision_makers(N_QUESTIONED, n_classes, n_makers, random_state=0)
    data = sl.SelectiveLabels.from_arrays(sample.X, sample.y, decision_maker=sample.decision_maker)
    first, second = (sample.X[:, 0] < 0.0).astype(int), (sample.X[:, 1] < 0.0).astype(int)
    settings = {"n_jobs": 1, "random_state": 0}

    def ask() -> None:
        evaluator = sl.Evaluator(data, **settings)
        evaluator.evaluate(first)
        evaluator.compare(first, second)
        evaluator.threshold_curve(-sample.X[:, 0])
        evaluator.evaluate(first, metric="tpr")

    return median_ratio(
        "evaluation, comparison, threshold curve and second metric on one Evaluator, "
        f"n=15,000, J={n_makers}, K={n_classes}, over one evaluation",
        ask,
        lambda: timed(lambda: sl.evaluate(first, data, **settings))[0],
        1.15,
        n_rounds=7,
    )


def people() -> list[Ratio]:
    """Questions about people who decide on one `Evaluator`, each over fitting it (`sl.Evaluator(data)`).

    The first answer of all also scores the rows, which all answers share: the remark says what that takes.
    """
    X, y, maker = make_table(N_SAMPLES, 1_000)
    data = sl.SelectiveLabels.from_arrays(X, y, decision_maker=maker)
    generator, score = np.random.default_rng(0), -X[:, 0]
    advice, group = (score < 0.0).astype(int), generator.integers(0, 2, len(data))

    def shown() -> np.ndarray:
        return generator.integers(0, 2, len(data))

    def fit() -> sl.Evaluator:
        return sl.Evaluator(data, n_jobs=1, random_state=0)

    fitting, evaluator = min((timed(fit) for _ in range(N_ROUNDS)), key=lambda each: each[0])
    scoring, same = timed(lambda: evaluator.evaluate("human"))[0], shown()
    questions = {
        "deciders": lambda: evaluator.deciders(score=score),
        "disparity of two groups": lambda: evaluator.disparity(group),
        "disparity of two groups, with a score": lambda: evaluator.disparity(group, score=score),
        "advice, whose arms are fitted": lambda: evaluator.advice(advice, shown()),
        "advice, asked again": lambda: evaluator.advice(advice, same),
    }
    return [
        median_ratio(
            f"{name}, n=100,000, J=1,000, K=3, over fitting the Evaluator",
            ask,
            lambda: fitting,
            0.2,
            f"scoring, once for all answers: {scoring:.2f} s",
        )
        for name, ask in questions.items()
    ]
