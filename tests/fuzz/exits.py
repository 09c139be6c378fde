"""What may come out: finite or NaN with a reason, in range, lower at most upper, the interval around both."""

import json
from typing import Any

import numpy as np
import pandas as pd

import selective_labels as sl

ROUNDING = 1e-9
# What lies between 0 and 1 whoever computes it.
SHARES = ("accuracy", "share", "tpr", "fpr", "ppv", "f1", "balanced_accuracy", "auc", "error")


def check_result(result: Any) -> None:
    """Fail if a result is none."""
    if isinstance(result, sl.Bounds):
        _check_bounds(result)
    elif isinstance(result, sl.Evaluations | list | tuple):
        for each in result:
            check_result(each)
    elif isinstance(result, sl.Evaluation | sl.Comparison):
        _check_estimate(result)
    elif isinstance(result, sl.Diagnosis):
        for each in result:
            assert each.status in ("ok", "warning", "violated", "not applicable"), each.status
            assert each.p_value is None or np.isnan(each.p_value) or 0 <= each.p_value <= 1
            assert each.message
    elif hasattr(result, "to_frame"):
        _check_curve(result)
    elif isinstance(result, dict):
        json.dumps(result, allow_nan=False)


def _check_bounds(bounds: sl.Bounds) -> None:
    assert np.isfinite(bounds.lower).all()
    assert np.isfinite(bounds.upper).all()
    assert (bounds.lower >= -ROUNDING).all()
    assert (bounds.upper <= 1 + ROUNDING).all()
    assert (bounds.lower <= bounds.upper + ROUNDING).all()


def _check_estimate(result: Any) -> None:
    lower, upper, ci_lower, ci_upper = result.lower, result.upper, result.ci_lower, result.ci_upper
    assert np.isnan(lower) == np.isnan(upper)
    if np.isnan([lower, ci_lower, ci_upper]).any():
        assert result.reason, "what does not exist has a reason"
    assert not np.isinf([lower, upper]).any()
    if not np.isnan(lower):
        _in_order(lower, upper, ci_lower, ci_upper)
    if isinstance(result, sl.Evaluation) and result.metric in SHARES:
        ends = np.array([lower, upper, ci_lower, ci_upper])
        assert (np.isnan(ends) | ((ends >= -ROUNDING) & (ends <= 1 + ROUNDING))).all(), ends
    result.to_json()
    assert repr(result)


def _check_curve(result: Any) -> None:
    """Every column that is named like an end."""
    frame: pd.DataFrame = result.to_frame()
    for name in (str(each) for each in frame.columns):
        if not name.endswith("ci_lower"):
            continue
        start = name.removesuffix("ci_lower")
        lows = frame.get(f"{start}lower", frame.get(f"{start}estimate", frame[name]))
        highs = frame.get(f"{start}upper", frame.get(f"{start}estimate", frame[f"{start}ci_upper"]))
        for ends in zip(lows, highs, frame[name], frame[f"{start}ci_upper"], strict=True):
            values = np.array(ends, dtype=float)
            assert not np.isinf(values[:2]).any()
            if not np.isnan(values[:2]).any():
                _in_order(*values)
    assert str(result)
    if hasattr(result, "to_json"):
        result.to_json()


def _in_order(lower: float, upper: float, ci_lower: float, ci_upper: float) -> None:
    allowed = ROUNDING * max(1.0, abs(lower), abs(upper))
    assert lower <= upper + allowed, (lower, upper)
    assert np.isnan(ci_lower) or ci_lower <= lower + allowed, (ci_lower, lower)
    assert np.isnan(ci_upper) or ci_upper >= upper - allowed, (upper, ci_upper)
