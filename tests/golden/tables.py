"""Small tables of fixed seeds: two classes, three classes, every role, words and holes, panels, a number."""

from functools import cache

import numpy as np
import pandas as pd

import selective_labels as sl

FAST = {"nuisance": "logistic", "cv": 2, "random_state": 0}
# Without a race between models of who decides.
FASTER = FAST | {"propensity": "shares"}
COST = [[0.0, 1.0], [5.0, 0.0]]
FEATURES = ["age", "income", "debt", "years", "job"]
NAMED = {"label": "failed", "decision": "released", "decision_maker": "officer"}


@cache
def sample(n_classes=2, n_samples=500, **settings):
    """A sample whose truth is known."""
    return sl.datasets.make_decision_makers(
        n_samples, n_classes=n_classes, n_decision_makers=5, random_state=n_classes, **settings
    )


@cache
def data(n_classes=2):
    """The same with its roles."""
    drawn = sample(n_classes)
    return sl.SelectiveLabels.from_arrays(drawn.X, drawn.y, decision_maker=drawn.decision_maker)


@cache
def halves(n_classes=2):
    """Rows to learn from, and others to judge by."""
    return data(n_classes).split(test_size=0.6, random_state=0)


def guess(n_classes=2):
    """A simple rule for all rows of `data`."""
    return np.where(sample(n_classes).X[:, 0] > 0.1, 0, n_classes - 1)


def other(n_classes=2):
    """Another."""
    return np.where(sample(n_classes).X[:, 1] > -0.2, 0, n_classes - 1)


def score(n_classes=2):
    """A score of the last class."""
    X = sample(n_classes).X
    return -X[:, 0] - 0.3 * X[:, 2]


@cache
def cases(n_cases=500):
    """A table as users bring it: numbers, words, dates, holes, amounts, every role, predictions."""
    drawn = sl.datasets.make_decision_makers(n_cases, n_classes=2, n_decision_makers=5, random_state=0)
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(drawn.X.round(3), columns=FEATURES[:4])
    frame.loc[rng.random(n_cases) < 0.1, "income"] = None
    frame["job"] = rng.choice(["cook", "clerk", None], n_cases)
    frame["region"] = rng.choice(["north", "south"], n_cases)
    days = pd.Timestamp("2024-01-01") + pd.to_timedelta(rng.integers(0, 180, n_cases), "D")
    frame["day"] = days.strftime("%Y-%m-%d")
    frame["amount"] = [f"{each:,.0f}" for each in np.exp(rng.normal(8.5, 0.5, n_cases))]
    frame["case"] = [f"c{number}" for number in range(n_cases)]
    frame["officer"] = [f"officer-{code}" for code in drawn.decision_maker]
    frame["released"] = drawn.decision
    frame["failed"] = np.where(drawn.decision == 1, np.array(["no", "yes"])[drawn.y], None)
    frame["weight"] = rng.uniform(0.5, 2.0, n_cases).round(3)
    frame["person"], frame["court"] = np.arange(n_cases) // 2, rng.choice(["east", "west"], n_cases)
    frame["guess"] = np.where(drawn.X[:, 0] < 0, "yes", "no")
    frame["rival"] = np.where(drawn.X[:, 1] < 0.3, "yes", "no")
    frame["score"] = (1 / (1 + np.exp(drawn.X[:, 0]))).round(4)
    return frame


def named(*roles, **settings):
    """The table with its roles named, further ones if wanted."""
    columns = {"sample_weight": "weight", "groups": "person", "strata": "court"}
    given = {role: columns[role] for role in roles}
    return sl.SelectiveLabels.from_frame(cases(), **NAMED, features=FEATURES, **given, **settings)


@cache
def panels(n_cases=250):
    """Cases that one to three of eight people saw; the label belongs to the case."""
    rng = np.random.default_rng(0)
    x, u = rng.normal(size=n_cases), rng.normal(size=n_cases)
    label = (rng.random(n_cases) < 1 / (1 + np.exp(-(x + 1.5 * u)))).astype(int)
    size = rng.choice([1, 2, 3], n_cases)
    case = np.repeat(np.arange(n_cases), size)
    maker = np.concatenate([rng.choice(8, each, replace=False) for each in size])
    leniency = np.linspace(1.5, -1.5, 8)[maker] - 0.5 * x[case] - 1.5 * u[case] - 0.5
    decision = (rng.random(len(case)) < 1 / (1 + np.exp(-leniency))).astype(int)
    return sl.SelectiveLabels.from_arrays(
        x[case, None],
        label[case],
        decision=decision,
        decision_maker=maker,
        groups=case,
        share_labels=True,
    )


@cache
def numeric(n_samples=500):
    """Features, labels and an instrument that is a number."""
    rng = np.random.default_rng(0)
    X, u, z = rng.normal(size=(n_samples, 3)), rng.normal(size=n_samples), rng.uniform(-2, 2, n_samples)
    label = (rng.random(n_samples) < 1 / (1 + np.exp(-(X[:, 0] + u)))).astype(int)
    seen = rng.random(n_samples) < 1 / (1 + np.exp(-(z + 0.4 * X[:, 0] + u)))
    return {"X": X, "y": np.where(seen, label, -1), "decision_maker": z}
