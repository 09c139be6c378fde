"""Results say what they are: in a terminal, in a notebook, in a frame, in JSON, in a plot."""

import json
from dataclasses import replace

import matplotlib as mpl
import numpy as np
import pytest

from selective_labels import Evaluation, compare, evaluate
from selective_labels.assumptions import NoAssumption, named
from selective_labels.assumptions.parse import NAMED
from selective_labels.datasets import make_decision_makers
from selective_labels.evaluation.results import Sample
from tests.evaluation.samples import lottery, other_rule, rule

mpl.use("agg")
NASTY = "<b>&'\""


@pytest.fixture(scope="module")
def sample():
    return make_decision_makers(1000, random_state=31)


@pytest.fixture(scope="module")
def options(sample):
    return {
        "decision_maker": sample.decision_maker,
        "nuisance": sample.oracle.joint,
        "propensity": "shares",
        "random_state": 0,
    }


@pytest.fixture(scope="module")
def one(sample, options):
    return evaluate(rule(sample.X), sample.X, sample.y, **options)


@pytest.fixture(scope="module")
def many(sample, options):
    by = np.where(sample.X[:, 3] > 0, NASTY, "plain")
    metrics = ["accuracy", "log_loss"]
    return evaluate(lottery(sample.X), sample.X, sample.y, metric=metrics, assumption="all", by=by, **options)


@pytest.fixture(scope="module")
def duel(sample, options):
    return compare(rule(sample.X), other_rule(sample.X), sample.X, sample.y, **options)


def test_text_states_assumption_sample_and_what_is_covered(one, sample):
    text = repr(one)
    assert f"accuracy: between {one.lower:.3f} and {one.upper:.3f}" in text
    assert f"95 % interval: [{one.ci_lower:.3f}, {one.ci_upper:.3f}]; it covers the value" in text
    assert f"Assumption (instrument): {named('instrument').sentence}" in text
    assert f"1,000 cases, {np.sum(sample.decision):,} of them" in text
    assert "8 decision-makers" in text
    assert "covers the whole identified interval" in repr(one.with_interval("set"))


def test_text_says_what_it_means_that_few_rows_carry_the_error(sample, options):
    first = rule(sample.X)
    second = first.copy()
    second[:6] = (first[:6] + 1) % 3  # six rows in a thousand are all that tells them apart
    compared = compare(first, second, sample.X, sample.y, **options)
    text, number = repr(compared), compared.sample.n_effective
    assert number < 10
    assert f"The interval rests on about {number:.0f} of 1,000 rows: these have large weights" in text
    assert "rough: a few other rows could move it" in text


def test_text_names_clusters_where_they_carry_the_error(one):
    few = replace(one, sample=replace(one.sample, n_effective=5.0, cluster="groups", n_clusters=300))
    assert "The interval rests on about 5 of 300 clusters: these have large weights" in repr(few)
    assert "The interval rests" not in repr(one)


def test_text_of_many_states_the_same(many):
    text = repr(many)
    for each in NAMED:
        assert f"Assumption ({each.name}): {each.sentence}" in text
    assert "covers the value" in text
    assert f"Sample ({NASTY})" in text
    assert f"accuracy, {NASTY} minus plain" in text  # the gap
    assert f"Sample ({NASTY} and plain): 1,000 cases" in repr(many.gaps)
    assert not any(line.endswith(" ") for line in text.splitlines())


def test_caution_leads_the_notes_and_silences_what_sounds_like_a_guarantee(one):
    loose = replace(one, sample=replace(one.sample, sharpness_lost=0.2))
    assert "conservative" in str(loose)
    doubted = loose.with_cautions(["the assignment is doubtful.", "the assignment is doubtful."])
    assert doubted.sample.cautions == ("the assignment is doubtful.",)
    assert "Caution: the assignment is doubtful." in str(doubted)
    assert "conservative" not in str(doubted)
    assert doubted.to_dict()["cautions"] == ["the assignment is doubtful."]
    assert doubted.to_frame()["cautions"].item() == "the assignment is doubtful."
    assert "conservative" not in str(replace(loose, crossed=True))  # nor beside bounds that crossed
    for doubt in ({"refusal": "a check rejects."}, {"assignment": "The interval is not to be trusted."}):
        assert "conservative" not in str(replace(loose, sample=replace(loose.sample, **doubt)))


def test_caution_of_all_rows_stands_once(many):
    said = str(many.with_cautions(["the assignment is doubtful."]))
    assert said.count("the assignment is doubtful.") == 1


def test_text_of_a_comparison_has_the_verdict(duel):
    text = repr(duel)
    assert "accuracy of a (predictions) minus that of b (predictions)" in text
    assert f"Verdict: {duel.verdict}" in text
    assert f"differ on {duel.disagreement:.1%}" in text


def test_empty_interval_speaks_against_the_assumption(one):
    crossed = Evaluation(
        metric="accuracy",
        assumption="instrument",
        lower=np.nan,
        upper=np.nan,
        ci_lower=np.nan,
        ci_upper=np.nan,
        interval="parameter",
        confidence_level=0.95,
        sample=Sample(100, 50, 2, "groups", 20, 0.2),
        standard_errors=(0.02, 0.02),
        correlation=0.0,
        limits=(0.0, 1.0),
        crossed=True,
        reason="the ends cross by more than noise explains.",
    )
    assert crossed.empty
    assert "accuracy: no value" in repr(crossed)
    assert "No value: the ends cross by more than noise explains." in repr(crossed)
    assert "weights reached their limit in 20% of the rows" in repr(crossed)
    assert "20 clusters (groups: rows of one group are not independent)" in repr(crossed)
    assert not one.empty


def test_html_is_escaped(many, one, duel):
    for result in (many, one, duel):
        html = result._repr_html_()
        assert NASTY not in html
        assert "<div>" in html
    assert "&lt;b&gt;&amp;&#x27;&quot;" in many._repr_html_()


def test_json_keeps_every_digit(one, many, duel):
    for result in (one, duel):
        values = json.loads(result.to_json())
        for name in ("metric", "assumption", "lower", "upper", "ci_lower", "ci_upper", "n", "n_labeled"):
            assert values[name] == getattr(result, name)
    rows = json.loads(many.to_json())
    assert [row["lower"] for row in rows] == [each.lower for each in many]
    assert {row["subgroup"] for row in rows} == {NASTY, "plain"}
    infinite = next(row for row in rows if row["metric"] == "log_loss")
    assert infinite["limits"] == [0.0, None]  # JSON has no infinity


def test_frame_has_a_row_for_each(one, many, duel):
    assert len(many.to_frame()) == len(many) == 2 * 4 * 2
    assert len(many.gaps.to_frame()) == 2 * 4
    for result in (one, duel):
        frame = result.to_frame()
        assert frame.loc[0, "ci_lower"] == result.ci_lower
        assert frame.loc[0, "n"] == 1000


def test_select_and_one(many):
    chosen = many.select(metric="accuracy", assumption="none")
    assert [each.subgroup for each in chosen] == [NASTY, "plain"]
    assert many.one(metric="accuracy", assumption="none", subgroup="plain") is chosen[1]
    assert many.select(metric="accuracy", assumption=NoAssumption()).items == chosen.items
    with pytest.raises(ValueError, match="8 evaluations match"):
        many.one(metric="accuracy")
    with pytest.raises(ValueError, match="'metrics' is not an attribute"):
        many.select(metrics="accuracy")


@pytest.mark.parametrize("name", ["one", "many", "duel"])
def test_plot_returns_axes(name, request):
    import matplotlib.pyplot as plt

    result = request.getfixturevalue(name)
    axes = result.plot()
    assert len(axes.get_yticklabels()) == (len(result) if name == "many" else 1)
    assert result.plot(ax=axes) is axes
    plt.close(axes.figure)
