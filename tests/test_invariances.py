"""What must not matter does not: order and names of rows, units of features, weights as repeated rows.

Order and number of partitions: tests/evaluation/partitioned/test_agreement.py.
"""

import numpy as np
import pandas as pd
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose

import selective_labels as sl
from selective_labels.datasets import make_decision_makers
from tests.evaluation.partitioned.tables import make_table

N, FOLDS = 240, 3
METRICS = ["accuracy", "share", "tpr", "f1"]
seeds = st.integers(0, 2**16)
few = settings(
    max_examples=3,
    derandomize=True,
    deadline=None,
    database=None,
    phases=[Phase.generate],
    suppress_health_check=list(HealthCheck),
)


class Cases:
    """A table with a guess of each case, and folds that go with the rows."""

    def __init__(self, seed):
        sample = make_decision_makers(N, n_classes=2, n_decision_makers=4, random_state=seed)
        self.X, self.y, self.who = sample.X, sample.y, sample.decision_maker
        self.guess = (sample.X[:, 0] > 0).astype(int)
        self.fold = np.random.default_rng(seed).permutation(N) % FOLDS
        self.weight = self.groups = None
        self.nuisance, self.propensity = "logistic", "auto"
        self.rng = np.random.default_rng(seed + 1)

    def take(self, rows):
        for name in ("X", "y", "who", "guess", "fold"):
            setattr(self, name, getattr(self, name)[rows])
        if self.weight is not None:
            self.weight = self.weight[rows]
        return self

    @property
    def fitting(self):
        rows = np.arange(len(self.y))
        folds = [(rows[self.fold != k], rows[self.fold == k]) for k in range(FOLDS)]
        return {"cv": folds, "nuisance": self.nuisance, "random_state": 0, "n_jobs": 1}

    @property
    def judging(self):
        return self.fitting | {"propensity": self.propensity}

    @property
    def roles(self):
        return {"decision_maker": self.who, "sample_weight": self.weight, "groups": self.groups}

    def ends(self, pos_label=None):
        found = sl.evaluate(
            self.guess, self.X, self.y, metric=METRICS, pos_label=pos_label, **self.roles, **self.judging
        )
        return np.array([(each.lower, each.upper) for each in found])

    def bounds(self, X=None):
        model = sl.UCLClassifier("partial", "linear", **self.fitting).fit(self.X, self.y, **self.roles)
        found = model.predict_bounds(self.X if X is None else X)
        return np.stack([found.lower, found.upper])


@few
@given(seeds)
def test_the_order_of_rows(seed):
    order = Cases(seed).rng.permutation(N)
    assert_allclose(Cases(seed).take(order).ends(), Cases(seed).ends(), atol=1e-7)
    assert_allclose(Cases(seed).take(order).bounds(), Cases(seed).bounds()[:, order], atol=1e-6)


@few
@given(seeds)
def test_the_names_of_classes(seed):
    """Also names whose order is another one."""
    renamed, plain = Cases(seed), Cases(seed)
    names = np.array(["yes", "no"], dtype=object)
    renamed.y = np.where(renamed.y < 0, None, names[renamed.y])
    renamed.guess = names[renamed.guess]
    renamed.propensity = plain.propensity = "shares"  # who decides knows nothing of classes
    assert_allclose(renamed.ends("no"), plain.ends(1), atol=1e-7)
    assert_allclose(renamed.bounds()[:, :, ::-1], plain.bounds(), atol=1e-6)


@few
@given(seeds)
def test_the_names_of_decision_makers(seed):
    renamed = Cases(seed)
    names = renamed.rng.permutation(["b", "z", "a 1", "👩‍⚖️"])
    renamed.who = names[renamed.who]
    assert_allclose(renamed.ends(), Cases(seed).ends(), atol=1e-7)
    assert_allclose(renamed.bounds(), Cases(seed).bounds(), atol=1e-6)


@few
@given(seeds)
def test_scale_and_shift_of_features(seed):
    moved = Cases(seed)
    moved.X = moved.X * 10.0 ** moved.rng.integers(-4, 5, 4) + moved.rng.normal(size=4)
    assert_allclose(moved.ends(), Cases(seed).ends(), atol=1e-6)
    assert_allclose(moved.bounds(), Cases(seed).bounds(), atol=1e-5)


@few
@given(seeds)
def test_whole_weights_are_repeated_rows(seed):
    """Given the models: fitted ones know how many rows there are. Every entry: tests/test_weights.py."""
    weighted, repeated = Cases(seed), Cases(seed)
    weighted.weight = weighted.rng.integers(1, 4, N)
    repeated.groups = np.repeat(np.arange(N), weighted.weight)
    repeated.take(repeated.groups)
    for each in (weighted, repeated):
        each.nuisance = make_decision_makers(
            N, n_classes=2, n_decision_makers=4, random_state=seed
        ).oracle.joint
    assert_allclose(repeated.ends(), weighted.ends(), atol=1e-9)


@few
@given(seeds)
def test_one_row_more_moves_little(seed):
    """No single case decides: an end moves by a few times the share that the row is of all rows."""
    more = Cases(seed).take(np.append(np.arange(N), Cases(seed).rng.integers(N)))
    moved = np.abs(more.ends() - Cases(seed).ends())
    assert moved.max() < 20.0 / N
    assert moved.max() > 0.0, "and does move"


@few
@given(seeds)
def test_the_number_of_jobs(seed):
    data = make_table(N, random_state=seed % 100)
    table = sl.SelectiveLabels.from_frame(
        data, label="failed", decision="released", decision_maker="judge", features=["x_1", "x_2", "job"]
    )
    guess = data["guess"].to_numpy()
    fitting = {"cv": 3, "nuisance": "logistic", "random_state": 0}
    one, two = (
        sl.evaluate(guess, table, metric=METRICS, n_jobs=jobs, **fitting).to_frame() for jobs in (1, 2)
    )
    pd.testing.assert_frame_equal(one, two, check_exact=True)


def test_the_size_of_chunks(monkeypatch):
    whole = Cases(1)
    wanted, bounds = whole.ends(), whole.bounds()
    monkeypatch.setattr("selective_labels.nuisance.cross_fit.CHUNK_NUMBERS", 1)  # 64 rows then
    assert_allclose(whole.ends(), wanted, rtol=1e-12, atol=1e-12)
    assert_allclose(whole.bounds(), bounds, rtol=1e-10, atol=1e-10)
