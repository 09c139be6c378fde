"""Expected runtime of the models of decision and label, from the size of the table, and a warning if long.

The estimate counts the numbers that each part of the work processes. The cost per number was measured on
tables of many shapes (``benchmarks/expected.py``). docs/limits.md compares measured and expected times.
"""

import warnings
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from selective_labels._errors import LargeWorkWarning
from selective_labels.data.selective_labels import SelectiveLabels
from selective_labels.nuisance.bands import MANY_DECISION_MAKERS, N_BANDS
from selective_labels.nuisance.model_selection import Candidate
from selective_labels.nuisance.models.encoders import n_factors

# Largest measured sizes of tables in memory. Decision-makers and levels have no limit: they are grouped.
BUILT_FOR = {"rows": 1_000_000, "columns": 1_000, "classes": 100}
# Warn if the expected time on one core exceeds this.
SAID_FROM_SECONDS = 120.0
# Typical number of logistic and of boosting settings compared, and the largest number of rows used for it.
SETTINGS, TREE_SETTINGS, COMPARED_ROWS = 4, 2, 20_000
# Three settings on this many rows decide whether the assignment is modelled as well.
ASSIGNMENT_SETTINGS, ASSIGNMENT_ROWS = 3, 5_000
# Optimiser steps grow with about this power of the columns. Trees until early stopping grow with about this
# power of the rows.
STEPS = 0.25
# Numbers in the histograms of a tree, per column.
HISTOGRAM = 6_000
# CPU seconds per billion numbers of each kind, fitted by least squares of relative errors.
SECONDS = {
    "logistic": 1.6,
    "products": 1.5,
    "trees": 6.0,
    "histograms": 73.0,
    "who decides": 13.0,
    "arms": 31.0,
}


@dataclass(frozen=True)
class Work:
    """Size of the fitting problem.

    Attributes
    ----------
    n_columns : int
        Columns of a linear model; each level of a category counts as one.
    n_factors : int or None
        Those that enter products, which levels of long categories do not; None: all of them.
    n_arms : int
        Number of decision-makers, or of leniency bands.
    families : tuple of str
        Families that are compared; a classifier given by the user counts as a logistic model.
    times : int
        Number of repetitions.
    """

    n_rows: int
    n_columns: int
    n_classes: int
    n_arms: int
    families: tuple[str, ...]
    n_folds: int = 5
    times: int = 1
    n_factors: int | None = None


def expected_seconds(work: Work) -> float:
    """CPU seconds on one core: Σ (numbers of a kind) · (seconds per number of this kind).

    Examples
    --------
    >>> small = Work(n_rows=10_000, n_columns=20, n_classes=2, n_arms=10, families=("logistic",))
    >>> expected_seconds(small) < 5.0 < expected_seconds(replace(small, n_columns=20_000))
    True
    """
    return work.times * sum(SECONDS[kind] * 1e-9 * count for kind, count in _numbers(work).items())


def runtime_sentence(work: Work, said_from: float | None = None) -> str:
    """Runtime warning before the work starts; empty if it will take fewer seconds than `said_from`.

    Examples
    --------
    >>> print(runtime_sentence(Work(20_000, 5_000, 3, 8, ("logistic", "index", "boosting"))))
    20,000 rows with 5,000 columns and 3 classes: models of decision and label will take about ...
    >>> runtime_sentence(Work(100_000, 20, 3, 20, ("logistic", "quadratic", "index", "boosting")))
    ''
    """
    sizes = {"rows": work.n_rows, "columns": work.n_columns, "classes": work.n_classes}
    seconds = expected_seconds(work)
    large = [f"{size:,} {name}" for name, size in sizes.items() if size > BUILT_FOR[name]]
    if seconds <= (SAID_FROM_SECONDS if said_from is None else said_from) and not large:
        return ""
    said = (
        f"{work.n_rows:,} rows with {work.n_columns:,} columns and {work.n_classes:,} classes: models of "
        f"decision and label will take about {_duration(seconds)} on one core"
    )
    ways = []
    alone = expected_seconds(replace(work, families=("logistic",)))
    if alone < seconds / 2.0:
        ways.append(f"nuisance 'logistic' takes about {_duration(alone)}")
    if work.n_columns > BUILT_FOR["columns"] // 10:
        ways.append("fewer features take less")
    elif work.n_rows > BUILT_FOR["rows"] // 10:
        ways.append("a sample of the rows takes less")
    return "; ".join([said, *ways]) + "."


def _numbers(work: Work) -> dict[str, float]:
    """Count the numbers that each part of the work processes."""
    columns, outcomes = 1 + work.n_columns, 1 + work.n_classes
    train = work.n_rows * (1.0 - 1.0 / max(work.n_folds, 2))
    compared, all_folds = min(train, COMPARED_ROWS), work.n_folds * train
    factors = columns if work.n_factors is None else 1 + work.n_factors
    steps = columns**STEPS
    cells = (SETTINGS * compared + all_folds) * columns * outcomes * steps
    tree_fits = TREE_SETTINGS + work.n_folds
    tree_rows = TREE_SETTINGS * compared ** (1.0 + STEPS) + work.n_folds * train ** (1.0 + STEPS)
    trees, linear = "boosting" in work.families, len(set(work.families) - {"boosting", "quadratic"})
    return {
        "logistic": linear * cells,
        "products": cells * max(factors**2 / columns, 1.0) if "quadratic" in work.families else 0.0,
        "trees": tree_rows * columns * outcomes if trees else 0.0,
        "histograms": tree_fits * columns * outcomes * HISTOGRAM if trees else 0.0,
        "who decides": ASSIGNMENT_SETTINGS * min(train, ASSIGNMENT_ROWS) * columns * work.n_arms * steps,
        "arms": work.n_folds * work.n_rows * work.n_arms * outcomes,
    }


def _duration(seconds: float) -> str:
    """Describe a duration in words, rounded to the precision of the estimate.

    Examples
    --------
    >>> _duration(44.0), _duration(380.0), _duration(9000.0)
    ('40 seconds', '6 minutes', '2.5 hours')
    """
    if seconds < 90.0:
        return f"{max(10, round(seconds, -1)):.0f} seconds"
    return f"{seconds / 60.0:.0f} minutes" if seconds < 5400.0 else f"{seconds / 3600.0:.1f} hours"


# Number of folds assumed for a splitter without `n_splits`.
USUAL_FOLDS = 5


def warn_of_runtime(
    data: SelectiveLabels,
    options: Sequence[Candidate],
    n_columns: int,
    cv: Any,
    *,
    n_bands: int | None = None,
    times: int = 1,
    said_from: float | None = None,
) -> None:
    """Warn if fitting models to these data will take long.

    Parameters
    ----------
    data, cv, n_bands
        As in :func:`selective_labels.nuisance.cross_fit.cross_fit`.
    options : list of Candidate
        Candidates to compare. Given probabilities take no time.
    n_columns : int
        Columns of a linear model.
    times : int
        Number of times the models will be cross-fitted.
    said_from : float, optional
        Expected seconds from which the time is said; by default two minutes.
    """
    families = tuple(dict.fromkeys(each.family for each in options))
    if families == ("injected",):
        return
    n_arms = data.n_decision_makers
    if n_bands is not None or n_arms > MANY_DECISION_MAKERS:
        n_arms = n_bands or N_BANDS
    folds = cv if isinstance(cv, int) else getattr(cv, "n_splits", None) or USUAL_FOLDS
    factors = n_factors(data.features, data.categorical)
    work = Work(len(data), n_columns, len(data.classes), n_arms, families, folds, times, factors)
    said = runtime_sentence(work, said_from)
    if said:
        warnings.warn(said, LargeWorkWarning, stacklevel=4)
