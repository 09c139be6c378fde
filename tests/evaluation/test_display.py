"""A curve prints itself with its assumption, escapes what it is given, and reads between its points."""

import json

import numpy as np
import pandas as pd
import pytest
from matplotlib import pyplot
from matplotlib.figure import Figure
from numpy.testing import assert_allclose, assert_array_equal

import selective_labels as sl
from selective_labels._display import PRINTED_ROWS, Described
from selective_labels.evaluation.display import Curve


def make_curve(n_points=3, width=0.0, title="Failure rate", assumption="cases come by lot."):
    x = np.linspace(0.0, 1.0, n_points)
    return Curve(
        title=title,
        x_name="acceptance",
        x=x,
        lower=x / 2,
        upper=x / 2 + width,
        ci_lower=x / 2 - 0.1,
        ci_upper=x / 2 + width + 0.1,
        assumption=assumption,
        identifies="the rate.",
        n_samples=77,
        confidence_level=0.9,
    )


def test_text_states_assumption_sample_and_what_the_interval_covers():
    text = str(make_curve())
    for part in ("Failure rate", "cases come by lot", "the rate", "77 cases", "90% interval covers"):
        assert part in text  # a number never appears without them


def test_notebook_text_is_escaped():
    html = make_curve(title="<b>", assumption="a < b & c")._repr_html_()
    assert "<b>" not in html
    assert "a &lt; b &amp; c" in html


def test_long_tables_are_thinned_in_print_only():
    curve = make_curve(n_points=1000)
    assert len(curve.to_frame()) == 1000
    assert str(curve).count("\n") < PRINTED_ROWS + 8
    assert (
        "0.999" not in str(curve).split("\n")[-6]
    )  # the last row shown is the last point, not the one before
    assert " 1 " in str(curve)


def test_frame_has_one_estimate_or_two_ends():
    assert list(make_curve().to_frame()) == ["acceptance", "estimate", "ci_lower", "ci_upper"]
    assert list(make_curve(width=0.1).to_frame()) == ["acceptance", "lower", "upper", "ci_lower", "ci_upper"]


def test_json_holds_every_number():
    content = json.loads(make_curve().to_json())
    assert [row["estimate"] for row in content["table"]] == [0.0, 0.25, 0.5]
    assert content["title"] == "Failure rate"
    assert any("by lot" in sentence for sentence in content["sentences"])


def test_reads_between_its_points_and_not_beyond():
    read = make_curve(width=0.2).at([0.25, 0.6])
    assert_allclose(read.lower, [0.125, 0.3])
    assert_allclose(read.upper, [0.325, 0.5])
    assert_allclose(read.ci_lower, [0.025, 0.2])
    for beyond in (1.1, -0.1, np.nan):
        with pytest.raises(ValueError, match="from 0 to 1; it says nothing beyond"):
            make_curve().at(beyond)


def test_plot_draws_on_the_axes_given():
    axes = Figure().subplots()
    drawn = make_curve(width=0.1).plot(axes)
    assert drawn is axes
    assert len(axes.lines) == 2  # two ends
    assert_array_equal(axes.lines[1].get_ydata(), make_curve(width=0.1).upper)
    assert len(axes.collections) == 1  # one band
    assert axes.get_title() == "cases come by lot."


def test_plot_makes_axes_of_its_own():
    pyplot.switch_backend("agg")
    axes = make_curve().plot()
    assert len(axes.lines) == 1  # a point estimate has no second end
    pyplot.close(axes.figure)


def test_tables_to_paste():
    class Two(Described):
        title = "Two rates"

        def to_frame(self):
            return pd.DataFrame({"who_decides": ["a|b", "50% & more"], "rate": [0.25, float("nan")]})

        def sentences(self):
            return []

    latex, markdown = Two().to_latex(), Two().to_markdown()
    assert r"who\_decides & rate \\" in latex
    assert r"50\% \& more &  \\" in latex
    assert latex.count("toprule") == latex.count("bottomrule") == 1
    assert markdown.splitlines()[2] == r"| a\|b | 0.25 |"


@pytest.fixture(scope="module")
def judged():
    sample = sl.datasets.make_decision_makers(300, n_classes=2, random_state=0)
    data = sl.SelectiveLabels.from_arrays(sample.X, sample.y, decision_maker=sample.decision_maker)
    questions = sl.Evaluator(data, nuisance="logistic", propensity="shares", random_state=0)
    return questions.evaluate((sample.X[:, 0] < 0).astype(int), assumption=["instrument", "unconfounded"])


def test_pasted_tables_of_evaluations_are_short_and_carry_their_assumptions(judged):
    latex, markdown = judged.to_latex(), judged[0].to_markdown()
    assert latex.count(" & ") == 4 * 3, "a heading and two rows of five columns"
    assert latex.count("Assumption (") == 2
    assert markdown.splitlines()[0] == "| metric | assumption | lower | upper | interval |"
    assert "*Note.*" in markdown
    assert "Assumption (instrument)" in markdown


def test_a_table_of_coefficients_has_an_estimate_only_where_the_value_is_identified(judged):
    bounded, point = (each.__maketables_coef_table__ for each in judged)
    assert bounded.loc["accuracy", ["b", "se", "t", "p"]].isna().all()
    assert bounded.loc["accuracy", "lower"] == judged[0].lower
    assert point.loc["accuracy", "b"] == judged[1].lower == judged[1].upper
    assert (point["ci95l"] < point["b"]).all()
    assert judged[0].__maketables_stat__("N") == 300
    assert judged[0].__maketables_stat__("r2") is None
