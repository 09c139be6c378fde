"""The demonstration tells its story by design and not by luck: on fresh seeds it is the same story."""

import warnings

import numpy as np
import pytest
from scipy.special import expit
from scipy.stats import binom

from selective_labels import demo, evaluate
from selective_labels.datasets import loans as made

pytestmark = pytest.mark.statistical
# The design was chosen on seeds below 10 and frozen; these were run once afterwards.
SEEDS = range(100, 120)
# Verdicts are to be the same in 19 of 20 draws. Three intervals of 95 % that keep their promise all hold
# their truth in 15 or more of 20, but for a chance of .001. On these seeds: 20 of 20 for every verdict; 18,
# 20, 19 and 20 for the intervals in their order. That both ends of the share were low on average here (by
# .004, standard error .002) was chance: the last test asks 200 other draws.
HOLDS, FALSE_ALARM = 19, 0.001
COVERS = binom.ppf(FALSE_ALARM / 3, len(SEEDS), 0.95)
OTHER_SEEDS = range(5000, 5200)


def inside(truth, found):
    return found.ci_lower <= truth <= found.ci_upper


def statements(story):
    """What the demonstration says, statement by statement."""
    by_lot, known = story.climbed[1].evaluation, story.climbed[-1].evaluation
    ways = [way["interval"] for way in story.settled_by.rows]
    return {
        "labeled cases are wrong by several points": story.labeled_share < story.share.ci_lower - 0.05,
        "the interval holds the true share": inside(story.true_share, story.share),
        "the interval holds how often the scorecard is right": inside(story.true_right, story.right),
        "what officers know narrows it": known.width < 0.9 * by_lot.width,
        "the narrower interval still holds it": inside(story.true_right, known),
        "the new rule is better": story.better.verdict == "a",
        "which the truth confirms, by points": story.true_gain > 0.02
        and inside(story.true_gain, story.better),
        "one question is undecided": story.open.verdict == "undecided",
        "and the plan has a way to half the interval": min(ways) < ways[0] / 2.0,
    }


def test_the_story_holds_on_fresh_seeds():
    counts = {}
    for seed in SEEDS:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            story = demo.tell(demo.make_loans(demo.N_APPLICATIONS, random_state=seed))
        for name, holds in statements(story).items():
            counts[name] = counts.get(name, 0) + bool(holds)
    wanted = {name: COVERS if "interval holds" in name or "still holds" in name else HOLDS for name in counts}
    assert {name: count for name, count in counts.items() if count < wanted[name]} == {}


def sharp_share(table):
    """Ends of the share by the most lenient officers, all alike: P(yes, D=1) and 1 - P(no, D=1)."""
    X = (table[list(made.FEATURES)].to_numpy() - made.CENTRES) / made.SCALES
    risk, often = X @ made.RISK, expit(made.OFTEN + made.WITH_YEARS * X[:, 2])
    seen = np.zeros(2)
    for trouble, chance in ((0.0, 1.0 - often), (1.0, often)):
        accepted = chance * expit(made.LENIENT[0] - risk - made.SUSPICION * trouble)
        fails = expit(made.BASE + risk + made.TROUBLE * trouble)
        seen += [np.mean(accepted * fails), np.mean(accepted * (1.0 - fails))]
    return np.array([seen[0], 1.0 - seen[1]])


def test_the_ends_of_the_share_are_those_of_the_population():
    """200 draws: errors of both ends are zero on average within four standard errors (false alarm 1e-4).

    Measured: -.0001 (.0006) and -.0001 (.0004); the interval held the true share in 198 of 200.
    """
    errors, covered = [], 0
    for seed in OTHER_SEEDS:
        loans = demo.make_loans(demo.N_APPLICATIONS, random_state=seed)
        test = demo.data_of(loans.table).take(np.arange(demo.N_TRAIN, demo.N_APPLICATIONS))
        everybody = np.full(len(test), "yes", dtype=object)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            found = evaluate(everybody, test, metric="share", **demo.FITTING)
        errors.append(np.array([found.lower, found.upper]) - sharp_share(loans.table.iloc[demo.N_TRAIN :]))
        covered += inside(loans.chance[demo.N_TRAIN :].mean(), found)
    spread = np.std(errors, axis=0) / np.sqrt(len(errors))
    assert (np.abs(np.mean(errors, axis=0)) <= 4.0 * spread).all()
    assert covered >= binom.ppf(FALSE_ALARM, len(OTHER_SEEDS), 0.95)
