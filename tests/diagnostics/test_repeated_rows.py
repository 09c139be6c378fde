"""Rows alike in features: repeated persons are told from coarse features."""

import importlib

import numpy as np
import pandas as pd
import pytest

import selective_labels as sl
from selective_labels.diagnostics.cautions import repeated_rows_caution

N, VISITS = 1200, 6
RNG = np.random.default_rng(0)


def table(X, **roles):
    n = len(X)
    return sl.SelectiveLabels.from_arrays(
        np.asarray(X, dtype=float), np.arange(n) % 2, decision_maker=np.arange(n) % 3, **roles
    )


def persons(draw):
    person = np.repeat(np.arange(N // VISITS), VISITS)
    return np.column_stack(draw(N // VISITS))[person]


def correlated(n, rng):
    wealth = rng.normal(size=n)
    return [np.round(40 + 10 * wealth), np.round(np.exp(3.5 + 0.5 * wealth)), rng.integers(0, 2, n)]


REPEATED = {
    "continuous": lambda n: [RNG.normal(size=n), RNG.normal(size=n)],
    "mixed": lambda n: [RNG.normal(size=n), RNG.integers(0, 2, n), RNG.integers(0, 5, n)],
    "rounded": lambda n: [RNG.integers(18, 70, n), np.exp(RNG.normal(3.5, 0.6, n)).round(1)],
    "with holes": lambda n: [np.where(RNG.random(n) < 0.3, np.nan, RNG.normal(size=n)), RNG.normal(size=n)],
}
INDEPENDENT = {
    "two binary": lambda n, rng: rng.integers(0, 2, (n, 2)).T,
    "one category": lambda n, rng: [rng.integers(0, 50, n)],
    "six coarse": lambda n, rng: rng.integers(0, 4, (n, 6)).T,
    "continuous": lambda n, rng: rng.normal(size=(n, 4)).T,
    "mixed": lambda n, rng: [rng.normal(size=n), rng.integers(0, 2, n), rng.integers(0, 5, n)],
    "age and income": correlated,
    "dependent": lambda n, rng: (rng.normal(size=(n, 10)) + 2.0 * rng.normal(size=(n, 1)) > 0).T,
    "one-hot": lambda n, rng: rng.integers(0, 12, n) == np.arange(12)[:, None],
    "empty rows": lambda n, rng: np.where(rng.random(n) < 0.3, np.nan, rng.normal(size=(3, n))),
}


@pytest.mark.parametrize("kind", REPEATED)
def test_repeated_persons_ask_for_groups(kind):
    caution = repeated_rows_caution(table(persons(REPEATED[kind])))
    assert "not to be trusted: give groups=" in caution
    assert f"{N:,} of {N:,} rows" in caution


def test_one_feature_may_vary_between_visits():
    X = persons(REPEATED["continuous"])
    assert "all features but one" in repeated_rows_caution(table(np.column_stack([X, np.arange(len(X))])))


@pytest.mark.parametrize("kind", INDEPENDENT)
def test_coarse_features_are_no_repetition(kind):
    for seed in range(5):
        columns = INDEPENDENT[kind](N, np.random.default_rng(seed))
        assert repeated_rows_caution(table(np.column_stack(list(columns)))) is None


def test_a_few_copies_do_not_matter():
    X = RNG.normal(size=(N, 3))
    X[: N // 30] = X[N // 30 : N // 15]
    assert repeated_rows_caution(table(X)) is None


def test_groups_answer_the_question():
    X = persons(REPEATED["continuous"])
    assert repeated_rows_caution(table(X, groups=np.arange(N) // VISITS)) is None


def test_the_caution_stands_in_results_and_in_the_diagnosis():
    data = table(persons(REPEATED["continuous"]))
    guess = np.zeros(N, dtype=int)
    (caution,) = sl.evaluate(guess, data).sample.cautions
    assert caution in sl.evaluate(guess, data).text()
    assert sl.compare(guess, 1 - guess, data).sample.cautions == (caution,)
    # Whoever says that rows are independent is believed.
    assert sl.evaluate(guess, data, cluster="none").sample.cautions == ()


def test_the_diagnosis_asks_for_groups_too(monkeypatch):
    module = importlib.import_module("selective_labels.diagnostics.diagnose")
    monkeypatch.setattr(module, "CHECKS", ())  # the note does not depend on them
    monkeypatch.setattr(module, "_figures", lambda context: None)
    y = np.tile([0, 1, -1], N // 3)
    X = persons(REPEATED["continuous"])
    data = sl.SelectiveLabels.from_arrays(X, y, decision_maker=np.arange(N) % 4)
    assert "give groups=" in str(sl.diagnose(data))


def test_parts_of_a_date_are_no_columns_of_their_own():
    rng = np.random.default_rng(0)
    day = pd.to_timedelta(rng.integers(0, 100, 400), unit="D") + pd.Timestamp("2024-01-01")
    X = pd.DataFrame({"x": rng.normal(size=400), "day": day})
    data = sl.SelectiveLabels.from_arrays(X, rng.integers(0, 2, 400), decision_maker=np.arange(400) % 3)
    assert data.features.shape[1] > 2
    # Rows of one day share its weekday and month, too; that makes them no person.
    assert repeated_rows_caution(data) is None
