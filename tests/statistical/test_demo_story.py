"""The demonstration tells its story by design and not by luck: on fresh seeds it is the same story."""

import warnings

import pytest

from selective_labels import demo

pytestmark = pytest.mark.statistical
# The design was chosen on seeds below 10 and frozen; these were run once afterwards.
SEEDS = range(100, 120)
# Verdicts are to be the same in 19 of 20 draws. An interval of 95 % that keeps its promise holds the truth in
# fewer than 17 of 20 with probability .016. On these seeds: 20 of 20 for every verdict; 18, 20, 19 and 20 for
# the intervals in their order.
HOLDS, COVERS = 19, 17


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
