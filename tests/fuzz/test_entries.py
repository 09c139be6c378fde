"""A few odd inputs for every public entry, the same ones in every run; `make fuzz` tries thousands."""

import pytest
from hypothesis import HealthCheck, given, settings

from tests.fuzz.entries import FEW, check, inputs


@pytest.mark.parametrize("name", FEW)
def test_odd_input_gets_a_sentence_or_a_valid_result(name):
    @settings(
        max_examples=FEW[name],
        derandomize=True,
        deadline=None,
        database=None,
        suppress_health_check=list(HealthCheck),
    )
    @given(inputs(name))
    def run(example):
        check(name, example)

    run()
