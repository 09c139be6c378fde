"""Bands and intervals after choosing, where the truth sits on an end of what is identified.

``python -m tests.statistical.test_simultaneous`` prints the figures of docs/evaluation.md.
"""

import os
from dataclasses import dataclass
from functools import cache

import numpy as np
import pytest
from scipy.stats import binom

import selective_labels as sl
from selective_labels.datasets import make_decision_makers

pytestmark = pytest.mark.statistical

# Fewer make a smoke run; the limit below follows.
N_REPLICATIONS = int(os.environ.get("REPLICATIONS", "200"))
N_SAMPLES = 2000
N_EVERYBODY = 400_000
LEVEL = 0.95
FALSE_ALARM = 1e-6
FITTING = {"nuisance": "logistic", "propensity": "shares", "n_jobs": 1}
RATES = np.linspace(0.0, 1.0, 41)
MEASURES = ("failures", "failure_rate", "avoided", "good_lost", "cost")
METRICS = ("acceptance", "accuracy", "tpr", "fpr")
COST, EVEN = [[0.0, 1.0], [3.0, 0.0]], [[0.0, 1.0], [1.0, 0.0]]
N_MODELS = 20
# All unseen labels of the three classes are of the one that no model predicts: accuracy is at its lower end.
NEVER = 2
FLIPPED = 0.3


@dataclass(frozen=True)
class Design:
    """Decision-makers, and the class that all unseen labels have."""

    n_decision_makers: int
    slack_class: int | None

    @property
    def name(self):
        return f"J={self.n_decision_makers}, unseen labels are {self.slack_class}"

    def draw(self, n_samples, seed, n_classes=2):
        return make_decision_makers(
            n_samples,
            n_classes=n_classes,
            n_decision_makers=self.n_decision_makers,
            slack_class=self.slack_class,
            random_state=seed,
        )


CURVES = tuple(Design(makers, slack) for makers in (8, 30) for slack in (0, 1))
CHOICES = tuple(Design(makers, NEVER) for makers in (8, 30))


def risk(X):
    """Score of the event, class 1."""
    return -X[:, 0] + 0.3 * X[:, 1]


class Everybody:
    """True values of the curves of one score, as functions of its thresholds."""

    def __init__(self, design):
        population = design.draw(N_EVERYBODY, 10**6)
        order = np.argsort(risk(population.X))
        self.scores, event = risk(population.X)[order], population.y_true[order] == 1
        self.events, self.others = (np.append(0.0, np.cumsum(each)) for each in (event, ~event))

    def policies(self, places, cost):
        """Measures of accepting the rows before each place."""
        size, failures, good = len(self.scores), self.events[places], self.others[places]
        lost = self.others[-1] - good
        found = {
            "failures": failures / size,
            "failure_rate": failures / np.maximum(places, 1),
            "avoided": (self.events[-1] - failures) / size,
            "good_lost": lost / size,
            "cost": (cost[1][0] * failures + cost[0][1] * lost) / size,
        }
        return {name: found[name] for name in MEASURES}

    def rules(self, thresholds):
        """Metrics of flagging the rows from each threshold on."""
        places = np.searchsorted(self.scores, thresholds)
        missed, passed = self.events[places], self.others[places]
        return {
            "acceptance": places / len(self.scores),
            "accuracy": (passed + self.events[-1] - missed) / len(self.scores),
            "tpr": 1.0 - missed / self.events[-1],
            "fpr": 1.0 - passed / self.others[-1],
        }

    @staticmethod
    @cache
    def known():
        """The population in which all labels are seen."""
        return Everybody(Design(8, None))

    def costs(self, thresholds, cost):
        """Mean costs of accepting the rows below each threshold."""
        return self.policies(np.searchsorted(self.scores, thresholds), cost)["cost"]


def together(results, truth):
    """Whether all intervals with bounds cover, and the mean width."""
    ends = np.array([[each.ci_lower, each.ci_upper] for each in results])
    known = np.isfinite(ends).all(axis=1)
    covered = (ends[:, 0] <= truth + 1e-12) & (truth <= ends[:, 1] + 1e-12)
    return bool(covered[known].all()), ends[known] @ [-1.0, 1.0]


def of_curves(design, everybody, seed):
    """Simultaneous coverage of all curves in one sample, and the width over that of single intervals."""
    sample = design.draw(N_SAMPLES, seed)
    data = sl.SelectiveLabels.from_arrays(sample.X, sample.y, decision_maker=sample.decision_maker)
    evaluator = sl.Evaluator(data, **FITTING, random_state=int(seed.generate_state(1)[0]))
    score, found = risk(sample.X), {}
    cuts = np.quantile(everybody.scores, RATES[1:-1])
    places = np.round(RATES * N_EVERYBODY).astype(int)
    curve = evaluator.policy_curve(score, rates=RATES, cost=COST, simultaneous=True)
    rules = evaluator.threshold_curve(score, thresholds=cuts, simultaneous=True).evaluations
    truth = everybody.rules(cuts) | everybody.policies(places, COST)
    bands = {name: each for name, each in curve.evaluations.items() if name in MEASURES} | dict(rules)
    for name, band in bands.items():
        inside, width = together(band, truth[name])
        alone, usual = together([each.with_interval("parameter") for each in band], truth[name])
        found[name] = inside, alone, width.mean() / usual.mean(), np.max(width / np.maximum(usual, 1e-9))
    cut = curve.cut_offs
    cost = everybody.costs(cut.thresholds, COST)
    at, least = cut.minimax_cost, cut.minimax_regret
    found["costs at most"] = cost[at] <= cut.worst_cost_upper[at], cost[at] <= cut.worst_cost[at]
    regret = cost[least] - cost.min()
    found["saves at most"] = regret <= cut.worst_regret_upper[least], regret <= cut.worst_regret[least]
    return found


def of_cut_offs(seed):
    """Whether the promise for the recommended cut-off is kept, where all labels are seen."""
    sample = make_decision_makers(N_SAMPLES // 2, n_classes=2, random_state=seed)
    seen = sl.SelectiveLabels.from_arrays(sample.X, sample.y_true, decision_maker=sample.decision_maker)
    cut = sl.policy_curve(risk(sample.X), seen, cost=EVEN, rates=[0.5], assumption="none").cut_offs
    cost = Everybody.known().costs(cut.thresholds, EVEN)
    best = cut.minimax_cost
    return cost[best] <= cut.worst_cost_upper[best], cost[best] <= cut.worst_cost[best]


def guess(X):
    """The better of the first two classes."""
    return (X[:, 1] > X[:, 0] + X[:, 2]).astype(int)


def of_choice(design, truth, seed):
    """Coverage of the best of many equally good models, and of all of them."""
    sample = design.draw(N_SAMPLES, seed, n_classes=3)
    generator = np.random.default_rng(seed.spawn(1)[0])
    rules = {}
    for number in range(N_MODELS):
        flipped = generator.random(N_SAMPLES) < FLIPPED
        rules[f"model {number}"] = np.where(flipped, 1 - guess(sample.X), guess(sample.X))
    evaluator = sl.Evaluator(
        sample.X,
        sample.y,
        decision_maker=sample.decision_maker,
        **FITTING,
        random_state=int(seed.generate_state(1)[0]),
    )
    found = evaluator.choose(rules)
    usual = evaluator.evaluate(rules[found.best])
    inside, _ = together(list(found.evaluations.values()), truth)
    (covers, width), (alone, single) = (together([each], truth) for each in (found.chosen, usual))
    return inside, covers, alone, float(width[0] / single[0])


def true_accuracy(design):
    population = design.draw(N_EVERYBODY, 10**6, n_classes=3)
    chosen = guess(population.X)
    own, other = (np.mean(each == population.y_true) for each in (chosen, 1 - chosen))
    return (1.0 - FLIPPED) * own + FLIPPED * other


def seeds_of(number):
    return np.random.SeedSequence(20260801 + number).spawn(N_REPLICATIONS)


LEAST = binom.ppf(FALSE_ALARM, N_REPLICATIONS, LEVEL) / N_REPLICATIONS


def curve_figures(number):
    design = CURVES[number]
    everybody = Everybody(design)
    drawn = [of_curves(design, everybody, seed) for seed in seeds_of(number)]
    return {name: np.mean([each[name] for each in drawn], axis=0) for name in drawn[0]}


def choice_figures(number):
    design = CHOICES[number]
    truth = true_accuracy(design)
    return np.mean([of_choice(design, truth, seed) for seed in seeds_of(100 + number)], axis=0)


@pytest.mark.parametrize("number", range(len(CURVES)), ids=[each.name for each in CURVES])
def test_bands_cover_all_points_of_a_curve_at_once(number):
    for name, row in curve_figures(number).items():
        print(CURVES[number].name, name, row.round(3))
        assert row[0] >= LEAST, name


def test_the_promise_for_a_recommended_cut_off_is_kept():
    kept, _ = np.mean([of_cut_offs(seed) for seed in seeds_of(200)], axis=0)
    assert kept >= LEAST


@pytest.mark.parametrize("number", range(len(CHOICES)), ids=[each.name for each in CHOICES])
def test_the_interval_of_the_best_of_twenty_covers(number):
    all_of_them, chosen, *_ = choice_figures(number)
    assert min(all_of_them, chosen) >= LEAST


if __name__ == "__main__":
    print(
        "recommended cut-off, limit and estimate:",
        np.mean([of_cut_offs(each) for each in seeds_of(200)], axis=0),
    )
    for place, design in enumerate(CHOICES):
        print(design.name, "all, best, best alone, width:", choice_figures(place).round(3), flush=True)
    for place, design in enumerate(CURVES):
        for name, row in curve_figures(place).items():
            print(design.name, name, row.round(3), flush=True)
