"""Charts show the numbers that they are given, where they belong."""

from itertools import pairwise
from xml.etree import ElementTree

import pytest

from selective_labels.report.charts import Row, Scale, bands, bar_chart, interval_chart, round_scale
from selective_labels.report.figures import acceptance_chart, leniency_chart, scatter, sensitivity_chart
from tests.report.documents import acceptance, document, leniency, sensitivity


def elements(svg, tag, kind):
    return [each for each in ElementTree.fromstring(svg).iter(tag) if each.get("class") == kind]


def one_row(low, high, ci_low=0.1, ci_high=0.9):
    ends = {"lower": low, "upper": high, "ci_lower": ci_low, "ci_upper": ci_high}
    return interval_chart([Row("model", "words", ends)], "Title", Scale(0.0, 1.0), str)


@pytest.mark.parametrize(
    "values", [[0.13, 0.58], [0.0, 0.0], [-3.2, 41.0], [7.0], [None, None], [1e-9, 2e-9]]
)
def test_a_round_scale_holds_its_values(values):
    scale = round_scale(values)
    known = [value for value in values if value is not None]
    assert scale.low < scale.high
    assert all(scale.low <= value <= scale.high for value in known)


@pytest.mark.parametrize("scale", [Scale(0, 1), Scale(-0.6, 0.6), Scale(1, 10), Scale(0.05, 0.0502)])
def test_ticks_are_few_and_within_the_scale(scale):
    ticks = scale.ticks()
    assert 2 <= len(ticks) <= 7
    assert all(scale.low - 1e-9 <= tick <= scale.high + 1e-9 for tick in ticks)


def test_an_interval_stands_at_its_ends():
    bar = elements(one_row(0.25, 0.75), "rect", "thick")[0]
    assert (bar.get("x"), bar.get("width")) == ("25%", "50%")


def test_a_confidence_interval_stands_at_its_ends():
    line = elements(one_row(0.25, 0.75), "line", "thin")[0]
    assert (line.get("x1"), line.get("x2")) == ("10%", "90%")


def test_one_value_is_a_dot():
    chart = one_row(0.4, 0.4)
    assert elements(chart, "circle", "point")[0].get("cx") == "40%"
    assert not elements(chart, "rect", "thick"), "a bar of no width would be invisible"


def test_crossed_ends_look_different():
    assert len(elements(one_row(0.6, 0.5), "rect", "crossed")) == 1


def test_an_empty_confidence_interval_is_not_drawn():
    assert not elements(one_row(0.4, 0.4, 0.6, 0.5), "line", "thin")


def test_unknown_ends_leave_the_label():
    chart = one_row(None, None, None, None)
    assert [each.text for each in elements(chart, "text", "label")] == ["model"]


def test_a_heading_stands_once_above_its_rows():
    ends = dict.fromkeys(("lower", "upper", "ci_lower", "ci_upper"), 0.5)
    rows = [Row("a", "", ends, heading="Instrument"), Row("b", "", ends, heading="Instrument")]
    chart = interval_chart(rows, "Title", Scale(0.0, 1.0), str)
    assert len(elements(chart, "text", "heading")) == 1


def test_bars_are_as_long_as_their_shares():
    chart = bar_chart(
        [{"label": "a", "n": 1, "share": 0.125}, {"label": "b", "n": 1, "share": None}], "Title"
    )
    assert [bar.get("width") for bar in elements(chart, "rect", "bar")] == ["12.5%"]


def test_two_hundred_decision_makers_stand_apart_on_a_phone():
    dots = elements(leniency_chart(leniency(200, "late", "")["decision_makers"], "Title"), "circle", "point")
    places = [float(dot.get("cx").removesuffix("%")) for dot in dots]
    steps = [after - before for before, after in pairwise(places)]
    assert len(dots) == 200
    assert min(steps) * 3.0 > 1.4, "of 300 pixels: more than one pixel between neighbours"


def test_the_scatter_leaves_out_who_has_no_label():
    makers = leniency(40, "late", "")["decision_makers"]
    assert len(elements(scatter(makers, "Title"), "circle", "dot")) == 39


def test_a_band_has_a_gap_where_a_number_is_unknown():
    area = ElementTree.Element("svg")
    ends = {"lower": 0.2, "upper": 0.4, "ci_lower": 0.1, "ci_upper": 0.5}
    points = [{"x": x, **ends} for x in range(5)]
    points[2] |= {"lower": None}
    bands(area, points, Scale(0, 4), Scale(0, 1, flipped=True))
    kinds = [each.get("class") for each in area.iter("polygon")]
    assert kinds == ["outer", "inner", "inner"]


def test_the_break_even_value_is_marked():
    line = elements(sensitivity_chart(sensitivity()), "line", "break-even")[0]
    assert line.get("x1") == "66.67%", "2 between 1/8 and 8, each doubling alike"
    band = elements(sensitivity_chart(sensitivity()), "rect", "supported")[0]
    assert (band.get("x"), band.get("width")) == ("50%", "33.33%"), "from 1 to 4"


def test_a_break_even_value_beyond_the_curve_is_not_drawn():
    assert not elements(sensitivity_chart(sensitivity() | {"break_even": 50.0}), "line", "break-even")


def test_the_mark_stands_at_the_start():
    part = acceptance()
    model = part["models"][0]
    how = part["human"]["good_lost"], part["present"]
    chart = acceptance_chart(model["points"], "good_lost", model["start"], "Title", *how)
    mark, people = elements(chart, "line", "mark thick")[0], elements(chart, "line", "human")[0]
    assert mark.get("x1") == "50.4%", "the present share"
    assert people.get("x1") == "50.4%", "the people's own bounds, at their share"
    assert people.get("y1") != people.get("y2")


def test_what_the_labeled_cases_say_is_a_ring_on_the_bar():
    ends = {"lower": 0.2, "upper": 0.6, "ci_lower": 0.1, "ci_upper": 0.7}
    chart = interval_chart([Row("model", "words", ends, seen=0.85)], "Title", Scale(0.0, 1.0), str)
    assert [ring.get("cx") for ring in elements(chart, "circle", "seen")] == ["85%"]


def test_text_is_escaped_by_the_serializer():
    feature = document(name="<&\"'>")["decided"]["by_feature"][0]
    labels = elements(bar_chart(feature["bins"], "Title"), "text", "label")
    assert labels[0].text == "0 to 10<&\"'>"
