"""Weighted bins with one sort are those that scikit-learn finds with many, to the last bit."""

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.ensemble._hist_gradient_boosting import binning

from selective_labels.nuisance.models import weighted_bins
from selective_labels.nuisance.models.encoders import fit_weighted

pytestmark = pytest.mark.skipif(not weighted_bins.SLOW, reason="elsewhere: a scikit-learn with slow bins")
WEIGHTS = {
    "ones": lambda rng, n: np.ones(n),
    "counts with zeros": lambda rng, n: rng.integers(0, 4, n).astype(float),
    "any": lambda rng, n: rng.exponential(size=n),
    "far apart": lambda rng, n: np.exp(rng.normal(0, 8, n)),
}
COLUMNS = {
    "numbers": lambda rng, n: rng.normal(size=n),
    "ties": lambda rng, n: np.round(rng.normal(size=n), 2),
    "holes": lambda rng, n: np.where(rng.random(n) < 0.2, np.nan, rng.normal(size=n)),
    "few values": lambda rng, n: rng.integers(0, 9, n).astype(float),
    "one value": lambda rng, n: np.full(n, 3.0),
    "infinite": lambda rng, n: np.where(rng.random(n) < 0.1, np.inf, rng.normal(size=n)),
}


@pytest.mark.parametrize("weights", WEIGHTS)
@pytest.mark.parametrize("column", COLUMNS)
def test_thresholds_are_those_of_scikit_learn(column, weights):
    rng = np.random.default_rng(0)
    for n_rows, max_bins in ((300, 255), (1000, 255), (1000, 16)):
        values, weight = COLUMNS[column](rng, n_rows), WEIGHTS[weights](rng, n_rows)
        assert_array_equal(
            weighted_bins.find_thresholds(values, max_bins, weight),
            weighted_bins._theirs(values, max_bins, sample_weight=weight),
        )


def test_a_weighted_fit_does_not_sort_for_every_quantile(monkeypatch):
    rng = np.random.default_rng(0)
    X, weight = rng.normal(size=(400, 2)), rng.uniform(0.5, 2.0, 400)
    trees, y = HistGradientBoostingClassifier(max_iter=5), (X[:, 0] > 0).astype(int)
    wanted = trees.fit(X, y, sample_weight=weight).predict_proba(X)
    monkeypatch.setattr(binning, "_weighted_percentile", None)  # whoever asks for it fails
    assert_array_equal(fit_weighted(trees, X, y, weight).predict_proba(X), wanted)


def test_scikit_learn_is_as_before_outside_our_fits():
    with weighted_bins.sorting_once():
        with weighted_bins.sorting_once():
            pass
        assert binning._find_binning_thresholds is weighted_bins.find_thresholds  # the outer fit goes on
    assert binning._find_binning_thresholds is weighted_bins._theirs
