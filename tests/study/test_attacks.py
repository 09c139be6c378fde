"""The attacks: answers are sorted rightly, every law is what it says, and the page counts them."""

import math

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose

from selective_labels import InputError
from study.attacks import cells, insurer, tables
from study.attacks.answers import Answer, ask, of_result
from study.attacks.cells import CELLS, Ask
from study.attacks.experiment import EXPERIMENT, run_task
from study.attacks.page import counted, holds, may_hold, write_page
from study.engine import reproduce
from study.tasks import Setup


@pytest.fixture
def small_population(monkeypatch):
    """A truth that is rough, and quick; nothing of it stays."""
    monkeypatch.setattr(cells, "N_POPULATION", 2000)
    kept = (cells.population, cells.truth, cells._costs_by_score, cells._accuracies)
    for each in kept:
        each.cache_clear()
    yield
    for each in kept:
        each.cache_clear()


class Found:
    """A result with what `of_result` reads."""

    def __init__(self, lower, upper, cautions=(), refusal=None, assignment="", reason=None):
        self.ci_lower, self.ci_upper, self.reason = lower, upper, reason
        self.sample = self
        self.cautions, self.refusal, self.assignment = cautions, refusal, assignment


@pytest.mark.parametrize(
    ("found", "outcome"),
    [
        (Found(0.4, 0.6), "covered"),
        (Found(0.6, 0.7), "missed"),
        (Found(0.6, 0.7, cautions=("this is doubtful.",)), "cautioned"),
        (Found(0.6, 0.7, refusal="data contradict it (SL601)"), "cautioned"),
        (Found(0.6, 0.7, assignment="The interval is not to be trusted."), "cautioned"),
        (Found(0.6, 0.7, assignment="Little overlap."), "missed"),
        (Found(math.nan, math.nan, reason="the ends cross."), "refused"),
    ],
)
def test_an_interval_is_sorted_by_its_truth_and_its_words(found, outcome):
    assert of_result("accuracy", found, 0.5).outcome == outcome


def test_a_refusal_answers_every_question_and_a_warning_doubts_every_answer():
    def refuse():
        raise InputError("no.")

    assert [each.outcome for each in ask(["a", "b"], refuse)] == ["refused", "refused"]

    def warn():
        import warnings

        warnings.warn("the instrument is doubtful", UserWarning, stacklevel=2)
        return [Answer("a", 0.0, 1.0, 2.0), Answer("b", 0.0, 1.0, 0.5)]

    assert [each.outcome for each in ask(["a", "b"], warn)] == ["cautioned", "cautioned"]


def test_on_an_edge_table_the_truth_is_what_is_labeled():
    for law in (tables.many_levels, tables.weekly_roster, tables.raw_amount, tables.wrong_assignment):
        table = law(3000, np.random.default_rng(0))
        right = table.predicted == table.y_true
        assert (table.decision | ~right).all()
        assert 0.3 < table.decision.mean() < 1.0


def test_rivals_are_equally_good_and_the_score_has_its_area():
    angles = tables.rivals(5)
    assert_allclose(np.linalg.norm(angles, axis=0), np.sqrt(1.64))
    y, score = tables.ranked(200_000, 50_000, 0.93, np.random.default_rng(0))
    wins = np.mean(score[y == 1][:, None] > score[y == 0][None, :400])
    assert_allclose(wins, 0.93, atol=0.02)  # five standard errors of the 400


def test_the_insurers_bounds_hold_its_probabilities_and_the_sample_agrees():
    table = insurer.draw(40_000, np.random.default_rng(1))
    for informed in (False, True):
        bounds = insurer.population_bounds(table, informed)
        true = insurer.probabilities(table)
        assert (bounds.lower <= true + 1e-9).all()
        assert (true <= bounds.upper + 1e-9).all()
    assert_allclose(true[:, 1].mean(), table.y_true.mean(), atol=0.013)  # five standard errors


def test_a_run_goes_on_and_the_page_has_all_draws(tmp_path, small_population):
    tasks = EXPERIMENT.tasks(["decisions", "auc-4-0.76", "model"], ["logistic"], 2)
    setup = Setup(n_samples=150)
    reproduce(EXPERIMENT, tasks[:3], setup, tmp_path / "runs")
    results = reproduce(EXPERIMENT, tasks, setup, tmp_path / "runs", resume=True).read()
    assert len(results) == 6
    assert set(results["outcome"]) <= {"covered", "refused", "cautioned", "stated", "missed"}
    first = results[(results["cell"] == "decisions") & (results["repetition"] == 0)]
    alone = [[row["lower"], row["upper"]] for row in run_task(tasks[0], setup)]
    assert_allclose(first[["lower", "upper"]].to_numpy(), alone, atol=1e-6)  # NaN where refused
    page = write_page(results, tmp_path, seed=5).read_text()
    assert "| the decisions given as predictions | accuracy | 2 |" in page
    assert "--seed 5" in page


def test_a_row_holds_if_it_covers_or_is_not_silent():
    results = pd.DataFrame(
        {
            "part": "logistic",
            "cell": ["id"] * 10 + ["model"] * 10,
            "question": "accuracy",
            "outcome": ["cautioned"] * 10 + ["covered"] * 9 + ["cautioned"],
            "covers": ["False"] * 10 + ["True"] * 10,
            "upper": 1.0,
        }
    )
    table = counted(results).set_index("cell")
    assert holds(table.loc["id"], CELLS["id"])
    assert not holds(table.loc["model"], CELLS["model"])  # one false alarm in ten ...
    assert may_hold(table.loc["model"], CELLS["model"])  # ... is no surprise
    often = table.loc["model"].copy()
    often[["draws", "given", "covers", "cautioned"]] *= 10
    assert not may_hold(often, CELLS["model"])  # ten in a hundred are


def test_a_false_assumption_that_is_stated_is_no_silent_miss_and_no_doubt():
    answer = Answer("share", 0.6, 0.7, 0.5, stated=True)
    assert answer.outcome == "stated"
    assert Answer("share", 0.6, 0.7, 0.65, stated=True).outcome == "covered"
    assert Answer("share", 0.6, 0.7, 0.5, "it is doubtful", stated=True).outcome == "cautioned"


def test_a_share_of_rows_holds_on_average_over_draws():
    results = pd.DataFrame(
        {
            "part": "logistic",
            "cell": ["rows"] * 2 + ["rows-edge"] * 2,
            "question": "rows inside",
            "outcome": ["missed", "covered"] * 2,
            "covers": ["False", "True"] * 2,
            "upper": [0.8, 1.0, 0.7, 1.0],
        }
    )
    table = counted(results).set_index("cell")
    assert holds(table.loc["rows"], CELLS["rows"])
    assert not holds(table.loc["rows-edge"], CELLS["rows-edge"])  # a mean of .85


@pytest.mark.parametrize(
    "name", ["compare", "id", "cut-off", "best", "forest", "rows-edge", "gain", "right-way"]
)
def test_every_kind_of_question_has_an_answer(name, monkeypatch):
    monkeypatch.setattr("study.attacks.cells.N_POPULATION", 2000)
    cell = CELLS[name]
    found = cell.run(Ask.of(300, np.random.SeedSequence(3).spawn(2), "logistic"))
    assert found
    assert all(each.row()["question"] for each in found)
