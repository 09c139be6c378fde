"""The ladder on the page: from weak to strong, nothing drawn where the data contradict."""

from selective_labels.report.page import CONTRADICTED, assumption_cards, ladder_figures
from selective_labels.report.render import render
from tests.report.documents import document, ladder
from tests.report.page import parse


def test_rungs_stand_in_their_order_and_a_contradicted_one_has_no_bar():
    accuracy, share = ladder_figures(ladder())
    assert [row[0] for row in accuracy.rows] == ["1. none", "2. instrument", "3. + informed(defaulted)"]
    assert accuracy.chart.count("<rect") == 2
    assert accuracy.rows[2][2] == CONTRADICTED
    assert [row[4] for row in accuracy.rows] == ["–", "20.0", "–"]
    assert 'class="row yours' in accuracy.chart
    assert 'class="row plain' in share.chart, "no model enters the share of a class"


def test_the_page_says_what_each_rung_adds():
    page = parse(render(document()))
    section = next(node for node in page.all("section") if node.attributes["id"] == "ladder")
    lines = [node.inner_text() for node in section.all("li")]
    assert ["contradict" in line for line in lines] == [False, False, True]
    assert "what informed(defaulted) says." in lines[-1]


def test_a_doubtful_assumption_has_a_card_of_its_own_and_is_not_used():
    asked = {"assumption": "instrument", "given": "strata", "allowed": False, "verdict": "doubtful"}
    cards = assumption_cards({"verdict": [asked | {"plain": "this or that.", "could_see": []}]})
    assert [(card.status, card.look, card.used) for card in cards] == [
        ("Needs no check", "not applicable", True),
        ("Doubtful", "warning", False),
    ]
