"""The verdict, from findings alone: its word, what is allowed, and which checks the reason names."""

import re
from dataclasses import replace
from itertools import product

import pytest

from selective_labels.assumptions import EventTilt, NearNucem
from selective_labels.assumptions.base import VERDICTS, Findings
from selective_labels.assumptions.parse import named
from selective_labels.diagnostics.results import CheckResult, permission

FAMILY_OF_CODE = {
    "SL101": "relevance",
    "SL201": "assignment",
    "SL202": "assignment",
    "SL203": "assignment",
    "SL301": "overlap",
    "SL302": "overlap",
    "SL303": "overlap",
    "SL401": "inequality",
    "SL402": "inequality",
    "SL501": "monotonicity",
    "SL601": "nucem",
    "SL602": "nucem",
    "SL701": "crossing",
    "SL901": "unconfounded",
}
ASSUMPTIONS = ("instrument", "nucem", "unconfounded")


def findings(detects="", **statuses):
    """All checks ok but those named."""
    return [
        CheckResult(code, "name", family, statuses.get(code, "ok"), None, None, "message", "", detects)
        for code, family in FAMILY_OF_CODE.items()
    ]


def test_what_nothing_speaks_against_is_allowed_but_for_unconfounded():
    for assumption in ("instrument", "nucem"):
        assert permission(assumption, "strata", findings())


@pytest.mark.parametrize("status", ["ok", "warning", "violated", "not applicable"])
def test_unconfounded_is_never_allowed(status):
    """A check that does not reject is not permission."""
    refused = permission("unconfounded", "features", findings(SL901=status))
    assert not refused
    word = {"violated": "refuted", "not applicable": "cannot be checked"}.get(status, "not refuted")
    assert refused.verdict == word


def test_every_text_begins_with_a_verdict():
    for code, status in product(FAMILY_OF_CODE, ("warning", "violated", "not applicable")):
        for assumption, given in product(ASSUMPTIONS, ("strata", "features")):
            answer = permission(assumption, given, findings(**{code: status}))
            assert str(answer).startswith(tuple(f"{word}: " for word in VERDICTS))
            assert answer.reason == str(answer)
            assert answer.verdict != "refuted" or not answer


def test_not_refuted_says_what_could_have_been_seen():
    for assumption in ASSUMPTIONS:
        text = str(permission(assumption, "features", findings("a change of 3 points")))
        assert text.startswith("not refuted: ")
        assert "80% power to detect: " in text
        assert "a change of 3 points" in text


@pytest.mark.parametrize(("violated", "passed"), [("SL201", "SL202"), ("SL202", "SL201")])
def test_a_reason_names_the_checks_that_failed_and_no_other(violated, passed):
    refused = permission("instrument", "strata", findings(**{violated: "violated"}))
    assert not refused
    assert violated in refused.reason
    assert passed not in refused.reason


def test_checks_that_disagree_are_called_that():
    one = permission("instrument", "strata", findings(SL202="violated"))
    assert "The checks disagree: 1 of 3 rejects, the others do not" in one.reason
    untested = permission("instrument", "strata", findings(SL202="violated", SL201="not applicable"))
    assert "1 of 2 rejects, the other does not" in untested.reason
    every = permission("instrument", "strata", findings(SL201="violated", SL202="violated", SL203="violated"))
    assert "disagree" not in every.reason


def sl501(p_value):
    """SL501 with a p-value, violated at 5 %; nothing else rejects."""
    return [
        replace(each, p_value=p_value) if each.code == "SL501" else each
        for each in findings(SL501="violated")
    ]


@pytest.mark.parametrize("given", ["strata", "features"])
def test_sl501_makes_an_instrument_doubtful_at_one_per_cent_of_eight_tests(given):
    doubtful = permission("instrument", given, sl501(0.01 / 8))
    assert doubtful.verdict == "doubtful"
    assert not doubtful
    assert "(SL501)" in doubtful.reason
    assert "rank cases differently" in doubtful.reason
    weaker = permission("instrument", given, sl501(0.011 / 8))
    assert weaker, "a rejection at 5 % only is said, and leaves the truth value"
    assert "Another check rejects (SL501)" in weaker.reason


@pytest.mark.parametrize("assumption", ["nucem", NearNucem(0.02), EventTilt()])
def test_what_rests_on_a_doubtful_instrument_is_doubtful(assumption):
    assert permission_of(assumption, sl501(1e-6)).verdict == "doubtful"


def permission_of(assumption, results):
    """Verdict of an assumption that diagnose has no line for, too."""
    return named(assumption).permission(Findings(tuple(results)), "strata")


def test_case_mix_is_no_doubt_about_an_instrument_given_features():
    """Not random within strata: decision-makers show different labels because their cases differ."""
    mixed = [replace(each, status="violated") if each.code == "SL201" else each for each in sl501(1e-6)]
    assert permission("instrument", "strata", mixed).verdict == "refuted"
    assert permission("instrument", "features", mixed).verdict == "not refuted"


@pytest.mark.parametrize("code", ["SL601", "SL602", "SL901"])
@pytest.mark.parametrize("given", ["strata", "features"])
def test_signs_of_confounding_say_nothing_of_the_instrument(code, given):
    found = findings(**{code: "violated"})
    assert permission("instrument", given, found) == permission("instrument", given, findings())


def test_all_that_rejected_are_named():
    broken = dict.fromkeys(("SL201", "SL401", "SL402", "SL501", "SL601", "SL602", "SL701"), "violated")
    refused = permission("instrument", "strata", findings(**broken))
    assert all(code in refused.reason for code in set(broken) - {"SL601", "SL602"})
    of_nucem = set(broken) - {"SL201"}
    assert all(code in permission("nucem", "features", findings(**broken)).reason for code in of_nucem)


def test_an_untested_line_is_not_a_passed_one():
    refused = permission("nucem", "strata", findings(SL601="not applicable"))
    assert not refused
    assert "could not be tested" in refused.reason
    assert refused.verdict == "cannot be checked"


def test_a_warning_about_the_line_is_not_a_pass_either():
    assert not permission("nucem", "strata", findings(SL601="warning"))


def test_what_contradicts_an_instrument_contradicts_nucem():
    broken = findings(SL402="violated")
    assert permission("nucem", "strata", broken) == permission("instrument", "features", broken)
    assert "SL402" in permission("nucem", "strata", broken).reason


def test_few_decisions_in_favour_do_not_refute_an_instrument():
    assert permission("instrument", "strata", findings(SL303="warning"))


def test_a_weak_instrument_is_allowed_with_a_word_and_allows_no_point():
    weak = findings(SL101="warning")
    assert "add little" in permission("instrument", "strata", weak).reason
    assert not permission("nucem", "strata", weak)


def test_a_refusal_does_not_add_that_the_instrument_is_weak():
    refused = permission("instrument", "strata", findings(SL101="warning", SL201="violated"))
    assert "add little" not in refused.reason


@pytest.mark.parametrize("assumption", ASSUMPTIONS)
@pytest.mark.parametrize("status", ["ok", "warning", "violated", "not applicable"])
def test_plain_words_are_the_reason_without_verdict_codes_and_power(assumption, status):
    for code, given in product(FAMILY_OF_CODE, ("strata", "features")):
        found = permission(assumption, given, findings("sums of 1.1", **{code: status}))
        said, body = found.reason.split(": ", 1)
        assert said == found.verdict
        assert "SL" not in found.plain
        assert "With power" not in found.plain
        tidy = re.sub(r" \((?:SL\d{3}(?:, )?)+\)", "", body)
        assert tidy.startswith(found.plain)
        assert found.plain.endswith(".")
