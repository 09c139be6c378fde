"""A few odd tables for every public entry, the same ones in every run; `make fuzz` tries thousands."""

import pytest
from hypothesis import HealthCheck, given, settings

from tests.fuzz.entries import ENTRIES, FEW, check
from tests.strategies import cases


@pytest.mark.parametrize("name", ENTRIES)
def test_an_odd_table_gets_a_sentence_or_a_valid_result(name):
    @settings(
        max_examples=FEW[name],
        derandomize=True,
        deadline=None,
        database=None,
        suppress_health_check=list(HealthCheck),
    )
    @given(cases())
    def run(case):
        check(name, case)

    run()
