"""Columns that look like what another model said, so no feature unless somebody asks for it."""

import re

import numpy as np
import pandas as pd
from scipy.stats import rankdata

from selective_labels.features.kinds import NUMBER
from selective_labels.tables.features import LeftOut

OUTPUT_NAMES = re.compile(
    r"(.*[_ .\-])?(scores?|prob|probs|proba|probability|pred|preds|predicted|predictions?|y_?hat|y_?pred|"
    r"guess|logits?|risk_?scores?|pd)([_ .\-](\d+|v\d+|old|new|a|b|model|prob\w*|score|class|label|default|"
    r"decile|band|grade))*"
)
# Scores that are measured or bought before the decision, and are known as features.
KNOWN_SCORES = re.compile(r"(?i).*(credit|fico|bureau|vantage|beacon|schufa|apgar|test|exam|glasgow|gpa)")
# A column of shares that orders the labels seen, or the decisions, as well as this is no plain feature.
SUSPICIOUS = 0.9
FEWEST_VALUES = 20
MAX_ROWS = 20_000


def model_outputs(
    X: pd.DataFrame, kinds: dict[str, str], label: pd.Series, decision: pd.Series | None
) -> list[LeftOut]:
    """Features that are named like a model's output, or whose values between 0 and 1 rank as one would.

    Parameters
    ----------
    X : pandas.DataFrame
        Features, converted.
    kinds : dict of str
        By feature.
    label, decision : pandas.Series
        The decision as 0 and 1, or None.

    Examples
    --------
    >>> X = pd.DataFrame({"age": [31.0, 40.0], "old_score": [0.2, 0.7], "credit_score": [700.0, 600.0]})
    >>> found = model_outputs(X, dict.fromkeys(X, "number"), pd.Series([0, 1]), None)
    >>> [(each.name, each.reason) for each in found]
    [('old_score', "is named like a model's output; --include 'old_score' makes it a feature")]
    """
    found = {name: "is named like a model's output" for name in map(str, X) if _is_named_so(name)}
    seen = (label.notna() if decision is None else decision == 1).to_numpy()
    drawn = np.random.default_rng(0).permutation(len(X))[:MAX_ROWS]
    labels = pd.factorize(label.where(pd.Series(seen, index=label.index)))[0]
    targets = (
        (labels[drawn], seen[drawn], "labels that are seen"),
        (seen.astype(int)[drawn], np.ones(len(drawn), dtype=bool), "decisions"),
    )
    for name in map(str, X):
        if name in found or kinds[name] != NUMBER or not _is_share(X[name]):
            continue
        values = X[name].to_numpy()[drawn]
        for target, rows, what in targets:
            area = _best_area(values[rows], target[rows])
            if area >= SUSPICIOUS:
                found[name] = f"holds shares that order the {what} as a model's output would (AUC {area:.2f})"
                break
    return [
        LeftOut(name, f"{reason}; --include {name!r} makes it a feature") for name, reason in found.items()
    ]


def _is_named_so(name: str) -> bool:
    tidy = re.sub(r"(?<=[a-z])(?=[A-Z])", "_", name.strip()).lower()
    return OUTPUT_NAMES.fullmatch(tidy) is not None and KNOWN_SCORES.match(tidy) is None


def _is_share(column: pd.Series) -> bool:
    values = column.dropna()
    inside = len(values) > 0 and bool(values.between(0.0, 1.0).all())
    return inside and values.nunique() >= FEWEST_VALUES


def _best_area(values: np.ndarray, target: np.ndarray) -> float:
    """Area under the curve of the class that the values order best, whichever way round."""
    present = ~np.isnan(values)
    ranks, target = rankdata(values[present]), target[present]
    areas = [0.5]
    for each in np.unique(target):
        n_of, n_rest = int((target == each).sum()), int((target != each).sum())
        if min(n_of, n_rest) >= FEWEST_VALUES:
            area = (ranks[target == each].sum() - n_of * (n_of + 1) / 2) / (n_of * n_rest)
            areas.append(max(area, 1.0 - area))
    return float(max(areas))
