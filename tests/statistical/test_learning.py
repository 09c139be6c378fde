"""How far learned rules stay behind what is possible, over ten draws each; nothing is picked among them."""

import numpy as np
import pytest
from joblib import Parallel, delayed

import selective_labels as sl

pytestmark = pytest.mark.statistical

N_SEEDS = 10
N_TEST = 20_000


def true_accuracy(probabilities: np.ndarray, codes: np.ndarray) -> float:
    return float(probabilities[np.arange(len(codes)), codes].mean())


def summary(values: list[float]) -> str:
    return f"{np.mean(values):+.4f} (s.e. {np.std(values, ddof=1) / np.sqrt(len(values)):.4f})"


def partial_regrets(alpha: float, seed: int) -> tuple[float, float]:
    """Accuracy of the minimax rule with the true bounds, minus that of partial UCL and of selected sample."""
    sample = sl.datasets.make_paper_synthetic(
        10_000, selection="uc", alpha_y=alpha, alpha_d=alpha, random_state=seed
    )
    X = sl.datasets.make_paper_synthetic(N_TEST, selection="uc", random_state=1000 + seed).X
    truth = sample.oracle.probabilities(X)
    limit = true_accuracy(truth, sample.oracle.lower(X).argmax(axis=1))
    partial = sl.UCLClassifier("partial", "plug-in", random_state=seed)
    selected = sl.SelectedSampleClassifier("linear")
    fitted = [
        each.fit(sample.X, sample.y, decision_maker=sample.decision_maker) for each in (partial, selected)
    ]
    first, second = (limit - true_accuracy(truth, each.predict(X)) for each in fitted)
    return first, second


@pytest.mark.parametrize(
    ("alpha", "limit", "beats_selected"), [(0.3, 0.010, True), (0.5, 0.010, True), (0.7, 0.003, False)]
)
def test_partial_plug_in_comes_near_the_minimax_rule(alpha, limit, beats_selected):
    results = Parallel(n_jobs=2)(delayed(partial_regrets)(alpha, seed) for seed in range(N_SEEDS))
    partial, selected = map(list, zip(*results, strict=True))
    print(
        f"UC({alpha}, {alpha}): regret to minimax, partial {summary(partial)}, selected {summary(selected)}"
    )
    assert np.mean(partial) < limit, "partial UCL must come near what its bounds allow"
    if beats_selected:
        assert np.mean(partial) < np.mean(selected), (
            "the instrument must buy something over the labeled cases"
        )


def point_errors(seed: int) -> dict[str, float]:
    """Regret and error in point mode: as is, with ids renamed, and by the numeric ratio."""
    sample = sl.datasets.make_decision_makers(random_state=seed)
    X = sl.datasets.make_decision_makers(N_TEST, random_state=1000 + seed).X
    truth = sample.oracle.probabilities(X)
    renamed = np.random.default_rng(seed).permutation(8)[sample.decision_maker]
    fits = {
        "leniency": ("leniency", sample.decision_maker),
        "renamed": ("leniency", renamed),
        "numeric": ("numeric", sample.decision_maker),
    }
    out = {}
    for name, (instrument, ids) in fits.items():
        clf = sl.UCLClassifier("point", "plug-in", instrument=instrument, random_state=seed)
        probabilities = clf.fit(sample.X, sample.y, decision_maker=ids).predict_proba(X)
        regret = truth.max(axis=1).mean() - true_accuracy(truth, probabilities.argmax(axis=1))
        out[f"{name} regret"] = float(regret)
        out[f"{name} rmse"] = float(np.sqrt(np.mean((probabilities - truth) ** 2)))
    return out


def test_point_plug_in_comes_near_bayes_whatever_the_ids_are_called():
    results = Parallel(n_jobs=2)(delayed(point_errors)(seed) for seed in range(N_SEEDS))
    table = {name: [each[name] for each in results] for name in results[0]}
    for name, values in table.items():
        print(f"make_decision_makers(), point: {name} {summary(values)}")
    assert np.mean(table["leniency regret"]) < 0.004, "accuracy within 0.004 of Bayes"
    assert np.mean(table["leniency rmse"]) <= 0.040, "class probabilities within 0.040"
    change = np.array(table["renamed regret"]) - np.array(table["leniency regret"])
    noise = (
        5 * change.std(ddof=1) / np.sqrt(N_SEEDS) + 1e-12
    )  # false alarm below 1e-3 with nine degrees of freedom
    assert abs(change.mean()) <= noise, "names of decision-makers carry no information"
