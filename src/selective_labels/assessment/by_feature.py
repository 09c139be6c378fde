"""Where something happens: its share in the bins of each feature."""

from typing import Any

import numpy as np

from selective_labels.assessment.columns import Column, binned
from selective_labels.assessment.wording import percent

MOST_FEATURES = 8


def share_by_feature(columns: list[Column], happens: np.ndarray, weights: np.ndarray) -> list[dict[str, Any]]:
    """Share of rows where something happens, bin by bin, for the features that tell most about it.

    share_b = Σ_{i in b} w_i h_i / Σ_{i in b} w_i,   features sorted by Σ_b w_b (share_b - share)²

    Parameters
    ----------
    columns : list of Column
    happens : (n_samples,) numbers or truth values
    weights : (n_samples,) array

    Returns
    -------
    list of dict
        At most 8 features, each with its bins; a feature with a single bin tells nothing and is left out.

    Examples
    --------
    >>> import pandas as pd
    >>> job = Column("job", "category", pd.Series(["cook", "cook", "clerk"]))
    >>> share_by_feature([job], np.array([1, 0, 1]), np.ones(3))[0]["bins"]
    [{'label': 'cook', 'n': 2, 'share': 0.5}, {'label': 'clerk', 'n': 1, 'share': 1.0}]
    """
    found = [_feature(column, np.asarray(happens, dtype=float), weights) for column in columns]
    told = [(spread, feature) for spread, feature in found if len(feature["bins"]) > 1]
    told.sort(key=lambda each: -each[0])
    return [feature for _, feature in told[:MOST_FEATURES]]


def _feature(column: Column, happens: np.ndarray, weights: np.ndarray) -> tuple[float, dict[str, Any]]:
    bins = binned(column)
    n_bins = len(bins.labels)
    size = np.bincount(bins.codes, weights, n_bins)
    kept = size > 0.0
    counts = np.bincount(bins.codes, minlength=n_bins)
    share = np.bincount(bins.codes, weights * happens, n_bins) / np.where(kept, size, 1.0)
    spread = float(np.sum(size * (share - np.average(share, weights=size)) ** 2))
    rows = [
        {"label": bins.labels[place], "n": int(counts[place]), "share": float(share[place])}
        for place in np.flatnonzero(kept)
    ]
    return spread, {
        "feature": column.name,
        "kind": column.kind,
        "bins": rows,
        "takeaway": _takeaway(column.name, rows),
    }


def _takeaway(name: str, rows: list[dict[str, Any]]) -> str:
    """Where it happens most and least, in one line."""
    most, least = (pick(rows, key=lambda each: each["share"]) for pick in (max, min))
    return f"{name}: {_where(most)}, {_where(least)}"


def _where(row: dict[str, Any]) -> str:
    return f"{percent(row['share'])} where it is {row['label']}"
