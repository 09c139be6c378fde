"""Cross-fitting of the outcome model, in one place."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from joblib import Parallel, delayed

from selective_labels.data import SelectiveLabels
from selective_labels.nuisance.bands import (
    MANY_DECISION_MAKERS,
    N_BANDS,
    Arms,
    leniency_bands,
    one_arm_each,
)
from selective_labels.nuisance.coding import outcome_codes
from selective_labels.nuisance.constant import ConstantJoint, InjectedJoint
from selective_labels.nuisance.features import n_standardised
from selective_labels.nuisance.folds import Fold, halves, make_folds
from selective_labels.nuisance.selection import (
    Candidate,
    JointModel,
    NuisanceReport,
    calibration_error,
    candidates,
    log_losses,
)
from selective_labels.support.progress import followed

# Rows are predicted in chunks whose (folds, arms, rows, outcomes) array stays below this many numbers.
CHUNK_NUMBERS = 8_000_000


@dataclass(frozen=True)
class FoldModel:
    """What was fitted without one fold: one model, or two on disjoint halves of the other rows."""

    models: tuple[JointModel, ...]
    lookup: np.ndarray

    def joint(self, X: np.ndarray) -> np.ndarray:
        """Probabilities under every arm, halves averaged, (n_arms, n, n_outcomes)."""
        return np.mean([model.joint(X) for model in self.models], axis=0)


@dataclass(frozen=True)
class CrossFit:
    """Models of the outcome, each fitted without one fold of the rows.

    Attributes
    ----------
    folds : list of FoldModel
    held_out : (n_samples,) int array
        Which fold's model has not seen the row; empty after :meth:`without_rows`.
    shares : (n_arms,) array
        Share of rows that went to each arm.
    report : NuisanceReport
    """

    folds: tuple[FoldModel, ...]
    held_out: np.ndarray
    shares: np.ndarray
    report: NuisanceReport

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
        return CrossFit(self.folds, np.empty(0, dtype=int), self.shares, self.report)

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
    n_jobs: int | None = None,
    random_state: int | None = None,
) -> CrossFit:
    """Fit one coherent model of decision and label per fold.

    Folds are made and checked first. Settings within a family (the ridge) are chosen on the first fold,
    families are then compared on all folds, by the log-loss of the rows held out.

    Parameters
    ----------
    data : SelectiveLabels
        With numeric `X`.
    nuisance : None, str, scikit-learn classifier or callable
        See :func:`selective_labels.nuisance.selection.candidates`.
    cv : int, splitter or iterable of folds
    in_halves : bool
        Fit two models on disjoint halves of each training part, as the leniency slope needs.
    n_bands : int, optional
        Coarsen decision-makers into this many bands of off-fold leniency. Default: each is an arm of its own
        up to 64 of them, and 20 bands beyond.
    n_jobs : int, optional
    random_state : int, optional
        The same value gives the same result for any `n_jobs`.

    Returns
    -------
    CrossFit
    """
    seeds = np.random.SeedSequence(random_state).generate_state(4)
    n_columns = n_standardised(data.features, data.categorical)
    options, skipped = candidates(nuisance, n_columns, int(seeds[0]), data.categorical)
    if options[0].family == "injected":
        return _injected(data, options[0])
    outcome = outcome_codes(data.y)
    names = ["the unlabeled case", *(f"class {label!r}" for label in data.classes.tolist())]
    folds = make_folds(outcome, cv, groups=data.groups, outcome_names=names, random_state=int(seeds[1]))
    fitter = _Fitter(data, outcome, folds, _arms(data, folds, n_bands, int(seeds[2])))
    pairs = [fitter.halves(fold, int(seeds[3])) for fold in range(len(folds))] if in_halves else []
    with _parallel(n_jobs) as parallel:
        chosen, losses = _compare(fitter, options, parallel)
        if in_halves:
            tasks = [delayed(fitter.fit_halves)(chosen.candidate, *each) for each in enumerate(pairs)]
            models = list(followed(parallel(tasks), "fitting models on two halves of each fold", len(tasks)))
        else:
            models = [(model,) for model in chosen.models]
    arms = fitter.arms
    report = NuisanceReport(
        chosen=chosen.candidate.family,
        settings=chosen.candidate.settings,
        n_arms=arms[0].n_arms,
        banded=arms[0].n_arms != data.n_decision_makers,
        losses=losses,
        skipped=skipped,
        calibration_error=calibration_error(*fitter.held_out_predictions(chosen.models)),
    )
    held_out = np.empty(len(outcome), dtype=int)
    for number, (_, test) in enumerate(folds):
        held_out[test] = number
    fold_models = tuple(FoldModel(pair, each.lookup) for pair, each in zip(models, arms, strict=True))
    return CrossFit(fold_models, held_out, _shares(data, arms), report)


@dataclass(frozen=True)
class _Fitter:
    """Everything a fit of one candidate on one fold needs; sent to workers as one object."""

    data: SelectiveLabels
    outcome: np.ndarray
    folds: list[Fold]
    arms: list[Arms]

    def fit(self, candidate: Candidate, fold: int, within: np.ndarray | slice = slice(None)) -> Any:
        """Fit on the training rows of a fold (`within` picks among them)."""
        rows = self.folds[fold][0][within]
        arms = self.arms[fold]
        n_outcomes = len(self.data.classes) + 1
        outcomes = np.unique(self.outcome[rows])
        if len(outcomes) == 1:
            return ConstantJoint(arms.n_arms, n_outcomes, outcomes[0])
        model = candidate.factory(arms.n_arms, n_outcomes)
        weight = None if self.data.sample_weight is None else self.data.sample_weight[rows]
        return model.fit(self.data.features[rows], arms.rows[within], self.outcome[rows], weight)

    def halves(self, fold: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
        """Two disjoint halves of the training rows of a fold."""
        rows = self.folds[fold][0]
        groups = None if self.data.groups is None else self.data.groups[rows]
        return halves(self.outcome[rows], groups, seed)

    def fit_halves(
        self, candidate: Candidate, fold: int, pair: tuple[np.ndarray, np.ndarray]
    ) -> tuple[Any, Any]:
        """Fit on two disjoint halves of the training rows of a fold."""
        return self.fit(candidate, fold, pair[0]), self.fit(candidate, fold, pair[1])

    def fit_and_score(self, candidate: Candidate, fold: int) -> tuple[Any, float]:
        """Fit, and the mean log-loss of the rows held out."""
        model = self.fit(candidate, fold)
        test = self.folds[fold][1]
        weight = self.weight(test)
        loss = log_losses(self.own(model, fold), self.outcome[test])
        return model, float(weight @ loss / max(weight.sum(), np.finfo(float).tiny))

    def weight(self, rows: np.ndarray) -> np.ndarray:
        """Weights of some rows."""
        return np.ones(len(rows)) if self.data.sample_weight is None else self.data.sample_weight[rows]

    def own(self, model: JointModel, fold: int) -> np.ndarray:
        """Predictions of the held-out rows of a fold under their own arms."""
        test = self.folds[fold][1]
        return model.own(
            self.data.features[test], self.arms[fold].lookup[self.data.decision_maker_codes[test]]
        )

    def held_out_predictions(self, models: list[Any]) -> tuple[np.ndarray, np.ndarray]:
        """Predictions and outcomes of all rows, each by the model that has not seen it."""
        predictions = [self.own(model, fold) for fold, model in enumerate(models)]
        outcomes = [self.outcome[test] for _, test in self.folds]
        return np.concatenate(predictions), np.concatenate(outcomes)


@dataclass(frozen=True)
class _Fitted:
    candidate: Candidate
    models: list[Any]
    loss: float


def _compare(
    fitter: _Fitter, options: list[Candidate], parallel: Parallel
) -> tuple[_Fitted, dict[str, float]]:
    """Choose settings on the first fold and the family on all folds."""
    trials = parallel(delayed(fitter.fit_and_score)(option, 0) for option in options)
    first = list(followed(trials, "comparing models of decision and label", len(options)))
    best: dict[str, tuple[float, Candidate, Any]] = {}
    for option, (model, loss) in zip(options, first, strict=True):
        if option.family not in best or loss < best[option.family][0]:
            best[option.family] = (loss, option, model)
    others = range(1, len(fitter.folds))
    tasks = [delayed(fitter.fit_and_score)(option, fold) for _, option, _ in best.values() for fold in others]
    scored = iter(list(followed(parallel(tasks), "fitting models of decision and label", len(tasks))))
    fitted = []
    for loss, option, model in best.values():
        rest = [next(scored) for _ in others]
        models = [model, *(each for each, _ in rest)]
        sizes = [fitter.weight(test).sum() for _, test in fitter.folds]
        mean = float(np.average([loss, *(each for _, each in rest)], weights=sizes))
        fitted.append(_Fitted(option, models, mean))
    losses = {each.candidate.family: each.loss for each in fitted}
    return min(fitted, key=lambda each: each.loss), losses


def _parallel(n_jobs: int | None) -> Parallel:
    """Workers whose results can be followed as they arrive, where the backend can hand them on."""
    try:
        return Parallel(n_jobs=n_jobs, return_as="generator")
    except ValueError:  # multiprocessing and Ray return all results at once
        return Parallel(n_jobs=n_jobs)


def _arms(data: SelectiveLabels, folds: list[Fold], n_bands: int | None, seed: int) -> list[Arms]:
    """Give every fold its instrument values; bands are formed without the fold."""
    if n_bands is None and data.n_decision_makers <= MANY_DECISION_MAKERS:
        return [one_arm_each(data.decision_maker_codes[train], data.n_decision_makers) for train, _ in folds]
    return [
        leniency_bands(
            data.features[train],
            data.decision[train],
            data.decision_maker_codes[train],
            data.n_decision_makers,
            strata=None if data.strata is None else data.strata[train],
            cases=None if data.groups is None else data.groups[train],
            categorical=data.categorical,
            n_bands=N_BANDS if n_bands is None else n_bands,
            random_state=seed,
        )
        for train, _ in folds
    ]


def _shares(data: SelectiveLabels, arms: list[Arms]) -> np.ndarray:
    counts = np.bincount(data.decision_maker_codes, minlength=data.n_decision_makers)
    shares = np.mean([np.bincount(each.lookup, counts, each.n_arms) for each in arms], axis=0)
    return shares / shares.sum()


def _injected(data: SelectiveLabels, option: Candidate) -> CrossFit:
    model: InjectedJoint = option.factory(data.n_decision_makers, len(data.classes) + 1)
    lookup = np.arange(data.n_decision_makers)
    report = NuisanceReport(option.family, option.settings, data.n_decision_makers, banded=False)
    counts = np.bincount(data.decision_maker_codes, minlength=data.n_decision_makers)
    held_out = np.zeros(len(data.y), dtype=int)
    return CrossFit((FoldModel((model,), lookup),), held_out, counts / counts.sum(), report)
