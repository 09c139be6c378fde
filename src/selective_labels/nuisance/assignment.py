"""Propensity scores of arms given features and stratum: shares within strata, or a model if it fits better.

The model families and folds are those of the model of decision and label. Here the outcome is the arm, and
the stratum is the category with partially pooled effects.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

import numpy as np

from selective_labels._parallel import Workers
from selective_labels._validation import effective_sample_size, require_choice
from selective_labels.data.selective_labels import SelectiveLabels
from selective_labels.nuisance.bands import Arms
from selective_labels.nuisance.folds import Fold
from selective_labels.nuisance.model_selection import (
    MOST_ROWS,
    QUADRATIC_FEATURES,
    Candidate,
    Choice,
    Fitter,
    JointModel,
    Problem,
    choose,
    log_losses,
    spaced,
)
from selective_labels.nuisance.models.boosting import MAX_ITERATIONS, BoostedJoint
from selective_labels.nuisance.models.encoders import n_factors, n_standardised
from selective_labels.nuisance.models.logistic import LogisticSettings, PooledLogistic
from selective_labels.nuisance.score_formulas import OVERLAP


@dataclass(frozen=True, eq=False)
class ArmModel:
    """Model of the arm given features and stratum, as a reweighting of the shares.

    e_z(x, s) ∝ share_sz · m_z(x, s) / mean_sz,   mean_sz the mean prediction of m_z over the training rows

    A model that does not depend on x within strata returns the shares. A decision-maker who never works in a
    stratum has probability zero there.

    Attributes
    ----------
    base : model or None
        The model m; None if the shares are used unchanged.
    shares, means : (n_cells, n_arms) arrays
        Shares and mean predictions of the training rows, by stratum.
    overall_mean : (n_arms,) array
        Mean prediction over all training rows.
    cell_shares : (n_cells,) array
        Share of the training rows in each stratum.
    pooled : bool
        Whether the base model ignores the strata.
    """

    base: JointModel | None
    shares: np.ndarray
    means: np.ndarray
    overall_mean: np.ndarray
    cell_shares: np.ndarray
    pooled: bool

    def at(self, X: np.ndarray, cells: np.ndarray, shares: np.ndarray) -> np.ndarray:
        """Probabilities for rows with known strata, (n, n_arms); `shares` has the shape of :attr:`shares`."""
        if self.base is None:
            return shares[cells]
        known = self.base.own(X, np.zeros(len(X), dtype=int) if self.pooled else cells)
        return _tilted(known / self.means[cells], shares[cells])

    def anywhere(self, X: np.ndarray, shares: np.ndarray) -> np.ndarray:
        """Probabilities for rows with unknown strata, (n, n_arms); `shares`, (n_arms,), are overall."""
        rows = np.broadcast_to(shares, (len(X), len(shares)))
        if self.base is None:
            return rows
        joint = self.base.joint(X)
        weights = np.ones(1) if self.pooled else self.cell_shares
        return _tilted(np.tensordot(weights, joint, 1) / self.overall_mean, rows)


def cell_shares(
    cells: np.ndarray, arm: np.ndarray, weight: np.ndarray, n_cells: int, n_arms: int
) -> np.ndarray:
    """Weighted shares of arms in every stratum, (n_cells, n_arms); uniform in a stratum without weight.

    Examples
    --------
    >>> cell_shares(np.array([0, 0, 1]), np.array([0, 1, 1]), np.array([1.0, 3.0, 1.0]), 2, 2)
    array([[0.25, 0.75],
           [0.  , 1.  ]])
    """
    mass = np.bincount(cells * n_arms + arm, weight, n_cells * n_arms).reshape(n_cells, n_arms)
    total = mass.sum(axis=1, keepdims=True)
    return np.divide(mass, total, out=np.full_like(mass, 1.0 / n_arms), where=total > 0.0)


def _tilted(odds: np.ndarray, shares: np.ndarray) -> np.ndarray:
    """Shares times odds, normalised to sum to one; the shares where all products are zero."""
    chances = odds * shares
    total = chances.sum(axis=1, keepdims=True)
    return np.divide(chances, total, out=np.array(shares), where=total > 0.0)


AUTO, SHARES, MODEL, KNOWN = "auto", "shares", "model", "known"
PROPENSITIES = (AUTO, SHARES, MODEL)
# Prior variances of features' coefficients, the strongest ridge penalty first.
PRIOR_VARIANCES = (0.01, 0.1, 1.0)
# A model must beat the shares by this many standard errors. With randomly assigned cases (200 and 500 rows),
# a margin of one standard error selected a model in 9 of 120 samples, and this margin in 6 of 140.
MARGIN = 1.645
# Boosting has not converged if the second half of the rows lowers the loss by more than its standard error
# and by more than this fraction of the gain over shares.
SETTLED = 0.05
# The report mentions probabilities below this, because the inverse weights are then large.
WORTH_SAYING = 0.02
# With more training rows than this, a comparison on this many rows decides between model and shares.
FEW_ROWS = 5_000
# With fewer rows the comparison has too little power, and shares are used.
FEWEST_ROWS = 100
# A quadratic model needs this many rows per coefficient; with fewer, no ridge penalty makes it useful.
ROWS_PER_COEFFICIENT = 2
# Models include effects of strata only up to this many strata. Shares are within strata in any case.
MOST_CELLS = 64
# Total trees over all arms, so that many arms do not cost more than the models of decision and label.
MOST_TREES = 600
FEWEST_ITERATIONS = 20
# Where probabilities vary with the features, an inverse weight above this share of the number of rows makes
# estimates too skewed for their standard errors ...
HEAVIEST = 0.01
# ... and an arm may have this share of the average probability without being left out.
USUAL = 0.2


def least_probability(n_rows: float, n_arms: int) -> float:
    """Probability below which an arm is left out where probabilities vary with the features.

    least = min(1 / (.01 n), .2 / J), but at least .01

    Leaving an arm out of the bounds keeps them valid and makes them wider. With a limit of .01 for any number
    of rows, a few cases with weights of 100 in 2,000 rows carried the estimate: its standard error was right
    on average, and intervals missed on one side.

    Examples
    --------
    >>> [round(least_probability(n_rows, 5), 3) for n_rows in (500, 5_000, 50_000)]
    [0.04, 0.02, 0.01]
    """
    return max(OVERLAP, min(1.0 / (HEAVIEST * n_rows), USUAL / n_arms))


@dataclass(frozen=True)
class AssignmentReport:
    """How the propensity scores of arms were estimated.

    Attributes
    ----------
    chosen : str
        "known" (given by the user), "shares" (within strata, if given), or the family of the model used.
    settings : str
        Settings of the model, in words.
    losses : dict of float
        Held-out log-loss of the arm, by family. For a family dropped early, the loss at that stage.
    gain, error : float
        Reduction in loss relative to shares, and its standard error.
    late_gain : float
        Reduction in loss from the second half of the rows. Computed for boosting, which converges slowly.
    settled : bool
        False if boosting was still improving. The probabilities, and results based on them, are then
        unreliable.
    smallest : float
        Smallest probability of an arm that occurs in the row's stratum, on 20,000 rows at most.
    rows_without_overlap : float
        Share of rows where an arm that occurs in the stratum has a probability below `overlap`.
    overlap : float
        Probability below which an arm is left out (:func:`least_probability`).
    new_rows : str
        Source of the probabilities for rows outside the training sample.
    """

    chosen: str
    settings: str = ""
    losses: dict[str, float] = field(default_factory=dict)
    gain: float = 0.0
    error: float = 0.0
    late_gain: float = 0.0
    settled: bool = True
    smallest: float = float("nan")
    rows_without_overlap: float = 0.0
    overlap: float = OVERLAP
    new_rows: str = SHARES

    @property
    def depends_on_features(self) -> bool:
        """Whether a model of the features is used."""
        return self.chosen not in (KNOWN, SHARES)

    @property
    def sentence(self) -> str:
        """Caution for the reader of results; empty if there is none."""
        said = ""
        if self.depends_on_features and self.gain > MARGIN * self.error:
            said = (
                f"Who decides depends on the features: a model ({self.chosen}) predicts it better than "
                f"shares, by {self.gain:.3f} in held-out log-loss (standard error {self.error:.3f}), and is "
                "used."
            )
        elif self.depends_on_features:
            said = (
                f"A model of who decides ({self.chosen}) is used because it was asked for. It does not "
                f"clearly predict better than shares: its held-out log-loss is {abs(self.gain):.3f} "
                f"{'smaller' if self.gain > 0.0 else 'larger'} (standard error {self.error:.3f})."
            )
        if not self.settled:
            said += (
                f" It has not settled: the second half of the rows brought {self.late_gain:.3f} of that, so "
                "more rows would change it. The interval is not to be trusted."
            )
        if self.smallest < self.overlap:
            said += (
                f" Little overlap: a decision-maker has a probability below {self.overlap:.2g} (the "
                f"smallest is {self.smallest:.2g}) in {self.rows_without_overlap:.1%} of the rows and is "
                "left out there."
            )
        elif self.depends_on_features or self.smallest < WORTH_SAYING:
            most = 1.0 / max(self.smallest, self.overlap)
            said += (
                f" The smallest probability of a decision-maker is {self.smallest:.2g}: inverse weights "
                f"reach {most:.0f}."
            )
        return said.strip()


@dataclass(frozen=True, eq=False)
class Assignment:
    """Cross-fitted models of the arm: one for each fold, fitted without that fold.

    Attributes
    ----------
    models : tuple of ArmModel
        Empty if shares are used.
    held_out : (n_samples,) int array
        Index of the model that was fitted without the row.
    """

    report: AssignmentReport
    models: tuple[ArmModel, ...] = ()
    held_out: np.ndarray = field(default_factory=lambda: np.empty(0, dtype=int))

    def without_rows(self) -> "Assignment":
        """Drop what is needed for the training rows only."""
        return Assignment(self.report, self.models)


BY_LOT = Assignment(AssignmentReport(SHARES))


@dataclass(frozen=True)
class ArmFitter(Fitter):
    """Fitter of models of the arm; `outcome` serves only to stratify the comparison sample by arm."""

    subject = "who decides"
    patience = 1
    # Standard errors reflect the variance of propensity scores and not the bias of a strong penalty.
    weakly_penalised = True

    @property
    def pooled(self) -> bool:
        """Whether models ignore the strata."""
        return self.n_cells > MOST_CELLS

    @property
    def n_cells(self) -> int:
        """Number of strata."""
        return int(self.data.cells.max()) + 1

    def problem(self, fold: int, within: np.ndarray | slice) -> Problem:
        """Return the arm of every training row as the outcome, given its stratum."""
        rows = self.folds[fold][0][within]
        cells = np.zeros(len(rows), dtype=int) if self.pooled else self.data.cells[rows]
        n_given = 1 if self.pooled else self.n_cells
        return Problem(rows, cells, self.arm_of(fold, rows), n_given, self.arms[fold].n_arms)

    def model(self, candidate: Candidate, n_given: int, n_outcomes: int) -> Any:
        """Make an unfitted model; the arm is the outcome and the stratum is a category."""
        return candidate.factory(n_given, n_outcomes)

    def fits(
        self,
        options: Sequence[Candidate],
        fold: int,
        within: np.ndarray | slice = slice(None),
        *,
        roughly: bool = False,
    ) -> Iterator[Any]:
        """Fit models together with the shares that they reweight."""
        rows = self.folds[fold][0][within]
        bases: Iterator[Any] = iter([None])
        if options[0].family != SHARES:
            bases = super().fits(options, fold, within, roughly=roughly)
        for base in bases:
            yield self._tilt(base, fold, rows)

    def losses(self, model: Any, fold: int, rows: np.ndarray) -> np.ndarray:
        """Log-losses of the arms of the given rows."""
        chances = model.at(self.data.features[rows], self.data.cells[rows], model.shares)
        return log_losses(chances, self.arm_of(fold, rows))

    def arm_of(self, fold: int, rows: np.ndarray) -> np.ndarray:
        """Arms of the given rows, in the numbering of a fold."""
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
        return ArmModel(base, shares, np.where(means > 0.0, means, overall), overall, by_cell, self.pooled)


def fit_assignment(
    data: SelectiveLabels,
    folds: list[Fold],
    arms: list[Arms],
    workers: Workers,
    *,
    propensity: str = AUTO,
    seed: int = 0,
) -> Assignment:
    """Choose between shares and models by the held-out log-loss of the arm.

    "auto" uses a model of the features if its held-out loss is smaller than that of shares within strata by
    more than 1.645 standard errors of the difference. "model" always uses the best model. "shares" fits
    nothing. With five folds and at most 6,250 rows, the comparison uses the folds themselves. With more rows
    it uses models fitted to 5,000 rows, so that nothing is fitted to all rows if the shares win.

    Parameters
    ----------
    folds, arms : lists
        Folds and arms of the models of decision and label.
    propensity : "auto", "shares" or "model"
    """
    require_choice("propensity", propensity, PROPENSITIES)
    fitter = ArmFitter(data, arms[0].lookup[data.decision_maker_codes], folds, arms)
    options = _candidates(data, min(len(folds[0][0]), FEW_ROWS), arms[0].n_arms, seed)
    one_arm = len(np.unique(fitter.outcome)) == 1
    if propensity == SHARES or one_arm or not options or len(data) < FEWEST_ROWS:
        return Assignment(_with_overlap(AssignmentReport(SHARES), fitter, ()))
    auto = propensity == AUTO
    if auto:
        options = [Candidate(SHARES, "", lambda *sizes: None), *options]
    choice = choose(
        fitter, options, workers, seed, fallback=SHARES if auto else None, margin=MARGIN, few_decide=FEW_ROWS
    )
    report = _report(choice)
    if choice.candidate.family == SHARES:
        return Assignment(_with_overlap(report, fitter, ()))
    missing = [fold for fold in range(len(folds)) if fold not in choice.models]
    tasks = [(fitter.fit, choice.candidate, fold) for fold in missing]
    fitted = workers.do(tasks, "fitting models of who decides")
    by_fold = {**choice.models, **dict(zip(missing, fitted, strict=True))}
    models = tuple(by_fold[fold] for fold in range(len(folds)))
    if not auto:
        report = _over_shares(report, fitter, models)
    if choice.candidate.family == "boosting":
        report = _settled(report, fitter, choice.candidate, models, workers, seed)
    held_out = np.empty(len(data), dtype=int)
    for number, (_, test) in enumerate(folds):
        held_out[test] = number
    return Assignment(_with_overlap(report, fitter, models), models, held_out)


def known_report(chances: np.ndarray, new_rows: str) -> AssignmentReport:
    """Report on probabilities given by the user, (n_samples, n_decision_makers)."""
    varies = np.ptp(chances, axis=0).any()
    overlap = least_probability(*chances.shape) if varies else OVERLAP
    least = np.where(chances > 0.0, chances, 1.0).min(axis=1)
    without = float(np.mean(least < overlap))
    return AssignmentReport(
        KNOWN, smallest=float(least.min()), rows_without_overlap=without, overlap=overlap, new_rows=new_rows
    )


def _candidates(data: SelectiveLabels, n_rows: int, n_arms: int, seed: int) -> list[Candidate]:
    """List the candidates, the cheapest first; empty if there are no features."""
    if not data.features.shape[1]:
        return []
    families = ["logistic"]
    n_columns = n_standardised(data.features, data.categorical)
    factors = n_factors(data.features, data.categorical)
    n_coefficients = (1 + n_columns + factors * (factors + 1) // 2) * (n_arms - 1)
    if factors <= QUADRATIC_FEATURES and n_rows >= ROWS_PER_COEFFICIENT * n_coefficients:
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


def _report(choice: Choice) -> AssignmentReport:
    lead, error = choice.over_fallback
    family = choice.candidate.family
    return AssignmentReport(family, choice.candidate.settings, choice.losses, lead, error, new_rows=family)


def _over_shares(report: AssignmentReport, fitter: ArmFitter, models: Sequence[ArmModel]) -> AssignmentReport:
    """Add the gain over shares of a model that was asked for, on at most 20,000 held-out rows."""
    tested = [spaced(test, MOST_ROWS // len(fitter.folds)) for _, test in fitter.folds]
    losses = [
        fitter.losses(replace(model, base=None), fold, rows) - fitter.losses(model, fold, rows)
        for fold, (model, rows) in enumerate(zip(models, tested, strict=True))
    ]
    gain, error = fitter.difference(np.concatenate(losses), np.concatenate(tested))
    return replace(report, gain=gain, error=error)


def _settled(
    report: AssignmentReport,
    fitter: ArmFitter,
    candidate: Candidate,
    models: Sequence[ArmModel],
    workers: Workers,
    seed: int,
) -> AssignmentReport:
    """Add the reduction in loss from the second half of the rows, on at most 20,000 held-out rows.

    Models of half of the rows are fitted for no more folds than these held-out rows come from.
    """
    compared = fitter.folds[: _n_folds_with([len(test) for _, test in fitter.folds], MOST_ROWS)]
    tested = [spaced(test, MOST_ROWS // len(compared)) for _, test in compared]
    generator = np.random.default_rng(seed)
    halves = [np.sort(generator.permutation(len(train))[: len(train) // 2]) for train, _ in compared]
    tasks = [(fitter.fit, candidate, fold, half) for fold, half in enumerate(halves)]
    smaller = workers.do(tasks, "fitting models of who decides to half of the rows")
    losses = [
        fitter.losses(half, fold, tested[fold]) - fitter.losses(models[fold], fold, tested[fold])
        for fold, half in enumerate(smaller)
    ]
    gain, error = fitter.difference(np.concatenate(losses), np.concatenate(tested))
    settled = gain <= max(error, SETTLED * report.gain)
    return replace(report, late_gain=gain, settled=settled)


def _n_folds_with(sizes: Sequence[int], most: int) -> int:
    """Number of first folds that have `most` held-out rows together; all of them if there are fewer.

    Examples
    --------
    >>> _n_folds_with([10, 10, 10], 20), _n_folds_with([10, 10, 10], 21), _n_folds_with([10, 10], 99)
    (2, 3, 2)
    """
    return min(1 + int(np.searchsorted(np.cumsum(sizes), most)), len(sizes))


def _with_overlap(
    report: AssignmentReport, fitter: ArmFitter, models: Sequence[ArmModel]
) -> AssignmentReport:
    """Add the smallest probability, the limit of probabilities and the share of rows with one below it."""
    data = fitter.data
    n_cases = effective_sample_size(data.weights)
    overlap = least_probability(n_cases, fitter.arms[0].n_arms) if models else OVERLAP
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
        smallest, below, n_rows = (
            min(smallest, least.min()),
            below + np.sum(least < overlap),
            n_rows + len(rows),
        )
    share = float(below / max(n_rows, 1))
    return replace(report, smallest=float(smallest), rows_without_overlap=share, overlap=overlap)
