"""Selection of nuisance models by held-out log-loss, and the fitter that fits candidates to folds.

The settings of each family are compared on the first fold, on at most 20,000 rows. A family is dropped if it
is clearly worse even after allowing for the gain from more rows. Costly settings are tried only for the
remaining families. These are then fitted to whole folds, one after another, until one family remains or
20,000 held-out rows have been compared.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from itertools import groupby
from typing import Any, ClassVar, NamedTuple, Protocol

import numpy as np
from sklearn.base import is_classifier

from selective_labels._errors import InputError
from selective_labels._parallel import Workers
from selective_labels._validation import require_choice
from selective_labels.data.selective_labels import SelectiveLabels
from selective_labels.nuisance.bands import Arms
from selective_labels.nuisance.folds import Fold, halves, n_outcomes
from selective_labels.nuisance.models.boosting import FEW_LEAVES, BoostedJoint, ClassifierJoint, SmoothJoint
from selective_labels.nuisance.models.logistic import (
    ROUGH,
    TOLERANCE,
    ConstantJoint,
    IndexLogistic,
    IndexSettings,
    InjectedJoint,
    LogisticSettings,
    PooledLogistic,
    RidgeLogistic,
    fit_path,
)

# Prior variances of features' coefficients and of decision-makers' slopes; the ridge penalty decreases.
PRIOR_VARIANCES = ((0.01, 0.0), (0.01, 0.01), (0.1, 0.01), (0.1, 0.1), (1.0, 0.0), (1.0, 1.0))

# Cubic in two indices: three indices or higher powers increased held-out loss in the paper's designs.
N_INDICES, INDEX_DEGREE = 2, 3

INDEX_VARIANCES = ((0.01, 0.01), (0.1, 0.01), (0.1, 0.1), (1.0, 0.1), (1.0, 1.0))

# Leaves of larger trees, for outcomes with interactions of several features.
MANY_LEAVES = 24

# A factory takes (n_arms, n_outcomes) and returns an unfitted model.
Factory = Callable[[int, int], Any]


@dataclass(frozen=True)
class Candidate:
    """One setting of one family of models.

    Attributes
    ----------
    later : bool
        Costly, so tried only if the other settings of its family are not clearly worse.
    """

    family: str
    settings: str
    factory: Factory
    later: bool = False


def listed_families(categorical: tuple[int, ...], seed: int) -> dict[str, list[Candidate]]:
    """Candidates of every family, by name; logistic models in order of decreasing ridge penalty.

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


# With more features than this, the quadratic model has too many columns to be tried by default.
QUADRATIC_FEATURES = 20
# Probabilities are clipped at this value in the log-loss, so that no single row decides a comparison.
SMALLEST_PROBABILITY = 1e-6


class JointModel(Protocol):
    """Model of the outcome given features and arm."""

    def joint(self, X: np.ndarray) -> np.ndarray:
        """Probabilities of every row under every arm, (n_arms, n, n_outcomes)."""

    def own(self, X: np.ndarray, arm: np.ndarray) -> np.ndarray:
        """Probabilities of every row under its own arm, (n, n_outcomes)."""


@dataclass
class NuisanceReport:
    """Model families that were tried, their held-out losses, and the choice.

    Attributes
    ----------
    chosen : str
        The family used.
    settings : str
        Its settings, in words.
    losses : dict of float
        Held-out log-loss of each family; empty if nothing was fitted. The loss of the chosen family is
        computed on at most 20,000 rows. The loss of another family is this plus their difference where both
        were compared. With more than 25,000 rows that comparison may have used models of 20,000 rows; the
        figure is then a lower bound on the loss with all rows.
    skipped : dict of str
        Families that were not tried, with the reason.
    calibration_error : float
        Held-out mean absolute difference between predicted and observed share of each outcome in ten bins.
    n_arms : int
        Number of arms (decision-makers or leniency bands) over which the maximum is taken.
    banded : bool
        Whether decision-makers were grouped into leniency bands.
    assignment : AssignmentReport or None
        How the propensity scores of arms were estimated, and how small they are.
    numeric : bool
        Whether the instrument is numeric and the model smooth in it.
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
    nuisance: Any,
    n_features: int,
    seed: int,
    categorical: tuple[int, ...] = (),
    n_factors: int | None = None,
) -> tuple[list[Candidate], dict[str, str]]:
    """List the candidates for the argument `nuisance`, and the families left out with the reason.

    Parameters
    ----------
    nuisance : None, "logistic", "quadratic", "index", "boosting", a scikit-learn classifier, or a callable
    n_features : int
        Number of columns of a linear model; each category counts as one.
    categorical : tuple of int
        Columns of the features with category codes.
    n_factors : int, optional
        Number of columns that enter products; all of them by default.

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
        del families["index"]  # an index needs at least one feature
    if nuisance is None:
        skipped = {}
        n_factors = n_features if n_factors is None else n_factors
        if n_factors > QUADRATIC_FEATURES:
            del families["quadratic"]
            skipped["quadratic"] = f"{n_factors} features have too many products to be tried unasked"
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
    """Minus log probability of the observed outcome, row by row.

    Examples
    --------
    >>> log_losses(np.array([[0.5, 0.5]]), np.array([1])).round(3)
    array([0.693])
    """
    happened = probabilities[np.arange(len(outcome)), outcome]
    return -np.log(np.maximum(happened, SMALLEST_PROBABILITY))


def calibration_error(probabilities: np.ndarray, outcome: np.ndarray, n_bins: int = 10) -> float:
    """Mean absolute difference of predicted and observed shares, over outcomes and bins of equal size."""
    gaps = []
    for code in range(probabilities.shape[1]):
        for rows in np.array_split(np.argsort(probabilities[:, code], kind="stable"), n_bins):
            if len(rows):
                gaps.append(abs(probabilities[rows, code].mean() - np.mean(outcome[rows] == code)))
    return float(np.mean(gaps))


class Problem(NamedTuple):
    """Training problem: row numbers, category with pooled effects, outcome, and the sizes of the last two."""

    rows: np.ndarray
    given: np.ndarray
    outcome: np.ndarray
    n_given: int
    n_outcomes: int


@dataclass(frozen=True)
class Fitter:
    """Fitter of candidates on folds, with everything a fit needs; sent to workers as one object."""

    # Name of the outcome in progress messages.
    subject: ClassVar[str] = "decision and label"
    # The ridge penalty decreases along a family; the search stops after this many settings without a gain.
    patience: ClassVar[int] = 2
    # Whether a weaker penalty is preferred unless it is clearly worse.
    weakly_penalised: ClassVar[bool] = False

    data: SelectiveLabels
    outcome: np.ndarray
    folds: list[Fold]
    arms: list[Arms]

    def fit(self, candidate: Candidate, fold: int, within: np.ndarray | slice = slice(None)) -> Any:
        """Fit to the training rows of a fold, or to the subset `within` of them."""
        return next(self.fits([candidate], fold, within))

    def fits(
        self,
        options: Sequence[Candidate],
        fold: int,
        within: np.ndarray | slice = slice(None),
        *,
        roughly: bool = False,
    ) -> Iterator[Any]:
        """Fit the candidates of one family, one after another, to the same rows, which are prepared once.

        With `roughly`, the fits are precise enough to compare candidates but not to be used.
        """
        rows, given, outcome, n_given, n_outcomes = self.problem(fold, within)
        outcomes = np.unique(outcome)
        if len(outcomes) == 1:
            yield from [ConstantJoint(n_given, n_outcomes, outcomes[0])] * len(options)
            return
        models = [self.model(option, n_given, n_outcomes) for option in options]
        weight = None if self.data.sample_weight is None else self.data.sample_weight[rows]
        known = self.data.features[rows], given, outcome, weight
        tolerance = ROUGH if roughly else TOLERANCE
        if isinstance(models[0], RidgeLogistic):
            yield from fit_path(models, *known, tolerance=tolerance)
        else:
            yield from (model.fit(*known) for model in models)

    def model(self, candidate: Candidate, n_given: int, n_outcomes: int) -> Any:
        """Make an unfitted model; it is smooth in a numeric instrument."""
        if not self.data.numeric:
            return candidate.factory(n_given, n_outcomes)
        inner = candidate.factory(1, n_outcomes)
        return SmoothJoint(inner, self.data.decision_makers, self.data.categorical)

    def problem(self, fold: int, within: np.ndarray | slice) -> Problem:
        """Return arm and outcome of the training rows, or of the subset `within` of them."""
        rows, arms = self.folds[fold][0][within], self.arms[fold]
        return Problem(rows, arms.rows[within], self.outcome[rows], arms.n_arms, n_outcomes(self.data))

    def halves(self, fold: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
        """Split the training rows of a fold into two disjoint halves."""
        rows = self.folds[fold][0]
        groups = None if self.data.groups is None else self.data.groups[rows]
        return halves(self.outcome[rows], groups, seed)

    def fit_halves(
        self, candidate: Candidate, fold: int, pair: tuple[np.ndarray, np.ndarray]
    ) -> tuple[Any, Any]:
        """Fit to two disjoint halves of the training rows of a fold."""
        return self.fit(candidate, fold, pair[0]), self.fit(candidate, fold, pair[1])

    def weight(self, rows: np.ndarray) -> np.ndarray:
        """Weights of the given rows."""
        return np.ones(len(rows)) if self.data.sample_weight is None else self.data.sample_weight[rows]

    def own(self, model: JointModel, fold: int, rows: np.ndarray) -> np.ndarray:
        """Predictions of the given rows under their own arms, by a model of a fold."""
        arms = self.arms[fold].lookup[self.data.decision_maker_codes[rows]]
        return model.own(self.data.features[rows], arms)

    def losses(self, model: JointModel, fold: int, rows: np.ndarray) -> np.ndarray:
        """Log-losses of the given rows, by a model of a fold."""
        return log_losses(self.own(model, fold, rows), self.outcome[rows])

    def judge(self, models: Sequence[tuple[JointModel, ...]], most: int) -> tuple[float, float]:
        """Log-loss and calibration error of the models of all folds, on at most `most` held-out rows."""
        rows = [spaced(test, most // len(self.folds)) for _, test in self.folds]
        own = [
            np.mean([self.own(model, fold, rows[fold]) for model in pair], axis=0)
            for fold, pair in enumerate(models)
        ]
        chosen = np.concatenate(rows)
        predictions, outcome = np.concatenate(own), self.outcome[chosen]
        loss, _ = self.difference(log_losses(predictions, outcome), chosen)
        return loss, calibration_error(predictions, outcome)

    def difference(self, values: np.ndarray, rows: np.ndarray) -> tuple[float, float]:
        """Weighted mean of a difference over rows, and its standard error, clustered by group."""
        weight = self.weight(rows)
        weight = weight / max(float(weight.sum()), np.finfo(float).tiny)
        mean = float(weight @ values)
        parts: np.ndarray = weight * (values - mean)
        if self.data.groups is not None:
            parts = np.bincount(self.data.groups[rows], parts)
        return mean, float(np.sqrt(np.sum(parts**2)))


def spaced(rows: np.ndarray, most: int) -> np.ndarray:
    """All rows, or `most` equally spaced ones if there are more.

    Examples
    --------
    >>> spaced(np.arange(10), 4)
    array([0, 3, 6, 9])
    """
    return rows if len(rows) <= most else rows[np.linspace(0, len(rows) - 1, most).astype(int)]


# Largest number of rows to fit candidates to, and of held-out rows to compare them on.
MOST_ROWS = 20_000
# A family is dropped if its loss is larger by this many standard errors of the difference.
CLEARLY = 2.0


@dataclass(frozen=True)
class Choice:
    """The chosen candidate.

    Attributes
    ----------
    models : dict
        Models already fitted to all training rows of a fold, by fold.
    behind : dict of float
        Difference in loss between every other family and the chosen one, where they were compared.
    losses : dict of float
        Mean loss of each family on the held-out rows of the first fold, where all were tried.
    over_fallback : pair of float
        Reduction in loss of the best family relative to the fallback, and its standard error.
    """

    candidate: Candidate
    models: dict[int, Any]
    behind: dict[str, float]
    losses: dict[str, float] = field(default_factory=dict)
    over_fallback: tuple[float, float] = (0.0, 0.0)


def choose(
    fitter: Fitter,
    options: Sequence[Candidate],
    workers: Workers,
    seed: int,
    *,
    fallback: str | None = None,
    margin: float = 0.0,
    few_decide: int | None = None,
) -> Choice:
    """Choose among candidates by held-out log-loss.

    Parameters
    ----------
    options : list of Candidate
        Candidates of one family are adjacent.
    seed : int
        Seed of the comparison sample.
    fallback : str, optional
        Family that is chosen unless the best one beats it by more than `margin` standard errors. It is never
        dropped, so that both are compared on the same rows.
    few_decide : int, optional
        With more training rows than this, the choice is made on this many rows only.
    """
    if len(options) == 1:
        return Choice(options[0], {}, {})
    families = {name: list(group) for name, group in groupby(options, key=lambda each: each.family)}
    whole = few_decide is None or len(fitter.folds[0][0]) <= few_decide
    few = _few_rows(fitter, seed, MOST_ROWS if whole or few_decide is None else few_decide)
    tasks = [(_try, fitter, family, few, whole and len(families) > 1) for family in families.values()]
    trials = workers.do(tasks, f"comparing models of {fitter.subject}")
    comparison = _FamilyComparison(fitter, dict(zip(families, trials, strict=True)), few.tested, fallback)
    comparison.drop(_behind_on_few_rows(fitter, comparison.running, few))
    comparison.try_later(families, few, workers)
    for fold in range(len(fitter.folds)):
        if len(comparison.running) == 1 or comparison.n_compared >= MOST_ROWS or not whole:
            break
        comparison.run(fold, workers)
    return comparison.choice(margin)


@dataclass(frozen=True)
class _Few:
    """Comparison sample from the first fold.

    Attributes
    ----------
    train : int array or slice
        Positions among the training rows of the fold.
    quarter : int array or None
        Every fourth of these; None if the sample is all training rows.
    tested : int array
        Held-out rows.
    share : float
        Size of the sample relative to all training rows.
    """

    train: np.ndarray | slice
    quarter: np.ndarray | None
    tested: np.ndarray
    share: float


@dataclass(frozen=True)
class _Trial:
    """The best candidate of a family on the comparison sample.

    Attributes
    ----------
    losses : (n_tested,) array
    before : (n_tested,) array
        Losses with a quarter of the rows.
    """

    candidate: Candidate
    losses: np.ndarray
    before: np.ndarray
    models: dict[int, Any]


def _few_rows(fitter: Fitter, seed: int, most: int) -> _Few:
    """Comparison sample stratified by outcome: shuffle, sort by outcome, take equally spaced rows."""
    train, test = fitter.folds[0]
    tested = spaced(test, most)
    if len(train) <= most:
        return _Few(slice(None), None, tested, 1.0)
    shuffled = np.random.default_rng(seed).permutation(len(train))
    strata = shuffled[np.argsort(fitter.outcome[train[shuffled]], kind="stable")]
    few = spaced(strata, most)
    return _Few(np.sort(few), np.sort(few[::4]), tested, most / len(train))


def _try(fitter: Fitter, family: list[Candidate], few: _Few, compared: bool) -> _Trial:
    """Find the setting of a family with the smallest loss, and its loss with a quarter of the rows."""
    weight = fitter.weight(few.tested)
    family = [each for each in family if not each.later] or family
    models, losses, totals = [], [], []
    for model in fitter.fits(family, 0, few.train, roughly=few.quarter is not None):
        models.append(model)
        losses.append(fitter.losses(model, 0, few.tested))
        totals.append(float(weight @ losses[-1]))
        best = int(np.argmin(totals))
        if len(totals) - 1 - best >= fitter.patience:
            break
    if fitter.weakly_penalised:
        best = _weakest(fitter, losses, best, few.tested)
    if few.quarter is None:
        return _Trial(family[best], losses[best], losses[best], {0: models[best]})
    if not compared:
        return _Trial(family[best], losses[best], losses[best], {})
    smaller = next(fitter.fits([family[best]], 0, few.quarter, roughly=True))
    return _Trial(family[best], losses[best], fitter.losses(smaller, 0, few.tested), {})


def _weakest(fitter: Fitter, losses: Sequence[np.ndarray], best: int, rows: np.ndarray) -> int:
    """Weakest penalty that is not clearly worse than the setting with the smallest loss."""
    for number in reversed(range(best + 1, len(losses))):
        lead, error = fitter.difference(losses[number] - losses[best], rows)
        if lead <= CLEARLY * error:
            return number
    return best


def _behind_on_few_rows(
    fitter: Fitter, trials: Mapping[str, "_ComparedFamily"], few: _Few
) -> dict[str, float]:
    """Families that would be clearly worse even with all rows.

    The excess loss falls with the number of rows n, at a rate of about 1/n if the model is correct and more
    slowly if its complexity grows with n. The gain from a quarter of the sample to the full sample is
    extrapolated at rate 1/√n for the other families (the largest gain allowed) and at rate 1/n for the leader
    (the smallest gain assumed).
    """
    weight = fitter.weight(few.tested)
    total = max(float(weight.sum()), np.finfo(float).tiny)
    now = {name: float(weight @ each.trial.losses) / total for name, each in trials.items()}
    gain = {
        name: max(0.0, float(weight @ each.trial.before) / total - now[name]) for name, each in trials.items()
    }
    likely = {name: now[name] - gain[name] / 3.0 * (1.0 - few.share) for name in trials}
    leader = min(likely, key=lambda name: likely[name])
    behind = {}
    for name in trials:
        hopeful = now[name] - gain[name] * (1.0 - few.share**0.5)
        error = fitter.difference(trials[name].trial.losses - trials[leader].trial.losses, few.tested)[1]
        if name != leader and hopeful - likely[leader] > CLEARLY * error:
            behind[name] = hopeful - likely[leader]
    return behind


@dataclass
class _ComparedFamily:
    """A family that is still being compared."""

    trial: _Trial
    models: dict[int, Any]
    losses: list[np.ndarray] = field(default_factory=list)


class _FamilyComparison:
    """Comparison of families on whole folds; clearly worse families are dropped after each fold."""

    def __init__(
        self, fitter: Fitter, trials: Mapping[str, _Trial], tested: np.ndarray, fallback: str | None = None
    ):
        self.fitter, self.fallback = fitter, fallback
        self.trials, self.tested = dict(trials), tested
        self.running = {name: _ComparedFamily(trial, dict(trial.models)) for name, trial in trials.items()}
        self.behind: dict[str, float] = {}
        self.rows: list[np.ndarray] = []

    @property
    def n_compared(self) -> int:
        return sum(map(len, self.rows))

    def try_later(self, families: Mapping[str, list[Candidate]], few: _Few, workers: Workers) -> None:
        """Try the costly settings of the remaining families, and keep them if they are better."""
        later = {name: [each for each in families[name] if each.later] for name in self.running}
        later = {name: options for name, options in later.items() if options}
        tasks = [(_try, self.fitter, options, few, False) for options in later.values()]
        weight = self.fitter.weight(few.tested)
        found = workers.do(tasks, f"comparing settings of models of {self.fitter.subject}") if tasks else []
        for name, trial in zip(later, found, strict=True):
            if float(weight @ trial.losses) < float(weight @ self.trials[name].losses):
                self.trials[name] = trial
                self.running[name] = _ComparedFamily(trial, dict(trial.models))

    def run(self, fold: int, workers: Workers) -> None:
        """Fit to one more fold, and compare on all held-out rows so far."""
        missing = [each for each in self.running.values() if fold not in each.models]
        tasks = [(self.fitter.fit, each.trial.candidate, fold) for each in missing]
        fitted = workers.do(tasks, f"comparing models of {self.fitter.subject}, fold {fold + 1}")
        for family, model in zip(missing, fitted, strict=True):
            family.models[fold] = model
        self.rows.append(spaced(self.fitter.folds[fold][1], MOST_ROWS))
        for family in self.running.values():
            family.losses.append(self.fitter.losses(family.models[fold], fold, self.rows[-1]))
        self.drop({name: lead for name, (lead, error) in self._leads().items() if lead > CLEARLY * error})

    def drop(self, behind: Mapping[str, float]) -> None:
        behind = {name: lead for name, lead in behind.items() if name != self.fallback}
        self.behind.update(behind)
        for name in behind:
            del self.running[name]

    def choice(self, margin: float) -> Choice:
        leads = self._leads()
        winner = next(name for name in self.running if name not in leads)
        over = (0.0, 0.0)
        if self.fallback is not None and self.fallback != winner:
            over = leads[self.fallback]
            if over[0] <= margin * over[1]:
                winner = self.fallback
        family = self.running[winner]
        return Choice(
            family.trial.candidate,
            family.models,
            {**self.behind, **{name: lead for name, (lead, _) in leads.items()}},
            {name: self.fitter.difference(each.losses, self.tested)[0] for name, each in self.trials.items()},
            over,
        )

    def _leads(self) -> dict[str, tuple[float, float]]:
        """Differences in loss between the other families and the best one, with standard errors."""
        if self.rows:
            rows = np.concatenate(self.rows)
            losses = {name: np.concatenate(each.losses) for name, each in self.running.items()}
        else:
            rows, losses = self.tested, {name: each.trial.losses for name, each in self.running.items()}
        weight = self.fitter.weight(rows)
        leader = min(losses, key=lambda name: float(weight @ losses[name]))
        return {
            name: self.fitter.difference(each - losses[leader], rows)
            for name, each in losses.items()
            if name != leader
        }
