"""The verdict, from findings alone: what is allowed, and which checks the reason names."""

import pytest

from selective_labels.diagnostics.results import CheckResult
from selective_labels.diagnostics.verdict import permission

FAMILY_OF_CODE = {
    "SL101": "relevance",
    "SL201": "assignment",
    "SL202": "assignment",
    "SL301": "overlap",
    "SL302": "overlap",
    "SL401": "inequality",
    "SL402": "inequality",
    "SL601": "nucem",
    "SL602": "nucem",
    "SL701": "crossing",
    "SL901": "unconfounded",
}


def findings(**statuses):
    """All checks ok but those named."""
    return [
        CheckResult(code, "name", family, statuses.get(code, "ok"), None, None, "message")
        for code, family in FAMILY_OF_CODE.items()
    ]


def test_everything_is_allowed_when_nothing_speaks_against_it():
    for assumption in ("instrument", "nucem", "unconfounded"):
        assert permission(assumption, "strata", findings())


@pytest.mark.parametrize(("violated", "passed"), [("SL201", "SL202"), ("SL202", "SL201")])
def test_a_reason_names_the_checks_that_failed_and_no_other(violated, passed):
    refused = permission("instrument", "strata", findings(**{violated: "violated"}))
    assert not refused
    assert violated in refused.reason
    assert passed not in refused.reason


def test_an_untested_line_is_not_a_passed_one():
    refused = permission("nucem", "strata", findings(SL601="not applicable"))
    assert not refused
    assert "could not be tested" in refused.reason


def test_a_warning_about_the_line_is_not_a_pass_either():
    assert not permission("nucem", "strata", findings(SL601="warning"))


def test_what_contradicts_an_instrument_contradicts_nucem():
    broken = findings(SL402="violated")
    assert permission("nucem", "strata", broken) == permission("instrument", "features", broken)
    assert "SL402" in permission("nucem", "strata", broken).reason


def test_a_weak_instrument_is_allowed_with_a_word_and_allows_no_point():
    weak = findings(SL101="warning")
    assert "add little" in permission("instrument", "strata", weak).reason
    assert not permission("nucem", "strata", weak)


def test_a_refusal_does_not_add_that_the_instrument_is_weak():
    refused = permission("instrument", "strata", findings(SL101="warning", SL201="violated"))
    assert "add little" not in refused.reason
