"""The page is whole, safe and honest, whatever the document holds."""

import json
import re
from base64 import b64encode
from copy import deepcopy
from hashlib import sha256

import pytest

from selective_labels.report.render import render
from tests.report.documents import document
from tests.report.page import parse
from tests.report.samples import SECTIONS

HOSTILE = (
    "</script><script>window.hacked = 1</script><img src=x onerror='window.hacked = 1'>"
    '" onload="window.hacked = 1" {{ 7 * 7 }} <!-- \u2028 \u202e =cmd|\x00'
)
SHOWN = ("data", "summary", *SECTIONS)


@pytest.fixture(scope="module")
def page():
    return parse(render(document()))


@pytest.fixture(scope="module")
def hostile():
    return parse(render(document(name=HOSTILE)))


def numbers_of(page):
    return next(each for each in page.all("script") if each.attributes.get("id") == "numbers").text


def test_the_page_loads_nothing(page):
    links = [
        value for node in page.all() for name, value in node.attributes.items() if name in ("href", "src")
    ]
    assert links, "the contents link to sections"
    assert all(link.startswith("#") for link in links), "every link stays on the page"


def test_links_of_the_contents_lead_somewhere(page):
    ids = {node.attributes["id"] for node in page.all() if "id" in node.attributes}
    links = {node.attributes["href"].removeprefix("#") for node in page.all("a")}
    assert links <= ids


def test_the_policy_allows_this_style_and_this_script_alone(page):
    policy = next(
        node.attributes["content"] for node in page.all("meta") if "http-equiv" in node.attributes
    ).split("; ")
    digest = [
        b64encode(sha256(node.text.encode()).digest()).decode()
        for node in (page.first("style"), list(page.all("script"))[-1])
    ]
    assert policy[0] == "default-src 'none'", "nothing is allowed that is not named"
    assert policy[1:3] == [f"style-src 'sha256-{digest[0]}'", f"script-src 'sha256-{digest[1]}'"]


def test_no_element_carries_script_or_style(hostile):
    names = {name for node in hostile.all() for name in node.attributes}
    assert not [name for name in names if name.startswith("on") or name == "style"]


def test_hostile_names_add_no_element(page, hostile):
    def tags(root):
        return [node.tag for node in root.all()]

    assert tags(hostile) == tags(page), "text stays text: the elements are those of harmless names"


def test_hostile_names_are_shown_as_they_are(hostile):
    assert hostile.first("h1").inner_text().startswith("Loans</script><script>window.hacked")


@pytest.mark.parametrize("name", ["", HOSTILE, "\ud800 lone surrogate"])
def test_the_numbers_are_the_document(name):
    given = document(n_makers=3, name=name)
    assert json.loads(numbers_of(parse(render(given)))) == given


def test_the_page_can_be_written_to_a_file():
    assert render(document(n_makers=3, name="\ud800")).encode("utf-8")


def test_long_names_are_cut_on_the_page():
    page = parse(render(document(n_makers=3, name="x" * 10_000)))
    texts = [node.text for node in page.all() if node.tag not in ("script", "style")]
    assert max(map(len, texts)) <= 2000, "a command is the longest text; sentences are cut before"
    assert max(len(node.attributes.get("title") or "") for node in page.all()) == 300
    assert max(len(node.inner_text()) for node in page.all("bdi")) <= 120


@pytest.mark.parametrize("name", SHOWN)
def test_a_missing_section_says_why(name):
    given = document(n_makers=3) | {name: {"missing": f"No {name} & no reason."}}
    notes = [node.inner_text().strip() for node in parse(render(given)).all("p")]
    assert f"No {name} & no reason." in notes


@pytest.mark.parametrize("name", SHOWN)
def test_an_absent_section_is_said_to_be_absent(name):
    given = document(n_makers=3)
    del given[name]
    assert "This part was not computed." in render(given)


def test_everything_may_be_missing():
    nothing = document() | {name: {"missing": "One class was seen."} for name in SHOWN}
    assert render(nothing).count("One class was seen.") >= len(SHOWN)


def test_another_version_of_the_document_is_refused():
    with pytest.raises(ValueError, match=r"schema_version 1; .* make the document again"):
        render(document() | {"schema_version": 1})


def test_every_number_of_the_evaluations_is_on_the_page(page):
    cells = {cell.inner_text() for cell in page.all("td")}
    for model in document()["models"]:
        for each in model["evaluations"]:
            low, high = (f"{100 * each[end]:.1f}%" for end in ("ci_lower", "ci_upper"))
            assert f"{low} to {high}" in cells


def test_a_share_of_cases_is_shown_once(page):
    figure = next(each for each in page.all("figure") if "No model enters" in each.inner_text())
    rows = [row.inner_text() for row in figure.first("tbody").all("tr")]
    assert len(rows) == 4, "one row for each assumption, not one for each model"


def test_ends_that_cross_are_not_hidden():
    given = document(n_makers=3)
    given["models"][0]["evaluations"][0] |= {"lower": 0.7, "upper": 0.6, "ci_lower": 0.68, "ci_upper": 0.62}
    page = render(given)
    assert "ends cross: 70.0% to 60.0%" in page
    assert "no value fits" in page


def test_unknown_numbers_are_dashes():
    given = document(n_makers=3)
    ends = dict.fromkeys(("lower", "upper", "ci_lower", "ci_upper"))
    given["models"][0]["evaluations"][0] |= ends
    given["acceptance"]["models"][0]["points"][3]["failures"] = ends
    given["sensitivity"]["curve"][3] |= ends
    cells = [cell.inner_text() for cell in parse(render(given)).all("td")]
    assert cells.count("–") > [cell.inner_text() for cell in parse(render(document(3))).all("td")].count("–")


def test_costs_are_numbers_not_percentages():
    given = document(n_makers=3)
    cost = deepcopy(given["models"][0]["evaluations"][0])
    cost |= {"metric": "cost", "limits": [0.0, None], "lower": 12.0, "upper": 31.5}
    given["models"][0]["evaluations"].append(cost)
    assert "12 to 31.5" in render(given)


def test_an_assumption_that_may_not_be_used_is_marked(page):
    quality = next(node for node in page.all("section") if node.attributes["id"] == "quality")
    chart = next(node for node in quality.all("svg") if node.attributes.get("class") == "chart intervals")
    headings = [node.text for node in chart.all("text") if node.attributes["class"] == "heading"]
    refused = ["One common strictness (may not be used here)", "No hidden reasons (may not be used here)"]
    assert headings == ["Nothing assumed", "As if by lot", *refused]


def test_three_classes():
    given = document(n_makers=3, classes=("low", "normal", "high"))
    for name in ("share of 'low'", "P(predicted 'low' | true 'low')"):
        each = deepcopy(given["models"][0]["evaluations"][0]) | {"metric": name}
        given["models"][0]["evaluations"].append(each)
    titles = [node.inner_text().strip() for node in parse(render(given)).all("h3")]
    assert "Share of 'low'" in titles
    assert "Recognised: 'low'" in titles


def test_a_full_page_is_under_three_megabytes():
    assert len(render(document(n_makers=200)).encode()) < 1_000_000, "a third of what a report may have"


def test_sections_stand_in_the_order_of_the_contents(page):
    wanted = [link.attributes["href"].removeprefix("#") for link in page.first("nav").all("a")]
    assert [each.attributes["id"] for each in page.all("section")] == wanted


def test_no_template_is_left_unfilled(page):
    assert not re.search(r"\{\{|\{%|None\b", page.first("main").inner_text())
