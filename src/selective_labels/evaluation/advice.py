"""Advice: what showing it to people changes, what it would do alone, and what overrides cost."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd

from selective_labels._display import Described, decimals
from selective_labels._errors import InputError, UndefinedError
from selective_labels._validation import require_choice, the_only
from selective_labels.assumptions.instrument import Instrument, Lottery, NoAssumption
from selective_labels.data.reading import refuse_pending
from selective_labels.data.selective_labels import SelectiveLabels, class_code, require_two_classes
from selective_labels.diagnostics.balance import joint_f
from selective_labels.diagnostics.cautions import repeated_rows_caution
from selective_labels.evaluation import display
from selective_labels.evaluation.fitted_table import FittedRows, read_column, read_subgroups
from selective_labels.evaluation.policy import (
    ACCEPTANCE,
    COST,
    FAILURES,
    GOOD_LOST,
    IN_VAIN,
    MEASURES_OF,
    MISSED,
    PolicyMeasure,
    read_policy_measures,
)
from selective_labels.evaluation.prediction_check import Checked, HeldOutRidge, smooth_functions, with_doubts
from selective_labels.evaluation.predictions import EvaluationRequest
from selective_labels.evaluation.results import Evaluation, judged
from selective_labels.evaluation.scored_rows import ScoredSample, chosen_assumptions
from selective_labels.identification.advice import ALONE, WITH, Contrast, arm_scores
from selective_labels.identification.bounds import Array
from selective_labels.inference.bound_estimators import Functional, SeenRatio
from selective_labels.inference.evidence import Ends, Evidence
from selective_labels.inference.standard_errors import choose_clusters
from selective_labels.nuisance.folds import make_folds
from selective_labels.nuisance.models.encoders import standardised
from selective_labels.nuisance.score_formulas import CLOSE, OVERLAP, seen_labels

N_FOLDS = 5


@dataclass(frozen=True, eq=False)
class LotteryScores:
    """Scores of both arms.

    Attributes
    ----------
    values, predicted : (2, n_samples, n_classes) arrays
        Scores ψ_sk of P(D(s)=1, Y=k | x), and held-out predictions of it.
    chance : (n_samples,) array
        P(S=1 | x).
    lead : float
        Another lower bound replaces the default where it is predicted to be higher by this much: two standard
        errors of the difference of two shares near one half.
    """

    values: Array
    predicted: Array
    chance: Array
    lead: float

    def envelope(
        self, kind: np.ndarray, weights: Array, other: tuple[Array, Array] | None = None
    ) -> tuple[Array, Array]:
        """Scores and predictions of the lower bounds, each by the best candidate, (n_samples, n_classes).

        φ_k = ψ_jk,   j = j_k(x) = argmax_j [m_jk(x) - lead 1{j is not the default for cases of this kind}]

        The candidates are each arm alone, and what both arms show together: `other`, such as the bound by
        decision-makers, or else their mean. The default for a kind of case is the latter, unless an arm is
        better by 1.5 standard errors, because a choice between tied arms would follow noise. A wrong choice
        makes the bound wider but not invalid.

        Parameters
        ----------
        kind : (n_samples,) int array
            Kinds of cases, such as those with the same advice.
        weights : (n_samples,) array
        other : pair of (n_samples, n_classes) arrays, optional
            Scores and predictions of another lower bound.
        """
        shares = np.stack([1.0 - self.chance, self.chance])
        if other is None:
            scores, model = (np.einsum("sn,snk->nk", shares, each) for each in (self.values, self.predicted))
        else:
            scores, model = other
        candidates = np.stack([scores, *self.values])
        expected = np.stack([model, *self.predicted])
        default = _better_arm(self.values - scores, kind, weights)
        handicap = np.where(np.arange(3)[:, None, None] == default, 0.0, self.lead)
        chosen = (expected - handicap).argmax(axis=0)[None]
        best, predicted = (np.take_along_axis(each, chosen, axis=0)[0] for each in (candidates, expected))
        return best, predicted


def _better_arm(ahead: Array, kind: np.ndarray, weights: Array) -> np.ndarray:
    """Return 1 or 2 where an arm is better for cases of this kind, else 0, (n_samples, n_classes).

    Parameters
    ----------
    ahead : (2, n_samples, n_classes) array
        Scores of each arm minus those of the bound to beat.
    """
    size, highest = np.bincount(kind, weights), np.zeros((ahead.shape[2], int(kind.max()) + 1))
    best = np.zeros(highest.shape, dtype=int)
    for arm, by_class in enumerate(ahead, 1):
        for k, values in enumerate(by_class.T):
            mean = np.bincount(kind, weights * values) / size
            error = np.sqrt(np.bincount(kind, (weights * (values - mean[kind])) ** 2)) / size
            better = (mean > CLOSE * error) & (mean > highest[k])
            best[k, better], highest[k, better] = arm, mean[better]
    return best[:, kind].T


def columns_known(data: SelectiveLabels, advice: Array) -> Array:
    """Standardised columns known before the lottery: features, and the advice, (n_samples, n_columns)."""
    columns = standardised(data.categorical).fit_transform(data.features)
    rank = (advice - advice.mean()) / max(float(advice.std()), np.finfo(float).tiny)
    return np.column_stack([columns, rank])


def lottery_scores(
    data: SelectiveLabels, arm: np.ndarray, chance: Array, known: Array, seed: int, adjust: bool
) -> LotteryScores:
    """Score both arms, with cross-fitted ridge regressions of what each shows.

    Parameters
    ----------
    data : SelectiveLabels
    arm : (n_samples,) int array
        1 where the advice was shown.
    chance : (n_samples,) array
        P(S=1 | x).
    known : (n_samples, n_columns) array
        Standardised columns known before the lottery.
    seed : int
    adjust : bool
        If False, the prediction is the mean of the arm, and so is the mean of the scores.
    """
    seen, weights, fold = seen_labels(data.y, len(data.classes)), data.weights, _folds(data, arm, seed)
    inverse = 1.0 / np.stack([1.0 - chance, chance])
    predicted, lead = np.empty((2, *seen.shape)), np.inf
    columns = known
    if adjust:
        columns = smooth_functions(known, np.random.default_rng(seed))
        lead = float(np.sqrt(np.average(inverse, axis=1, weights=weights).sum() / len(data)))
    for each in (ALONE, WITH):
        inside = weights * (arm == each)
        if adjust:
            predicted[each] = seen - HeldOutRidge(columns, fold, inside).residuals(seen)
        else:
            predicted[each] = np.average(seen, axis=0, weights=inside * inverse[each])
    return LotteryScores(arm_scores(seen, arm, chance, predicted), predicted, chance, lead)


def _folds(data: SelectiveLabels, arm: np.ndarray, seed: int) -> np.ndarray:
    """Fold of every row; both arms are spread evenly, and groups stay together."""
    fold = np.zeros(len(data), dtype=int)
    number = N_FOLDS if data.groups is None else min(N_FOLDS, len(np.unique(data.groups)))
    strata = 2 * (data.row_decision == 1) + arm
    for place, (_, test) in enumerate(make_folds(strata, number, groups=data.groups, random_state=seed)):
        fold[test] = place
    return fold


def modelled_chance(data: SelectiveLabels, arm: np.ndarray, known: Array, seed: int) -> Array:
    """P(S=1 | x) by a cross-fitted logistic regression, at least `OVERLAP` from zero and one."""
    from sklearn.linear_model import LogisticRegression

    fold, found = _folds(data, arm, seed), np.zeros(len(data))
    for number in range(int(fold.max()) + 1):
        here = fold == number
        model = LogisticRegression(max_iter=1000).fit(known[~here], arm[~here], data.weights[~here])
        found[here] = model.predict_proba(known[here])[:, 1]
    return np.clip(found, OVERLAP, 1.0 - OVERLAP)


def dependence(data: SelectiveLabels, arm: np.ndarray, chance: Array, known: Array) -> float:
    """P-value of the hypothesis that columns known before the lottery do not predict its result.

    F test of S - P(S=1) on all columns, one row for each group.
    """
    rows = np.arange(len(data)) if data.groups is None else np.unique(data.groups, return_index=True)[1]
    drawn, columns = (arm - chance)[rows], known[rows]
    return joint_f(drawn - drawn.mean(), columns - columns.mean(axis=0), 1)[1]


FEATURES = "features"
PEOPLE = "people alone", "people with advice"
ADVICE = "advice alone"
AGREED, OVERRIDDEN = "agree with the advice", ("say no against the advice", "say yes against the advice")
SHARE, LOSS = "share", "loss"
# More values of the advice than this are cut at as many quantiles.
MOST_CUTS = 20
# An arm with fewer cases has no interval.
FEWEST = 5
# A lottery is called doubtful once in a thousand times.
DEPENDENT = 1e-3


@dataclass(frozen=True, eq=False, kw_only=True)
class AdviceQuestion:
    """The arguments of :func:`selective_labels.advice`, as the user gave them."""

    advice: Any
    shown: Any
    high: str | None = None
    probability: Any = None
    adjust: bool = True


@dataclass(frozen=True)
class AdviceEstimate:
    """One number about people alone, people with advice, the advice alone, or a difference of two.

    Attributes
    ----------
    what : str
        Who decides, or which two are compared, or what people do with the advice.
    measure : str
    cut : str
        At which value the advice turns into a yes; empty for advice of two values.
    """

    what: str
    measure: str
    cut: str
    evaluation: Evaluation


@dataclass(frozen=True, eq=False, kw_only=True)
class Advice(Described):
    """What people decide alone and with advice, what the advice alone would do, and what overrides cost.

    Attributes
    ----------
    estimates : tuple of AdviceEstimate
    shown_share : float
        Share of cases in which the advice was shown.
    measures : tuple of str
        The last one is the loss (or the cost) of all errors.

    Examples
    --------
    >>> import numpy as np
    >>> import selective_labels as sl
    >>> sample = sl.datasets.make_decision_makers(900, n_classes=2, random_state=0)
    >>> data = sl.SelectiveLabels.from_arrays(sample.X, sample.y)
    >>> shown = np.random.default_rng(0).integers(0, 2, 900)
    >>> found = sl.advice(data, advice=sample.X[:, 0] < 0, shown=shown, random_state=0)
    >>> change = found.get("people with advice minus people alone", "loss")
    >>> bool(change.lower == change.upper), len(found.differences)
    (True, 12)
    """

    title = "What showing the advice changes, and what it would do alone"
    lines_each = 2

    estimates: tuple[AdviceEstimate, ...]
    shown_share: float
    measures: tuple[str, ...]

    def __len__(self) -> int:
        return len(self.estimates)

    def get(self, what: str, measure: str, cut: str = "", subgroup: Any = None) -> Evaluation:
        """Return one number; decisions of people alone have no cut."""
        for each in self.estimates:
            key = each.what, each.measure, each.cut, each.evaluation.subgroup
            if key == (what, measure, cut, subgroup):
                return each.evaluation
        known = ", ".join(sorted({repr(each.what) for each in self.estimates}))
        raise InputError(
            f"there is no {measure!r} of {what!r} (cut {cut!r}, subgroup {subgroup!r}); what: {known}.",
            "what",
        )

    @property
    def differences(self) -> tuple[Evaluation, ...]:
        """The differences between two ways to decide."""
        return tuple(each.evaluation for each in self.estimates if " minus " in each.what)

    def to_frame(self) -> pd.DataFrame:
        """Return a frame with one row per number."""
        rows = [
            {
                "cut": each.cut,
                "subgroup": each.evaluation.subgroup,
                "what": each.what,
                "measure": each.measure,
                **{end: getattr(each.evaluation, end) for end in display.ENDS},
                "standard_error_lower": each.evaluation.standard_errors[0],
                "standard_error_upper": each.evaluation.standard_errors[1],
                "n": each.evaluation.n,
                "reason": each.evaluation.reason,
            }
            for each in self.estimates
        ]
        return pd.DataFrame(rows)

    def printed_frame(self) -> pd.DataFrame:
        """Return the first printed table."""
        return self.printed_parts()[0]

    def printed_parts(self) -> list[pd.DataFrame]:
        """Return a table for each cut and subgroup: ways to decide, then what people do with the advice."""
        parts: dict[tuple[Any, ...], dict[str, dict[str, Evaluation]]] = {}
        for each in self.estimates:
            key = each.cut, each.evaluation.subgroup, ": " in each.what
            parts.setdefault(key, {}).setdefault(each.what, {})[each.measure] = each.evaluation
        return [_table(key, rows) for key, rows in parts.items()]

    def sentences(self) -> list[str]:
        """State the verdicts, what the numbers mean, the assumption and the sample."""
        first = self.estimates[0].evaluation
        reasons = dict.fromkeys(_reason(each) for each in self.estimates if each.evaluation.reason)
        return [
            *display.caution_lines(first.sample),
            *self.verdicts(),
            *reasons,
            "The label of a case does not depend on whether the advice was shown, so people with and without "
            "it differ by what both arms show: points, not bounds. The advice alone has bounds, since some "
            "cases that it says yes to had a no.",
            _meaning_of(self.measures),
            display.assumption_text(first.assumption, first.sample.sentence),
            f"Sample: {display.sample_text(first.sample)} The advice was shown in {self.shown_share:.1%}. "
            f"Intervals are in brackets below the bounds and cover each value with probability "
            f"{first.confidence_level:.4g}.",
        ]

    def verdicts(self) -> list[str]:
        """Say of each difference in the last measure which way to decide is better, if the data show it."""
        said = []
        for each in self.estimates:
            if " minus " in each.what and each.measure == self.measures[-1] and each.evaluation.defined:
                said.append(_verdict(each))
        return said

    def plot(self, ax: Any = None) -> Any:
        """Draw bounds and intervals of the differences; return the matplotlib axes."""
        shown = [each for each in self.estimates if " minus " in each.what]
        labels = [
            ", ".join(str(part) for part in (f"{each.measure}: {each.what}", *_where(each))) for each in shown
        ]
        return display.plot_intervals([each.evaluation for each in shown], ax, labels)


def _meaning_of(measures: tuple[str, ...]) -> str:
    """Say what the columns are: shares of all cases."""
    _, main, lost, total = measures
    said = {
        FAILURES: "accepted, with the event",
        GOOD_LOST: "refused, without the event",
        MISSED: "refused, with the event",
        IN_VAIN: "accepted, without the event",
    }
    sums = "their sum" if total == LOSS else "the cost per case"
    return f"Of all cases, {main}: share {said[main]}; {lost}: share {said[lost]}; {total}: {sums}."


def _table(key: tuple[Any, ...], rows: Mapping[str, Mapping[str, Evaluation]]) -> pd.DataFrame:
    cut, subgroup, _ = key
    where = ", ".join(str(each) for each in (cut, subgroup) if each not in ("", None))
    columns: dict[str, list[str]] = {where or "who decides": [text for what in rows for text in (what, "")]}
    for measure in dict.fromkeys(name for row in rows.values() for name in row):
        cells = [row.get(measure) for row in rows.values()]
        columns[measure] = [text for each in cells for text in display.cell_texts(each)]
    return pd.DataFrame(columns)


def _reason(each: AdviceEstimate) -> str:
    who = "" if each.evaluation.subgroup is None else f" for {each.evaluation.subgroup}"
    return f"No interval{who}: {str(each.evaluation.reason).rpartition(': ')[2]}"


def _where(each: AdviceEstimate) -> list[Any]:
    return [part for part in (each.cut, each.evaluation.subgroup) if part not in ("", None)]


def _verdict(each: AdviceEstimate) -> str:
    found, (first, second) = each.evaluation, each.what.split(" minus ")
    where = "".join(f", {part}" for part in _where(each))
    size = display.bounds_text(found)
    interval = (
        f"{found.confidence_level:.0%} interval {decimals(found.ci_lower)} to {decimals(found.ci_upper)}"
    )
    if np.isnan(found.ci_lower):
        interval, verdict = "no interval", "nothing can be said"
    elif found.ci_upper < 0.0:
        verdict = f"{first} do better" if first in PEOPLE else f"the {first} does better"
    elif found.ci_lower > 0.0:
        verdict = f"{second} do better"
    else:
        verdict = "the data leave open which is better"
    return f"{each.measure.capitalize()} of {each.what}{where}: {size} ({interval}): {verdict}."


@dataclass(frozen=True, eq=False)
class _OfBothArms:
    """A functional that needs cases of both arms."""

    functional: Functional
    arm: np.ndarray

    def ends(self, evidence: Evidence, weights: Array | None) -> Ends:
        """Return the lower and the upper bound."""
        inside = np.ones(len(self.arm), dtype=bool) if weights is None else np.asarray(weights) > 0.0
        number = [np.count_nonzero(inside & (self.arm == arm)) for arm in (ALONE, WITH)]
        if min(number) < FEWEST:
            raise UndefinedError(
                f"the advice was shown in {number[WITH]} of these cases and not shown in {number[ALONE]}; "
                f"{FEWEST} of each are needed.",
                "shown",
            )
        return self.functional.ends(evidence, weights)


@dataclass(frozen=True, eq=False)
class _Asked:
    """What is needed to put a number on a contrast."""

    sample: ScoredSample
    assumption: str
    scores: Array
    arm: np.ndarray
    masks: Mapping[Any, np.ndarray]
    interval: str
    confidence_level: float

    def find(
        self, contrast: Contrast, what: str, measure: str, limits: tuple[float, float], cut: str = ""
    ) -> list[AdviceEstimate]:
        """Return a number for every subgroup."""
        mean = SeenRatio.mean(contrast.open, contrast.seen(self.scores))
        functional = _OfBothArms(mean, self.arm)
        name = f"{measure}, {what}{f', {cut}' if cut else ''}"
        how = limits, self.confidence_level, self.interval
        return [
            AdviceEstimate(
                what,
                measure,
                cut,
                judged(self.sample, functional, name, self.assumption, *how, rows=rows, subgroup=subgroup),
            )
            for subgroup, rows in self.masks.items()
        ]


def advice_request(
    fitted: FittedRows,
    request: EvaluationRequest,
    question: AdviceQuestion,
    interval: str,
    confidence_level: float,
) -> Advice:
    """Compare people with and without advice, and the advice alone; input errors come before any fit."""
    data = fitted.table
    require_two_classes(data.classes)
    if data.panels is not None:
        raise InputError.about("share_labels", "is not possible with advice: give one row for each case.")
    refuse_pending(data, "advice")
    arm = _read_shown(read_column(question.shown, "shown", data), data)
    advice, cuts = _read_advice(read_column(question.advice, "advice", data), question.high, data)
    event = class_code(request.pos_label, data.classes)
    measures = _measures(data, event, request.cost)
    masks = {None: np.ones(len(data), dtype=bool)}
    if request.by is not None:
        masks = read_subgroups(read_column(request.by, "by", data), len(data))
    scores, notes = _lottery(fitted, arm, advice, question)
    checked: list[tuple[str, Checked]] = [("advice", each) for each in cuts.values()]
    if request.by is not None:
        checked.append(("by", masks))
    sample, assumption = _sample(fitted, request, scores, _kinds(advice), checked)
    sample = sample.with_cautions(notes)
    values = np.mean([each.values for each in scores], axis=0)
    asked = _Asked(sample, assumption, values, arm, masks, interval, confidence_level)
    return Advice(
        estimates=tuple(_estimates(asked, cuts, measures)),
        shown_share=float(np.average(arm, weights=data.weights)),
        measures=tuple(each.name for each in measures),
    )


def _lottery(
    fitted: FittedRows, arm: np.ndarray, advice: Array, question: AdviceQuestion
) -> tuple[list[LotteryScores], list[str]]:
    """Return scores of both arms, one for each repetition, and cautions; kept for the next question."""
    data, seeds = fitted.table, fitted.fitting.repeated_seeds

    def fit() -> tuple[list[LotteryScores], list[str]]:
        known = columns_known(data, advice)
        _refuse_copies(known, arm)
        chance, notes = _chance(question.probability, data, arm, known, seeds[0])
        return [lottery_scores(data, arm, chance, known, seed, question.adjust) for seed in seeds], notes

    given = question.probability
    chance = given if given is None or isinstance(given, str) else tuple(np.ravel(given).tolist())
    return fitted.kept("advice", (arm.tobytes(), advice.tobytes(), chance, question.adjust), fit)


def _estimates(
    asked: _Asked, cuts: Mapping[str, Array], measures: Sequence[PolicyMeasure]
) -> list[AdviceEstimate]:
    found: list[AdviceEstimate] = []
    n_samples, n_classes = asked.scores.shape[1:]
    for each in measures:
        people = [Contrast.people(arm, each.accepted, each.refused, n_samples) for arm in (ALONE, WITH)]
        (low, high), apart = each.limits(), each.limits()[1] - each.limits()[0]
        for arm in (ALONE, WITH):
            found += asked.find(people[arm], PEOPLE[arm], each.name, (low, high))
        change = people[WITH] - people[ALONE]
        found += asked.find(change, f"{PEOPLE[WITH]} minus {PEOPLE[ALONE]}", each.name, (-apart, apart))
        for cut, says_yes in cuts.items():
            alone = Contrast.of_advice(says_yes, each.accepted, each.refused)
            found += asked.find(alone, ADVICE, each.name, (low, high), cut)
            for arm in (ALONE, WITH):
                what = f"{ADVICE} minus {PEOPLE[arm]}"
                found += asked.find(alone - people[arm], what, each.name, (-apart, apart), cut)
    total = measures[-1]
    worth = np.append(total.accepted - total.refused, 0.0)
    for cut, says_yes in cuts.items():
        for arm in (ALONE, WITH):
            agreed = Contrast.agreement(arm, says_yes, n_classes)
            found += asked.find(agreed, f"{PEOPLE[arm]}: {AGREED}", SHARE, (0.0, 1.0), cut)
            for to_yes in (False, True):
                what = f"{PEOPLE[arm]}: {OVERRIDDEN[to_yes]}"
                share = Contrast.override(arm, says_yes, to_yes, n_classes)
                found += asked.find(share, what, SHARE, (0.0, 1.0), cut)
                price = Contrast.price(arm, says_yes, to_yes, total.accepted, total.refused)
                ends = worth if to_yes else -worth
                limits = float(ends.min()), float(ends.max())
                found += asked.find(price, what, f"{total.name} added", limits, cut)
    return found


def _measures(data: SelectiveLabels, event: int, cost: Any) -> list[PolicyMeasure]:
    """Share of a yes, both kinds of errors, and their sum or the cost."""
    means = data.decision_means
    names = MEASURES_OF[means]
    wanted = ACCEPTANCE, names.main, names.lost
    found = read_policy_measures(wanted, data.classes, event, None, means)
    harm, errors = found[1:]
    if cost is not None:
        return [*found, *read_policy_measures([COST], data.classes, event, cost, means)]
    return [*found, PolicyMeasure(LOSS, harm.accepted + errors.accepted, harm.refused + errors.refused)]


def _read_shown(column: pd.Series, data: SelectiveLabels) -> np.ndarray:
    """Return 1 where the advice was shown and 0 elsewhere."""
    values = set(column.unique().tolist())
    if not values <= {0, 1}:
        odd = next(each for each in values if each not in {0, 1})
        raise InputError.about("shown", f"holds {odd!r}; give 1 where the advice was shown and 0 elsewhere.")
    if len(values) == 1:
        raise InputError.about(
            "shown", f"is {int(values.pop())} in every case: without both arms there is nothing to compare."
        )
    arm = column.to_numpy().astype(int)
    if (arm == data.row_decision).all() or (arm != data.row_decision).all():
        raise InputError.about(
            "shown", "says what was decided in every case: give whether the advice was shown."
        )
    return arm


def _read_advice(
    column: pd.Series, high: str | None, data: SelectiveLabels
) -> tuple[Array, dict[str, Array]]:
    """Return the advice as a number for each case, and 1 for a yes at every cut."""
    if not pd.api.types.is_numeric_dtype(column):
        raise InputError.about(
            "advice", "holds text; give 1 for a yes and 0 for a no, or numbers whose order says how much."
        )
    values = column.to_numpy().astype(float)
    if not np.isfinite(values).all():
        raise InputError.about("advice", "holds an infinite number; give finite ones.")
    levels = np.unique(values)
    if len(levels) == 1:
        raise InputError.about("advice", f"is {levels[0]:g} in every case: it advises nothing.")
    if high is not None:
        require_choice("high", high, ("yes", "no"))
    if high is None and not np.isin(levels, (0.0, 1.0)).all():
        raise InputError.about(
            "high",
            f"is missing: advice has {len(levels)} values from {levels[0]:g} to {levels[-1]:g}; say "
            "whether a high value means 'yes' or 'no'.",
        )
    if len(levels) > MOST_CUTS + 1:
        levels = np.unique(np.quantile(values, np.linspace(0.0, 1.0, MOST_CUTS + 2)))
    cuts = {}
    for level in levels[1:]:
        above = values >= level
        if high == "no":
            cuts[f"yes below {level:g}"] = (~above).astype(float)
        else:
            cuts[f"yes from {level:g}"] = above.astype(float)
    if len(cuts) == 1:
        cuts = {"": next(iter(cuts.values()))}
    for cut, says_yes in cuts.items():
        if (says_yes == data.row_decision).all():
            raise InputError.about(
                "advice",
                f"equals the decision in every case{f' ({cut})' if cut else ''}: give what was advised, not "
                "what was decided.",
            )
    return values, cuts


def _kinds(advice: Array) -> np.ndarray:
    """Cases that get the same advice, or advice in the same part of its range."""
    levels = np.unique(advice)
    if len(levels) > MOST_CUTS + 1:
        levels = np.unique(np.quantile(advice, np.linspace(0.0, 1.0, MOST_CUTS + 2)))[:-1]
    return np.searchsorted(levels, advice, side="right") - 1


def _refuse_copies(known: Array, arm: np.ndarray) -> None:
    """Raise an error if a feature, or the advice, says whether the advice was shown."""
    centred = known - known.mean(axis=0)
    size = np.sqrt(np.sum(centred**2, axis=0) * np.sum((arm - arm.mean()) ** 2))
    match = np.abs(centred.T @ (arm - arm.mean())) >= (1.0 - 1e-9) * size
    if (match & (size > 0.0)).any():
        raise InputError.about(
            "shown", "is the same as a feature, or as advice: leave that column out of the features."
        )


def _chance(
    probability: Any, data: SelectiveLabels, arm: np.ndarray, known: Array, seed: int
) -> tuple[Array, list[str]]:
    """Return P(S=1 | x), and a caution if features predict what a lottery should decide."""
    if isinstance(probability, str):
        require_choice("probability", probability, (FEATURES,))
        return modelled_chance(data, arm, known, seed), []
    if probability is None:
        chance = np.full(len(data), np.average(arm, weights=data.weights))
    else:
        given = probability if np.ndim(probability) else np.full(len(data), probability)
        chance = read_column(given, "probability", data).to_numpy()
        if not np.issubdtype(chance.dtype, np.number):
            raise InputError.about("probability", "holds text; give numbers between 0 and 1, or 'features'.")
        if not ((chance > 0.0) & (chance < 1.0)).all():
            raise InputError.about("probability", "must lie between 0 and 1, both excluded.")
    p_value = dependence(data, arm, chance, known)
    if p_value >= DEPENDENT:
        return chance, []
    return chance, [
        "The result is doubtful: features or the advice predict whether the advice was shown "
        f"(p = {p_value:.1g}), so this was no lottery; if it was one given the features, say "
        "probability='features'."
    ]


def _sample(
    fitted: FittedRows,
    request: EvaluationRequest,
    scores: Sequence[LotteryScores],
    kinds: np.ndarray,
    checked: Sequence[tuple[str, Checked]],
) -> tuple[ScoredSample, str]:
    """Return scores of the labels of all cases: by the arms, and by decision-makers if they are known."""
    data = fitted.table
    chosen = the_only(
        chosen_assumptions(request.assumption, fitted.has_instrument),
        "assumption",
        "advice takes one assumption.",
    )
    if isinstance(chosen, NoAssumption) or (chosen.needs_decision_makers and not fitted.has_instrument):
        evidence = [Evidence.from_labels(data.y, len(data.classes))]
        if not data.labeled.all():
            evidence = [_joined(each, kinds, data.weights) for each in scores]
        name, caution = Lottery().name, repeated_rows_caution(data)
        repeats, none = [{name: each} for each in evidence], {name: 0.0}
        cluster = choose_clusters(request.cluster, data)
        sample = ScoredSample(data, repeats, none, none, none, {}, cluster, objects={name: Lottery()})
        return sample.with_cautions([] if caution is None else [caution]), name
    sample = fitted.scored(request)
    sample = with_doubts(sample, fitted.doubts(data, [chosen], checked))
    if isinstance(chosen, Instrument) and not data.labeled.all():
        repeats = [
            {name: _joined(each, kinds, data.weights, found) for name, found in repeat.items()}
            for each, repeat in zip(scores, sample.repeats, strict=True)
        ]
        sample = replace(sample, repeats=repeats)
    return sample, chosen.name


def _joined(
    scores: LotteryScores, kinds: np.ndarray, weights: Array, other: Evidence | None = None
) -> Evidence:
    """Evidence by the best of both arms and of another lower bound."""
    given = None if other is None else (other.lower, other.model)
    lower, model = scores.envelope(kinds, weights, given)
    return Evidence(lower, 1.0 - lower.sum(axis=1), model)
