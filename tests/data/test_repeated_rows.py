"""Rows alike in their features that look like repeated rows of one person."""

import numpy as np
import pandas as pd

from selective_labels import SelectiveLabels
from selective_labels.data.repeated_rows import repeated_rows_caution


def test_parts_of_a_date_are_no_columns_of_their_own():
    """Rows of one day share its weekday and month, too; that makes them no person."""
    rng = np.random.default_rng(0)
    day = pd.to_timedelta(rng.integers(0, 100, 400), unit="D") + pd.Timestamp("2024-01-01")
    X = pd.DataFrame({"x": rng.normal(size=400), "day": day})
    data = SelectiveLabels.from_arrays(X, rng.integers(0, 2, 400), decision_maker=np.arange(400) % 3)
    assert data.features.shape[1] > 2
    assert repeated_rows_caution(data) is None
