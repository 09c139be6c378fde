"""The ladder of a report: the library's own numbers, beside sections that it leaves as they are."""

import numpy as np
import pytest

import selective_labels as sl
from selective_labels import InputError
from selective_labels.assumptions import Informed, Prevalence
from selective_labels.report import curves as ladder_module
from selective_labels.report.render import render
from tests.report.samples import QUICK, table, validate


@pytest.fixture(scope="module")
def given():
    X, y, makers = table()
    return {
        "X": X,
        "y": y,
        "decision_maker": makers,
        "predictions": np.where(X["a"] < 0, "yes", "no"),
        "metric": ["accuracy"],
    }


@pytest.fixture(scope="module")
def document(given):
    return sl.assess(**given, assumptions=[Informed("yes"), Prevalence("yes", (0.0, 0.001))], **QUICK)


@pytest.fixture(scope="module")
def without(given):
    return sl.assess(**given, **QUICK)


def test_rungs_are_those_of_the_library(given, document):
    roles = {name: given[name] for name in ("X", "y", "decision_maker")}
    expected = sl.ladder(
        given["predictions"],
        **roles,
        # With NUCEM, as in the report: models are then fitted on halves.
        assumptions=[Informed("yes"), Prevalence("yes", (0.0, 0.001)), "nucem"],
        **QUICK,
    )
    accuracy, share = document["ladder"]["ladders"]
    lower = [each.evaluation.lower for each in expected]
    assert [each["lower"] for each in accuracy["rungs"][:3]] == lower[:3]
    assert [each["title"] for each in accuracy["rungs"]] == [each.title for each in expected][:-1]
    assert (accuracy["metric"], share["metric"]) == ("accuracy", "share")


def test_what_is_contradicted_has_no_number_and_is_named(document):
    validate(document)
    for climbed in document["ladder"]["ladders"]:
        last = climbed["rungs"][-1]
        assert last["contradicted"]
        assert last["lower"] is None
        assert "The data contradict “prevalence(yes, 0 to 0.001)”" in climbed["takeaway"]


def test_other_sections_are_as_without(document, without):
    for name in ("models", "comparison", "acceptance", "sensitivity"):
        assert document[name] == without[name]
    # The first line is under what is stated, of which the data contradict the last part.
    assert "what you state below holds" in document["summary"]["headline"]
    assert document["ladder"]["comparison"]["assumption"] == "instrument & informed(yes)"
    assert any(each.startswith("You state: ") for each in document["summary"]["assumed"])
    assert "informed(yes)" not in without["summary"]["headline"]
    assert without["ladder"] == {"missing": ladder_module.NOTHING_ASSUMED}


def test_a_class_that_is_not_there_is_refused_before_anything_is_fitted(given, monkeypatch):
    monkeypatch.setattr("selective_labels.nuisance.cross_fit.FittingSettings.cross_fit", None)
    with pytest.raises(InputError, match="adverse='maybe' is not one of the classes"):
        sl.assess(**given, assumptions=Informed("maybe"), **QUICK)


def test_periods_add_a_section_and_leave_the_others(given, without):
    days = [f"2024-{1 + 4 * place // 800:02d}-15" for place in range(800)]
    with_progress = sl.assess(**given, period=days, every="quarter", **QUICK)
    validate(with_progress)
    assert [each["period"] for each in with_progress["drift"]["periods"]] == ["2024Q1", "2024Q2"]
    assert "drift" not in without
    assert with_progress["models"] == without["models"]
    page = render(with_progress)
    assert 'id="drift"' in page
    assert 'id="drift"' not in render(without)
