"""Laws of tables on which results were wrong without a word; the truth of each is known.

On an *edge* table every case that the predictions get right is labeled: the accuracy is the smallest one that
the data allow, and the true and false positive rates are at their ends too. Where every case of class 1 is
labeled, its share is at its end.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cache
from typing import Any

import numpy as np
import pandas as pd
from scipy.special import expit, ndtri, softmax
from sklearn.linear_model import LogisticRegression

from selective_labels import SelectiveLabels

Generator = np.random.Generator


@dataclass(frozen=True)
class Table:
    """Drawn cases, and predictions of them.

    Attributes
    ----------
    X : features, an array or a frame
    y_true : (n_samples,) int array
    decision : (n_samples,) bool array
    decision_maker : (n_samples,) array
    predicted : (n_samples,) array
        What a user has evaluated: classes or scores.
    roles : dict
        Further keywords: assignment, strata.
    period : (n_samples,) array, optional
    """

    X: Any
    y_true: np.ndarray
    decision: np.ndarray
    decision_maker: np.ndarray
    predicted: np.ndarray
    roles: Mapping[str, Any] = field(default_factory=dict)
    period: np.ndarray | None = None

    @property
    def y(self) -> np.ndarray:
        """Labels, -1 where none was seen."""
        return np.where(self.decision, self.y_true, -1)

    @property
    def data(self) -> SelectiveLabels:
        """The table as a user names it."""
        return SelectiveLabels.from_arrays(self.X, self.y, decision_maker=self.decision_maker, **self.roles)


def drawn(chance: np.ndarray, rng: Generator) -> np.ndarray:
    """One draw from each row of probabilities.

    Examples
    --------
    >>> drawn(np.eye(3), np.random.default_rng(0))
    array([0, 1, 2])
    """
    passed = rng.random(len(chance))[:, None] > chance.cumsum(axis=1)
    return np.asarray(passed.sum(axis=1)).clip(max=chance.shape[1] - 1)


def labels(chance: np.ndarray, rng: Generator) -> np.ndarray:
    """One label, 0 or 1, from each probability."""
    return (rng.random(len(chance)) < chance).astype(int)


def on_edge(sure: np.ndarray, leniency: np.ndarray, rng: Generator) -> np.ndarray:
    """Yes to every case that is sure to be labeled, to others with the decision-maker's probability."""
    return np.asarray(sure | (rng.random(len(sure)) < leniency))


# Rows 1 and 2: predictions that know who decides. The last decision-maker says yes to nearly everybody.
LENIENCY = np.array([-0.5, 0.0, 0.0, 0.5, 0.5, 6.0])


def hidden_reasons(n: int, rng: Generator) -> Table:
    """Decision-makers see most of the risk."""
    return _hidden_reasons(n, rng)[0]


def _hidden_reasons(n: int, rng: Generator) -> tuple[Table, np.ndarray]:
    X, hidden, maker = rng.normal(size=(n, 3)), rng.normal(size=n), rng.integers(0, 6, n)
    y_true = labels(expit(1.6 * X[:, 0] + 3.0 * hidden), rng)
    decision = rng.random(n) < expit(LENIENCY[maker] - X[:, 0] - 3.0 * hidden)
    return Table(X, y_true, decision, maker, (X[:, 0] > 0).astype(int)), hidden


def with_decisions(n: int, rng: Generator) -> Table:
    """The decisions given as predictions: a no says that the event happens."""
    table = hidden_reasons(n, rng)
    return replace(table, predicted=(~table.decision).astype(int))


def with_a_team(n: int, rng: Generator) -> Table:
    """The model or the human says that the event happens."""
    table = hidden_reasons(n, rng)
    return replace(table, predicted=table.predicted | ~table.decision)


def vendor_score(n: int, rng: Generator) -> Table:
    """A control: a score that decision-makers look at, and that does not know who they are."""
    X, hidden, maker = rng.normal(size=(n, 3)), rng.normal(size=n), rng.integers(0, 6, n)
    score = X[:, 0] + hidden + rng.normal(size=n)
    y_true = labels(expit(1.6 * X[:, 0] + 3.0 * hidden), rng)
    decision = rng.random(n) < expit(LENIENCY[maker] - 1.5 * score - 2.0 * hidden)
    return Table(X, y_true, decision, maker, (score > 0).astype(int))


def _notes(table: Table, hidden: np.ndarray, rng: Generator) -> np.ndarray:
    """What a vendor knows: the first feature, and a note, in which one decision-maker says what they saw."""
    careful = table.decision_maker == 5
    return np.column_stack([table.X[:, 0], careful * hidden + 0.5 * rng.normal(size=len(hidden))])


@cache
def _models_by_id() -> list[LogisticRegression]:
    """A vendor's model of each decision-maker's labeled rows, from a draw of its own."""
    rng = np.random.default_rng(20260701)
    table, hidden = _hidden_reasons(20_000, rng)
    notes = _notes(table, hidden, rng)
    parts = [table.decision & (table.decision_maker == maker) for maker in range(6)]
    return [LogisticRegression().fit(notes[part], table.y_true[part]) for part in parts]


def with_the_id(n: int, rng: Generator) -> Table:
    """Predictions of a vendor's model whose features include who decides."""
    table, hidden = _hidden_reasons(n, rng)
    notes = _notes(table, hidden, rng)
    chance = np.stack([each.predict_proba(notes)[:, 1] for each in _models_by_id()], axis=1)
    return replace(table, predicted=(chance[np.arange(n), table.decision_maker] > 0.5).astype(int))


# Rows 3 to 6: who decides depends on features in a way that the models do not see.
N_LEVELS = 300


@cache
def _levels() -> tuple[np.ndarray, np.ndarray]:
    """Effect of each level on the outcome, and chances of the decision-makers there."""
    rng = np.random.default_rng(7)
    effect = 1.5 * rng.normal(size=N_LEVELS)
    logits = 1.5 * rng.normal(size=(N_LEVELS, 6)) + 0.8 * effect[:, None] * np.linspace(-1, 1, 6)
    return effect, softmax(logits, axis=1)


def many_levels(n: int, rng: Generator) -> Table:
    """A category of 300 levels drives assignment and outcome: 6 rows a level of 1,800."""
    effect, chance = _levels()
    level = rng.integers(0, N_LEVELS, n)
    maker, x = drawn(chance[level], rng), rng.normal(size=n)
    return _branches(effect[level], level, maker, x, rng)


def many_levels_share(n: int, rng: Generator) -> Table:
    """The same with the share of class 1 on the edge."""
    return _share_on_edge(many_levels(n, rng), np.linspace(0.05, 0.5, 6), rng)


def _share_on_edge(table: Table, leniency: np.ndarray, rng: Generator) -> Table:
    return replace(table, decision=on_edge(table.y_true == 1, leniency[table.decision_maker], rng))


def many_levels_by_lot(n: int, rng: Generator) -> Table:
    """A control: the category drives the outcome alone."""
    effect, _ = _levels()
    level, x = rng.integers(0, N_LEVELS, n), rng.normal(size=n)
    return _branches(effect[level], level, rng.integers(0, 6, n), x, rng)


def _branches(effect: np.ndarray, level: np.ndarray, maker: np.ndarray, x: np.ndarray, rng: Any) -> Table:
    y_true, predicted = labels(expit(effect + x), rng), (x > 0).astype(int)
    decision = on_edge(y_true == predicted, np.linspace(0.05, 0.5, 6)[maker], rng)
    frame = pd.DataFrame({"x": x, "branch": np.char.add("b", level.astype(str))})
    return Table(frame, y_true, decision, maker, predicted)


ROSTER_LENIENCY = np.array([0.05, 0.05, 0.1, 0.1, 0.15, 0.2, 0.25])


def weekly_roster(n: int, rng: Generator) -> Table:
    """Who is on duty depends on the weekday, and so does the outcome; the date is a feature."""
    day = rng.integers(0, 730, n)
    weekday = (day + 3) % 7
    logits = 2 * np.cos(2 * np.pi * (weekday[:, None] - np.arange(7)) / 7)
    return _dates(day, weekday, drawn(softmax(logits, axis=1), rng), rng)


def weekly_roster_share(n: int, rng: Generator) -> Table:
    """The same with the share of class 1 on the edge."""
    return _share_on_edge(weekly_roster(n, rng), ROSTER_LENIENCY, rng)


def dates_by_lot(n: int, rng: Generator) -> Table:
    """A control: the weekday drives the outcome alone."""
    day = rng.integers(0, 730, n)
    return _dates(day, (day + 3) % 7, rng.integers(0, 7, n), rng)


def _dates(day: np.ndarray, weekday: np.ndarray, maker: np.ndarray, rng: Generator) -> Table:
    x = rng.normal(size=len(day))
    y_true, predicted = labels(expit(x - 1.0 + 2.5 * (weekday > 4)), rng), (x > 0.5).astype(int)
    date = pd.Timestamp("2023-01-05") + pd.to_timedelta(day, unit="D")
    return Table(
        pd.DataFrame({"x": x, "date": date}),
        y_true,
        on_edge(y_true == predicted, ROSTER_LENIENCY[maker], rng),
        maker,
        predicted,
    )


def raw_amount(n: int, rng: Generator) -> Table:
    """Assignment and outcome are linear in a lognormal amount, which models see squashed."""
    return _amounts(n, rng, strength=2.0)


def raw_amount_by_lot(n: int, rng: Generator) -> Table:
    """A control: the amount drives the outcome alone."""
    return _amounts(n, rng, strength=0.0)


def _amounts(n: int, rng: Generator, strength: float) -> Table:
    amount, x = np.exp(rng.normal(size=n)), rng.normal(size=n)
    size = np.minimum(amount, 8.0)
    maker = drawn(softmax(strength * (size - 1.5)[:, None] * np.linspace(-1, 1, 6), axis=1), rng)
    y_true, predicted = labels(expit(x - 2.0 + 2.0 * size), rng), (x > 0).astype(int)
    decision = on_edge(y_true == predicted, np.linspace(0.05, 0.9, 6)[maker], rng)
    return Table(pd.DataFrame({"amount": amount, "x": x}), y_true, decision, maker, predicted)


def wrong_assignment(n: int, rng: Generator) -> Table:
    """`assignment=` says by lot; who decides goes up and down with a feature, and so does the outcome."""
    return _told_by_lot(n, rng, 0.7)


def right_assignment(n: int, rng: Generator) -> Table:
    """A control: `assignment=` says by lot, and it was by lot."""
    return _told_by_lot(n, rng, 0.0)


def _told_by_lot(n: int, rng: Generator, strength: float) -> Table:
    x = rng.normal(size=n)
    wave = np.sin(3 * x)
    maker = drawn(softmax(strength * wave[:, None] * np.linspace(-1, 1, 6), axis=1), rng)
    y_true, predicted = labels(expit(2.0 * wave), rng), (x > 0.3).astype(int)
    decision = on_edge(y_true == predicted, np.linspace(0.05, 0.5, 6)[maker], rng)
    roles = {"assignment": np.full((n, 6), 1.0 / 6.0)}
    return Table(x[:, None], y_true, decision, maker, predicted, roles)


# Row 7: two normal scores; all labels are seen.
def ranked(n: int, n_events: int, auc: float, rng: Generator) -> tuple[np.ndarray, np.ndarray]:
    """Labels with a number of events, and scores of which the area under the curve is known exactly.

    AUC = Φ(δ / √2) for scores N(δ, 1) of events and N(0, 1) of the others.
    """
    y = (np.arange(n) < n_events).astype(int)
    return y, rng.normal(size=n) + y * np.sqrt(2.0) * ndtri(auc)


# Rows 9 to 11: what is estimated is nearly one value, so that nothing wide covers an error.
N_FEATURES = 6


def nearly_all_seen(n: int, rng: Generator) -> Table:
    """One of four decision-makers says yes to nearly everybody; the score is the first feature."""
    X, hidden, maker = rng.normal(size=(n, N_FEATURES)), rng.normal(size=n), rng.integers(0, 4, n)
    y_true = labels(expit(1.5 * X[:, 0] + hidden - 0.5), rng)
    decision = rng.random(n) < expit(np.array([-1.0, 0.0, 1.0, 7.0])[maker] - X[:, 0] - hidden)
    return Table(X, y_true, decision, maker, X[:, 0])


def rivals(n_models: int) -> np.ndarray:
    """Directions of linear rules, (n_features, n_models), all at one angle to the signal: none is better."""
    other = np.random.default_rng(20260702).normal(size=(N_FEATURES - 1, n_models))
    return np.vstack([np.ones(n_models), 0.8 * other / np.linalg.norm(other, axis=0)])


REPEATS = 8


def persons(n: int, rng: Generator) -> Table:
    """Everybody appears eight times, with the same features and label, and no column says so."""
    once = nearly_all_seen(n // REPEATS, rng)
    case = np.repeat(np.arange(len(once.y_true)), REPEATS)
    X, y_true, maker = once.X[case], once.y_true[case], rng.integers(0, 4, len(case))
    lenient = np.array([-1.0, 0.0, 1.0, 7.0])[maker]
    decision = rng.random(len(case)) < expit(lenient - X[:, 0])
    return Table(X, y_true, decision, maker, (X[:, 0] > 0).astype(int))


# Rows 12 to 14: verdicts.
def deciders_matter(n: int, rng: Generator) -> Table:
    """Who decides changes the outcome, apart from leniency; bounds do not contradict each other."""
    return _deciders(n, rng, np.tile([0.7, -0.7], 6), sorted_alike=True)


def deciders_do_not_matter(n: int, rng: Generator) -> Table:
    """A control: hidden reasons, and decision-makers who differ by a threshold alone."""
    return _deciders(n, rng, np.zeros(12), sorted_alike=True)


def deciders_sort_differently(n: int, rng: Generator) -> Table:
    """A control: monotonicity fails, which the bounds do not need; who decides changes nothing."""
    return _deciders(n, rng, np.zeros(12), sorted_alike=False)


def _deciders(n: int, rng: Generator, effect: np.ndarray, sorted_alike: bool) -> Table:
    X, hidden, maker = rng.normal(size=(n, 3)), rng.normal(size=n), rng.integers(0, 12, n)
    y_true = labels(expit(X[:, 0] + hidden + effect[maker]), rng)
    skill = np.ones(12) if sorted_alike else np.tile([1.6, 0.0], 6)
    lenient = np.repeat(np.linspace(-1.2, 0.6, 6), 2)
    decision = rng.random(n) < expit(lenient[maker] - 0.5 * X[:, 0] - skill[maker] * hidden)
    return Table(X, y_true, decision, maker, (X[:, 0] > 0).astype(int))


def never_labeled(n: int, rng: Generator) -> Table:
    """Cases far from the centre, 31 %, are never decided in favour of."""
    X, maker = rng.normal(size=(n, 2)), rng.integers(0, 8, n)
    y_true = labels(expit(X[:, 0]), rng)
    near = (X**2).sum(axis=1) < -2.0 * np.log(0.31)
    decision = near & (rng.random(n) < np.linspace(0.4, 0.9, 8)[maker])
    return Table(X, y_true, decision, maker, (X[:, 0] > 0).astype(int))


def informed(n: int, rng: Generator) -> Table:
    """Refused cases have class 1 more often than accepted ones of the same decision-maker."""
    X, hidden, maker = rng.normal(size=(n, 3)), rng.normal(size=n), rng.integers(0, 8, n)
    y_true = labels(expit(X[:, 0] - 0.5 + 1.5 * hidden), rng)
    decision = rng.random(n) < expit(np.linspace(-1.5, 1.5, 8)[maker] - 1.5 * hidden)
    return Table(X, y_true, decision, maker, (X[:, 0] > 0).astype(int))


def crossing(n: int, rng: Generator) -> Table:
    """Half of the decision-makers see one outcome, the others another: lower bounds sum to more than one."""
    X, maker = rng.normal(size=(n, 2)), rng.integers(0, 6, n)
    y_true = labels(expit(X[:, 0] + np.where(maker < 3, 0.35, -0.35)), rng)
    return Table(X, y_true, rng.random(n) < 0.93, maker, (X[:, 0] > 0).astype(int))


N_PERIODS = 4
# Leniency is unrelated to the time at which people work.
STAFF = np.linspace(0.1, 0.6, 8)[[0, 4, 1, 5, 2, 6, 3, 7]]


def turnover(n: int, rng: Generator) -> Table:
    """Decision-makers come and go over four periods, and the outcome drifts."""
    return _periods(n, rng, 2.1)


def steady_staff(n: int, rng: Generator) -> Table:
    """A control: the outcome drifts, and the staff stays."""
    return _periods(n, rng, 0.0)


def _periods(n: int, rng: Generator, strength: float) -> Table:
    x, period = rng.normal(size=(n, 2)), rng.integers(0, N_PERIODS, n)
    time = np.linspace(-1, 1, N_PERIODS)[period]
    maker = drawn(softmax(strength * time[:, None] * np.linspace(-1, 1, 8), axis=1), rng)
    y_true, predicted = labels(expit(x[:, 0] + 1.5 * time), rng), (x[:, 0] > 0).astype(int)
    decision = on_edge(y_true == predicted, STAFF[maker], rng)
    return Table(x, y_true, decision, maker, predicted, period=period)


def nearly_by_lot(n: int, rng: Generator) -> Table:
    """Who decides hardly depends on a feature."""
    table = informed(n, rng)
    maker = drawn(softmax(0.22 * table.X[:, :1] * np.linspace(-1, 1, 8), axis=1), rng)
    return replace(table, decision_maker=maker)
