"""Learning with a known share on FICO's HELOC data, refused cases worse and then better than accepted ones.

The rule was frozen before these seeds were drawn. The share of good loans is that of the training rows, which
a bureau would know; no unseen label is used otherwise.
"""

import warnings
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import selective_labels as sl
from selective_labels.assumptions import Informed, Instrument, Prevalence

pytestmark = pytest.mark.statistical

HELOC = Path(__file__).parents[3] / "shared" / "data" / "heloc_fico" / "heloc_dataset_v1.csv.gz"
SEEDS = range(42000, 42010)


def logistic(X, y):
    return make_pipeline(StandardScaler(), LogisticRegression(max_iter=1000)).fit(X, y)


def measured(seed, mirrored):
    sample = sl.datasets.make_fico(
        HELOC, selection="uc", alpha=0.5, hidden="boosting", mirrored=mirrored, random_state=seed
    )
    train, test = train_test_split(np.arange(len(sample.y)), test_size=0.3, random_state=seed)
    X, truth = sample.X.to_numpy(dtype=float), sample.y_true
    labeled = train[sample.decision[train] == 1]
    known = Prevalence(1, float(truth[train].mean()))
    makers = {"decision_maker": sample.decision_maker[train]}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        learner = sl.UCLClassifier(assumption=Instrument() & known, random_state=0, n_jobs=1)
        learner.fit(X[train], sample.y[train], **makers)
        diagnosis = sl.evaluate(
            0,
            X[train],
            sample.y[train],
            **makers,
            assumption=Instrument() & Informed(0) & known,
            nuisance="logistic",
            random_state=0,
            n_jobs=1,
        )
    return {
        "mirrored": mirrored,
        "labeled": logistic(X[labeled], truth[labeled]).score(X[test], truth[test]),
        "share": learner.score(X[test], truth[test]),
        "instrument": float(np.mean(learner.predict_by_instrument(X[test]) == truth[test])),
        "full": logistic(X[train], truth[train]).score(X[test], truth[test]),
        "contradicted": diagnosis.empty,
    }


@pytest.mark.skipif(not HELOC.exists(), reason="optional: the HELOC file of FICO is not beside the project")
def test_a_known_share_gains_where_the_refused_are_worse_and_loses_little_where_they_are_better():
    rows = pd.DataFrame([measured(seed, mirrored) for seed in SEEDS for mirrored in (False, True)])
    gain = rows["share"] - rows["labeled"]
    summary = rows.groupby("mirrored").mean()
    errors = gain.groupby(rows["mirrored"]).sem()
    print(summary.round(3).to_string(), errors.round(4).to_string(), sep="\n")
    assert gain[~rows["mirrored"]].mean() >= 0.05
    assert gain[rows["mirrored"]].mean() >= -0.02
    assert rows.loc[rows["mirrored"], "contradicted"].sum() >= 9
    assert rows.loc[~rows["mirrored"], "contradicted"].sum() <= 1
