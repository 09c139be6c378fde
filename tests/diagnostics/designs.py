"""Designs that the tests of diagnostics share: samples whose truth about each assumption is known."""

from dataclasses import dataclass, replace

import numpy as np
import pandas as pd
from scipy.special import expit, softmax

from selective_labels.datasets import make_decision_makers


@dataclass(frozen=True)
class Drawn:
    """What `diagnose` takes."""

    X: np.ndarray | pd.DataFrame
    y: np.ndarray
    decision_maker: np.ndarray
    strata: np.ndarray | None = None
    groups: np.ndarray | None = None

    def arguments(self):
        return {
            "X": self.X,
            "y": self.y,
            "decision_maker": self.decision_maker,
            "strata": self.strata,
            "groups": self.groups,
        }


def draw_classes(probabilities, generator):
    return (probabilities.cumsum(axis=1) < generator.random((len(probabilities), 1))).sum(axis=1)


def random_within_strata(n_samples, n_decision_makers, seed, **options):
    """Cases of `make_decision_makers`; strata cut the first feature, and differ in who works there."""
    first, second = seed.spawn(2)
    sample = make_decision_makers(
        3 * n_samples, n_decision_makers=n_decision_makers, random_state=first, **options
    )
    strata = np.searchsorted([-0.7, 0.0, 0.7], sample.X[:, 0])
    often = (strata + sample.decision_maker) % 2 == 0
    kept = np.random.default_rng(second).random(3 * n_samples) < np.where(often, 1.0, 0.4)
    rows = np.flatnonzero(kept)[:n_samples]
    return Drawn(sample.X[rows], sample.y[rows], sample.decision_maker[rows], strata[rows])


def plain(n_samples, n_decision_makers, seed, **options):
    """Cases of `make_decision_makers`, all assigned at random."""
    sample = make_decision_makers(
        n_samples, n_decision_makers=n_decision_makers, random_state=seed, **options
    )
    return Drawn(sample.X, sample.y, sample.decision_maker)


def beside_text_of_many_values(n_samples, n_decision_makers, seed, **options):
    """The same, with a column of text, as a blood pressure written "120/80", that tells nothing."""
    drawn = plain(n_samples, n_decision_makers, seed, **options)
    pressures = np.random.default_rng(seed.spawn(1)[0]).normal([120, 80], [15, 10], (n_samples, 2))
    X = pd.DataFrame(drawn.X).add_prefix("x")
    X["pressure"] = [f"{high:.0f}/{low:.0f}" for high, low in pressures]
    return replace(drawn, X=X)


def without_features(n_samples, n_decision_makers, seed, *, with_strata=False):
    """NUCEM holds: the decision adds up what the decision-maker and what a hidden variable contribute."""
    generator = np.random.default_rng(seed)
    leniency = np.linspace(-2.0, 2.0, n_decision_makers)
    strata = generator.integers(2, size=n_samples) if with_strata else None
    decision_maker = generator.integers(n_decision_makers, size=n_samples)
    hidden = generator.standard_normal(n_samples)
    shift = np.zeros(n_samples) if strata is None else strata - 0.5
    y = draw_classes(softmax(np.outer(hidden + shift, [-1.0, 0.0, 1.0]), axis=1), generator)
    chance = 0.5 + 0.225 * np.tanh(leniency[decision_maker]) + 0.25 * (2.0 * expit(2.0 * hidden) - 1.0)
    decided = generator.random(n_samples) < chance
    return Drawn(np.zeros((n_samples, 0)), np.where(decided, y, -1), decision_maker, strata)


def nucem_violated(n_samples, n_decision_makers, seed):
    """P(D=1) = expit(1.5 a_z + 1.5 u), a_z even on [-1, 1], class logits u (-1, 0, 1), no features."""
    generator = np.random.default_rng(seed)
    leniency = np.linspace(-1.0, 1.0, n_decision_makers)
    decision_maker = generator.integers(n_decision_makers, size=n_samples)
    hidden = generator.standard_normal(n_samples)
    y = draw_classes(softmax(np.outer(hidden, [-1.0, 0.0, 1.0]), axis=1), generator)
    decided = generator.random(n_samples) < expit(1.5 * leniency[decision_maker] + 1.5 * hidden)
    return Drawn(np.zeros((n_samples, 0)), np.where(decided, y, -1), decision_maker)


def on_the_boundary(n_samples, n_decision_makers, seed):
    """Everything valid, and inequalities hold as equalities.

    All decision-makers accept class 0; the others they accept with probability a_z, even from .3 to 1. The
    most lenient accepts everybody, so lower bounds sum to one at every x; class 0 has slope zero in leniency.
    """
    generator = np.random.default_rng(seed)
    X = generator.standard_normal((n_samples, 4))
    logits = X @ np.array([[1.0, 0.0, -1.0], [0.0, 1.0, -1.0], [0.5, -0.5, 0.0], [0.0, 0.0, 0.0]])
    y = draw_classes(softmax(logits, axis=1), generator)
    decision_maker = generator.integers(n_decision_makers, size=n_samples)
    accepts = np.linspace(0.3, 1.0, n_decision_makers)[decision_maker]
    decided = (y == 0) | (generator.random(n_samples) < accepts)
    return Drawn(X, np.where(decided, y, -1), decision_maker)


def assigned_by_a_feature(n_samples, n_decision_makers, seed, strength=1.0):
    """Cases with a large first feature go to decision-makers with large numbers."""
    sample = make_decision_makers(
        n_samples, n_decision_makers=n_decision_makers, random_state=seed, leniency_spread=0.0
    )
    generator = np.random.default_rng(seed)
    places = np.linspace(-1.0, 1.0, n_decision_makers)
    chance = softmax(strength * np.outer(sample.X[:, 0], places), axis=1)
    decision_maker = draw_classes(chance, generator)
    # Leniency goes with the number, so decisions must be drawn anew.
    index = 2.0 * places[decision_maker] + 0.8 * sample.X[:, 0]
    hidden = generator.standard_normal(n_samples)
    decided = generator.random(n_samples) < expit(index + hidden)
    y = draw_classes(softmax(sample.X[:, :3] + np.outer(hidden, [-1.0, 0.0, 1.0]), axis=1), generator)
    return Drawn(sample.X, np.where(decided, y, -1), decision_maker)


def label_depends_on_decision_maker(n_samples, n_decision_makers, seed):
    """Gross failure of exclusion: who decides makes the label, and most cases are decided in favour."""
    generator = np.random.default_rng(seed)
    X = generator.standard_normal((n_samples, 3))
    decision_maker = generator.integers(n_decision_makers, size=n_samples)
    y = np.where(generator.random(n_samples) < 0.9, decision_maker % 3, generator.integers(3, size=n_samples))
    decided = generator.random(n_samples) < 0.9
    return Drawn(X, np.where(decided, y, -1), decision_maker)


def opposite_skill(n_samples, n_decision_makers, seed):
    """Not monotone: every other decision-maker favours what the rest reject."""
    generator = np.random.default_rng(seed)
    X = generator.standard_normal((n_samples, 3))
    decision_maker = generator.integers(n_decision_makers, size=n_samples)
    hidden = generator.standard_normal(n_samples)
    y = draw_classes(softmax(X + np.outer(hidden, [-1.0, 0.0, 1.0]), axis=1), generator)
    direction = np.where(decision_maker % 2 == 0, 1.0, -1.0)
    leniency = np.linspace(-1.0, 1.0, n_decision_makers)[decision_maker]
    decided = generator.random(n_samples) < expit(leniency + 0.5 * direction * hidden)
    return Drawn(X, np.where(decided, y, -1), decision_maker)


def assigned_by_shape(n_samples, n_decision_makers, seed, *, shape):
    """Assignment by a product or by steps of features, of which no linear model sees a trace."""
    generator = np.random.default_rng(seed)
    X = generator.standard_normal((n_samples, 6))
    steps = np.where(np.sin(2.5 * X[:, 0]) > 0, 1.0, -1.0) * np.where(X[:, 1] > 0, 1.0, -1.0)
    index = {"product": X[:, 0] * X[:, 1], "steps": steps}[shape]
    places = np.linspace(-1.0, 1.0, n_decision_makers)
    decision_maker = draw_classes(softmax(1.5 * np.outer(index, places), axis=1), generator)
    hidden = generator.standard_normal(n_samples)
    y = (generator.random(n_samples) < expit(-2.4 * index + 1.6 * hidden)).astype(int)
    decided = generator.random(n_samples) < expit(1.5 * places[decision_maker] + 1.2 * index + hidden)
    return Drawn(X, np.where(decided, y, -1), decision_maker)


def assigned_by_branch(n_samples, n_decision_makers, seed, *, rows=6):
    """Branches with `rows` cases each decide where a case goes and what becomes of it."""
    generator = np.random.default_rng(seed)
    n_branches = n_samples // rows
    branch, risk = generator.integers(n_branches, size=n_samples), generator.standard_normal(n_branches)
    places = np.linspace(-1.0, 1.0, n_decision_makers)
    who = softmax(generator.standard_normal((n_branches, n_decision_makers)) + np.outer(risk, places), axis=1)
    decision_maker = draw_classes(who[branch], generator)
    y = (generator.random(n_samples) < expit(1.5 * risk[branch])).astype(int)
    decided = generator.random(n_samples) < expit(2.0 * places[decision_maker])
    X = pd.DataFrame({"age": generator.standard_normal(n_samples), "branch": [f"b{each}" for each in branch]})
    return Drawn(X, np.where(decided, y, -1), decision_maker)


def weekly_roster(n_samples, seed, *, known=True):
    """Seven decision-makers, each mostly on one weekday; weekends have other cases. `known`: by the date."""
    generator = np.random.default_rng(seed)
    day = generator.integers(730, size=n_samples)
    weekday = (day + 3) % 7  # day 0 is a Thursday
    turn = 2.0 * np.cos(2.0 * np.pi * (weekday[:, None] - np.arange(7)) / 7.0)
    decision_maker = draw_classes(softmax(turn, axis=1), generator)
    x = generator.standard_normal(n_samples)
    y = (generator.random(n_samples) < expit(x - 1.0 + 2.5 * (weekday > 4))).astype(int)
    decided = (y == (x > 0.5)) | (generator.random(n_samples) < 0.05 * (1.0 + decision_maker))
    date = pd.Timestamp("2023-01-05") + pd.to_timedelta(day, unit="D")
    X = pd.DataFrame({"x": x, "date": date} if known else {"x": x})
    return Drawn(X, np.where(decided, y, -1), decision_maker)


def returning_persons(n_samples, n_decision_makers, seed, *, divided):
    """Persons come up to eight times, to the decision-maker that they drew; all is valid.

    `divided` is the share of visits that go to somebody else; if it is zero, one visit of one person does.
    """
    generator = np.random.default_rng(seed)
    visits = generator.integers(1, 9, size=n_samples)
    person = np.repeat(np.arange(n_samples), visits)[:n_samples]
    own, hidden = (
        generator.standard_normal((n_samples, 4))[person],
        generator.standard_normal(n_samples)[person],
    )
    X = own + 0.3 * generator.standard_normal((n_samples, 4))
    first = generator.integers(n_decision_makers, size=n_samples)[person]
    moved = generator.random(n_samples) < divided
    if not divided:
        moved[np.flatnonzero(np.diff(person) == 0)[0]] = True
    decision_maker = np.where(
        moved, (first + generator.integers(1, n_decision_makers, n_samples)) % n_decision_makers, first
    )
    leniency = np.linspace(-1.5, 1.5, n_decision_makers)[decision_maker]
    y = (generator.random(n_samples) < expit(X[:, 0] + hidden)).astype(int)
    decided = generator.random(n_samples) < expit(leniency + X[:, 1] + hidden)
    return Drawn(X, np.where(decided, y, -1), decision_maker, None, person)


def placebo_labels(n_samples, n_decision_makers, seed):
    """Labels by lot, their rate that of the stratum; strata differ in leniency from 1 % to 50 % and more.

    Decision-makers work in two strata each, so that their leniency, adjusted, leaves [0, 1] in places.
    """
    generator = np.random.default_rng(seed)
    n_strata = 5
    strata = generator.integers(n_strata, size=n_samples)
    desk = n_strata * generator.integers(n_decision_makers // n_strata, size=n_samples)
    decision_maker = (strata + desk + generator.integers(2, size=n_samples)) % n_decision_makers
    leniency = np.linspace(-2.5, 2.5, n_decision_makers)[generator.permutation(n_decision_makers)]
    index = np.linspace(-5.0, 0.0, n_strata)[strata] + leniency[decision_maker]
    y = (generator.random(n_samples) < np.linspace(0.1, 0.7, n_strata)[strata]).astype(int)
    decided = generator.random(n_samples) < expit(index)
    return Drawn(np.zeros((n_samples, 0)), np.where(decided, y, -1), decision_maker, strata)


def who_decides_changes_the_outcome(n_samples, n_decision_makers, seed, *, change=1.0):
    """Exclusion fails mildly: the log-odds of the outcome shift between decision-makers; all rank alike."""
    generator = np.random.default_rng(seed)
    X, hidden = generator.standard_normal((n_samples, 2)), generator.standard_normal(n_samples)
    maker = generator.integers(n_decision_makers, size=n_samples)
    shift = generator.permutation(np.linspace(-1.7, 1.7, n_decision_makers))
    leniency = np.linspace(-1.2, 1.2, n_decision_makers)
    y = (generator.random(n_samples) < expit(X[:, 0] + 1.5 * hidden + change * shift[maker])).astype(int)
    decided = generator.random(n_samples) < expit(leniency[maker] - 0.5 * X[:, 0] - hidden)
    return Drawn(X, np.where(decided, y, -1), maker)


def never_accepted(n_samples, n_decision_makers, seed, *, shape="product"):
    """About 31 % of cases are never accepted, by a product or a band of features; all else is random.

    A model linear in the features sees no trace of them.
    """
    generator = np.random.default_rng(seed)
    X, hidden = generator.standard_normal((n_samples, 4)), generator.standard_normal(n_samples)
    maker = generator.integers(n_decision_makers, size=n_samples)
    never = {"product": X[:, 0] * X[:, 1] > 0.22, "band": np.abs(X[:, 2]) < 0.4}[shape]
    y = (generator.random(n_samples) < expit(X[:, 3] + hidden)).astype(int)
    leniency = np.linspace(-1.0, 1.0, n_decision_makers)
    decided = ~never & (generator.random(n_samples) < expit(0.5 + leniency[maker] - hidden))
    return Drawn(X, np.where(decided, y, -1), maker)
