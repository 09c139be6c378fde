"""A table of a few rows takes moments, however many threads the machine offers."""

import time
from functools import wraps

import numpy as np
import pytest
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.utils._openmp_helpers import _openmp_effective_n_threads
from threadpoolctl import threadpool_limits

from selective_labels import UCLClassifier, evaluate

X = np.random.default_rng(0).normal(size=(8, 2))
Y = [0, 1, None, 1, 0, None, 1, 0]
WHO = ["a", "b"] * 4
# As was asked.
SECONDS = 12.0


@pytest.mark.parametrize(
    "ask",
    [
        lambda: UCLClassifier("partial", "linear", random_state=0).fit(X, Y, decision_maker=WHO),
        lambda: UCLClassifier("point", "linear", random_state=0).fit(X, Y, decision_maker=WHO),
        lambda: evaluate([1] * 8, X, Y, decision_maker=WHO, random_state=0),
    ],
    ids=["partial", "point", "evaluate"],
)
@pytest.mark.filterwarnings("ignore")
def test_eight_rows_with_the_default_models(ask, monkeypatch):
    """Broke: trees of eight rows, each on all threads, waited for one another and were not done in 12 s."""
    threads = []
    learn = HistGradientBoostingClassifier.fit

    @wraps(learn)
    def fit(self, *arguments, **options):
        threads.append(_openmp_effective_n_threads())
        return learn(self, *arguments, **options)

    monkeypatch.setattr(HistGradientBoostingClassifier, "fit", fit)
    began = time.process_time()
    with threadpool_limits(4):
        ask()
    assert set(threads) == {1}
    assert time.process_time() - began < SECONDS
