"""Decision-makers of known leniency and skill, with their truth on the average case."""

from dataclasses import dataclass

import numpy as np
from scipy.special import expit

import selective_labels as sl


@dataclass(frozen=True)
class Bench:
    """Leniency and skill of every decision-maker; a skilled one sees more of what is hidden."""

    leniency: np.ndarray
    skill: np.ndarray

    @classmethod
    def draw(cls, number, generator, spread=0.5):
        return cls(generator.normal(0.3, spread, number), generator.normal(0.7, 0.5, number))

    def chances(self, X, hidden, maker):
        yes = expit(self.leniency[maker] - 0.6 * X[:, 0] - self.skill[maker] * hidden)
        return yes, expit(-0.6 + 0.6 * X[:, 0] + 0.3 * X[:, 1] + hidden)

    def cases(self, n, generator):
        X, hidden = generator.normal(size=(n, 2)), generator.choice([-1.0, 1.0], n)
        maker = generator.integers(0, len(self.skill), n)
        yes, harm = self.chances(X, hidden, maker)
        decision = (generator.random(n) < yes).astype(int)
        return X, maker, decision, (generator.random(n) < harm).astype(int)

    def data(self, n, generator):
        X, maker, decision, label = self.cases(n, generator)
        seen = np.where(decision == 1, label, -1)
        return sl.SelectiveLabels.from_arrays(X, seen, decision=decision, decision_maker=maker)

    def truth(self, shares, n=4000):
        """Leniency, failures per case and excess, each minus the mean; and both rates."""
        X = np.random.default_rng(0).normal(size=(n, 2))
        rates = np.zeros((len(self.skill), 2))
        for hidden in (-1.0, 1.0):
            for z in range(len(self.skill)):
                yes, harm = self.chances(X, np.full(n, hidden), np.full(n, z))
                rates[z] += [yes.mean() / 2, (yes * harm).mean() / 2]
        leniency, failures = (rates - shares @ rates).T
        slope = np.sum(leniency * failures) / np.sum(leniency**2)
        return leniency, failures, failures - slope * leniency, rates

    def failures_of_a_score(self, rates, n=200_000):
        """Failures per case of accepting the lowest X[:, 0], at each rate."""
        generator = np.random.default_rng(1)
        X, hidden = generator.normal(size=(n, 2)), generator.choice([-1.0, 1.0], n)
        harm = self.chances(X, hidden, np.zeros(n, dtype=int))[1]
        order = np.argsort(X[:, 0])
        reached = np.append(0.0, np.cumsum(harm[order])) / n
        return np.interp(rates, np.linspace(0.0, 1.0, n + 1), reached)
