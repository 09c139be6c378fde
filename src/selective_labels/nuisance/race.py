"""Which model: a race on few rows, and on whole folds where few rows cannot tell.

Settings of a family are compared on the first fold, on 20,000 rows at most. Families that are clearly behind
there, also if one allows for what more rows would give them, fall out; costly settings are tried of those
that do not. Those left are fitted on whole folds,
one fold after the other, until one is left or 20,000 rows held out have been compared.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import groupby
from typing import Any

import numpy as np

from selective_labels.models.families import Candidate
from selective_labels.nuisance.fitting import Fitter, spaced
from selective_labels.support.jobs import Workers

# Rows that decide: so many to fit candidates to, and so many held out to compare them on.
MOST_ROWS = 20_000
# Standard errors of the difference in loss by which a family must be behind to fall out.
CLEARLY = 2.0


@dataclass(frozen=True)
class Choice:
    """The candidate to use.

    Attributes
    ----------
    candidate : Candidate
    models : dict
        By fold: what was fitted to all training rows of the fold already.
    behind : dict of float
        By how much the loss of other families was larger, where they were compared.
    losses : dict of float
        Mean loss of each family where all were tried: held-out rows of the first fold.
    over_fallback : pair of float
        By how much the best family's loss was smaller than that of the fallback, with its standard error.
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
    """Choose among candidates by the log-loss of rows held out.

    Parameters
    ----------
    fitter : Fitter
    options : list of Candidate
        Those of a family stand together.
    workers : Workers
    seed : int
        Of the few rows.
    fallback : str, optional
        A family that is taken unless the best one beats it by more than `margin` standard errors. It stays in
        the race as long as it is not clearly behind.
    margin : float
    few_decide : int, optional
        If there are more training rows than so many, that many decide alone.
    """
    if len(options) == 1:
        return Choice(options[0], {}, {})
    families = {name: list(group) for name, group in groupby(options, key=lambda each: each.family)}
    whole = few_decide is None or len(fitter.folds[0][0]) <= few_decide
    few = _few_rows(fitter, seed, MOST_ROWS if whole or few_decide is None else few_decide)
    tasks = [(_try, fitter, family, few, whole and len(families) > 1) for family in families.values()]
    trials = workers.do(tasks, f"comparing models of {fitter.subject}")
    race = _Race(fitter, dict(zip(families, trials, strict=True)), few.tested)
    race.drop(_behind_on_few_rows(fitter, race.running, few))
    race.try_later(families, few, workers)
    for fold in range(len(fitter.folds)):
        if len(race.running) == 1 or race.n_compared >= MOST_ROWS or not whole:
            break
        race.run(fold, workers)
    return race.choice(fallback, margin)


@dataclass(frozen=True)
class _Few:
    """Rows of the first fold: places among its training rows, and rows held out.

    Attributes
    ----------
    train : int array or slice
    quarter : int array or None
        Every fourth of them; None if they are all that there are.
    tested : int array
    share : float
        Part of the training rows.
    """

    train: np.ndarray | slice
    quarter: np.ndarray | None
    tested: np.ndarray
    share: float


@dataclass(frozen=True)
class _Trial:
    """The best of a family on few rows.

    Attributes
    ----------
    candidate : Candidate
    losses : (n_tested,) array
    before : (n_tested,) array
        With a quarter of the rows.
    models : dict
    """

    candidate: Candidate
    losses: np.ndarray
    before: np.ndarray
    models: dict[int, Any]


def _few_rows(fitter: Fitter, seed: int, most: int) -> _Few:
    """Stratify by outcome: shuffled, sorted by outcome, every so many-th row."""
    train, test = fitter.folds[0]
    tested = spaced(test, most)
    if len(train) <= most:
        return _Few(slice(None), None, tested, 1.0)
    shuffled = np.random.default_rng(seed).permutation(len(train))
    strata = shuffled[np.argsort(fitter.outcome[train[shuffled]], kind="stable")]
    few = spaced(strata, most)
    return _Few(np.sort(few), np.sort(few[::4]), tested, most / len(train))


def _try(fitter: Fitter, family: list[Candidate], few: _Few, compared: bool) -> _Trial:
    """Take the setting of a family that loses least; see how much fewer rows would cost it."""
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
    if few.quarter is None:
        return _Trial(family[best], losses[best], losses[best], {0: models[best]})
    if not compared:
        return _Trial(family[best], losses[best], losses[best], {})
    smaller = next(fitter.fits([family[best]], 0, few.quarter, roughly=True))
    return _Trial(family[best], losses[best], fitter.losses(smaller, 0, few.tested), {})


def _behind_on_few_rows(fitter: Fitter, trials: Mapping[str, "_Runner"], few: _Few) -> dict[str, float]:
    """Families that are clearly behind, also with all rows.

    A loss falls with the number of rows n, by about 1/n if the model is right and more slowly if it grows
    with its rows. The gain from a quarter of the rows to all of the few gives the fall as 1/√n (the most that
    we grant those behind) and as 1/n (the least that we grant the leader).
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
class _Runner:
    """A family in the race."""

    trial: _Trial
    models: dict[int, Any]
    losses: list[np.ndarray] = field(default_factory=list)


class _Race:
    """Families on whole folds, those clearly behind dropped after each."""

    def __init__(self, fitter: Fitter, trials: Mapping[str, _Trial], tested: np.ndarray):
        self.fitter = fitter
        self.trials, self.tested = dict(trials), tested
        self.running = {name: _Runner(trial, dict(trial.models)) for name, trial in trials.items()}
        self.behind: dict[str, float] = {}
        self.rows: list[np.ndarray] = []

    @property
    def n_compared(self) -> int:
        return sum(map(len, self.rows))

    def try_later(self, families: Mapping[str, list[Candidate]], few: _Few, workers: Workers) -> None:
        """Try settings that cost, of families that are still in the race; keep the better one."""
        later = {name: [each for each in families[name] if each.later] for name in self.running}
        later = {name: options for name, options in later.items() if options}
        tasks = [(_try, self.fitter, options, few, False) for options in later.values()]
        weight = self.fitter.weight(few.tested)
        found = workers.do(tasks, f"comparing settings of models of {self.fitter.subject}") if tasks else []
        for name, trial in zip(later, found, strict=True):
            if float(weight @ trial.losses) < float(weight @ self.trials[name].losses):
                self.trials[name] = trial
                self.running[name] = _Runner(trial, dict(trial.models))

    def run(self, fold: int, workers: Workers) -> None:
        """Fit on one more fold, compare on all rows held out so far."""
        missing = [each for each in self.running.values() if fold not in each.models]
        tasks = [(self.fitter.fit, each.trial.candidate, fold) for each in missing]
        fitted = workers.do(tasks, f"comparing models of {self.fitter.subject}, fold {fold + 1}")
        for runner, model in zip(missing, fitted, strict=True):
            runner.models[fold] = model
        self.rows.append(spaced(self.fitter.folds[fold][1], MOST_ROWS))
        for runner in self.running.values():
            runner.losses.append(self.fitter.losses(runner.models[fold], fold, self.rows[-1]))
        self.drop({name: lead for name, (lead, error) in self._leads().items() if lead > CLEARLY * error})

    def drop(self, behind: Mapping[str, float]) -> None:
        self.behind.update(behind)
        for name in behind:
            del self.running[name]

    def choice(self, fallback: str | None, margin: float) -> Choice:
        leads = self._leads()
        winner = next(name for name in self.running if name not in leads)
        over = (0.0, 0.0)
        if fallback is not None and fallback != winner:
            over = leads[fallback] if fallback in leads else self._on_few_rows(fallback, winner)
            if fallback in leads and over[0] <= margin * over[1]:
                winner = fallback
        runner = self.running[winner]
        return Choice(
            runner.trial.candidate,
            runner.models,
            {**self.behind, **{name: lead for name, (lead, _) in leads.items()}},
            {name: self.fitter.difference(each.losses, self.tested)[0] for name, each in self.trials.items()},
            over,
        )

    def _leads(self) -> dict[str, tuple[float, float]]:
        """How far all but the leader are behind it, with standard errors."""
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

    def _on_few_rows(self, one: str, other: str) -> tuple[float, float]:
        """How far one family was behind another where all were tried."""
        return self.fitter.difference(self.trials[one].losses - self.trials[other].losses, self.tested)
