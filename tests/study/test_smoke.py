"""Every experiment runs at a tiny size; what it measures makes sense."""

import importlib.util
from dataclasses import replace
from functools import partial

import pytest

from study.catalogue import CATALOGUE, find_experiment
from study.confirmation import methods as confirmation
from study.engine import reproduce, run_task
from study.honest import classifiers, methods, sensitivity
from study.honest.designs import draw_strong
from study.published import fico, synthetic, weights
from study.scoring import split_rows
from study.tasks import Setup, whole_number
from tests.study.heloc import write_loans

N_SAMPLES = 240
HAS_TORCH = importlib.util.find_spec("torch") is not None
NEEDS_TORCH = pytest.mark.skipif(not HAS_TORCH, reason="optional: PyTorch is not installed")
# (name, protocol, cell, methods that must be there)
HONEST = ("selected", "ipw", "full", "partial", "point", "no-instrument")
CASES = [
    pytest.param("synthetic", "honest", "uc-y0.3-d0.5", HONEST),
    pytest.param("fico", "honest", "nucem-a0.7", HONEST),
    pytest.param("strong", "honest", "not-additive", HONEST),
    pytest.param("sensitivity", "honest", "nucem-y0.5-d0.7", ("partial", "point")),
    pytest.param("rate", "honest", "additive-n500", ("selected", "partial", "point")),
    pytest.param("learner-rate", "honest", "k2-n500", ("selected", "partial", "point")),
    pytest.param("tilt", "honest", "fico-uc-a0.5", (*HONEST, "tilt")),
    pytest.param(
        "synthetic",
        "published",
        "uc-y0.3-d0.3",
        ("selected", "ipw", "full", "partial", "point"),
        marks=NEEDS_TORCH,
    ),
    pytest.param("fico", "published", "uc-a0.9", ("selected", "ipw", "full", "partial", "point")),
    pytest.param(
        "sensitivity",
        "published",
        "nucem-y0.5-d0.7",
        ("partial", "point", "constant", "full"),
        marks=NEEDS_TORCH,
    ),
    pytest.param(
        "artefact",
        "published",
        "nucem-y0.3-d0.3",
        ("selected", synthetic.SELECTED_SLOWLY, "partial", "no-instrument"),
        marks=NEEDS_TORCH,
    ),
]


@pytest.fixture(autouse=True)
def tiny(monkeypatch):
    """Few settings, few trees, few steps, two splits: the code is the same, the work is not."""
    few = {
        name: {key: values[:1] for key, values in grid.items()} for name, grid in classifiers.GRIDS.items()
    }
    few["adaboost"] = few["forest"] = {"n_estimators": [3]}
    monkeypatch.setattr(classifiers, "GRIDS", few)
    monkeypatch.setattr(classifiers, "N_FOLDS", 2)
    monkeypatch.setattr(methods, "NUISANCE_CANDIDATES", "logistic")
    monkeypatch.setattr(confirmation, "NUISANCE", "logistic")
    monkeypatch.setattr(weights, "N_ITERATIONS", 12)
    monkeypatch.setattr(weights, "N_FOLDS", 2)
    monkeypatch.setattr(sensitivity, "LEVELS", (0.0, 0.5))
    monkeypatch.setattr(synthetic, "NOISE_LEVELS", (0.0, 3.0))
    monkeypatch.setattr(synthetic, "ARTEFACT_STEPS", (3, 6))
    monkeypatch.setattr(synthetic, "SYNTHETIC_SPLITS", (100, 200))
    monkeypatch.setattr(fico, "FICO_SPLITS", (100, 200))


def test_every_experiment_has_a_case():
    assert {case.values[:2] for case in CASES} == set(CATALOGUE)


@pytest.mark.parametrize(("name", "protocol", "cell", "expected"), CASES)
def test_an_experiment_runs(tmp_path, name, protocol, cell, expected):
    experiment = find_experiment(name, protocol)
    setup = Setup(n_samples=N_SAMPLES, data=write_loans(tmp_path / "loans.csv", N_SAMPLES))
    tasks = [
        task for task in experiment.tasks([cell], repetitions=1) if task.mirrored == experiment.mirrors[-1]
    ]
    rows = reproduce(experiment, tasks, setup, tmp_path / "out").read()
    assert set(rows["method"]) == set(expected), "every method has rows"
    assert set(rows["part"]) == set(experiment.parts), "every part ran"
    assert rows["accuracy"].between(0, 1).all(), "accuracies are shares"
    assert not rows.duplicated(["part", "method", "classifier", "setting"]).any(), "one row each"
    if name in ("synthetic", "fico", "strong", "sensitivity"):
        assert rows["constant"].notna().all(), "the page has the share of constant rules beside every claim"
        learned = rows["method"].isin(("partial", "point")) & (protocol == "honest")
        assert (rows.loc[learned, "mode"] != "").all(), "and the share of fits that fell back"


def test_labels_that_nobody_saw_change_nothing_but_the_full_sample():
    task = find_experiment("strong", "honest").tasks(["additive"], ["main"], 1)[0]
    setup = Setup(n_samples=N_SAMPLES)
    chosen = {"linear": {}, methods.NUISANCE: "logistic"}
    setup = replace(setup, choices={(task.cell, task.mirrored, task.part): chosen})

    def garbled(task, setup, seed):
        sample = draw_strong(task, setup, seed)
        train = split_rows(sample, whole_number(task.seeds(setup.entropy, 3)[1])).train
        hidden = train[sample.decision[train] == 0]
        y_true = sample.y_true.copy()
        y_true[hidden] = (y_true[hidden] + 1) % 3
        return replace(sample, y_true=y_true)

    def accuracies(draw):
        work = partial(methods.compare_methods, draw=draw, classifiers=("linear",))
        return {row["method"]: row["expected_accuracy"] for row in run_task(work, task, setup)[1]}

    before, after = accuracies(draw_strong), accuracies(garbled)
    assert {name for name in HONEST if before[name] != after[name]} == {"full"}


def test_limits_stand_in_their_order(tmp_path):
    experiment = find_experiment("strong", "honest")
    rows = reproduce(
        experiment, experiment.tasks(["additive"], ["main"], 1), Setup(n_samples=N_SAMPLES), tmp_path
    )
    frame = rows.read()
    assert (frame["bayes_accuracy"] > frame["minimax_accuracy"]).all(), "no rule beats the Bayes rule"
    assert (frame["excess_risk"] >= 0).all(), "an excess over the best is not negative"


def test_fico_without_the_table_says_what_to_do(tmp_path):
    experiment = find_experiment("fico", "honest")
    with pytest.raises(ValueError, match="--data"):
        reproduce(experiment, experiment.tasks(repetitions=1), Setup(), tmp_path)
