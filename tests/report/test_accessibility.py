"""What a reader needs who does not see the page, does not see colours, or has no mouse."""

import re
from importlib.resources import files
from itertools import pairwise

import pytest

from selective_labels.report.render import render
from tests.report.documents import document
from tests.report.page import parse

# Text against what it stands on: 4.5 to 1. Marks and lines that carry meaning: 3 to 1 (WCAG 2.2 AA).
TEXT = [("ink", "paper"), ("ink", "panel"), ("soft", "paper"), ("soft", "panel"), ("link", "paper")]
TEXT += [
    ("link", "panel"),
    *[(status, policy_sample) for status in ("warn", "bad") for policy_sample in ("paper", "panel")],
]
MARKS = [(mark, policy_sample) for mark in ("yours", "ours", "plain") for policy_sample in ("paper", "panel")]
MARKS += [("on-badge", status) for status in ("ink", "soft", "warn", "bad")]


@pytest.fixture(scope="module")
def page():
    return parse(render(document()))


def palettes():
    style = files("selective_labels.report").joinpath("style.css").read_text()
    roots = [
        dict(re.findall(r"--([\w-]+): (#\w{6})", block))
        for block in re.findall(r":root \{(.*?)\}", style, re.S)
    ]
    light, dark, printed = roots
    return {"light": light, "dark": light | dark, "print": light | printed}


def luminance(colour):
    channels = [int(colour[place : place + 2], 16) / 255 for place in (1, 3, 5)]
    linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in channels]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def contrast(one, other):
    low, high = sorted((luminance(one), luminance(other)))
    return (high + 0.05) / (low + 0.05)


def test_contrast_of_black_and_white():
    assert contrast("#000000", "#ffffff") == pytest.approx(21.0), "as the standard defines it"


@pytest.mark.parametrize("scheme", ["light", "dark", "print"])
@pytest.mark.parametrize(("pairs", "wanted"), [(TEXT, 4.5), (MARKS, 3.0)], ids=["text", "marks"])
def test_colours_can_be_told_from_their_ground(scheme, pairs, wanted):
    colours = palettes()[scheme]
    ratios = {pair: contrast(colours[pair[0]], colours[pair[1]]) for pair in pairs}
    assert not {pair: ratio for pair, ratio in ratios.items() if ratio < wanted}


def test_the_page_says_its_language(page):
    assert page.first("html").attributes["lang"] == "en"


def test_headings_skip_no_level(page):
    levels = [int(node.tag[1]) for node in page.all() if re.fullmatch("h[1-6]", node.tag)]
    assert levels[0] == 1
    assert levels.count(1) == 1
    assert all(after <= before + 1 for before, after in pairwise(levels))


def test_ids_are_unique(page):
    ids = [node.attributes["id"] for node in page.all() if "id" in node.attributes]
    assert len(ids) == len(set(ids))


def test_every_reference_to_an_id_is_good(page):
    ids = {node.attributes["id"] for node in page.all() if "id" in node.attributes}
    named = [
        node.attributes[name]
        for node in page.all()
        for name in ("for", "aria-labelledby")
        if name in node.attributes
    ]
    assert set(named) <= ids


def test_every_input_has_a_label(page):
    named = {node.attributes.get("for") for node in page.all("label")}
    inputs = list(page.all("input"))
    assert len(inputs) == 4, "two models to choose from, and a slider for each"
    assert all(node.attributes.get("id") in named or node.parent.tag == "label" for node in inputs)


def test_every_chart_has_a_name_and_a_description(page):
    charts = [node for node in page.all("svg") if node.attributes.get("role") == "img"]
    assert len(charts) > 20
    for chart in charts:
        title, description = chart.children[:2]
        assert (title.tag, description.tag) == ("title", "desc"), "the first title is the name of the chart"
        assert title.text
        assert description.text


def test_other_drawings_are_hidden_from_screen_readers(page):
    parts = [node for node in page.all("svg") if node.parent.tag != "svg" and "role" not in node.attributes]
    assert all(node.attributes.get("aria-hidden") == "true" for node in parts)


def test_the_numbers_of_every_chart_are_in_a_table(page):
    for chart in page.all("svg"):
        if chart.attributes.get("role") == "img":
            holder = chart.parent
            while holder.first("details") is None:
                holder = holder.parent
            assert holder.tag in ("figure", "div"), "beside the chart, not somewhere on the page"


def test_every_table_has_a_caption_and_headings_with_a_scope(page):
    for table in page.all("table"):
        assert table.first("caption") is not None
        assert all("scope" in heading.attributes for heading in table.all("th"))


def test_boxes_that_scroll_can_be_reached_by_keyboard(page):
    boxes = [node for node in page.all() if "scroll" in (node.attributes.get("class") or "").split()]
    assert boxes
    assert all({"tabindex", "role", "aria-label"} <= set(node.attributes) for node in boxes)


def test_statuses_have_a_word_and_a_shape(page):
    badges = [node for node in page.all("span") if "badge" in (node.attributes.get("class") or "")]
    words = {badge.inner_text().strip() for badge in badges}
    assert {"nothing against it", "warning", "violated", "not tested"} <= words
    assert {"Needs no check", "Not contradicted", "Cannot be checked here"} <= words
    assert all(badge.first("svg") is not None for badge in badges), "the shape tells without colour"
    shapes = {
        badge.inner_text().strip(): [path.attributes["d"] for path in badge.all("path")] for badge in badges
    }
    assert (
        len({str(shapes[word]) for word in ("nothing against it", "warning", "violated", "not tested")}) == 4
    )
