"""SL304: measurements given as ids."""

import numpy as np
import pytest

from selective_labels.diagnostics.overlap import NUMERIC_IDS_CHECK
from tests.diagnostics import designs
from tests.diagnostics.contexts import context_of, seed


@pytest.mark.parametrize(
    ("ids", "status"),
    [
        (lambda n, generator: generator.standard_normal(n), "warning"),
        (lambda n, generator: generator.integers(10**9, size=n), "warning"),
        (lambda n, generator: generator.integers(8, size=n), "ok"),
        (lambda n, generator: generator.integers(8, size=n) / 2, "ok"),
        (lambda n, generator: generator.integers(10**9, size=n).astype(str), "ok"),
        (lambda n, generator: np.zeros(n), "not applicable"),
    ],
)
def test_many_different_numbers_are_no_names(ids, status):
    drawn = designs.plain(400, 4, seed())
    given = designs.Drawn(drawn.X, drawn.y, ids(400, np.random.default_rng(0)))
    result = NUMERIC_IDS_CHECK(context_of(given))
    assert result.status == status
    assert ("instrument='numeric'" in result.advice) == (status == "warning")
