"""The page is made from whatever results there are, and says what they say."""

import json
import re
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from study.engine import RESULT_COLUMNS, TIME_COLUMNS
from study.page import write_page
from study.page.claims import _part_of, claims_table
from study.page.commands import missing_commands, missing_means
from study.page.estimates import Estimate, margin
from study.page.numbers import constant_share, gaps_closed
from study.page.published import beside, read_published
from study.page.reading import read_results, read_times
from study.page.side_by_side import FIGURES, side_by_side
from study.page.tables import commits
from study.page.verdicts import DOES_NOT, OTHERWISE, REPRODUCES, verdict
from study.table import TaskTable
from study.tasks import Task

ROOT = Path(__file__).parents[2]
METHODS = {"selected": 0.5, "ipw": 0.5, "no-instrument": 0.5, "partial": 0.55, "point": 0.58, "full": 0.6}


def write_results(folder, experiments=("synthetic", "fico", "strong"), n_repetitions=4):
    """Made-up results: partial closes half of the gap as designed, and loses when mirrored."""
    table = TaskTable(folder / "results.csv", RESULT_COLUMNS)
    noise = np.random.default_rng(0)
    cells = {"synthetic": "uc-y0.3-d0.3", "fico": "nucem-a0.5", "strong": "additive"}
    for experiment in experiments:
        for mirrored in (False, True):
            for repetition in range(n_repetitions):
                task = Task(experiment, "honest", cells[experiment], mirrored, "main", repetition)
                shift = noise.normal(scale=0.001)
                accuracies = {**METHODS, "partial": 0.48} if mirrored else METHODS
                table.append(
                    task,
                    [
                        {
                            "method": method,
                            "classifier": "linear",
                            "accuracy": value + shift,
                            "constant": 0.0,
                            "mode": "labeled-only" if method == "point" else "",
                        }
                        for method, value in accuracies.items()
                    ],
                )
    return folder


def write_released(folder, n_repetitions=3):
    table = TaskTable(folder / "results.csv", RESULT_COLUMNS)
    noise = np.random.default_rng(1)
    for repetition in range(n_repetitions):
        task = Task("synthetic", "published", "uc-y0.3-d0.3", False, "usual", repetition)
        rows = [
            {
                "method": method,
                "classifier": "network",
                "setting": f"{kind} of six splits",
                "accuracy": value,
                "constant": float(method == "selected"),
                "bayes_accuracy": 0.59,
                "minimax_accuracy": 0.52,
                "selected_accuracy": 0.51,
            }
            for method, value in METHODS.items()
            for kind in ("best", "mean")
        ]
        table.append(task, rows)
        for mirrored in (False, True):
            steps = [
                {
                    "method": method,
                    "classifier": "network",
                    "setting": f"steps={n}",
                    # With and without the instrument alike, and lost by training on.
                    "accuracy": 0.55 + 0.05 * (n == 200 and method != "selected") + noise.normal(scale=0.001),
                }
                for method in ("selected", "partial", "no-instrument")
                for n in (200, 5000)
            ]
            table.append(Task("artefact", "published", "uc-y0.3-d0.3", mirrored, "all", repetition), steps)
    return folder


def write_means(folder):
    rows = [
        {"selection": "uc", "alpha_y": 0.3, "alpha_d": 0.3, "method": method, "mean_accuracy": value + 0.01}
        for method, value in METHODS.items()
    ]
    pd.DataFrame(rows).assign(std_accuracy=0.01).to_csv(folder / "synthetic.csv", index=False)
    return folder


def test_the_worse_direction_counts(tmp_path):
    gaps = gaps_closed(read_results([write_results(tmp_path, ["strong"])])).set_index("method")
    assert gaps.loc["partial", "closed"] == pytest.approx(0.5), "half of the gap as designed"
    assert gaps.loc["partial", "worse_closed"] == pytest.approx(-0.2), "a loss when mirrored"
    assert gaps.loc["point", "worse_closed"] == pytest.approx(0.8), "the same in both directions"
    assert gaps.loc["no-instrument", "worse_own"] == 0, "the control adds nothing to itself"


def test_without_a_gap_there_is_no_share(tmp_path):
    table = TaskTable(tmp_path / "results.csv", RESULT_COLUMNS)
    for mirrored in (False, True):
        for repetition in range(3):
            rows = [{"method": name, "classifier": "linear", "accuracy": 0.5} for name in METHODS]
            # Full is better or worse by chance only.
            rows[-1]["accuracy"] = 0.5 + 0.01 * (repetition - 1)
            table.append(Task("strong", "honest", "additive", mirrored, "main", repetition), rows)
    assert gaps_closed(read_results([tmp_path]))["worse_closed"].isna().all()


def test_published_means_meet_ours_cell_by_cell(tmp_path):
    (tmp_path / "means").mkdir()
    (tmp_path / "ours").mkdir()
    published = read_published(write_means(tmp_path / "means"))
    both = beside(read_results([write_released(tmp_path / "ours")]), published, "synthetic")
    assert len(both) == len(METHODS), "every published mean has its counterpart"
    np.testing.assert_allclose(both["difference"], -0.01, atol=1e-9)
    assert both["mean_of_splits"].notna().all(), "beside the best split stands the mean"


def test_the_page_is_made_again_from_what_it_wrote(tmp_path):
    for name in ("honest", "released", "means"):
        (tmp_path / name).mkdir()
    results = [write_results(tmp_path / "honest"), write_released(tmp_path / "released")]
    means = write_means(tmp_path / "means")
    first = write_page(results, tmp_path / "page", means)
    again = write_page([tmp_path / "page"], tmp_path / "again", means)
    for one, other in zip(first, again, strict=True):
        assert one.read_bytes() == other.read_bytes(), "the page rests on the CSV files beside it"


def test_the_page_says_what_the_results_say(tmp_path):
    (tmp_path / "released").mkdir()
    write_page([write_released(tmp_path / "released")], tmp_path / "page")
    page = (tmp_path / "page" / "tables" / "claims.md").read_text()
    assert "of the gain is the instrument's" in page
    assert "of the gain is left" in page
    shares = [int(each) for each in re.findall(r"at most (\d+)% of the gain", page)]
    assert len(shares) == 2
    assert max(shares) < 10, "with and without the instrument are alike, and nothing is left"
    page = (tmp_path / "page" / "study.md").read_text()
    assert "were not given" in page, "no published means, and the page says so"


def estimate(low, high):
    """An estimate with this confidence interval."""
    return Estimate((low + high) / 2, (high - low) / 2 / margin(1.0, 10), 10)


@pytest.mark.parametrize(
    ("gain", "part", "follows"),
    [
        ((-0.01, 0.03), (0.01, 0.02), "no clear gain"),
        ((0.03, 0.05), (0.01, 0.03), "50% of the gain"),
        ((0.03, 0.05), (-0.01, 0.01), "at most 25% of the gain"),
        ((0.03, 0.05), (-0.03, -0.01), "at most 0% of the gain"),
        ((0.03, 0.05), (-0.01, 0.04), "undecided"),
    ],
)
def test_what_is_not_clear_is_not_called_nothing(gain, part, follows):
    assert follows in _part_of(estimate(*gain), estimate(*part), "left")


def test_a_design_without_a_gap_cannot_tell(tmp_path):
    table = TaskTable(tmp_path / "results.csv", RESULT_COLUMNS)
    noise = np.random.default_rng(2)
    for mirrored in (False, True):
        for repetition in range(4):
            rows = [
                {"method": name, "classifier": "linear", "accuracy": 0.6 + noise.normal(scale=0.01)}
                for name in METHODS
            ]
            table.append(Task("fico", "honest", "nucem-a0.5", mirrored, "main", repetition), rows)
    write_page([tmp_path], tmp_path / "page")
    assert "this design cannot tell" in (tmp_path / "page" / "tables" / "claims.md").read_text()


def synthetic_uc(tmp_path, honest_partial, n_repetitions=4):
    """The figure of the synthetic UC cells, and results in which the honest partial learner gains so much."""
    for name in ("honest", "released", "means"):
        (tmp_path / name).mkdir(parents=True)
    table = TaskTable(tmp_path / "honest" / "results.csv", RESULT_COLUMNS)
    noise = np.random.default_rng(3)
    for mirrored in (False, True):
        for repetition in range(n_repetitions):
            rows = [
                {
                    "method": method,
                    "classifier": "linear",
                    "accuracy": (honest_partial if method == "partial" else value) + noise.normal(scale=1e-4),
                    "minimax_accuracy": 0.56,
                }
                for method, value in METHODS.items()
            ]
            table.append(Task("synthetic", "honest", "uc-y0.3-d0.3", mirrored, "main", repetition), rows)
    write_released(tmp_path / "released")
    rows = read_results([tmp_path / "honest", tmp_path / "released"])
    figure = next(each for each in FIGURES if each.key == "synthetic-uc")
    return figure, rows, read_published(write_means(tmp_path / "means"))


def test_a_figure_reproduces_for_its_own_reason_only_with_an_instrument(tmp_path):
    own = verdict(*synthetic_uc(tmp_path / "own", honest_partial=0.55))
    assert own.words == REPRODUCES
    assert own.ours == pytest.approx(0.05), "partial learning minus the selected sample"
    assert (own.near, own.n_ours, own.n_published) == (6, 6, 6)
    other = verdict(*synthetic_uc(tmp_path / "other", honest_partial=0.5))
    assert other.words == OTHERWISE, "honestly, the same learner without an instrument does as well"
    figure, rows, published = synthetic_uc(tmp_path / "none", honest_partial=0.55)
    more = published.assign(published=published["published"] + 0.1 * (published["method"] == "partial"))
    assert verdict(figure, rows, more).words == DOES_NOT, "a third of the published gain is not the gain"


def test_a_claim_about_fits_that_fell_back_says_so(tmp_path):
    rows = read_results([write_results(tmp_path, ["strong"])])
    follows = claims_table(rows, read_published(None)).set_index("claim")["what follows"]
    assert "tests little" in follows["Point learning gains in the strong designs"]
    assert "tests little" not in follows["Partial learning gains in the strong designs"]


def test_a_verdict_has_its_shares(tmp_path):
    (tmp_path / "honest").mkdir()
    (tmp_path / "released").mkdir()
    (tmp_path / "means").mkdir()
    rows = read_results([write_results(tmp_path / "honest"), write_released(tmp_path / "released")])
    figure = next(each for each in FIGURES if each.key == "synthetic-uc")
    found = verdict(figure, rows, read_published(write_means(tmp_path / "means")))
    assert found.fallback == "100% of 8", "every point fit fell back"
    assert found.constant.startswith("released 0%"), "the constant rules are those of another method"
    assert found.control.startswith("same network without instrument: partial adds")


def test_published_ours_and_limits_stand_in_one_chart(tmp_path):
    marks = side_by_side(*synthetic_uc(tmp_path, honest_partial=0.55))
    sources = {"published", "published protocol", "honest", "honest, mirrored"}
    assert set(marks["source"]) == sources
    partial = marks[marks["method"] == "partial"].set_index("source")
    assert partial.loc["published protocol", "limit"] == 0.52, "of the released constants"
    assert partial.loc["honest", "limit"] == 0.56, "of the paper's"
    assert np.isnan(partial.loc["published", "limit"])
    point = marks[marks["method"] == "point"]
    assert point["limit"].isna().all(), "without NUCEM the limit of point learning is not the Bayes rule"


def test_missing_means_have_a_command(tmp_path):
    _, rows, published = synthetic_uc(tmp_path, honest_partial=0.55)
    assert missing_means(rows, published).empty
    missing = missing_means(rows[rows["method"] != "point"], published)
    assert missing["method"].tolist() == ["point"]
    assert missing_commands(missing) == (
        "python -m study reproduce synthetic --protocol published --parts point --cells uc-y0.3-d0.3 "
        "--out runs/published --resume"
    )


def test_rows_of_older_files_keep_no_shares(tmp_path):
    columns = [name for name in RESULT_COLUMNS if name not in ("mode", "constant")]
    table = TaskTable(tmp_path / "results.csv", columns)
    task = Task("strong", "honest", "additive", False, "main", 0)
    table.append(task, [{"method": "point", "classifier": "linear", "accuracy": 0.5}])
    rows = read_results([tmp_path])
    assert np.isnan(constant_share(rows))
    assert rows["mode"].tolist() == [""]


def test_the_page_says_which_commit_made_what(tmp_path):
    (tmp_path / "honest").mkdir()
    write_results(tmp_path / "honest", ["strong"], n_repetitions=2)
    times = TaskTable(tmp_path / "honest" / "times.csv", TIME_COLUMNS)
    for repetition, commit in ((0, "1234567"), (1, "12e4567")):
        task = Task("strong", "honest", "additive", False, "main", repetition)
        times.append(task, [{"seconds": 1.0, "processor_seconds": 1.0, "commit": commit}])
    made = commits(read_results([tmp_path / "honest"]), read_times([tmp_path / "honest"]))
    assert made["tasks"].tolist() == ["main 1 by 1234567; main 1 by 12e4567; main 2 by not kept"]


def test_the_stored_page_is_short():
    page = (ROOT / "study" / "results" / "study.md").read_text()
    assert len(page.split()) <= 1500
    claims = page.split("## Which rows")[0]
    assert "not kept" not in claims, "every claim has its share of fallbacks and of constant rules"


def test_the_page_says_what_it_took(tmp_path):
    (tmp_path / "honest").mkdir()
    write_results(tmp_path / "honest", ["strong"], n_repetitions=2)
    times = TaskTable(tmp_path / "honest" / "times.csv", TIME_COLUMNS)
    for repetition in (-1, 0, 1):
        task = Task("strong", "honest", "additive", False, "main", repetition)
        counted = {} if repetition < 0 else {"unconverged": repetition}
        times.append(task, [{"seconds": 200.0, "processor_seconds": 100.0, **counted}])
    write_page([tmp_path / "honest"], tmp_path / "page")
    page = (tmp_path / "page" / "tables" / "method.md").read_text()
    assert "| honest | strong | main | 2 | 2 | 2 | 5 | 1 |" in page, "the choice of settings takes time, too"


def test_means_that_no_chance_touches_are_named(tmp_path):
    (tmp_path / "means").mkdir()
    rows = [
        {"selection": "nucem", "alpha": 0.5, "method": "full", "estimator": name, "mean_accuracy": 0.71}
        for name in ("SVM", "AdaBoost")
    ]
    pd.DataFrame(rows).assign(std_accuracy=0.0).to_csv(tmp_path / "means" / "fico.csv", index=False)
    (tmp_path / "released").mkdir()
    table = TaskTable(tmp_path / "released" / "results.csv", RESULT_COLUMNS)
    for repetition in range(2):
        accuracies = {"SVM": 0.723, "AdaBoost": 0.72 + 0.01 * repetition}
        table.append(
            Task("fico", "published", "nucem-a0.5", False, "usual", repetition),
            [
                {"method": "full", "classifier": name, "setting": "best of six splits", "accuracy": value}
                for name, value in accuracies.items()
            ],
        )
    write_page([tmp_path / "released"], tmp_path / "page", tmp_path / "means")
    page = (tmp_path / "page" / "tables" / "published.md").read_text()
    assert "- SVM: 0.723, stored 0.710" in page
    assert "- AdaBoost:" not in page, "its repetitions differ"


def test_tasks_that_a_kill_cut_off_are_left_out(tmp_path):
    path = write_results(tmp_path, ["strong"]) / "results.csv"
    whole = read_results([tmp_path])
    for n_bytes in (2, 9, 60):
        path.write_bytes(path.read_bytes()[:-n_bytes])
        rows = read_results([tmp_path])
        assert len(rows) == len(whole) - len(METHODS), "the last task is gone, and nothing else"
        assert rows.dtypes.equals(whole.dtypes)


def test_runs_of_different_sizes_are_no_one_study(tmp_path):
    for name, samples in (("small", 60), ("whole", None)):
        (tmp_path / name).mkdir()
        write_results(tmp_path / name, ["strong"])
        (tmp_path / name / "run.json").write_text(json.dumps({"seed": 1, "samples": samples}))
    with pytest.raises(ValueError, match="--seed or --samples"):
        write_page([tmp_path / "small", tmp_path / "whole"], tmp_path / "page")
    write_page([tmp_path / "small"], tmp_path / "page")
    page = (tmp_path / "page" / "tables" / "method.md").read_text()
    assert "--seed 1 --samples 60" in page, "the commands say what made the results"


def test_no_results_are_an_error(tmp_path):
    with pytest.raises(ValueError, match="no results"):
        write_page([tmp_path], tmp_path / "page")
