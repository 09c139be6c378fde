"""Which arm a case goes to, given its features and its stratum: shares, or a model if that is better.

The same families as for decision and label, fitted to the same folds: the outcome is the arm, and what the
arm is there (a category with partially pooled effects) is the stratum here.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

import numpy as np

from selective_labels.data import SelectiveLabels
from selective_labels.models.features import n_standardised
from selective_labels.models.logistic import LogisticSettings, PooledLogistic
from selective_labels.models.trees import MAX_ITERATIONS, BoostedJoint
from selective_labels.nuisance.bands import Arms
from selective_labels.nuisance.fitting import Fitter, Problem, spaced
from selective_labels.nuisance.folds import Fold
from selective_labels.nuisance.race import MOST_ROWS, Choice, choose
from selective_labels.nuisance.selection import QUADRATIC_FEATURES, Candidate, JointModel, log_losses
from selective_labels.support.errors import require_choice
from selective_labels.support.jobs import Workers

AUTO, SHARES, MODEL, KNOWN = "auto", "shares", "model", "known"
PROPENSITIES = (AUTO, SHARES, MODEL)
# Prior variances of features' coefficients.
PRIOR_VARIANCES = (0.01, 0.1, 1.0)
# Standard errors by which a model must beat the shares.
MARGIN = 1.0
# Fewer rows cannot tell a model from shares.
FEWEST_ROWS = 100
# Up to this many strata have effects of their own in models; the shares within strata enter always.
MOST_CELLS = 64
# Trees of all arms together, so that many arms do not cost more than models of decision and label.
MOST_TREES = 2400
FEWEST_ITERATIONS = 30


@dataclass(frozen=True)
class AssignmentReport:
    """How the probabilities of arms were found.

    Attributes
    ----------
    chosen : str
        "known" (they were given), "shares" (within strata, if given), or the family of the model used.
    settings : str
        Those of the model, in words.
    losses : dict of float
        Held-out log-loss of who decides, by family; of families that fell out early, where they did.
    gain, error : float
        By how much the model's loss was smaller than that of shares, and the standard error of this.
    smallest : float
        Smallest probability of an arm at a row that has it (in its stratum), on 20,000 rows at most.
    rows_without_overlap : float
        Share of rows with an arm that occurs, but has a probability below `overlap` there.
    new_rows : str
        Where probabilities come from at rows other than those fitted to.
    """

    chosen: str
    settings: str = ""
    losses: dict[str, float] = field(default_factory=dict)
    gain: float = 0.0
    error: float = 0.0
    smallest: float = float("nan")
    rows_without_overlap: float = 0.0
    new_rows: str = SHARES

    @property
    def depends_on_features(self) -> bool:
        """Whether a model of the features is used."""
        return self.chosen not in (KNOWN, SHARES)


@dataclass(frozen=True, eq=False)
class ArmModel:
    """A model of the arm given features and stratum, as a tilt of the shares.

    e_z(x, s) ∝ share_sz · m_z(x, s) / mean_sz,   mean_sz the mean prediction of m_z among the rows fitted to

    so that a model which does not depend on x within strata gives the shares, and a decision-maker who never
    works in a stratum has probability zero there.

    Attributes
    ----------
    base : model or None
        None: the shares themselves.
    shares, means : (n_cells, n_arms) arrays
        Of the rows fitted to, by stratum.
    overall_mean : (n_arms,) array
    cell_shares : (n_cells,) array
    pooled : bool
        Whether the base model does not know the strata.
    """

    base: JointModel | None
    shares: np.ndarray
    means: np.ndarray
    overall_mean: np.ndarray
    cell_shares: np.ndarray
    pooled: bool

    def at(self, X: np.ndarray, cells: np.ndarray, shares: np.ndarray) -> np.ndarray:
        """Probabilities of rows whose strata are known, (n, n_arms); `shares` as in :attr:`shares`."""
        if self.base is None:
            return shares[cells]
        known = self.base.own(X, np.zeros(len(X), dtype=int) if self.pooled else cells)
        return _tilted(known / self.means[cells], shares[cells])

    def anywhere(self, X: np.ndarray, shares: np.ndarray) -> np.ndarray:
        """Probabilities of rows whose strata are not known; `shares`, (n_arms,), are those of all strata."""
        rows = np.broadcast_to(shares, (len(X), len(shares)))
        if self.base is None:
            return rows
        joint = self.base.joint(X)
        weights = np.ones(1) if self.pooled else self.cell_shares
        return _tilted(np.tensordot(weights, joint, 1) / self.overall_mean, rows)


@dataclass(frozen=True, eq=False)
class Assignment:
    """Models of the arm, one for each fold, each fitted without it.

    Attributes
    ----------
    report : AssignmentReport
    models : tuple of ArmModel
        Empty: shares.
    held_out : (n_samples,) int array
        Which model has not seen the row.
    """

    report: AssignmentReport
    models: tuple[ArmModel, ...] = ()
    held_out: np.ndarray = field(default_factory=lambda: np.empty(0, dtype=int))

    def without_rows(self) -> "Assignment":
        """Drop what only the training rows need."""
        return Assignment(self.report, self.models)


@dataclass(frozen=True)
class ArmFitter(Fitter):
    """Fits of models of the arm; `outcome` only serves to take few rows of all arms."""

    subject = "who decides"

    @property
    def pooled(self) -> bool:
        """Whether models do not know the strata."""
        return self.n_cells > MOST_CELLS

    @property
    def n_cells(self) -> int:
        """Number of strata."""
        return int(self.data.cells.max()) + 1

    def problem(self, fold: int, within: np.ndarray | slice) -> Problem:
        """Give the arm of every training row, by its stratum."""
        rows = self.folds[fold][0][within]
        cells = np.zeros(len(rows), dtype=int) if self.pooled else self.data.cells[rows]
        n_given = 1 if self.pooled else self.n_cells
        return Problem(rows, cells, self.arm_of(fold, rows), n_given, self.arms[fold].n_arms)

    def fit_all(
        self,
        options: Sequence[Candidate],
        fold: int,
        within: np.ndarray | slice = slice(None),
        *,
        roughly: bool = False,
    ) -> list[Any]:
        """Fit models and the shares that they tilt."""
        rows = self.folds[fold][0][within]
        bases: list[Any] = [None] * len(options)
        if options[0].family != SHARES:
            bases = super().fit_all(options, fold, within, roughly=roughly)
        return [self._tilt(base, fold, rows) for base in bases]

    def losses(self, model: Any, fold: int, rows: np.ndarray) -> np.ndarray:
        """Log-losses of the arms of some rows."""
        chances = model.at(self.data.features[rows], self.data.cells[rows], model.shares)
        return log_losses(chances, self.arm_of(fold, rows))

    def arm_of(self, fold: int, rows: np.ndarray) -> np.ndarray:
        """Arms as the model of a fold names them."""
        return self.arms[fold].lookup[self.data.decision_maker_codes[rows]]

    def _tilt(self, base: Any, fold: int, rows: np.ndarray) -> ArmModel:
        cells, weight, n_arms = self.data.cells[rows], self.weight(rows), self.arms[fold].n_arms
        shares = cell_shares(cells, self.arm_of(fold, rows), weight, self.n_cells, n_arms)
        by_cell = np.bincount(cells, weight, self.n_cells)
        by_cell = by_cell / max(by_cell.sum(), np.finfo(float).tiny)
        ones = np.ones((self.n_cells, n_arms))
        if base is None:
            return ArmModel(None, shares, ones, ones[0], by_cell, self.pooled)
        own = base.own(self.data.features[rows], np.zeros(len(rows), dtype=int) if self.pooled else cells)
        totals = np.stack([np.bincount(cells, weight * column, self.n_cells) for column in own.T], axis=1)
        overall = totals.sum(axis=0) / max(weight.sum(), np.finfo(float).tiny)
        overall = np.where(overall > 0.0, overall, 1.0)
        mass = np.bincount(cells, weight, self.n_cells)[:, None]
        means = np.divide(totals, mass, out=np.zeros_like(totals), where=mass > 0.0)
        return ArmModel(
            base, shares, np.where(means > 0.0, means, overall), overall, by_cell, self.pooled
        )


def cell_shares(
    cells: np.ndarray, arm: np.ndarray, weight: np.ndarray, n_cells: int, n_arms: int
) -> np.ndarray:
    """Weighted shares of arms in every stratum, (n_cells, n_arms); even in a stratum without weight.

    Examples
    --------
    >>> cell_shares(np.array([0, 0, 1]), np.array([0, 1, 1]), np.array([1.0, 3.0, 1.0]), 2, 2)
    array([[0.25, 0.75],
           [0.  , 1.  ]])
    """
    mass = np.bincount(cells * n_arms + arm, weight, n_cells * n_arms).reshape(n_cells, n_arms)
    total = mass.sum(axis=1, keepdims=True)
    return np.divide(mass, total, out=np.full_like(mass, 1.0 / n_arms), where=total > 0.0)


def fit_assignment(
    data: SelectiveLabels,
    folds: list[Fold],
    arms: list[Arms],
    workers: Workers,
    *,
    propensity: str = AUTO,
    overlap: float = 0.01,
    seed: int = 0,
) -> Assignment:
    """Choose between shares and models by the held-out log-loss of who decided.

    "auto": a model of the features is used if its loss, on rows held out, is smaller than that of shares
    within strata by more than its standard error; "model": the best model, whether or not; "shares":
    nothing is fitted. With 25,000 rows or less the folds themselves are compared; with more, models of 20,000
    rows, so that where shares win nothing is fitted to all rows.

    Parameters
    ----------
    data : SelectiveLabels
    folds, arms : lists
        Those of the models of decision and label: an arm means the same here and there.
    workers : Workers
    propensity : "auto", "shares" or "model"
    overlap : float
        For the report.
    seed : int
    """
    require_choice("propensity", propensity, PROPENSITIES)
    fitter = ArmFitter(data, arms[0].lookup[data.decision_maker_codes], folds, arms)
    options = _candidates(data, arms[0].n_arms, seed)
    one_arm = len(np.unique(fitter.outcome)) == 1
    if propensity == SHARES or one_arm or not options or len(data) < FEWEST_ROWS:
        return Assignment(_with_overlap(AssignmentReport(SHARES), fitter, (), overlap))
    auto = propensity == AUTO
    if auto:
        options = [Candidate(SHARES, "", lambda *sizes: None), *options]
    whole = min(len(train) for train, _ in folds) <= MOST_ROWS
    choice = choose(fitter, options, workers, seed, fallback=SHARES if auto else None, margin=MARGIN, whole=whole)
    report = _report(choice)
    if choice.candidate.family == SHARES:
        return Assignment(_with_overlap(report, fitter, (), overlap))
    missing = [fold for fold in range(len(folds)) if fold not in choice.models]
    tasks = [(fitter.fit, choice.candidate, fold) for fold in missing]
    fitted = workers.do(tasks, "fitting models of who decides")
    by_fold = {**choice.models, **dict(zip(missing, fitted, strict=True))}
    models = tuple(by_fold[fold] for fold in range(len(folds)))
    held_out = np.empty(len(data), dtype=int)
    for number, (_, test) in enumerate(folds):
        held_out[test] = number
    return Assignment(_with_overlap(report, fitter, models, overlap), models, held_out)


def known_report(chances: np.ndarray, new_rows: str, overlap: float = 0.01) -> AssignmentReport:
    """Report on probabilities that were given, (n_samples, n_decision_makers)."""
    least = np.where(chances > 0.0, chances, 1.0).min(axis=1)
    without = float(np.mean(least < overlap))
    return AssignmentReport(
        KNOWN, smallest=float(least.min()), rows_without_overlap=without, new_rows=new_rows
    )


def _candidates(data: SelectiveLabels, n_arms: int, seed: int) -> list[Candidate]:
    """List settings of the families, cheap ones first; none without features."""
    if not data.features.shape[1]:
        return []
    families = ["logistic"]
    if n_standardised(data.features, data.categorical) <= QUADRATIC_FEATURES:
        families.append("quadratic")
    settings = [
        (family, LogisticSettings(family == "quadratic", variance, 0.0))
        for family in families
        for variance in PRIOR_VARIANCES
    ]
    iterations = int(np.clip(MOST_TREES // n_arms, FEWEST_ITERATIONS, MAX_ITERATIONS))
    boosted = partial(
        BoostedJoint, categorical=data.categorical, random_state=seed, most_iterations=iterations
    )
    return [
        Candidate(
            family,
            f"prior variance {each.variance:g}",
            partial(PooledLogistic, settings=each, categorical=data.categorical),
        )
        for family, each in settings
    ] + [Candidate("boosting", "slow", boosted)]


def _tilted(odds: np.ndarray, shares: np.ndarray) -> np.ndarray:
    """Shares times odds, summing to one; where nothing is left, the shares."""
    chances = odds * shares
    total = chances.sum(axis=1, keepdims=True)
    return np.divide(chances, total, out=np.array(shares), where=total > 0.0)


def _report(choice: Choice) -> AssignmentReport:
    lead, error = choice.over_fallback
    family = choice.candidate.family
    return AssignmentReport(family, choice.candidate.settings, choice.losses, lead, error, new_rows=family)


def _with_overlap(
    report: AssignmentReport, fitter: ArmFitter, models: Sequence[ArmModel], overlap: float
) -> AssignmentReport:
    """Add the smallest probability, and how many rows have one below `overlap`."""
    data = fitter.data
    smallest, below, n_rows = np.inf, 0, 0
    for fold, (_, test) in enumerate(fitter.folds):
        rows = spaced(test, MOST_ROWS // len(fitter.folds))
        shares = cell_shares(
            data.cells,
            fitter.arm_of(fold, np.arange(len(data))),
            fitter.weight(np.arange(len(data))),
            fitter.n_cells,
            fitter.arms[fold].n_arms,
        )
        table = shares[data.cells[rows]]
        chances = models[fold].at(data.features[rows], data.cells[rows], shares) if models else table
        least = np.where(table > 0.0, chances, np.inf).min(axis=1)
        smallest, below, n_rows = min(smallest, least.min()), below + np.sum(least < overlap), n_rows + len(rows)
    return replace(report, smallest=float(smallest), rows_without_overlap=float(below / max(n_rows, 1)))
