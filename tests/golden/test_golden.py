"""Every public number is what it was; whoever moves one renews the record and says why."""

import json
from functools import cache

import pytest

import selective_labels as sl
from tests.golden.record import COVERED, RENEW, STORED, TOPICS, first_difference, libraries, run


@cache
def stored():
    return json.loads(STORED.read_text(encoding="utf-8"))


@pytest.mark.usefixtures("as_many_jobs_as_cores")  # as users have it
@pytest.mark.parametrize("topic", TOPICS)
def test_numbers_are_those_of_the_record(topic):
    here = json.loads(json.dumps(run(TOPICS[topic])))
    found = first_difference(here, stored()[topic], topic)
    assert found is None, f"{found}. {other_libraries()}If this is meant, say why and renew: {RENEW}"


def other_libraries():
    """A likely cause: numbers of another version of a library."""
    here, then = libraries(), stored()["libraries"]
    changed = [f"{name} is {here[name]} and was {then[name]}" for name in here if here[name] != then[name]]
    return f"({'; '.join(changed)}.) " if changed else ""


def test_every_public_name_has_its_topic():
    assert sorted(COVERED) == sorted(sl.__all__)
    assert set(COVERED.values()) <= set(TOPICS)


def test_the_record_has_every_topic():
    assert sorted(stored()) == sorted([*TOPICS, "libraries"])
