"""Intervals where labels are shared within cases: coverage, by simulation and on real raters."""

from functools import partial
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from scipy.stats import binom
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GroupShuffleSplit
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import selective_labels as sl
from tests.panel_designs import make_panels, truth

pytestmark = pytest.mark.statistical

N_CASES, N_REPLICATIONS, FALSE_ALARM = 1500, 100, 1e-6
RATERS = Path(__file__).parents[3] / "shared" / "data" / "human_compas_dressel_farid_2018" / "tidy.csv.gz"
N_SPLITS = 20
FEATURES = ["x_race", "x_sex", "x_age"]


def above(X):
    return (X[:, 0] > 0.3).astype(int)


def ones(X):
    return np.ones(len(X), dtype=int)


def summaries(results, real):
    """One row for each assumption: whether the interval covers, and how wide it is."""
    return [
        {
            "assumption": each.assumption,
            "covers": each.ci_lower <= real <= each.ci_upper,
            "width": each.upper - each.lower,
            "interval": each.ci_upper - each.ci_lower,
        }
        for each in results
    ]


def replicate(rule, real, edge, number):
    """Results of one sample under no assumption and with the panel as instrument."""
    sample = make_panels(N_CASES, [7, number], edge=edge)
    data = sl.SelectiveLabels.from_arrays(sample.X, sample.y, **sample.roles)
    results = sl.evaluate(
        rule(sample.X),
        data,
        assumption=["none", "instrument"],
        nuisance="logistic",
        n_jobs=1,
        random_state=number,
    )
    return summaries(results, real)


@pytest.mark.parametrize(("rule", "edge"), [(above, False), (ones, True)], ids=["inside", "edge"])
def test_coverage_with_a_hidden_confounder(rule, edge):
    one = partial(replicate, rule, truth(rule, edge), edge)
    rows = [row for number in range(N_REPLICATIONS) for row in one(number)]
    summary = pd.DataFrame(rows).groupby("assumption").mean()
    print(summary.round(3).to_string())
    least = binom.ppf(FALSE_ALARM, N_REPLICATIONS, 0.95) / N_REPLICATIONS
    assert (summary["covers"] >= least).all()
    assert summary.loc["instrument", "width"] < summary.loc["none", "width"], "panels buy something"


def evaluate_split(table, train, test):
    """Bounds of a classifier that was trained on what raters released, and what they should contain."""
    X, rows = table[FEATURES].to_numpy(dtype=float), table.iloc[test]
    released = train[table["d"].to_numpy()[train] == 1]
    classifier = make_pipeline(StandardScaler(), LogisticRegression())
    classifier.fit(X[released], table["y_true"].iloc[released])
    roles = {"decision": rows["d"], "decision_maker": rows["z"], "groups": rows["case_id"]}
    # A block of cases had one panel, and cases came to blocks at random: panels are compared across blocks.
    data = sl.SelectiveLabels.from_arrays(X[test], rows["y"], **roles, share_labels=True)
    real = np.mean(classifier.predict(X[test]) == rows["y_true"])
    assumptions = ["none", "instrument"]
    results = sl.evaluate(classifier, data, assumption=assumptions, nuisance="logistic", random_state=0)
    return summaries(results, real)


@pytest.mark.skipif(not RATERS.exists(), reason="file: the raters' decisions are not beside the project")
@pytest.mark.parametrize("raters", ["all", "no_race", "race"])
def test_sharing_settles_nearly_everything_about_real_raters(raters):
    table = pd.read_csv(RATERS)
    if raters != "all":
        table = table[table["condition"] == raters].reset_index(drop=True)
    splits = GroupShuffleSplit(N_SPLITS, test_size=0.5, random_state=0).split(table, groups=table["case_id"])
    rows = [row for train, test in splits for row in evaluate_split(table, train, test)]
    summary = pd.DataFrame(rows).groupby("assumption").mean()
    summary["covers"] *= N_SPLITS
    print(raters, summary.round(3).to_string(), sep="\n")
    assert (summary["width"] <= 0.10).all()
    assert (summary["covers"] >= 17).all()
