"""Sections about people who decide: the library's own numbers, only where they are asked for."""

import json

import numpy as np
import pytest

import selective_labels as sl
from selective_labels import InputError
from selective_labels.report.markdown import render_markdown
from selective_labels.report.render import render
from tests.report.samples import QUICK, table, validate

HEADINGS = "Did the advice help?", "Who decides well?", "Are groups treated alike?"


@pytest.fixture(scope="module")
def given():
    X, y, makers = table()
    return {"X": X, "y": y, "decision_maker": makers, "predictions": np.where(X["a"] < 0, "yes", "no")}


@pytest.fixture(scope="module")
def asked(given):
    shown = np.random.default_rng(0).integers(0, 2, len(given["y"]))
    advice = (given["X"]["a"] < 0).astype(int)
    return {"advice": advice, "shown": shown, "deciders": "anonymous", "disparity": given["X"]["town"]}


@pytest.fixture(scope="module")
def document(given, asked):
    return sl.assess(**given, **asked, **QUICK)


def test_sections_stand_where_they_are_asked_for(given, document):
    validate(document)
    without = sl.assess(**given, **QUICK)
    assert document["models"] == without["models"]
    page, plain, text = render(document), render(without), render_markdown(document)
    for name, heading in zip(("advice", "deciders", "disparity"), HEADINGS, strict=True):
        assert name not in without
        assert f'id="{name}"' in page
        assert f'id="{name}"' not in plain
        assert f"## {heading}" in text
    assert "maker 1" not in json.dumps(document["deciders"])
    assert "discriminat" not in json.dumps(document["disparity"]).lower()


def test_numbers_are_those_of_the_library(given, asked, document):
    roles = {name: given[name] for name in ("X", "y", "decision_maker")}
    evaluator = sl.Evaluator(**roles, assumption=["instrument", "nucem"], **QUICK)
    how = {"assumption": "instrument", "pos_label": "yes"}
    gaps = evaluator.disparity(asked["disparity"], **how).gaps
    assert [each["lower"] for each in document["disparity"]["drawn"]] == [each.lower for each in gaps]
    changes = evaluator.advice(asked["advice"], asked["shown"], **how).differences
    assert [each["ci_upper"] for each in document["advice"]["drawn"]] == [each.ci_upper for each in changes]
    makers = evaluator.deciders(**how).to_frame()
    assert [each["lower"] for each in document["deciders"]["drawn"]] == makers["excess"].tolist()


def test_a_question_without_an_answer_says_why_and_costs_no_other_section(given, asked, document):
    bad = asked | {"shown": np.ones(len(given["y"]), dtype=int)}
    found = sl.assess(**given, **bad, **QUICK)
    validate(found)
    assert "without both arms there is nothing to compare" in found["advice"]["missing"]
    assert found["disparity"] == document["disparity"]
    assert "nothing to compare" in render(found)


@pytest.mark.parametrize(
    ("given_too", "argument"),
    [({"advice": [1, 0]}, "shown"), ({"high": "yes"}, "high"), ({"deciders": True}, "deciders")],
)
def test_half_a_question_is_refused_before_anything_is_fitted(given, given_too, argument, monkeypatch):
    monkeypatch.setattr("selective_labels.nuisance.cross_fit.FittingSettings.cross_fit", None)
    with pytest.raises(InputError) as error:
        sl.assess(**given, **given_too, **QUICK)
    assert error.value.argument == argument
