"""One way in: a SelectiveLabels gives what keywords give, bit for bit, at every public entry."""

from functools import partial

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_array_equal
from pandas.testing import assert_frame_equal

import selective_labels as sl

N_ROWS = 600
QUICK = {"nuisance": "logistic", "cv": 2, "random_state": 0}
# Models of who decides are those of "evaluate" too.
SHARES = QUICK | {"propensity": "shares"}
CLASSIFIERS = {
    "ucl": lambda: sl.UCLClassifier(estimator="linear", **QUICK),
    "ucl point": lambda: sl.UCLClassifier("point", "plug-in", **QUICK),
    "selected": lambda: sl.SelectedSampleClassifier("linear", random_state=0),
    "ipw": lambda: sl.IPWClassifier("linear", use_decision_maker=True, cv=2, random_state=0),
    "doubly robust": lambda: sl.DoublyRobustClassifier("linear", nuisance="logistic", cv=2, random_state=0),
    "consistency": lambda: sl.ExpertConsistencyClassifier(
        "linear", nuisance="logistic", cv=2, random_state=0
    ),
}
# A few checks do not find enough rows or labels in so small a table: that is not what is tested here.
pytestmark = pytest.mark.filterwarnings("ignore::UserWarning")


def make_table():
    """Text, dates, holes, a decision-maker and a category of a few cases only, labels nobody may read."""
    rng = np.random.default_rng(0)
    sample = sl.datasets.make_decision_makers(N_ROWS, n_classes=2, n_decision_makers=4, random_state=0)
    judge = np.array(["ann", "bob", "cid", "dot"], dtype=object)[sample.decision_maker]
    judge[[5, 6, 7]] = "eve"
    job = rng.choice(["cook", "clerk", None], N_ROWS, p=[0.5, 0.4, 0.1])
    job[[3, 4]] = "nurse"
    return pd.DataFrame(
        {
            "risk": sample.X[:, 0],
            "history": np.where(rng.random(N_ROWS) < 0.1, np.nan, sample.X[:, 1]),
            "job": job,
            "day": pd.Timestamp("2024-01-01") + pd.to_timedelta(rng.integers(0, 300, N_ROWS), unit="D"),
            "judge": judge,
            "released": sample.decision,
            "failed": np.where(rng.random(N_ROWS) < 0.9, np.where(sample.y_true == 1, "yes", "no"), "junk"),
            "weight": rng.uniform(0.5, 2.0, N_ROWS),
            "person": np.arange(N_ROWS) // 2,
            "court": rng.choice(["x", "y"], N_ROWS),
        }
    ).assign(failed=lambda t: t["failed"].where((t["released"] == 0) | (t["failed"] != "junk"), "no"))


TABLE = make_table()
FEATURES = ["risk", "history", "job", "day"]
ROLES = {
    "decision_maker": "judge",
    "decision": "released",
    "sample_weight": "weight",
    "groups": "person",
    "strata": "court",
}
DATA = sl.SelectiveLabels.from_frame(TABLE, "failed", features=FEATURES, **ROLES)
SCORE = -TABLE["risk"].to_numpy()
GUESS = np.where(SCORE > 0, "yes", "no")
OTHER = np.where(TABLE["history"] > 0, "yes", "no")


def keywords(table=TABLE, roles=ROLES):
    return (table[FEATURES], table["failed"]), {role: table[column] for role, column in roles.items()}


def assert_same(one, two):
    """All that a result says, to the last bit."""
    assert type(one) is type(two)
    if isinstance(one, np.ndarray):
        assert_array_equal(one, two)
    elif isinstance(one, dict):
        assert one.keys() == two.keys()
        for name in one:
            assert_same(one[name], two[name])
    elif isinstance(one, list | tuple):
        assert len(one) == len(two)
        for each, other in zip(one, two, strict=True):
            assert_same(each, other)
    elif hasattr(one, "to_frame"):
        assert_frame_equal(one.to_frame(), two.to_frame(), check_exact=True)
        assert str(one) == str(two)
    else:
        assert one == two or (one != one and two != two)


ROW_BOUNDS = ("predict_bounds", "predict_set", "decided")


@pytest.mark.parametrize("name", CLASSIFIERS)
def test_fit_and_predict(name):
    (X, y), roles = keywords()
    one, two = CLASSIFIERS[name]().fit(X, y, **roles), CLASSIFIERS[name]().fit(DATA)
    assert_same(two.feature_names_in_, one.feature_names_in_)
    assert two.n_features_in_ == one.n_features_in_ == len(FEATURES)
    assert two.n_ignored_labels_ == one.n_ignored_labels_ > 0
    for method in (
        "predict",
        "predict_proba",
        "decision_function",
        "predict_bounds",
        "predict_set",
        "decided",
    ):
        if hasattr(one, method):
            # A SelectiveLabels brings its strata, in which bounds of rows have their own decision-makers.
            within = {"strata": TABLE["court"]} if name.startswith("ucl") and method in ROW_BOUNDS else {}
            found = [
                getattr(one, method)(X),
                getattr(two, method)(X),
                getattr(one, method)(X, **within),
                getattr(two, method)(DATA),
            ]
            if method == "predict_bounds":
                found = [np.stack([each.lower, each.upper]) for each in found]
            assert_same(found[0], found[1])
            assert_same(found[2], found[3])


def test_score():
    (X, y), roles = keywords()
    classifier = CLASSIFIERS["ucl"]().fit(DATA)
    assert classifier.score(DATA) == classifier.score(X, y, **roles)
    assert sl.lower_bound_scorer(classifier, DATA) == sl.lower_bound_scorer(classifier, X, y, **roles)
    full = {"decision_maker": TABLE["judge"], "sample_weight": TABLE["weight"]}
    truth = np.where(TABLE["risk"] > 0, "yes", "no")
    seen = sl.SelectiveLabels.from_arrays(X, truth, **full)
    selected = CLASSIFIERS["selected"]().fit(seen)
    assert selected.score(seen) == selected.score(X, truth, **full)


ENTRIES = {
    "evaluate": lambda *args, **roles: sl.evaluate(
        GUESS, *args, **roles, metric=["accuracy", "tpr"], assumption="all", by=TABLE["court"], **QUICK
    ),
    "compare": lambda *args, **roles: sl.compare(GUESS, OTHER, *args, **roles, **SHARES),
    "human": lambda *args, **roles: sl.compare(GUESS, "human", *args, **roles, **SHARES),
    "diagnose": lambda *args, **roles: sl.diagnose(*args, **roles, n_permutations=19, random_state=0),
    "assess": lambda *args, **roles: sl.assess(*args, **roles, by=TABLE[["court", "job"]], **QUICK),
    "sensitivity": lambda *args, **roles: sl.sensitivity_curve(
        GUESS, *args, **roles, values=[1, 2], threshold=0.5, **SHARES
    ),
    "thresholds": lambda *args, **roles: sl.threshold_curve(
        SCORE, *args, **roles, thresholds=[-0.5, 0.5], **SHARES
    ),
}


@pytest.mark.parametrize("name", ENTRIES)
def test_entries(name):
    args, roles = keywords()
    assert_same(ENTRIES[name](*args, **roles), ENTRIES[name](DATA))


WITHOUT_FEATURES = {
    "contraction": (
        lambda *args, **roles: sl.contraction(SCORE, *args, **roles, pool=0.1, random_state=0),
        (),
    ),
    "quintiles": (
        lambda *args, **roles: sl.quintile_contraction(SCORE, *args, **roles, n_bands=2, random_state=0),
        ("strata",),
    ),
    "extrapolate": (
        lambda *args, **roles: sl.extrapolate(GUESS, *args, **roles, n_draws=5, random_state=0),
        ("strata",),
    ),
}


@pytest.mark.parametrize("name", WITHOUT_FEATURES)
def test_entries_without_features(name):
    entry, others = WITHOUT_FEATURES[name]
    used = {role: ROLES[role] for role in ("decision_maker", "decision", *others)}
    (_, y), roles = keywords(roles=used)
    data = sl.SelectiveLabels.from_frame(TABLE, "failed", features=FEATURES, **used)
    assert_same(entry(y, **roles), entry(data))


def test_a_role_that_a_method_does_not_use_is_said():
    with pytest.warns(UserWarning, match="contraction does not use sample_weight and groups and strata"):
        sl.contraction(SCORE, DATA)


@pytest.mark.parametrize("half", [0, 1])
@pytest.mark.parametrize("name", ["ucl", "selected", "evaluate", "diagnose"])
def test_each_half_gives_what_keywords_give_on_its_rows(name, half):
    part = DATA.split(test_size=0.5, random_state=3)[half]
    rows = np.flatnonzero(TABLE["person"].isin(part_of_persons(part)))
    (X, y), roles = keywords(TABLE.iloc[rows])
    assert_frame_equal(part.X, X)
    if name in CLASSIFIERS:
        one, two = CLASSIFIERS[name]().fit(X, y, **roles), CLASSIFIERS[name]().fit(part)
        assert_same(one.classes_, two.classes_)
        assert one.n_ignored_labels_ == two.n_ignored_labels_
        assert_same(
            one.decision_function(X) if name == "ucl" else one.predict_proba(X), scores(two, part, name)
        )
    elif name == "evaluate":
        guess = GUESS[rows]
        assert_same(sl.evaluate(guess, X, y, **roles, **QUICK), sl.evaluate(guess, part, **QUICK))
    else:
        options = {"n_permutations": 19, "random_state": 0}
        assert_same(sl.diagnose(X, y, **roles, **options), sl.diagnose(part, **options))


def scores(classifier, part, name):
    return classifier.decision_function(part) if name == "ucl" else classifier.predict_proba(part)


def part_of_persons(part):
    persons = TABLE["person"].to_numpy()[part.X.index]
    return np.unique(persons)


def test_halves_share_no_group_and_lose_no_row():
    train, test = DATA.split(test_size=0.4, random_state=1)
    assert len(train) + len(test) == len(DATA)
    assert not set(part_of_persons(train)) & set(part_of_persons(test))
    assert 0.35 < len(test) / len(DATA) < 0.45


def test_a_half_without_a_decision_maker_forgets_them():
    rows = np.flatnonzero(TABLE["judge"] != "eve")
    part = DATA.take(rows)
    assert "eve" in part.decision_makers  # until it is used
    (X, y), roles = keywords(TABLE.iloc[rows])
    assert_same(sl.evaluate(GUESS[rows], X, y, **roles, **SHARES), sl.evaluate(GUESS[rows], part, **SHARES))
    assert CLASSIFIERS["ucl"]().fit(part).decision_makers_.tolist() == ["ann", "bob", "cid", "dot"]


def test_known_probabilities_of_those_who_are_left_sum_to_one():
    known = np.tile([0.4, 0.3, 0.2, 0.05, 0.05], (N_ROWS, 1))
    data = sl.SelectiveLabels.from_arrays(
        TABLE[["risk"]],
        TABLE["failed"],
        decision_maker=TABLE["judge"],
        decision=TABLE["released"],
        assignment=lambda X: known[: len(X)],
    )
    part = data.take(np.flatnonzero(TABLE["judge"] != "eve")).compact()
    assert_array_equal(part.assignment[0], np.array([0.4, 0.3, 0.2, 0.05]) / 0.95)
    assert_array_equal(part.assignment_function(TABLE[["risk"]].head(2)), part.assignment[:2])


DOUBLED = {"y": TABLE["failed"], "assignment": np.full((N_ROWS, 5), 0.2)} | {
    role: TABLE[column] for role, column in ROLES.items()
}


FITTED = CLASSIFIERS["selected"]().fit(DATA)
DOUBLING = ENTRIES | {
    "fit": CLASSIFIERS["selected"]().fit,
    "score": FITTED.score,
    "scorer": partial(sl.lower_bound_scorer, FITTED),
}


@pytest.mark.parametrize("role", DOUBLED)
@pytest.mark.parametrize("entry", DOUBLING)
def test_a_doubled_role_is_named(entry, role):
    given = {role: DOUBLED[role]}
    with pytest.raises(sl.InputError, match=f"{role} is given twice") as caught:
        DOUBLING[entry](DATA, **given)
    assert caught.value.argument == role


@pytest.mark.parametrize("name", WITHOUT_FEATURES)
def test_a_doubled_role_is_named_where_features_are_not_needed(name):
    data = sl.SelectiveLabels.from_frame(TABLE, "failed", features=FEATURES, decision_maker="judge")
    with pytest.raises(sl.InputError, match="decision_maker is given twice"):
        WITHOUT_FEATURES[name][0](data, decision_maker=TABLE["judge"])


@pytest.mark.parametrize("name", CLASSIFIERS)
def test_fit_without_labels_says_what_scikit_learn_says(name):
    with pytest.raises(
        ValueError, match=r"This \w+ estimator requires y to be passed, but the target y is None"
    ):
        CLASSIFIERS[name]().fit(TABLE[["risk"]])


def test_a_table_of_probabilities_by_name():
    table = TABLE.assign(**{f"p_{name}": 0.2 for name in ("ann", "bob", "cid", "dot", "eve")})
    columns = [name for name in table if name.startswith("p_")]
    data = sl.SelectiveLabels.from_frame(table, "failed", features=None, **ROLES, assignment=columns)
    assert_array_equal(data.assignment, np.full((N_ROWS, 5), 0.2))
    assert not set(columns) & set(data.X.columns)  # a role, not a feature


def test_it_shows_its_roles_kinds_and_labels():
    for text in (repr(DATA), DATA._repr_html_()):
        for word in (
            "judge",
            "failed",
            "600",
            "2 numbers",
            "1 category",
            "1 date",
            "labels seen",
            "no",
            "yes",
        ):
            assert word in text


@pytest.mark.parametrize("seed", [np.random.RandomState(0), None])
def test_random_states_of_every_kind(seed):
    (X, y), roles = keywords(roles={"decision_maker": "judge", "decision": "released"})
    quick = QUICK | {"random_state": seed}
    assert 0.0 <= sl.evaluate(GUESS, X, y, **roles, **quick).lower <= 1.0
    assert len(sl.sensitivity_curve(GUESS, X, y, **roles, values=[1, 2], **quick).x) == 2
    assert sl.extrapolate(GUESS, y, **roles, n_draws=2, random_state=seed).n_samples == N_ROWS
    assert len(sl.contraction(SCORE, y, **roles, pool=0.1, random_state=seed).x) > 2
