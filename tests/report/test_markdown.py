"""The report as Markdown, the model card, and the page on paper."""

import re

import pytest

import selective_labels as sl
from selective_labels import InputError, model_card
from selective_labels.report import render as pdf_module
from selective_labels.report.markdown import escaped, render_markdown
from selective_labels.report.render import render, render_pdf, require_browser
from selective_labels.report.wording import number, span
from tests.report.documents import document
from tests.report.test_render import HOSTILE

MOST_PAGES = 12


def test_markdown_has_the_answer_first_and_every_part():
    text = render_markdown(document())
    lines = text.splitlines()
    assert lines[0] == "# Loans"
    assert lines[2].startswith("**On everybody")
    for heading in (
        "What this assumes",
        "What to do next",
        "What each assumption buys",
        "The two rules against each other",
        "Comparison with common practice",
        "Subgroups",
        "If the assumption is not quite true",
        "Appendix: all checks",
    ):
        assert f"## {heading}" in lines


def test_ladder_subgroups_and_sensitivity_have_their_numbers():
    given = document()
    text = render_markdown(given)
    rung = given["ladder"]["ladders"][0]["rungs"][-1]
    assert escaped(rung["sentence"]) in text
    for row in given["subgroups"][0]["seen"]:
        assert f"| {escaped(row['subgroup'])} | {row['n']:,} |" in text
    for point in given["sensitivity"]["curve"][:3]:
        assert f"| {number(point['x'])} | {span(point['lower'], point['upper'], number)} |" in text


def test_numbers_of_markdown_are_those_of_the_document():
    found = document()["answers"]["event"]["result"]
    assert f"{100 * found['lower']:.1f}% to {100 * found['upper']:.1f}%" in render_markdown(document())


def test_hostile_names_stay_text_in_markdown():
    text = render_markdown(document(name=HOSTILE))
    text = "\n".join(line for line in text.splitlines() if not line.startswith("    "))  # code
    assert not re.search(r"(?<!\\)<(script|img)", text)
    for line in text.splitlines():
        if line.startswith("| "):
            cells = re.split(r"(?<!\\)\|", line)
            assert len(cells) >= 4, "no cell is torn open by a name"


def test_missing_sections_say_why_in_markdown():
    names = (
        "summary",
        "answers",
        "diagnosis",
        "models",
        "comparators",
        "outlook",
        "acceptance",
        "team",
        "ladder",
        "comparison",
        "subgroups",
        "sensitivity",
        "data",
    )
    given = document() | {name: {"missing": f"No {name}."} for name in names}
    text = render_markdown(given)
    for name in set(names) - {"answers", "data"}:
        assert f"No {name}." in text


@pytest.fixture(scope="module")
def fitted():
    loans = sl.datasets.make_loans(2000, random_state=0).table
    roles = {"label": "defaulted", "decision": "approved", "decision_maker": "officer"}
    data = sl.SelectiveLabels.from_frame(loans, **roles, features=["years_employed", "debt_ratio"])
    return sl.UCLClassifier("partial", "linear", nuisance="logistic", cv=2, random_state=0).fit(data), data


def test_a_model_card_says_what_it_assumes_and_promises(fitted):
    model, data = fitted
    card = model_card(model, data, title="Loans")
    assert card.startswith("# Loans\n")
    assert f"{model.worst_case_regret_:.4g}" in card
    assert f"at most {model.worst_case_regret_upper_:.4g}" in card
    assert f"{int((data.decision == 1).sum())} of them with a label" in card
    for word in ("years\\_employed", "debt\\_ratio", "as if at random", "## Not for"):
        assert word in card


def test_a_model_card_says_what_auto_did(fitted):
    _, data = fitted
    model = sl.UCLClassifier("auto", "linear", nuisance="logistic", cost="balanced", random_state=0).fit(data)
    card = model_card(model)
    assert escaped(model.mode_reason_) in card
    assert "all classes count alike" in card


def test_a_card_is_of_a_fitted_learner():
    with pytest.raises(InputError, match="model is a HeckmanClassifier; a card describes a fitted UCLC"):
        model_card(sl.HeckmanClassifier())


def test_without_a_browser_one_sentence_says_what_to_do(monkeypatch):
    monkeypatch.setattr(pdf_module.shutil, "which", lambda name: None)
    with pytest.raises(InputError, match=r"none was found: write an \.html page"):
        require_browser()


def test_a_browser_that_prints_nothing_is_named(tmp_path):
    with pytest.raises(InputError, match="true printed nothing"):
        render_pdf("<p>", browser="true")


@pytest.mark.browser
def test_the_page_prints_on_at_most_twelve_pages():
    try:
        require_browser()
    except InputError:
        pytest.skip("optional: no browser is installed")
    printed = render_pdf(render(document()))
    assert printed.startswith(b"%PDF")
    assert 1 <= len(re.findall(rb"/Type\s*/Page[^s]", printed)) <= MOST_PAGES
