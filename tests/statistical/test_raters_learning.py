"""Learning from real decisions, features hidden step by step: `auto` against the labeled rows alone.

Raters of Dressel and Farid (2018): who predicts no reoffence "releases", and only then is the label seen. All
labels are known to us, so accuracy is that on all cases of the test half. Raters saw every feature; what is
hidden from the learner is real confounding, and grows from step to step.
"""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from sklearn.model_selection import GroupShuffleSplit

import selective_labels as sl
from selective_labels.assumptions import Informed, Instrument

pytestmark = pytest.mark.statistical

RATERS = Path(__file__).parents[3] / "shared" / "data" / "human_compas_dressel_farid_2018" / "tidy.csv.gz"
N_SPLITS = 20
# The score of a company, which raters did not see, is never used.
SEEN = [
    "x_race",
    "x_sex",
    "x_age",
    "x_charge_degree",
    "x_juv_fel_count",
    "x_juv_misd_count",
    "x_priors_count",
]
HIDDEN = {
    "nothing": [],
    "priors": ["x_priors_count"],
    "and juvenile counts": ["x_priors_count", "x_juv_fel_count", "x_juv_misd_count"],
    "and charge": ["x_priors_count", "x_juv_fel_count", "x_juv_misd_count", "x_charge_degree"],
    "and age": ["x_priors_count", "x_juv_fel_count", "x_juv_misd_count", "x_charge_degree", "x_age"],
}


@pytest.mark.skipif(not RATERS.exists(), reason="optional: the raters' decisions are not beside the project")
@pytest.mark.filterwarnings("ignore::UserWarning")  # weak instruments and closed gates are what is measured
@pytest.mark.parametrize("hidden", HIDDEN)
def test_auto_is_nowhere_below_the_labeled_rows(hidden):
    table = pd.read_csv(RATERS)
    found = pd.DataFrame([accuracies(table, hidden, *half) for half in halves(table)])
    gain = found["auto"] - found["labeled only"]
    error = gain.std(ddof=1) / np.sqrt(len(gain))
    print(f"hidden: {hidden}; auto - labeled only {gain.mean():+.4f} (s.e. {error:.4f})")
    print(found.mean(numeric_only=True).round(4).to_string(), found["mode"].value_counts().to_dict())
    assert gain.mean() >= -0.003 - 2.0 * error


def halves(table, n_splits=N_SPLITS):
    """Training and test rows; a case is in one of the two with all its raters."""
    splits = GroupShuffleSplit(n_splits, test_size=0.5, random_state=0)
    return list(splits.split(table, groups=table["case_id"]))


def accuracies(table, hidden, train, test):
    """Accuracy on the test half, of `auto`, of the labeled rows alone, and of the learner with all labels."""
    kept = [name for name in SEEN if name not in HIDDEN[hidden]]
    truth, features = table["y_true"].to_numpy(), table[kept].to_numpy(dtype=float)
    y = np.where(table["d"] == 1, truth, -1)
    roles = {"decision_maker": "z", "strata": "block_num", "groups": "case_id"}
    roles = {role: table[column].to_numpy()[train] for role, column in roles.items()}
    auto = learner("auto").fit(features[train], y[train], **roles)
    worse = Instrument() & Informed(1)
    models = {
        "auto": auto,
        "direction": learner("auto", assumption=worse).fit(features[train], y[train], **roles),
        "control": sl.SelectedSampleClassifier("linear", refused_odds=1.28).fit(features[train], y[train]),
        "labeled only": sl.SelectedSampleClassifier("linear").fit(features[train], y[train]),
        "all labels": sl.SelectedSampleClassifier("linear").fit(features[train], truth[train]),
    }
    right = {name: np.mean(each.predict(features[test]) == truth[test]) for name, each in models.items()}
    return {**right, "concentration": auto.concentration_, "mode": auto.mode_}


def learner(mode, **settings):
    return sl.UCLClassifier(mode, "linear", nuisance="logistic", random_state=0, n_jobs=1, **settings)
