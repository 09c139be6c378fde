"""The confirmation of tilt mode: fresh draws, controls of the same learner, and a page that adds nothing."""

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone

import selective_labels as sl
from study.catalogue import find_experiment
from study.confirmation import methods
from study.confirmation.designs import CELLS, FICO, PAPER, PROMISED, STRONG, drawn
from study.engine import RESULT_COLUMNS, run_task
from study.page import write_page
from study.page.confirmation import asked_table, idle, losses
from study.page.numbers import gaps_closed
from study.page.reading import read_results
from study.table import TaskTable
from study.tasks import ENTROPY, Setup, Task

EXPERIMENT = find_experiment("tilt", "honest")
SMALL = Setup(n_samples=300)
# What the made-up results say: (as designed, mirrored).
ACCURACY = {
    "selected": (0.50, 0.50),
    "no-instrument": (0.50, 0.50),
    "partial": (0.51, 0.50),
    "point": (0.55, 0.48),
    "tilt": (0.59, 0.57),
    "full": (0.60, 0.60),
}


def task_of(cell, mirrored=False, repetition=0, part="main"):
    return Task("tilt", "honest", cell, mirrored, part, repetition)


def write_results(folder, cell="fico-uc-a0.5", concentration=31.0, n_repetitions=4, spread=0.0):
    table = TaskTable(folder / "results.csv", RESULT_COLUMNS)
    noise = np.random.default_rng(0)
    for mirrored in (False, True):
        for repetition in range(n_repetitions):
            shift = noise.normal(scale=0.001)
            rows = [
                {
                    "method": method,
                    "classifier": "plug-in",
                    "accuracy": values[mirrored] + shift + noise.normal(scale=spread) * (method == "tilt"),
                    "setting": f"concentration={concentration:.1f}" if method == "tilt" else "",
                }
                for method, values in ACCURACY.items()
            ]
            table.append(task_of(cell, mirrored, repetition), rows)
    return read_results([folder])


def test_cells_of_which_much_was_asked_are_drawn_most_often():
    tasks = pd.DataFrame(EXPERIMENT.tasks(parts=["main"]))
    counts = tasks.groupby("cell")["repetition"].nunique()
    assert set(PROMISED) < set(CELLS)
    for cell in CELLS:
        assert counts[cell] == (20 if cell in PROMISED else 5)
    asked = EXPERIMENT.tasks(["paper-nucem-0.5"], ["main"], repetitions=7)
    assert len(asked) == 2 * 7, "who asks for more gets more"
    boosted = pd.DataFrame(EXPERIMENT.tasks(parts=["boosting"]))
    assert boosted.groupby("cell")["repetition"].nunique().eq(5).all()


def test_the_draws_are_those_of_no_other_run():
    sample = drawn(task_of("additive-n5000"), SMALL)[0].split.sample
    seeds = [9000, 9101, task_of("additive-n5000").seeds(ENTROPY, 1)[0]]
    for seed in seeds:
        other = sl.datasets.make_decision_makers(600, random_state=seed)
        assert not np.isin(other.X[:, 0], sample.X[:, 0]).any()


@pytest.mark.parametrize("cell", ["additive-n5000", "paper-uc-0.5"])
def test_test_cases_are_new_and_share_the_law(cell):
    scorer, _ = drawn(task_of(cell), SMALL)
    split = scorer.split
    assert len(split.train) == len(split.test) == SMALL.n_samples
    assert not set(split.train) & set(split.test)
    assert "bayes_accuracy" in scorer.row(np.zeros(len(split.test), dtype=int), "zero")


def test_mirrored_designs_differ_in_decisions_alone():
    plain, mirrored = (drawn(task_of("not-additive-n5000", each), SMALL)[0].split for each in (False, True))
    np.testing.assert_array_equal(plain.features, mirrored.features)
    np.testing.assert_array_equal(plain.y_true, mirrored.y_true)
    assert (plain.y != mirrored.y).any()


def test_sizes_are_those_of_the_names():
    assert {size for _, size in STRONG.values()} == {5000, 15000}
    assert len(CELLS) == len(FICO) + len(STRONG) + len(PAPER)


def test_labels_that_nobody_saw_change_nothing_but_the_full_sample(monkeypatch):
    monkeypatch.setattr(methods, "NUISANCE", "logistic")
    task = task_of("not-additive-n5000")
    honest = methods.drawn

    def garbled(task, setup):
        scorer, seed = honest(task, setup)
        split = scorer.split
        hidden = split.train[split.sample.decision[split.train] == 0]
        split.sample.y_true[hidden] = (split.sample.y_true[hidden] + 1) % 3
        return scorer, seed

    def accuracies():
        rows = run_task(methods.run_confirmation, task, SMALL)[1]
        return {(row["method"], row["classifier"]): row["expected_accuracy"] for row in rows}

    before = accuracies()
    monkeypatch.setattr(methods, "drawn", garbled)
    after = accuracies()
    assert {name for (name, _), value in before.items() if after[name, _] != value} == {"full"}


def test_the_labeled_only_control_is_what_a_closed_gate_does():
    """Both are the plain learner of the labeled rows."""
    split = drawn(task_of("additive-n5000"), Setup(n_samples=2000))[0].split
    seen = split.y >= 0
    tilt = sl.UCLClassifier("tilt", "linear", nuisance="logistic", random_state=0, skill_range=0.0)
    control = clone(tilt)
    control.fit(split.features[seen], split.y[seen])
    assert control.mode_ == "labeled-only"
    nobody = np.random.default_rng(0).integers(0, 5, len(seen))
    with pytest.warns(UserWarning, match="gate closed"):
        closed = clone(tilt).fit(split.features, split.y, decision_maker=nobody)
    np.testing.assert_array_equal(control.predict(split.test_features), closed.predict(split.test_features))


def test_the_page_says_what_was_asked_and_what_came(tmp_path):
    rows = write_results(tmp_path)
    line = asked_table(rows, gaps_closed(rows)).iloc[0]
    assert line["closed as designed"].startswith("0.90")
    assert line["closed mirrored"].startswith("0.70")
    assert (line["asked, the worse"], line["reached"], line["gate open"]) == ("0.60", "yes", "100%")
    assert line["draws as designed"] == 4, "the number of draws stands beside"
    other = write_results(tmp_path / "more", "not-additive-n5000")
    assert asked_table(other, gaps_closed(other)).iloc[0]["reached"] == "no", ".70 is less than .75"
    noisy = write_results(tmp_path / "noisy", spread=0.02)
    assert asked_table(noisy, gaps_closed(noisy)).iloc[0]["reached"].endswith(", within the error")


def test_losses_are_named(tmp_path):
    gaps = gaps_closed(write_results(tmp_path))
    assert [each.split(": ")[0] for each in losses(gaps)] == ["point, fico-uc-a0.5, plug-in, mirrored"]


def test_where_it_does_nothing_is_said(tmp_path):
    assert not list(idle(write_results(tmp_path)))
    closed = list(idle(write_results(tmp_path / "closed", "fico-nucem-a0.5", concentration=24.9)))
    assert len(closed) == 2
    assert "closed in 4 of 4 draws" in closed[0]


def test_the_page_has_the_section(tmp_path):
    write_results(tmp_path / "run")
    write_page([tmp_path / "run"], tmp_path / "page")
    folder = tmp_path / "page" / "tables"
    assert "Tilt mode on fresh draws" in (folder / "tilt.md").read_text()
    commands = (folder / "method.md").read_text()
    assert "reproduce tilt --parts main --cells fico-uc-a0.5 --reps 4 --data" in commands
    assert (folder / "study-tilt-plug-in.png").exists()
