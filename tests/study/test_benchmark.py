"""The benchmark of the field: what contestants see, how gains are counted, and that a run goes on."""

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from selective_labels import InputError
from study.benchmark import contestants, experiment, modes, modes_page, numbers, page
from study.benchmark.cases import Cases, halved
from study.benchmark.tidy import tidy_cells
from study.engine import reproduce
from study.tasks import Setup

SAMPLES = 240


@pytest.fixture
def folder(tmp_path):
    """Three tidy tables: with truth and cases, without truth, and one whose labels are simulated."""
    generator = np.random.default_rng(0)
    n = 400
    frame = pd.DataFrame(generator.standard_normal((n, 2)), columns=["x_a", "x_priors_count"])
    frame["x_kind"] = generator.choice(["s", "t"], n)
    frame["z"], frame["d"] = generator.integers(4, size=n), generator.integers(2, size=n)
    truth = (frame["x_a"] + generator.standard_normal(n) > 0).astype(int)
    frame["y"] = truth.where(frame["d"] == 1)
    for name, table in {
        "human_compas_dressel_farid_2018": frame.assign(y_true=truth, case_id=np.arange(n) // 2),
        "zambia": frame,
        "philadelphia_bail_stevenson_2018": frame.assign(y_true=truth),
    }.items():
        (tmp_path / name).mkdir()
        table.to_csv(tmp_path / name / "tidy.csv.gz", index=False)
    return tmp_path


def test_cells_of_a_folder(folder):
    cells = tidy_cells(folder)
    assert set(cells) == {
        "human-all",
        "human-no-priors",
        "human-no-record",
        "human-no-record-charge",
        "human-no-record-charge-age",
        "zambia",
        "philadelphia-simulated",
    }
    assert cells["human-all"].truth
    assert not cells["zambia"].truth
    halves = cells["human-no-priors"].draw(False, np.random.SeedSequence(0), SAMPLES)
    assert "x_priors_count" not in halves.train.X
    assert not set(halves.train.groups) & set(halves.test.groups), "rows of a case stay together"


def test_strata_are_named_and_not_named(folder):
    path = folder / "human_compas_dressel_farid_2018" / "tidy.csv.gz"
    pd.read_csv(path).assign(block_num=1).to_csv(path, index=False)
    cells = tidy_cells(folder)
    named, unnamed = (
        cells[name].draw(False, np.random.SeedSequence(0), SAMPLES).train
        for name in ("human-all", "human-all-no-strata")
    )
    assert (named.strata == 1).all()
    assert unnamed.strata is None
    assert_array_equal(named.y, unnamed.y)


def test_the_modes_on_a_small_draw(tmp_path):
    chosen = modes.modes_experiment(None)
    tasks = modes.modes_tasks(chosen, None, cells=["not-additive-n5000"], repetitions=2)
    rows = reproduce(chosen, tasks, Setup(n_samples=400), tmp_path).read()
    assert len(rows) == 4
    assert ((rows["labeled only"] < rows["all labels"]) & (rows["control"] > rows["wrong control"])).all()
    assert (rows["refused have more"] > 0).all(), "the right direction is right"
    alone = rows[rows["mode of auto"] == "labeled-only"]
    assert_array_equal(alone["auto"], alone["labeled only"])
    text = modes_page.write_modes_page(rows, tmp_path)[0].read_text()
    assert "not-additive-n5000, mirrored | 2 |" in text


def test_harm_is_named_on_the_page_of_the_modes():
    names = dict.fromkeys((*modes.METHODS,), 0.7) | {
        f"cost of {who}, {dear}": 0.5 for who in ("auto", "labeled only") for dear in modes.COSTS
    }
    draws = [names | {"contradicted": False, "cell": "one", "mirrored": False}] * 3
    harmless, cheap = modes_page.verdicts(pd.DataFrame(draws))
    assert "in 0 of 1 tables" in harmless
    assert "in 0 of 2." in cheap
    harmful, dear = modes_page.verdicts(
        pd.DataFrame(draws).assign(auto=0.69, **{"cost of auto, misses": 0.6})
    )
    assert "in 1 of 1 tables and directions: one -1.0 (0.0)" in harmful
    assert "one (misses) +0.1000" in dear


def test_simulated_labels_go_with_the_decision_and_turn_round(folder):
    draw = tidy_cells(folder)["philadelphia-simulated"].draw
    seen_minus_all = []
    for mirrored in (False, True):
        cases = draw(mirrored, np.random.SeedSequence(0), 200).train
        seen_minus_all.append(cases.y[cases.y >= 0].mean() - cases.y_true.mean())
    # Confounding of 3 puts the two means some ten points apart; standard errors are below five.
    assert seen_minus_all[0] < 0 < seen_minus_all[1]


def test_contestants_never_see_what_was_not_seen():
    cases = Cases(np.zeros((4, 1)), np.array([0, -1, 1, -1]), np.array([0, 1, 0, 1]), np.array([0, 1, 1, 0]))
    data = cases.data()
    assert data.y.tolist() == [0, -1, 1, -1]
    assert not [name for name, value in vars(data).items() if value is cases.y_true]


def test_a_half_has_no_more_rows_than_asked():
    cases = Cases(np.zeros((100, 1)), np.zeros(100), np.zeros(100))
    halves = halved(cases, np.random.SeedSequence(0), 30)
    assert (len(halves.train.y), len(halves.test.y)) == (30, 30)


def test_others_take_part(tmp_path):
    theirs = tmp_path / "theirs.py"
    theirs.write_text("LEARNERS = {'mine, linear': lambda data, seed: None}")
    assert "mine, linear" in contestants.field((theirs,)).learners
    theirs.write_text("EVALUATORS = {'none': None}")
    with pytest.raises(InputError, match="'none' is taken"):
        contestants.field((theirs,))
    theirs.write_text("nothing = 1")
    with pytest.raises(InputError, match="defines neither"):
        contestants.field((theirs,))


def test_a_folder_without_tables_is_refused(tmp_path):
    with pytest.raises(InputError, match="tidy"):
        experiment.cells_of(tmp_path)


def made_up_rows(mine, mode=""):
    """One table, three draws; `mine` is the accuracy of a contestant as designed and mirrored."""
    known = {
        "selected, linear": 0.7,
        "full, linear": 0.8,
        "selected, smoothed linear": 0.74,
        "full, smoothed linear": 0.84,
        "selected, direct linear": 0.71,
        "full, direct linear": 0.81,
    }
    rows = [
        ("one", mirrored, repetition, "learn", name, mode * (name == "mine, smoothed linear"), value)
        for mirrored, value_of_mine in zip((False, True), mine, strict=True)
        for repetition in range(3)
        for name, value in {
            **known,
            "mine, smoothed linear": value_of_mine + 0.001 * repetition,
        }.items()
    ]
    columns = ["cell", "mirrored", "repetition", "kind", "contestant", "mode", "accuracy"]
    return pd.DataFrame(rows, columns=columns)


def test_the_worse_direction_counts_and_losses_are_to_what_people_do():
    table = numbers.by_direction(made_up_rows((0.79, 0.66)))
    (line,) = page.losses(table, clear=True)
    assert line == "mine, smoothed linear on one (mirrored): -3.9 (0.1) points, draws: 3"
    # The naive learner and the oracle are smoothed, as the contestant is: (.661 - .74) / (.84 - .74).
    assert page.closed(table)["mine"].tolist() == ["-0.79 (0.01)"]


def test_a_loss_of_one_draw_is_told_and_not_called_clear():
    rows = made_up_rows((0.79, 0.66)).query("repetition == 0")
    table = numbers.by_direction(rows)
    assert list(page.losses(table, clear=True)) == []
    assert list(page.losses(table, clear=False)) == [
        "mine, smoothed linear on one (mirrored): -4.0 points, draws: 1"
    ]


def test_a_gain_by_smoothing_is_no_gain():
    table = numbers.by_direction(made_up_rows((0.739, 0.739))).set_index("contestant")
    mine = table.loc["mine, smoothed linear"]
    assert_allclose(mine["over_naive"], 0.04)
    assert_allclose(mine[["gain", "closed"]].to_numpy(dtype=float), 0.0, atol=1e-12)


def test_who_gave_up_is_measured_against_direct_fits():
    table = numbers.by_direction(made_up_rows((0.709, 0.709), mode="labeled-only")).set_index("contestant")
    assert_allclose(table.loc["mine, smoothed linear", "gain"], 0.0, atol=1e-12)


def test_no_share_is_told_of_a_gap_that_is_not_there():
    rows = made_up_rows((0.79, 0.79)).replace({"accuracy": {0.84: 0.742}})
    assert page.closed(numbers.by_direction(rows))["mine"].tolist() == ["–"]


def test_coverage_is_counted_where_the_truth_is_known_in_the_worse_direction():
    frame = pd.DataFrame(
        {
            "cell": "one",
            "kind": "evaluate",
            "contestant": "mine",
            "mirrored": [False, True, True, True],
            "ci_lower": [0.5, 0.5, 0.6, np.nan],
            "ci_upper": [0.7, 0.7, 0.8, np.nan],
            "truth": [0.6, 0.6, 0.5, 0.6],
        }
    )
    assert page.intervals(frame)["mine"].tolist() == ["1 of 2, width 0.20, none in 1"]


def test_every_learner_has_its_naive_one_and_its_oracle():
    """The learner is the same whether it sees all labels or some; decision-makers change nothing."""
    generator = np.random.default_rng(0)
    X = generator.standard_normal((200, 2))
    y = (X[:, 0] + generator.standard_normal(200) > 0).astype(int)
    cases = Cases(X, y, np.arange(200) % 3, y)
    for base in contestants.BASES:
        predicted = contestants.selected(base, cases.data(), 0).predict(X)
        turned = Cases(X, y, np.zeros(200, dtype=int), y).data()
        assert (predicted == contestants.selected(base, turned, 0).predict(X)).all(), base


def test_a_small_run_goes_on_and_has_a_page(folder, tmp_path, monkeypatch):
    """Two cells, one draw: with truth and without; a contestant that fails is counted."""

    def broken(data, seed):
        raise RuntimeError("no")

    some = {name: contestants.LEARNERS[name] for name in ("selected, linear", "ipw, linear")}
    monkeypatch.setattr(contestants, "LEARNERS", {**some, "broken, linear": broken})
    monkeypatch.setattr(contestants, "EVALUATORS", {"none": contestants.EVALUATORS["none"]})
    monkeypatch.setattr(experiment, "BASES", ("linear",))
    chosen = experiment.experiment(folder)
    tasks = experiment.tasks_of(chosen, folder, cells=["human-no-priors", "zambia"], repetitions=1)
    assert [task.mirrored for task in tasks] == [False, False]
    setup = Setup(n_samples=SAMPLES, data=folder)
    out = tmp_path / "out"
    reproduce(chosen, tasks[:1], setup, out, resume=True)
    first = (out / "results.csv").read_text()
    rows = reproduce(chosen, tasks, setup, out, resume=True).read()
    assert (out / "results.csv").read_text().startswith(first), "what is done is not done again"
    assert rows[rows["cell"] == "zambia"]["kind"].unique().tolist() == ["evaluate"]
    assert rows.loc[rows["contestant"] == "broken, linear", "failure"].tolist() == ["RuntimeError: no"]
    text = page.write_page(out, tmp_path / "page")[0].read_text()
    assert text.index("Where learners lose to plain training") < text.index("Share of the gap closed")
    assert "| learn | broken, linear | nan | 1 | 1 |" in text
