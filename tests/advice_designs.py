"""Cases whose advice is shown by lot, with all potential decisions and labels known."""

from dataclasses import dataclass

import numpy as np
from scipy.special import expit, ndtr, ndtri

import selective_labels as sl

HARM, LOST = (np.array([0.0, 1.0]), np.zeros(2)), (np.zeros(2), np.array([1.0, 0.0]))
MEASURES = {
    "acceptance": (np.ones(2), np.zeros(2)),
    "failures": HARM,
    "good_lost": LOST,
    "loss": (HARM[0] + LOST[0], HARM[1] + LOST[1]),
}
PEOPLE = "people alone", "people with advice"
PAIRS = (PEOPLE[1], PEOPLE[0]), ("advice alone", PEOPLE[0]), ("advice alone", PEOPLE[1])


@dataclass(frozen=True)
class Cases:
    """Features, advice, both decisions and the label of every case."""

    X: np.ndarray
    advice: np.ndarray
    shown: np.ndarray
    maker: np.ndarray
    decisions: np.ndarray
    label: np.ndarray

    @property
    def decision(self):
        return self.decisions[self.shown, np.arange(len(self.label))]

    def data(self, named=True):
        seen = np.where(self.decision == 1, self.label, -1)
        maker = self.maker if named else None
        return sl.SelectiveLabels.from_arrays(self.X, seen, decision=self.decision, decision_maker=maker)


def logits(X, hidden, advice, known, leniency, effect):
    """Log-odds of a yes without and with advice, and of the harm."""
    alone = 0.5 + leniency - 0.7 * X[:, 0] + 0.9 * hidden
    harm = -0.8 + 0.7 * X[:, 0] + 0.4 * X[:, 1] ** 2 + 0.5 * known - 0.9 * hidden
    return alone, alone + effect * (2 * advice - 1), harm


def draw(n, n_makers, effect, generator):
    """Draw cases; people with advice lean towards it by `effect` on the scale of log-odds."""
    X, known = generator.normal(size=(n, 3)), generator.normal(size=n)
    hidden = generator.choice([-1.0, 1.0], n)
    advice = (0.8 * X[:, 0] + 0.5 * known < 0.3).astype(int)
    maker = generator.integers(0, n_makers, n)
    leniency = np.linspace(-1.0, 1.0, n_makers)[maker] if n_makers > 1 else np.zeros(n)
    alone, shown, harm = logits(X, hidden, advice, known, leniency, effect)
    luck = generator.random(n)  # the same for both decisions
    decisions = np.stack([luck < expit(alone), luck < expit(shown)]).astype(int)
    label = (generator.random(n) < expit(harm)).astype(int)
    return Cases(X, advice, generator.integers(0, 2, n), maker, decisions, label)


def truth(cases):
    """Every number of the result, from all potential decisions and labels: by what and measure."""
    ways = dict(zip(PEOPLE, cases.decisions, strict=True)) | {"advice alone": cases.advice}
    found = {}
    for measure, (yes, no) in MEASURES.items():
        value = {
            name: np.where(way == 1, yes[cases.label], no[cases.label]).mean() for name, way in ways.items()
        }
        found |= {(name, measure): each for name, each in value.items()}
        for first, second in (
            (PEOPLE[1], PEOPLE[0]),
            ("advice alone", PEOPLE[0]),
            ("advice alone", PEOPLE[1]),
        ):
            found[f"{first} minus {second}", measure] = value[first] - value[second]
    yes, no = MEASURES["loss"]
    worth = (yes - no)[cases.label]
    for name, decision in zip(PEOPLE, cases.decisions, strict=True):
        found[f"{name}: agree with the advice", "share"] = np.mean(decision == cases.advice)
        for way, which, sign in (("no", 0, -1.0), ("yes", 1, 1.0)):
            over = (decision == which) & (cases.advice != which)
            what = f"{name}: say {way} against the advice"
            found[what, "share"] = over.mean()
            found[what, "loss added"] = np.mean(over * sign * worth)
    return found


def ends(effect, n=40_000, seed=0):
    """Ends of the sharp bounds on the loss and the failures of the advice alone; nobody is named.

    Averages over the hidden feature, and over what only the advice knows given the features and the advice.
    """
    X = np.random.default_rng(seed).normal(size=(n, 3))
    cut = (0.3 - 0.8 * X[:, 0]) / 0.5
    chance, levels = ndtr(cut), (np.arange(40) + 0.5) / 40
    known = ndtri(np.clip(levels[:, None] * chance, 1e-12, None))
    joint = np.zeros((2, 2, n))
    for each in known:
        for hidden in (-1.0, 1.0):
            *decided, harm = logits(X, hidden, np.ones(n), each, 0.0, effect)
            for arm, logit in enumerate(decided):
                for k, sign in enumerate((-1.0, 1.0)):
                    joint[arm, k] += expit(logit) * expit(sign * harm) / 80
    best = joint.max(axis=0)
    slack = 1.0 - best.sum(axis=0)
    lower, upper = np.mean(chance * best[1]), np.mean(chance * (best[1] + slack))
    return float(lower), float(upper)
