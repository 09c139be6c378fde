"""No sentence of a report says accepted or refused to an inspector, or speaks another domain's words."""

import re
from dataclasses import replace
from html import unescape

import pytest

import selective_labels as sl
from selective_labels._vocabulary import PRESETS
from selective_labels.report.markdown import render_markdown
from selective_labels.report.render import render
from tests.evaluation.test_decision_means import make_frame
from tests.report.samples import QUICK, Store

DOMAINS = ("lending", "bail", "medical", "audit", "insurance")
COSTS = {
    "accept": {"default": 3000, "declined_good": 400},
    "inspect": {"inspect": 400, "missed": 3000},
}
NAMES = {"label": "y", "decision": "d", "decision_maker": "z", "features": ["x"]}
# What a column, an assumption or an option is called is no word of a sentence.
QUOTED = re.compile(r"“[^”]*”|`[^`]*`|(?<!\w)'[^'\n]*'(?!\w)|--[\w-]+(?: \w+)?")


def forbidden(words):
    """Neutral words, and verbs, people and events of the other domains."""
    other = ["accept", "accepted", "accepting", "acceptance", "refuse", "refused", "refusal", "refusals"]
    other += ["decision-maker", "decision-makers", "failure", "failures", "loan", "loans"]
    for each in (PRESETS[name] for name in DOMAINS):
        other += [each.yes, each.yes_past, each.no, each.no_past, each.decision_maker, each.event, each.cases]
    own = {words.yes, words.yes_past, words.yes_noun, words.no, words.no_past, words.event, words.cases}
    own |= {words.decision_maker, words.decision_makers, "test", "tested", "return", "returns"}
    return [each for each in dict.fromkeys(other) if each and each not in own]


def sentences(page):
    """Texts of a page outside code, scripts and styles."""
    text = re.sub(r"<(script|style|code|pre)\b.*?</\1>", " ", page, flags=re.DOTALL)
    return [" ".join(unescape(each).split()) for each in re.split(r"<[^>]+>", text) if each.strip()]


@pytest.fixture(scope="module")
def documents():
    """One document for each domain; the sections of each meaning are computed once."""
    found = {}
    stores = {means: Store() for means in COSTS}
    for name in DOMAINS:
        words = PRESETS[name].meaning()
        sign = 1 if words.means == "inspect" else -1
        frame = make_frame(sign=sign).rename(columns={"found": "y", "sent": "d", "adjuster": "z"})
        data = sl.SelectiveLabels.from_frame(frame, **NAMES, decision_means=words.means)
        found[name] = sl.assess(
            replace(data, vocabulary=words),
            predictions=frame["score"].to_numpy(),
            cost=COSTS[words.means],
            assumptions=[sl.assumptions.Informed(1)],
            sections=stores[words.means],
            **QUICK,
        )
    return found


@pytest.mark.filterwarnings("ignore::UserWarning")
@pytest.mark.parametrize("name", DOMAINS)
def test_a_report_speaks_the_words_of_its_domain(documents, name):
    words = PRESETS[name].meaning()
    said = [*sentences(render(documents[name])), *render_markdown(documents[name]).splitlines()]
    # "Loan officer" holds the word "loan", and "failure to appear" the word "failure".
    own = (words.decision_makers, words.decision_maker, words.events, words.event)
    spoken = re.compile("|".join(map(re.escape, own)), re.IGNORECASE)
    plain = [spoken.sub("", QUOTED.sub("", each)) for each in said]
    for word in forbidden(words):
        wrong = [each for each in plain if re.search(rf"\b{re.escape(word)}\b", each, re.IGNORECASE)]
        assert not wrong, f"{word!r} in {wrong[:3]}"
    for each in (words.yes_past, words.cases, words.decision_makers):
        assert any(each in text for text in said), each
