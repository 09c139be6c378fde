"""Model files: what goes in comes out; what is not a model file is never loaded."""

import zipfile
from functools import partial

import numpy as np
import pandas as pd
import pytest
from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.naive_bayes import GaussianNB

import selective_labels as sl
from selective_labels.assumptions import Instrument
from selective_labels.io.model_file import (
    ModelSchema,
    _reachable,
    describe,
    refuse_wild_trees,
    schema_of_model,
    skops_io,
)
from tests.assumptions.dummy import HalfAsBad

io = skops_io()
KINDS = {"a": "number", "b": "number", "job": "category", "day": "date"}


@pytest.fixture(scope="module")
def table():
    sample = sl.datasets.make_decision_makers(400, random_state=0)
    rng = np.random.default_rng(0)
    X = pd.DataFrame(sample.X[:, :2], columns=["a", "b"])
    X["job"] = pd.Series(rng.choice(["cook", "clerk", None], 400), dtype=object)
    X["day"] = pd.Timestamp("2024-01-01") + pd.to_timedelta(rng.integers(0, 90, 400), "D")
    return X, sample.y, sample.decision_maker


def fitted(table, **parameters):
    X, y, decision_maker = table
    parameters = {"estimator": "plug-in", "nuisance": "logistic", "cv": 2, "random_state": 0} | parameters
    return sl.UCLClassifier(**parameters).fit(X, y, decision_maker=decision_maker)


@pytest.fixture(scope="module")
def model(table):
    return fitted(table)


@pytest.mark.parametrize(
    "parameters",
    [
        {},
        {"estimator": None, "nuisance": "boosting"},
        {"estimator": "linear", "nuisance": "quadratic"},
        {"mode": "point"},
        {"estimator": GaussianNB(), "nuisance": GaussianNB()},
        {"label_range": (0.05, 0.95), "cost": [[0, 1, 2], [1, 0, 1], [2, 1, 0]]},
    ],
    ids=str,
)
@pytest.mark.filterwarnings("ignore:the rule predicts")  # of wide bounds, which are not the subject
def test_a_model_comes_back_the_same(table, tmp_path, parameters):
    model = fitted(table, **parameters)
    sl.save_model(model, tmp_path / "m.skops", schema=describe(table[0], KINDS, model.classes_))
    loaded = sl.load_model(tmp_path / "m.skops")
    frame = table[0].assign(more=1)
    np.testing.assert_array_equal(loaded.predict(frame), model.predict(table[0]))
    np.testing.assert_array_equal(
        loaded.model.predict_bounds(table[0]).lower, model.predict_bounds(table[0]).lower
    )
    assert hasattr(loaded, "predict_proba") == (model.mode == "point")


def test_a_baseline_can_be_saved_too(table, tmp_path):
    X, y, decision_maker = table
    model = sl.SelectedSampleClassifier().fit(X, y, decision_maker=decision_maker)
    sl.save_model(model, tmp_path / "m.skops")
    np.testing.assert_array_equal(sl.load_model(tmp_path / "m.skops").predict(X), model.predict(X))


def test_the_schema_travels_with_the_model(table, model, tmp_path):
    schema = describe(table[0], KINDS, model.classes_, roles={"label": "y"}, options={"mode": "partial"})
    sl.save_model(model, tmp_path / "m.skops", schema=schema)
    loaded = sl.load_model(tmp_path / "m.skops").schema
    assert loaded == schema
    assert loaded.features[2].categories == ("clerk", "cook")


def test_without_a_schema_the_model_tells_its_own(model):
    assert schema_of_model(model).kinds == KINDS


@pytest.mark.parametrize(
    ("name", "value"), [("label_range", (lambda X: 0.1, 0.9)), ("nuisance", partial(np.zeros, 3))]
)
def test_a_function_is_refused_in_one_sentence(model, tmp_path, name, value):
    wrong = sl.UCLClassifier(**{name: value})
    wrong.__dict__ |= {key: each for key, each in vars(model).items() if key.endswith("_")}
    with pytest.raises(ValueError, match=rf"The model cannot be saved: {name} is a function"):
        sl.save_model(wrong, tmp_path / "m.skops")
    assert list(tmp_path.iterdir()) == []


def test_what_could_not_be_loaded_safely_is_not_saved(table, tmp_path):
    model = fitted(table, estimator=RandomForestClassifier(n_estimators=2, random_state=0))
    with pytest.raises(ValueError, match=r"cannot be saved safely: it holds 'sklearn\.tree\._tree\.Tree'"):
        sl.save_model(model, tmp_path / "m.skops")


def test_an_assumption_of_ones_own_is_loaded_by_those_who_name_it(table, tmp_path):
    name, path = "tests.assumptions.dummy.HalfAsBad", tmp_path / "m.skops"
    model = fitted(table, assumption=Instrument() & HalfAsBad(1))
    with pytest.raises(ValueError, match=r"what is your own can be named, trusted="):
        sl.save_model(model, path)
    sl.save_model(model, path, trusted=[name])
    assert name in refused(path)
    loaded = sl.load_model(path, trusted=[name]).model
    assert loaded.assumption == model.assumption
    np.testing.assert_array_equal(loaded.predict(table[0]), model.predict(table[0]))
    with pytest.raises(ValueError, match="must be a list of names"):
        sl.load_model(path, trusted=name)


def refused(path):
    with pytest.raises(ValueError, match=r".") as caught:
        sl.load_model(path)
    assert "\n" not in str(caught.value), "one sentence stands on one line"
    return str(caught.value)


def test_a_missing_file_is_named(tmp_path):
    assert refused(tmp_path / "m.skops") == f"There is no model file {tmp_path / 'm.skops'}."


@pytest.mark.parametrize("share", [0.0, 0.5, 0.999])
def test_a_cut_file_is_refused(model, tmp_path, share):
    path = tmp_path / "m.skops"
    sl.save_model(model, path)
    whole = path.read_bytes()
    path.write_bytes(whole[: int(share * len(whole))])
    assert "is not a model file, or is cut off or damaged" in refused(path)


def test_a_changed_byte_is_noticed(model, tmp_path):
    path = tmp_path / "m.skops"
    sl.save_model(model, path)
    with zipfile.ZipFile(path) as archive:
        largest = max(archive.infolist(), key=lambda part: part.compress_size)
    content = bytearray(path.read_bytes())
    content[largest.header_offset + 30 + len(largest.filename) + largest.compress_size // 2] ^= 255
    path.write_bytes(content)
    assert "damaged" in refused(path)


def test_a_pickle_is_not_loaded(tmp_path):
    (tmp_path / "m.skops").write_bytes(b"cposix\nsystem\n(S'touch hacked'\ntR.")
    assert "is not a model file" in refused(tmp_path / "m.skops")


def test_another_type_is_refused_by_name(tmp_path):
    io.dump({"format": "selective-labels model", "model": np.random.default_rng}, tmp_path / "m.skops")
    assert "which no model file needs; it is not loaded" in refused(tmp_path / "m.skops")


def test_what_our_modules_import_cannot_be_smuggled_in_under_their_name(model, tmp_path):
    path = tmp_path / "m.skops"
    sl.save_model(model, path)
    with zipfile.ZipFile(path) as archive:
        parts = {name: archive.read(name) for name in archive.namelist()}
    parts["schema.json"] = parts["schema.json"].replace(b'"UCLClassifier"', b'"BaseEstimator"')
    with zipfile.ZipFile(path, "w") as archive:
        for name, content in parts.items():
            archive.writestr(name, content)
    assert "selective_labels.estimators.ucl.BaseEstimator" in refused(path)


def test_a_skops_file_of_someone_else_is_refused(tmp_path):
    io.dump(LogisticRegression(), tmp_path / "m.skops")
    assert "is not a model file of selective-labels" in refused(tmp_path / "m.skops")


@pytest.mark.parametrize(("field", "value"), [("left", 10**6), ("right", 0), ("feature_idx", 10**6)])
def test_a_tree_that_points_outside_itself_is_refused(table, field, value):
    model = fitted(table, estimator=None)
    tree = next(_trees(model))
    tree.nodes[field][0] = value
    with pytest.raises(ValueError, match="a boosted tree"):
        refuse_wild_trees(model)


def _trees(model):
    for estimator in _reachable(model, HistGradientBoostingClassifier):
        yield from (tree for stage in estimator._predictors for tree in stage if len(tree.nodes) > 1)


def test_another_version_of_scikit_learn_is_warned_of(table, model, tmp_path):
    schema = describe(table[0], KINDS, model.classes_)
    old = ModelSchema(schema.features, schema.classes, versions={"scikit-learn": "0.1.2"})
    sl.save_model(model, tmp_path / "m.skops", schema=old)
    with pytest.warns(UserWarning, match=r"saved with scikit-learn 0\.1\.2"):
        sl.load_model(tmp_path / "m.skops")


def test_training_rows_are_recognised_and_others_are_not(table):
    X, y, decision_maker = table
    who = [pd.Series(y), pd.Series(decision_maker)]
    half = [column[:200] for column in who]
    schema = describe(X[:200], KINDS, [0, 1, 2], half)
    assert schema.share_of_training_rows(X, who) == 1.0
    assert schema.share_of_training_rows(X[200:], [column[200:] for column in who]) == 0.0


def test_new_categories_are_counted(table):
    schema = describe(table[0], KINDS, [0, 1, 2])
    X = table[0].assign(job=["pilot", None] * 200)
    assert schema.unseen_categories(X) == {"job": 200}
