"""Which model of the outcome: candidates compared by held-out log-loss."""

from dataclasses import dataclass, field
from functools import partial
from typing import Any, Protocol

import numpy as np
from sklearn.base import is_classifier

from selective_labels.models.constant import InjectedJoint
from selective_labels.models.families import Candidate, listed_families
from selective_labels.models.trees import ClassifierJoint
from selective_labels.support.errors import InputError, require_choice

# More features than this make the quadratic model's columns too many to be tried unasked.
QUADRATIC_FEATURES = 20
# No probability is held to be smaller than this in a log-loss: one surprise must not decide a comparison.
SMALLEST_PROBABILITY = 1e-6


class JointModel(Protocol):
    """A model of the outcome given features and arm."""

    def joint(self, X: np.ndarray) -> np.ndarray:
        """Return (n_arms, n, n_outcomes)."""

    def own(self, X: np.ndarray, arm: np.ndarray) -> np.ndarray:
        """Return (n, n_outcomes)."""


@dataclass
class NuisanceReport:
    """What was tried, what it lost, what was chosen.

    Attributes
    ----------
    chosen : str
        The family used.
    settings : str
        Its settings, in words.
    losses : dict of float
        Held-out log-loss of each family (empty if there was nothing to fit): of the one used, on 20,000 rows
        at most; of others, that plus how far they were behind it where both were tried. With more than
        25,000 rows that may have been with models of 20,000 rows, and is then the least that more rows leave.
    skipped : dict of str
        Families that were not tried, and why.
    calibration_error : float
        Mean absolute gap between predicted and observed share of each outcome in ten bins, held out.
    n_arms : int
        Decision-makers, or bands of them, among which the maximum is taken.
    banded : bool
        Whether decision-makers were put into bands of leniency.
    assignment : AssignmentReport or None
        How the probabilities of arms were found, and how small they get.
    numeric : bool
        Whether arms are values of a number, in which the model is smooth.
    """

    chosen: str
    settings: str
    n_arms: int
    banded: bool
    losses: dict[str, float] = field(default_factory=dict)
    skipped: dict[str, str] = field(default_factory=dict)
    calibration_error: float = float("nan")
    assignment: Any = None
    numeric: bool = False


def candidates(
    nuisance: Any, n_features: int, seed: int, categorical: tuple[int, ...] = ()
) -> tuple[list[Candidate], dict[str, str]]:
    """List the candidates that the argument `nuisance` allows, and the families left out with the reason.

    Parameters
    ----------
    nuisance : None, "logistic", "quadratic", "index", "boosting", a scikit-learn classifier, or a callable
    n_features : int
        Columns that a linear model sees: each category counts.
    seed : int
    categorical : tuple of int
        Columns of the features that hold codes of categories.

    Returns
    -------
    list of Candidate, dict of str

    Examples
    --------
    >>> candidates("logistic", 3, 0)[0][2].settings
    "prior variance 0.1, of decision-makers' slopes 0.01"
    """
    families = listed_families(categorical, seed)
    if n_features == 0:
        del families["index"]  # there is nothing to be curved in
    if nuisance is None:
        skipped = {}
        if n_features > QUADRATIC_FEATURES:
            del families["quadratic"]
            skipped["quadratic"] = f"{n_features} features have too many products to be tried unasked"
        return [candidate for family in families.values() for candidate in family], skipped
    if isinstance(nuisance, str):
        require_choice("nuisance", nuisance, tuple(families))
        return families[nuisance], {}
    if hasattr(nuisance, "fit") and is_classifier(nuisance):
        name = type(nuisance).__name__
        if not hasattr(nuisance, "predict_proba"):
            raise InputError(
                f"nuisance={name} has no predict_proba; use a classifier with probabilities.", "nuisance"
            )
        factory = partial(ClassifierJoint, classifier=nuisance, categorical=categorical)
        return [Candidate(name, "as given", factory)], {}
    if callable(nuisance):
        return [Candidate("injected", "as given", partial(InjectedJoint, function=nuisance))], {}
    raise InputError(
        f"nuisance={nuisance!r} is neither a name, nor a scikit-learn classifier, nor a callable of X.",
        "nuisance",
    )


def log_losses(probabilities: np.ndarray, outcome: np.ndarray) -> np.ndarray:
    """Minus log probability of what happened, row by row.

    Examples
    --------
    >>> log_losses(np.array([[0.5, 0.5]]), np.array([1])).round(3)
    array([0.693])
    """
    happened = probabilities[np.arange(len(outcome)), outcome]
    return -np.log(np.maximum(happened, SMALLEST_PROBABILITY))


def calibration_error(probabilities: np.ndarray, outcome: np.ndarray, n_bins: int = 10) -> float:
    """Mean absolute gap between predicted and observed shares, over bins of equal size and outcomes."""
    gaps = []
    for code in range(probabilities.shape[1]):
        for rows in np.array_split(np.argsort(probabilities[:, code], kind="stable"), n_bins):
            if len(rows):
                gaps.append(abs(probabilities[rows, code].mean() - np.mean(outcome[rows] == code)))
    return float(np.mean(gaps))
