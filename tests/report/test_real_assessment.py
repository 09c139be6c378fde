"""The page of a real assessment: every key that the templates ask for is there."""

import numpy as np
import pandas as pd
import pytest

from selective_labels import assess
from selective_labels.assumptions import Informed
from selective_labels.datasets import make_decision_makers
from selective_labels.report.render import render
from tests.report.page import parse


@pytest.fixture(scope="module")
def assessed():
    sample = make_decision_makers(600, n_classes=2, n_decision_makers=4, random_state=0)
    features = pd.DataFrame(sample.X, columns=["age", "income", "debt", "years"])
    return assess(
        features,
        sample.y,
        decision_maker=sample.decision_maker,
        by=np.where(features["age"] > 0, "old", "young"),
        assumptions=[Informed(1)],
        nuisance="logistic",
        cv=2,
        random_state=0,
    )


def test_every_part_is_shown(assessed):
    page = parse(render(assessed))
    missing = [node.inner_text() for node in page.all("p") if node.attributes.get("class") == "missing"]
    assert [words for words in missing if "JavaScript" not in words] == []


def test_the_headline_comes_first(assessed):
    headline = next(
        node for node in parse(render(assessed)).all("p") if node.attributes.get("class") == "headline"
    )
    assert headline.inner_text() == assessed["summary"]["headline"]


def test_the_explorer_starts_at_the_present_acceptance_rate(assessed):
    sliders = [node for node in parse(render(assessed)).all("input") if node.attributes["type"] == "range"]
    part = assessed["acceptance"]
    assert [slider.attributes["value"] for slider in sliders] == [str(m["start"]) for m in part["models"]]
    for model in part["models"]:
        assert model["points"][model["start"]]["rate"] == pytest.approx(part["present"])


def test_the_people_are_marked_at_their_own_rate(assessed):
    page = parse(render(assessed))
    charts = [node for node in page.all("svg") if "data-measure" in node.attributes]
    assert len(charts) == 6, "three measures of two scores"
    for chart in charts:
        classes = [node.attributes.get("class") for node in chart.all()]
        assert classes.count("human") == 1
        assert classes.count("present") == 1
