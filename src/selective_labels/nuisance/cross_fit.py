"""Cross-fitting of the outcome model, in one place."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from selective_labels._parallel import Workers
from selective_labels.data.selective_labels import SelectiveLabels
from selective_labels.nuisance.assignment import (
    BY_LOT,
    FEWEST_ROWS,
    SHARES,
    Assignment,
    AssignmentReport,
    cell_shares,
    fit_assignment,
    known_report,
)
from selective_labels.nuisance.bands import (
    MANY_DECISION_MAKERS,
    N_BANDS,
    Arms,
    leniency_bands,
    one_arm_each,
    panel_bands,
)
from selective_labels.nuisance.folds import Fold, make_folds, outcome_codes
from selective_labels.nuisance.model_selection import (
    MOST_ROWS,
    Fitter,
    JointModel,
    NuisanceReport,
    candidates,
    choose,
)
from selective_labels.nuisance.models.encoders import n_standardised
from selective_labels.nuisance.models.families import Candidate
from selective_labels.nuisance.models.logistic import InjectedJoint
from selective_labels.nuisance.runtime_warning import warn_of_runtime

# Rows are predicted in chunks whose (folds, arms, rows, outcomes) array stays below this many numbers.
CHUNK_NUMBERS = 8_000_000


@dataclass(frozen=True)
class FoldModel:
    """What was fitted without one fold: one model, or two on disjoint halves of the other rows."""

    models: tuple[JointModel, ...]
    lookup: np.ndarray

    def joint(self, X: np.ndarray) -> np.ndarray:
        """Probabilities under every arm, halves averaged, (n_arms, n, n_outcomes)."""
        total = self.models[0].joint(X)
        for model in self.models[1:]:
            total = total + model.joint(X)
        return total if len(self.models) == 1 else total / len(self.models)


@dataclass(frozen=True)
class CrossFit:
    """Models of the outcome, each fitted without one fold of the rows.

    Attributes
    ----------
    folds : list of FoldModel
    held_out : (n_samples,) int array
        Which fold's model has not seen the row; empty after :meth:`without_rows`.
    shares : (n_arms,) array
        Share of rows that went to each arm, by weight; where probabilities are given, their mean.
    report : NuisanceReport
    assignment : Assignment
        Models of the arm that a case goes to, or none: shares.
    """

    folds: tuple[FoldModel, ...]
    held_out: np.ndarray
    shares: np.ndarray
    report: NuisanceReport
    assignment: Assignment = BY_LOT

    @property
    def n_arms(self) -> int:
        """Number of decision-makers, or of bands of them."""
        return len(self.shares)

    @property
    def in_halves(self) -> bool:
        """Whether each fold has two models on disjoint halves of the other rows."""
        return len(self.folds[0].models) == 2

    def without_rows(self) -> "CrossFit":
        """Drop what only the training rows need."""
        nothing = np.empty(0, dtype=int)
        return replace(self, held_out=nothing, assignment=self.assignment.without_rows())

    def chunks(self, rows: np.ndarray, n_outcomes: int) -> list[np.ndarray]:
        """Cut row numbers into parts small enough for all folds and arms to be held at once."""
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
) -> CrossFit:
    """Fit one coherent model of decision and label per fold.

    Folds are made and checked first. Candidates are compared by the log-loss of rows held out, on few rows
    (:mod:`selective_labels.nuisance.model_selection`); the best is then fitted on all rows of each fold.

    Parameters
    ----------
    data : SelectiveLabels
        With numeric `X`.
    nuisance : None, str, scikit-learn classifier or callable
        See :func:`selective_labels.nuisance.model_selection.candidates`.
    cv : int, splitter or iterable of folds
    in_halves : bool
        Fit two models on disjoint halves of each training part, as the leniency slope needs.
    n_bands : int, optional
        Coarsen decision-makers into this many bands of off-fold leniency. Default: each is an arm of its own
        up to 64 of them, and 20 bands beyond.
    propensity : "auto", "shares" or "model"
        How the probability of an arm is found, unless ``data.assignment`` gives it; see
        :func:`selective_labels.nuisance.assignment.fit_assignment`.
    new_rows : bool
        Model the arm also where its probability is given for these rows: others will be asked for.
    arms : list of Arms, optional
        Of each fold, if more is known of decision-makers than these rows tell.
    n_jobs : int, optional
        Folds side by side: default the cores there are.
    random_state : int, optional
        The same value gives the same result for any `n_jobs`.
    times : int
        How often this is going to be done, for what is said beforehand of how long it takes; zero if it was
        said already.

    Returns
    -------
    CrossFit
    """
    seeds = np.random.SeedSequence(random_state).generate_state(6)
    # Known probabilities need no model; nor do those that are the same everywhere, for other rows.
    if data.assignment is not None and not (new_rows and np.ptp(data.assignment, axis=0).any()):
        propensity = SHARES
    n_columns = n_standardised(data.features, data.categorical)
    options, skipped = candidates(nuisance, n_columns, int(seeds[0]), data.categorical)
    if times:
        warn_of_runtime(data, options, n_columns, cv, n_bands=n_bands, times=times)
    if options[0].family == "injected":
        return _injected(data, options[0], cv, propensity, n_jobs, seeds)
    outcome = outcome_codes(data.y)
    folds = _folds(data, cv, int(seeds[1]))
    known = _arms(data, folds, n_bands, int(seeds[2])) if arms is None else arms
    fitter = Fitter(data, outcome, folds, known)
    pairs = [fitter.halves(fold, int(seeds[3])) for fold in range(len(folds))] if in_halves else []
    with Workers(n_jobs) as workers:
        choice = choose(fitter, options, workers, int(seeds[4]))
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
        assignment = fit_assignment(data, folds, arms, workers, propensity=propensity, seed=int(seeds[5]))
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
    return CrossFit(fold_models, held_out, _shares(data, arms), report, assignment)


def held_out_losses(
    data: SelectiveLabels,
    fold: Fold,
    nuisance: Any = None,
    *,
    n_bands: int | None = None,
    n_jobs: int | None = None,
    random_state: int | None = None,
) -> np.ndarray:
    """Log-losses of the rows held out in one fold, by the model chosen and fitted as in :func:`cross_fit`."""
    seeds = np.random.SeedSequence(random_state).generate_state(3)
    n_columns = n_standardised(data.features, data.categorical)
    options, _ = candidates(nuisance, n_columns, int(seeds[0]), data.categorical)
    fitter = Fitter(data, outcome_codes(data.y), [fold], _arms(data, [fold], n_bands, int(seeds[1])))
    with Workers(n_jobs) as workers:
        choice = choose(fitter, options, workers, int(seeds[2]))
    model = choice.models.get(0)
    return fitter.losses(fitter.fit(choice.candidate, 0) if model is None else model, 0, fold[1])


def _folds(data: SelectiveLabels, cv: Any, seed: int) -> list[Fold]:
    names = ["the unlabeled case", *(f"class {label!r}" for label in data.classes.tolist())]
    outcome = outcome_codes(data.y)
    return make_folds(outcome, cv, groups=data.groups, outcome_names=names, random_state=seed)


def _arms(data: SelectiveLabels, folds: list[Fold], n_bands: int | None, seed: int) -> list[Arms]:
    """Give every fold its instrument values; bands are formed without the fold."""
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
    """Mean probabilities of arms: of those known, else how many rows went there."""
    if data.assignment is None:
        mass = np.bincount(data.decision_maker_codes, data.weights, data.n_decision_makers)
    else:
        mass = data.weights @ data.assignment
    shares = np.mean([np.bincount(each.lookup, mass, each.n_arms) for each in arms], axis=0)
    return shares / shares.sum()


def _assignment_report(data: SelectiveLabels, assignment: Assignment) -> AssignmentReport:
    """Say that probabilities were given, and what stands in for them at rows where they are not."""
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
    """Take probabilities of decision and label as given; only who decides is left to model."""
    model: InjectedJoint = option.factory(data.n_decision_makers, len(data.classes) + 1)
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
    return CrossFit((FoldModel((model,), arms.lookup),), held_out, _shares(data, [arms]), report, assignment)


# Takes row numbers, returns (len(rows), n_arms) probabilities; nothing of size (n_samples, n_arms) is kept.
Propensity = Callable[[np.ndarray], np.ndarray]


def arm_propensity(fit: CrossFit, number: int, data: SelectiveLabels, *, held_out: bool = True) -> Propensity:
    """Probability e_z(x) = P(arm = z | x) of every row and arm.

    The first case that applies decides::

        data.assignment given    known: the sum over the decision-makers of each arm
        fit.assignment.models    a model of features and stratum, a tilt of shares, that has not seen the row
        data.strata given        shares within the row's stratum; an arm absent from it has 0
        else                     shares of all rows: assignment as if by lot

    Shares are weighted, and those of the rows that they serve. They use who decided, never the decision or
    the label, so nothing leaks from an outcome into its own score; and shares of the same rows balance the
    sample at hand exactly, where shares of other rows would add noise that no standard error sees. Known
    probabilities are those of the weighted population, if there are weights.

    Parameters
    ----------
    fit : CrossFit
    number : int
        Of the fold whose arms are meant.
    data : SelectiveLabels
    held_out : bool
        Whether `data` are the rows that `fit` was made from. Else they are new ones.

    Returns
    -------
    callable
        From an array of row numbers to an array of shape (rows, n_arms).

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
    if len(lookup) != data.n_decision_makers:  # a mistake of the caller: both come from the same rows
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
    if not held_out:  # strata of another table are not those of the models
        overall = cell_shares(np.zeros_like(arm), arm, data.weights, 1, fit.n_arms)[0]
        return lambda rows: _anywhere(fit, number, data.features[rows], overall)
    return lambda rows: _held_out(fit, data, shares, rows)


def new_propensity(fit: CrossFit, number: int, X: np.ndarray) -> np.ndarray:
    """Probabilities at new rows of which features alone are known, (n_samples, n_arms)."""
    if not fit.assignment.models:
        return np.broadcast_to(fit.shares, (len(X), fit.n_arms))
    return _anywhere(fit, number, X, fit.shares)


def arm_chances(fit: CrossFit, number: int, X: np.ndarray, known: np.ndarray | None = None) -> np.ndarray:
    """Probabilities of a fold's arms at new rows; `known` are those of decision-makers, if they are."""
    if known is None:
        return new_propensity(fit, number, X)
    return known @ (fit.folds[number].lookup[:, None] == np.arange(fit.n_arms))


def _anywhere(fit: CrossFit, number: int, X: np.ndarray, shares: np.ndarray) -> np.ndarray:
    """By the model of a fold; injected probabilities have no folds, and all models are averaged."""
    models = fit.assignment.models
    chosen = (models[number],) if len(models) == len(fit.folds) else models
    return np.mean([model.anywhere(X, shares) for model in chosen], axis=0)


def _held_out(fit: CrossFit, data: SelectiveLabels, shares: np.ndarray, rows: np.ndarray) -> np.ndarray:
    """By the model that has not seen each row."""
    chances = np.empty((len(rows), fit.n_arms))
    own = fit.assignment.held_out[rows]
    for number in np.unique(own):
        here = np.flatnonzero(own == number)
        model = fit.assignment.models[number]
        chances[here] = model.at(data.features[rows[here]], data.cells[rows[here]], shares)
    return chances
