"""Cross-fitting of the models of decision, label and arm, and the propensity scores of the fitted arms.

Before long work, a warning says the expected time. The estimate counts the numbers that each part of the
work processes; the cost per number was measured on tables of many shapes (``benchmarks/expected.py``).
docs/limits.md compares measured and expected times.
"""

import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np

from selective_labels._errors import InputError, LargeWorkWarning
from selective_labels._parallel import Workers
from selective_labels._validation import as_seed, require_choice, require_count
from selective_labels.data.pending import AT_RANDOM
from selective_labels.data.selective_labels import SelectiveLabels
from selective_labels.nuisance.assignment import (
    AUTO,
    BY_LOT,
    FEWEST_ROWS,
    PROPENSITIES,
    SHARES,
    Assignment,
    AssignmentReport,
    cell_shares,
    fit_assignment,
    known_report,
)
from selective_labels.nuisance.bands import MANY_DECISION_MAKERS, N_BANDS, Arms, leniency_bands, panel_bands
from selective_labels.nuisance.folds import Fold, make_folds, n_outcomes, outcome_codes, outcomes_of
from selective_labels.nuisance.maturity import MaturingJoint, label_weights
from selective_labels.nuisance.model_selection import (
    MOST_ROWS,
    Candidate,
    Choice,
    Fitter,
    JointModel,
    NuisanceReport,
    candidates,
    choose,
)
from selective_labels.nuisance.models.encoders import n_factors, n_standardised, standardised
from selective_labels.nuisance.models.logistic import InjectedJoint

# Rows are predicted in chunks, so that the (folds, arms, rows, outcomes) array has at most this many entries.
CHUNK_NUMBERS = 8_000_000


@dataclass(frozen=True)
class FoldModel:
    """Model fitted without one fold, or two models fitted to disjoint halves of the other rows."""

    models: tuple[JointModel, ...]
    lookup: np.ndarray

    def joint(self, X: np.ndarray) -> np.ndarray:
        """Probabilities under every arm, averaged over halves, (n_arms, n, n_outcomes)."""
        total = self.models[0].joint(X)
        for model in self.models[1:]:
            total = total + model.joint(X)
        return total if len(self.models) == 1 else total / len(self.models)


@dataclass(frozen=True, eq=False)
class CrossFit:
    """Cross-fitted models of the outcome, each fitted without one fold.

    Attributes
    ----------
    held_out : (n_samples,) int array
        Fold of each row, whose model was fitted without it; empty after :meth:`without_rows`.
    shares : (n_arms,) array
        Weighted share of rows of each arm, or the mean of the assignment probabilities if these are given.
    assignment : Assignment
        Models of the arm; without models, shares are used.
    label_weights : (n_samples, n_classes) array or None
        With outcomes pending at random: the weights of the labels of each row, by the models without it.
    choice : Choice or None
        How the family of models was chosen; None after :meth:`without_rows`.
    """

    folds: tuple[FoldModel, ...]
    held_out: np.ndarray
    shares: np.ndarray
    report: NuisanceReport
    assignment: Assignment = BY_LOT
    label_weights: np.ndarray | None = None
    choice: Choice | None = None

    @property
    def n_arms(self) -> int:
        """Number of decision-makers, or of leniency bands."""
        return len(self.shares)

    @property
    def in_halves(self) -> bool:
        """Whether each fold has two models, fitted to disjoint halves of the other rows."""
        return len(self.folds[0].models) == 2

    def without_rows(self) -> "CrossFit":
        """Drop what is needed for the training rows only."""
        nothing = np.empty(0, dtype=int)
        kept = self.assignment.without_rows()
        return replace(self, held_out=nothing, assignment=kept, label_weights=None, choice=None)

    def chunks(self, rows: np.ndarray, n_outcomes: int) -> list[np.ndarray]:
        """Split row numbers into chunks small enough to hold the predictions of all folds and arms."""
        step = max(64, CHUNK_NUMBERS // (len(self.folds) * self.n_arms * n_outcomes))
        return [rows[start : start + step] for start in range(0, len(rows), step)]


def cross_fit(
    data: SelectiveLabels,
    nuisance: Any = None,
    *,
    cv: Any = 5,
    in_halves: bool = False,
    n_bands: int | None = None,
    propensity: str = SHARES,
    new_rows: bool = False,
    arms: list[Arms] | None = None,
    n_jobs: int | None = None,
    random_state: int | None = None,
    times: int = 1,
    whole: CrossFit | None = None,
) -> CrossFit:
    """Fit one joint model of decision and label per fold.

    The folds are created and validated first. Candidates are compared by held-out log-loss on a sample of the
    rows (:mod:`selective_labels.nuisance.model_selection`). The best candidate is then fitted to all training
    rows of each fold.

    Parameters
    ----------
    data : SelectiveLabels
        Must have numeric `X`.
    nuisance : None, str, scikit-learn classifier or callable
        See :func:`selective_labels.nuisance.model_selection.candidates`.
    cv : int, splitter or iterable of folds
    in_halves : bool
        Fit two models to disjoint halves of each training part; the leniency slope needs this.
    n_bands : int, optional
        Number of leniency bands, formed without the fold. By default each decision-maker is an arm if there
        are at most 64, and otherwise there are 20 bands.
    propensity : "auto", "shares" or "model"
        How the propensity score of an arm is estimated, unless ``data.assignment`` gives it; see
        :func:`selective_labels.nuisance.assignment.fit_assignment`.
    new_rows : bool
        Model the arm even if ``data.assignment`` is given, because new rows will be predicted.
    arms : list of Arms, optional
        Arms of each fold, if the caller knows more about decision-makers than these rows show.
    n_jobs : int, optional
        Number of parallel jobs; by default the number of cores.
    random_state : int, optional
        The same value gives the same result for any `n_jobs`.
    times : int
        Number of times the fit will be repeated, for the runtime warning; zero if the warning was given
        already.
    whole : CrossFit, optional
        With `in_halves`: the fit to whole training parts with the same arguments. Its choice among candidates
        and its models of the arm, which halves share, are not made again.

    Returns
    -------
    CrossFit
    """
    seeds = np.random.SeedSequence(random_state).generate_state(6)
    # Known probabilities need no model. New rows need none either if the probabilities are constant.
    if data.assignment is not None and not (new_rows and np.ptp(data.assignment, axis=0).any()):
        propensity = SHARES
    n_columns = n_standardised(data.features, data.categorical)
    options, skipped = candidates(nuisance, *_sizes(data, int(seeds[0])))
    if times:
        warn_of_runtime(data, options, n_columns, cv, n_bands=n_bands, times=times)
    if options[0].family == "injected":
        return _injected(data, options[0], cv, propensity, n_jobs, seeds)
    outcome = outcomes_of(data)
    folds = _folds(data, cv, int(seeds[1]))
    known = _arms(data, folds, n_bands, int(seeds[2])) if arms is None else arms
    fitter = Fitter(data, outcome, folds, known)
    pairs = [fitter.halves(fold, int(seeds[3])) for fold in range(len(folds))] if in_halves else []
    with Workers(n_jobs) as workers:
        made = None if whole is None else whole.choice
        choice = made or choose(fitter, options, workers, int(seeds[4]))
        if in_halves:
            half_tasks = [(fitter.fit_halves, choice.candidate, *each) for each in enumerate(pairs)]
            models = workers.do(half_tasks, "fitting models on two halves of each fold")
        else:
            missing = [fold for fold in range(len(folds)) if fold not in choice.models]
            tasks = [(fitter.fit, choice.candidate, fold) for fold in missing]
            fitted = workers.do(tasks, "fitting models of decision and label")
            by_fold = {**choice.models, **dict(zip(missing, fitted, strict=True))}
            models = [(by_fold[fold],) for fold in range(len(folds))]
        arms = fitter.arms
        assignment = (
            fit_assignment(data, folds, arms, workers, propensity=propensity, seed=int(seeds[5]))
            if whole is None
            else whole.assignment
        )
    loss, calibration = fitter.judge(models, MOST_ROWS)
    report = NuisanceReport(
        chosen=choice.candidate.family,
        settings=choice.candidate.settings,
        n_arms=arms[0].n_arms,
        banded=arms[0].n_arms != data.n_decision_makers,
        losses={choice.candidate.family: loss, **{name: loss + lag for name, lag in choice.behind.items()}},
        skipped=skipped,
        calibration_error=calibration,
        assignment=_assignment_report(data, assignment),
        numeric=data.numeric,
    )
    held_out = np.empty(len(outcome), dtype=int)
    for number, (_, test) in enumerate(folds):
        held_out[test] = number
    fold_models = tuple(FoldModel(pair, each.lookup) for pair, each in zip(models, arms, strict=True))
    fit = CrossFit(fold_models, held_out, _shares(data, arms), report, assignment)
    return replace(_matured(fit, data), choice=replace(choice, models={}))


def _matured(fit: CrossFit, data: SelectiveLabels) -> CrossFit:
    """Models of decision and label from those that also have pending outcomes, and weights of the labels."""
    if data.pending is None or not data.has_pending:
        return fit
    folds = tuple(
        replace(fold, models=tuple(MaturingJoint(model, data.pending) for model in fold.models))
        for fold in fit.folds
    )
    made = replace(fit, folds=folds)
    return (
        made
        if data.pending != AT_RANDOM
        else replace(made, label_weights=weights_of_labels(made, data, held_out=True))
    )


def _maturing(model: JointModel) -> MaturingJoint:
    if not isinstance(model, MaturingJoint):
        raise InputError.about(
            "pending", "outcomes are in these rows alone: there were none where the models were fitted."
        )
    return model


def weights_of_labels(fit: CrossFit, data: SelectiveLabels, *, held_out: bool) -> np.ndarray | None:
    """Weights of the labels of rows; None unless outcomes are pending at random.

    Rows that `fit` was not fitted to (not `held_out`) get the mean over its folds.
    """
    if data.pending != AT_RANDOM or not data.has_pending:
        return None
    outcome, columns = outcomes_of(data), standardised(data.categorical).fit_transform(data.features)

    def chances(fold: FoldModel, rows: np.ndarray) -> np.ndarray:
        X, arm = data.features[rows], fold.lookup[data.decision_maker_codes[rows]]
        return np.mean([_maturing(model).with_pending(X, arm) for model in fold.models], axis=0)

    how = outcome, columns, data.sample_weight
    if not held_out:
        every = np.arange(len(data))
        return np.mean([label_weights(chances(fold, every), *how) for fold in fit.folds], axis=0)
    found = np.empty((len(data), len(data.classes) + 2))
    for number, fold in enumerate(fit.folds):
        rows = np.flatnonzero(fit.held_out == number)
        found[rows] = chances(fold, rows)
    return label_weights(found, *how)


def held_out_losses(
    data: SelectiveLabels,
    fold: Fold,
    nuisance: Any = None,
    *,
    n_bands: int | None = None,
    n_jobs: int | None = None,
    random_state: int | None = None,
) -> np.ndarray:
    """Log-losses of the held-out rows of one fold; the model is chosen and fitted as in :func:`cross_fit`."""
    seeds = np.random.SeedSequence(random_state).generate_state(3)
    options, _ = candidates(nuisance, *_sizes(data, int(seeds[0])))
    fitter = Fitter(data, outcome_codes(data.y), [fold], _arms(data, [fold], n_bands, int(seeds[1])))
    with Workers(n_jobs) as workers:
        choice = choose(fitter, options, workers, int(seeds[2]))
    model = choice.models.get(0)
    return fitter.losses(fitter.fit(choice.candidate, 0) if model is None else model, 0, fold[1])


def _sizes(data: SelectiveLabels, seed: int) -> tuple[int, int, tuple[int, ...], int]:
    """Arguments of `candidates` that describe the features."""
    columns = data.features, data.categorical
    return n_standardised(*columns), seed, data.categorical, n_factors(*columns)


def _folds(data: SelectiveLabels, cv: Any, seed: int) -> list[Fold]:
    names = [
        "the unlabeled case",
        *(f"class {label!r}" for label in data.classes.tolist()),
        "the pending case",
    ]
    outcome = outcomes_of(data)
    return make_folds(outcome, cv, groups=data.groups, outcome_names=names, random_state=seed)


def _arms(data: SelectiveLabels, folds: list[Fold], n_bands: int | None, seed: int) -> list[Arms]:
    """Arms of every fold; bands are formed without the fold."""
    if n_bands is None and data.n_decision_makers <= MANY_DECISION_MAKERS:
        return [one_arm_each(data.decision_maker_codes[train], data.n_decision_makers) for train, _ in folds]
    n_bands = N_BANDS if n_bands is None else n_bands
    if data.panels is not None:
        return [panel_bands(data, train, n_bands, seed) for train, _ in folds]
    return [
        leniency_bands(
            data.features[train],
            data.decision[train],
            data.decision_maker_codes[train],
            data.n_decision_makers,
            strata=None if data.strata is None else data.strata[train],
            cases=None if data.groups is None else data.groups[train],
            categorical=data.categorical,
            sample_weight=None if data.sample_weight is None else data.sample_weight[train],
            n_bands=n_bands,
            random_state=seed,
        )
        for train, _ in folds
    ]


def _shares(data: SelectiveLabels, arms: list[Arms]) -> np.ndarray:
    """Mean known probability of each arm, or else its weighted share of the rows."""
    if data.assignment is None:
        mass = np.bincount(data.decision_maker_codes, data.weights, data.n_decision_makers)
    else:
        mass = data.weights @ data.assignment
    shares = np.mean([np.bincount(each.lookup, mass, each.n_arms) for each in arms], axis=0)
    return shares / shares.sum()


def _assignment_report(data: SelectiveLabels, assignment: Assignment) -> AssignmentReport:
    """Report of the assignment model, or of known probabilities and their substitute at new rows."""
    if data.assignment is None:
        return assignment.report
    return known_report(data.assignment, assignment.report.new_rows)


def _injected(
    data: SelectiveLabels,
    option: Candidate,
    cv: Any,
    propensity: str,
    n_jobs: int | None,
    seeds: np.ndarray,
) -> CrossFit:
    """Use given probabilities of decision and label; only the assignment is modelled."""
    model: InjectedJoint = option.factory(data.n_decision_makers, n_outcomes(data))
    arms = one_arm_each(data.decision_maker_codes, data.n_decision_makers)
    assignment = BY_LOT
    if propensity != SHARES and len(data) >= FEWEST_ROWS:
        folds = _folds(data, cv, int(seeds[1]))
        by_fold = [
            one_arm_each(data.decision_maker_codes[train], data.n_decision_makers) for train, _ in folds
        ]
        with Workers(n_jobs) as workers:
            assignment = fit_assignment(
                data, folds, by_fold, workers, propensity=propensity, seed=int(seeds[5])
            )
    report = NuisanceReport(
        option.family,
        option.settings,
        data.n_decision_makers,
        banded=False,
        assignment=_assignment_report(data, assignment),
    )
    held_out = np.zeros(len(data.y), dtype=int)
    fold = FoldModel((model,), arms.lookup)
    return _matured(CrossFit((fold,), held_out, _shares(data, [arms]), report, assignment), data)


# Maps row numbers to (len(rows), n_arms) probabilities, so that no (n_samples, n_arms) array is stored.
Propensity = Callable[[np.ndarray], np.ndarray]


def arm_propensity(fit: CrossFit, number: int, data: SelectiveLabels, *, held_out: bool = True) -> Propensity:
    """Propensity score e_z(x) = P(arm = z | x) of every row and arm.

    The first case that applies is used::

        data.assignment given    known: the sum over the decision-makers of each arm
        fit.assignment.models    a held-out model of features and stratum that reweights the shares
        data.strata given        shares within the row's stratum; 0 for an arm absent from it
        else                     shares of all rows: assignment is treated as random

    Shares are weighted and computed from the rows of `data`. They use the decision-maker but neither the
    decision nor the label, so no outcome leaks into its own score. Shares of the same rows balance the sample
    exactly; shares of other rows would add noise that standard errors do not reflect. If there are weights,
    known probabilities refer to the weighted population.

    Parameters
    ----------
    number : int
        Index of the fold whose arms are used.
    held_out : bool
        Whether `data` are the rows that `fit` was fitted to; False for new rows.

    Returns
    -------
    callable
        Maps an array of row numbers to an array of shape (rows, n_arms).

    Examples
    --------
    >>> from selective_labels.nuisance.cross_fit import cross_fit
    >>> X, y = np.zeros((4, 1)), [1, 0, -1, 1]
    >>> data = SelectiveLabels.from_arrays(X, y, decision_maker=["a", "b", "b", "b"], strata=[0, 0, 1, 1])
    >>> fit = cross_fit(data, lambda X: np.full((len(X), 2, 3), 1 / 3))
    >>> arm_propensity(fit, 0, data)(np.array([0, 3]))
    array([[0.5, 0.5],
           [0. , 1. ]])
    """
    lookup = fit.folds[number].lookup
    if len(lookup) != data.n_decision_makers:  # an error of the caller, not of the user
        raise ValueError(
            f"data has {data.n_decision_makers} decision-makers and the nuisance model {len(lookup)}; "
            "both must list the same ones."
        )
    if data.assignment is not None:
        membership = lookup[:, None] == np.arange(fit.n_arms)
        assignment = data.assignment
        return lambda rows: assignment[rows] @ membership
    arm, cells = lookup[data.decision_maker_codes], data.cells
    shares = cell_shares(cells, arm, data.weights, cells.max() + 1, fit.n_arms)
    models = fit.assignment.models
    if not models:
        return lambda rows: shares[cells[rows]]
    if not held_out:  # strata of another table do not match those of the models
        overall = cell_shares(np.zeros_like(arm), arm, data.weights, 1, fit.n_arms)[0]
        return lambda rows: _anywhere(fit, number, data.features[rows], overall)
    return lambda rows: _held_out(fit, data, shares, rows)


def new_propensity(fit: CrossFit, number: int, X: np.ndarray) -> np.ndarray:
    """Propensity scores of new rows from their features alone, (n_samples, n_arms)."""
    if not fit.assignment.models:
        return np.broadcast_to(fit.shares, (len(X), fit.n_arms))
    return _anywhere(fit, number, X, fit.shares)


def arm_chances(fit: CrossFit, number: int, X: np.ndarray, known: np.ndarray | None = None) -> np.ndarray:
    """Propensity scores of a fold's arms at new rows; `known` holds those of decision-makers, if given."""
    if known is None:
        return new_propensity(fit, number, X)
    return known @ (fit.folds[number].lookup[:, None] == np.arange(fit.n_arms))


def _anywhere(fit: CrossFit, number: int, X: np.ndarray, shares: np.ndarray) -> np.ndarray:
    """Predict by the model of a fold; injected probabilities have no folds, so all models are averaged."""
    models = fit.assignment.models
    chosen = (models[number],) if len(models) == len(fit.folds) else models
    return np.mean([model.anywhere(X, shares) for model in chosen], axis=0)


def _held_out(fit: CrossFit, data: SelectiveLabels, shares: np.ndarray, rows: np.ndarray) -> np.ndarray:
    """Predict each row by the model fitted without it."""
    chances = np.empty((len(rows), fit.n_arms))
    own = fit.assignment.held_out[rows]
    for number in np.unique(own):
        here = np.flatnonzero(own == number)
        model = fit.assignment.models[number]
        chances[here] = model.at(data.features[rows[here]], data.cells[rows[here]], shares)
    return chances


@dataclass(frozen=True)
class FittingSettings:
    """Settings for fitting nuisance models: model, propensity, folds, repetitions, jobs and seed.

    Attributes
    ----------
    nuisance
        See :func:`selective_labels.nuisance.model_selection.candidates`.
    propensity : "auto", "shares" or "model"
        See :func:`selective_labels.nuisance.assignment.fit_assignment`.
    n_repeats : int
        Number of repetitions of cross-fitting.

    Examples
    --------
    >>> FittingSettings.read("logistic", random_state=np.random.RandomState(0)).seed
    209652396
    """

    nuisance: Any = None
    propensity: str = AUTO
    cv: Any = 5
    n_repeats: int = 1
    n_jobs: int | None = None
    seed: int | None = None

    @classmethod
    def read(
        cls,
        nuisance: Any = None,
        propensity: str = AUTO,
        cv: Any = 5,
        n_repeats: int = 1,
        n_jobs: int | None = None,
        random_state: Any = None,
    ) -> Self:
        """Validate the arguments of a public function; all public functions have them in this order.

        `random_state` may be anything that scikit-learn accepts.
        """
        seed = as_seed(random_state)
        require_choice("propensity", propensity, PROPENSITIES)
        require_count("n_repeats", n_repeats)
        return cls(nuisance, propensity, cv, n_repeats, n_jobs, seed)

    @property
    def repeated_seeds(self) -> list[int]:
        """A seed for each repetition."""
        return np.random.SeedSequence(self.seed).generate_state(self.n_repeats).tolist()

    def cross_fit(
        self,
        data: SelectiveLabels,
        *,
        seed: int | None,
        in_halves: bool = False,
        n_bands: int | None = None,
        new_rows: bool = False,
        arms: list[Arms] | None = None,
        whole: CrossFit | None = None,
    ) -> CrossFit:
        """Fit the models; see :func:`selective_labels.nuisance.cross_fit.cross_fit`."""
        return cross_fit(
            data.bare(),
            self.nuisance,
            cv=self.cv,
            in_halves=in_halves,
            n_bands=n_bands,
            propensity=self.propensity,
            new_rows=new_rows,
            arms=arms,
            n_jobs=self.n_jobs,
            random_state=seed,
            # Only the first repetition warns, on behalf of all.
            times=0 if whole or (self.n_repeats > 1 and seed != self.repeated_seeds[0]) else self.n_repeats,
            whole=whole,
        )

    def warn_of_runtime(self, data: SelectiveLabels, times: int = 1, said_from: float | None = None) -> None:
        """Say how long the models will take, from some seconds on; for callers that suppress warnings."""
        n_columns = n_standardised(data.features, data.categorical)
        options, _ = candidates(self.nuisance, *_sizes(data, 0))
        warn_of_runtime(data, options, n_columns, self.cv, times=times * self.n_repeats, said_from=said_from)


def one_arm_each(decision_maker: np.ndarray, n_decision_makers: int) -> Arms:
    """Make every decision-maker an arm."""
    return Arms(decision_maker, np.arange(n_decision_makers), n_decision_makers)


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
