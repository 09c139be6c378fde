"""Model files that somebody made or damaged: one sentence, and never a foreign error later."""

import io
import json
import zipfile

import pandas as pd
import pytest

from selective_labels import InputError, UCLClassifier, load_model, save_model
from selective_labels.datasets import make_decision_makers
from selective_labels.io.model_file import FORMAT, FORMAT_VERSION, schema_of_model, skops_io

skops = skops_io()


@pytest.fixture(scope="module")
def model():
    sample = make_decision_makers(300, n_classes=2, random_state=0)
    X = pd.DataFrame(sample.X, columns=list("abcd"))
    learner = UCLClassifier(estimator="plug-in", nuisance="logistic", cv=2, random_state=0)
    return learner.fit(X, sample.y, decision_maker=sample.decision_maker)


@pytest.fixture
def written(model, tmp_path):
    """A model file with something else in the place of one of its parts."""

    def written(**changes):
        content = {
            "format": FORMAT,
            "format_version": FORMAT_VERSION,
            "schema": schema_of_model(model).to_json(),
            "model": model,
        } | changes
        path = tmp_path / "model.skops"
        skops.dump({name: each for name, each in content.items() if each is not ...}, path)
        return path

    return written


def schema_with(model, **changes):
    values = json.loads(schema_of_model(model).to_json()) | changes
    return json.dumps({name: each for name, each in values.items() if each is not ...})


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("model", ...),
        ("model", 5),
        ("model", None),
        ("model", "UCLClassifier"),
        ("format_version", ...),
        ("format_version", None),
        ("format_version", "1"),
        ("schema", ...),
        ("schema", None),
        ("schema", "[]"),
        ("schema", "{"),
    ],
)
def test_a_part_that_is_missing_or_of_another_type_is_said(written, name, value):
    """Broke: KeyError, AttributeError, or an error when the model was asked to predict."""
    with pytest.raises(InputError, match="is damaged") as caught:
        load_model(written(**{name: value}))
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("versions", None),
        ("versions", ...),
        ("versions", 3),
        ("roles", None),
        ("options", []),
        ("features", None),
        ("features", []),
        ("features", [{"name": 5, "kind": "number", "categories": []}]),
        ("features", [{"name": "a", "kind": "matrix", "categories": []}]),
        ("features", [{"name": "a", "kind": "category", "categories": [1]}]),
        ("classes", ["x", "y"]),
        ("classes", None),
        ("rows", ["many"]),
        ("rows", [-5]),
        ("surplus", 1),
    ],
)
def test_a_schema_with_a_wrong_part_is_said(written, model, name, value):
    """Broke: `versions: null` ended in AttributeError."""
    if name == "versions" and value is ...:
        with pytest.warns(UserWarning, match="saved with scikit-learn"):
            load_model(written(schema=schema_with(model, **{name: {}})))
        return
    with pytest.raises(InputError, match="is damaged"):
        load_model(written(schema=schema_with(model, **{name: value})))


def test_a_model_that_was_never_fitted_is_refused(written):
    """Broke: it was loaded, and failed at predict."""
    with pytest.raises(InputError, match="is damaged"):
        load_model(written(model=UCLClassifier()))


def test_a_model_that_cannot_predict_is_refused(written, model, tmp_path):
    save_model(model, tmp_path / "whole.skops")
    names = skops.get_untrusted_types(file=tmp_path / "whole.skops")
    broken = skops.load(tmp_path / "whole.skops", trusted=names)["model"]
    del broken.cost_, broken._coding
    with pytest.raises(InputError, match=r"is damaged: its model cannot predict \("):
        load_model(written(model=broken))


def test_an_archive_that_fills_the_memory_is_refused(model, tmp_path, monkeypatch):
    """Broke: parts were unpacked whatever their size."""
    path = tmp_path / "model.skops"
    save_model(model, path)
    monkeypatch.setattr("selective_labels._parallel.ALWAYS_ALLOWED", 1_000_000)
    load_model(path)
    with zipfile.ZipFile(path, "a", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("zeros.npy", b"\0" * 50_000_000)
    with pytest.raises(InputError, match="unpacks to 48 MiB"):
        load_model(path)


def test_what_is_no_archive_is_no_model(tmp_path):
    path = tmp_path / "model.skops"
    for content in (b"", b"PK\x03\x04", b"\0" * 100, io.BytesIO(b"text").getvalue()):
        path.write_bytes(content)
        with pytest.raises(InputError, match="not a model file"):
            load_model(path)
