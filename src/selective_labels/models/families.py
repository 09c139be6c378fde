"""Families of models of the outcome, and the settings of each that are compared."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

from selective_labels.models.indices import IndexLogistic, IndexSettings
from selective_labels.models.logistic import LogisticSettings, PooledLogistic
from selective_labels.models.trees import FEW_LEAVES, BoostedJoint

# Prior variances of features' coefficients and of decision-makers' slopes, from tight to loose.
PRIOR_VARIANCES = ((0.01, 0.0), (0.01, 0.01), (0.1, 0.01), (0.1, 0.1), (1.0, 0.0), (1.0, 1.0))
# Cubic in two indices: three of them, or higher powers, lost more on rows held out in the paper's designs.
N_INDICES, INDEX_DEGREE = 2, 3
INDEX_VARIANCES = ((0.01, 0.01), (0.1, 0.01), (0.1, 0.1), (1.0, 0.1), (1.0, 1.0))
# Leaves of larger trees, for outcomes that hang on several features at once.
MANY_LEAVES = 24
# A factory takes (n_arms, n_outcomes) and returns an unfitted model.
Factory = Callable[[int, int], Any]


@dataclass(frozen=True)
class Candidate:
    """One setting of one family of models.

    Attributes
    ----------
    family, settings : str
    factory : Factory
    later : bool
        Tried only where the other settings of its family are not clearly behind: it costs.
    """

    family: str
    settings: str
    factory: Factory
    later: bool = False


def listed_families(categorical: tuple[int, ...], seed: int) -> dict[str, list[Candidate]]:
    """Settings of every family, by its name; those of logistic models from tight to loose.

    Examples
    --------
    >>> {name: len(settings) for name, settings in listed_families((), 0).items()}
    {'logistic': 6, 'quadratic': 6, 'index': 5, 'boosting': 2}
    """
    return {
        "logistic": _logistic("logistic", False, categorical),
        "quadratic": _logistic("quadratic", True, categorical),
        "index": _index(categorical),
        "boosting": _boosting(categorical, seed),
    }


def _logistic(family: str, products: bool, categorical: tuple[int, ...]) -> list[Candidate]:
    settings = [LogisticSettings(products, variance, slopes) for variance, slopes in PRIOR_VARIANCES]
    return [
        Candidate(family, each.describe(), partial(PooledLogistic, settings=each, categorical=categorical))
        for each in settings
    ]


def _index(categorical: tuple[int, ...]) -> list[Candidate]:
    settings = [IndexSettings(N_INDICES, INDEX_DEGREE, *variances) for variances in INDEX_VARIANCES]
    return [
        Candidate("index", each.describe(), partial(IndexLogistic, settings=each, categorical=categorical))
        for each in settings
    ]


def _boosting(categorical: tuple[int, ...], seed: int) -> list[Candidate]:
    make = partial(BoostedJoint, categorical=categorical, random_state=seed)
    return [
        Candidate("boosting", f"{leaves} leaves", partial(make, n_leaves=leaves), later=leaves > FEW_LEAVES)
        for leaves in (FEW_LEAVES, MANY_LEAVES)
    ]
