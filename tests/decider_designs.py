"""Decision-makers of known leniency and skill, with their truth on the average case."""

from dataclasses import dataclass

import numpy as np
from scipy.special import expit, ndtri

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

    def truth(self, shares):
        """Leniency, failures per case and excess, each minus the mean; and both rates, exactly."""
        yes, harm, mass = self._tables()
        rates = np.stack([np.sum(mass * yes, axis=(1, 2)), np.sum(mass * yes * harm, axis=(1, 2))], axis=1)
        leniency, failures = (rates - shares @ rates).T
        slope = np.sum(leniency * failures) / np.sum(leniency**2)
        return leniency, failures, failures - slope * leniency, rates

    def failures_beyond_expected(self, shares):
        """Failures among those with a yes, minus what their features lead one to expect of the average."""
        yes, harm, mass = self._tables()
        seen, there = (np.tensordot(shares, each, 1).sum(axis=0) for each in (yes * harm, yes))
        return np.sum(mass * yes * (harm - seen / there), axis=(1, 2)) / np.sum(mass * yes, axis=(1, 2))

    def _tables(self):
        """Chances of a yes and of the harm by decision-maker, hidden feature and features, and their mass."""
        node, weight = np.polynomial.hermite_e.hermegauss(24)
        X = np.stack(np.meshgrid(node, node), axis=-1).reshape(-1, 2)
        mass = np.outer(weight, weight).ravel() / weight.sum() ** 2 / 2.0
        makers, hidden = np.arange(len(self.skill))[:, None, None], np.array([-1.0, 1.0])[:, None]
        yes, harm = self.chances(X, hidden, makers)
        return yes, harm, mass

    def failures_of_a_score(self, rates):
        """Failures per case of accepting the lowest X[:, 0], at each rate."""
        node, weight = np.polynomial.hermite_e.hermegauss(24)
        level = (np.arange(4000) + 0.5) / 4000
        X = np.stack(np.broadcast_arrays(ndtri(level)[:, None], node), axis=-1).reshape(-1, 2)
        harm = self.chances(X, np.array([-1.0, 1.0])[:, None], 0)[1].mean(axis=0)
        mean = harm.reshape(len(level), -1) @ (weight / weight.sum())
        return np.interp(rates, np.linspace(0.0, 1.0, 4001), np.append(0.0, np.cumsum(mean)) / 4000)
