"""Coverage of advice, deciders and disparity: ``python -m tests.statistical.decider_study --out OUT.jsonl``.

Draws designs whose truth is known, J of 8, 40 and 200 and n of 2,000 and 10,000, logistic models, and writes
one line for each draw: the share of 95 % intervals that hold the truth, by question. Interrupted runs go on.
Checks do not change intervals and are skipped. ``--table`` prints what is there.
"""

import argparse
import json
import time
import warnings
from functools import cache
from pathlib import Path
from unittest import mock

import numpy as np

import selective_labels as sl
from selective_labels.evaluation.fitted_table import FittedRows
from tests import advice_designs, disparity_designs
from tests.decider_designs import Bench

SEED = 20261119
SIZES = [(makers, cases) for cases in (2000, 10_000) for makers in (8, 40, 200)]
FAST = {"nuisance": "logistic", "random_state": 0, "n_jobs": 1}
TRUTH = 1_000_000


def held(result, value):
    """Whether the interval has the value in it."""
    return bool(result.ci_lower <= value <= result.ci_upper)


def deciders(makers, cases, generator):
    """Share of decision-makers whose interval or set has their truth in it, and whether their share is held.

    "names": the share of the list for which the score does better indeed; one if nobody is listed.
    """
    bench = Bench.draw(makers, generator)
    data = bench.data(cases, generator)
    there = data.decision_makers.astype(int)
    shares = np.bincount(data.decision_maker_codes) / len(data)
    known = Bench(bench.leniency[there], bench.skill[there])
    leniency, _, excess, rates = known.truth(shares)
    ahead = known.failures_of_a_score(rates[:, 0]) - rates[:, 1]
    found = sl.deciders(data, score=data.features[:, 0], **FAST)
    score, rank = found.against_score, excess.argsort().argsort() + 1
    low, high = score.share_interval
    return {
        "leniency": held_on_average(found.leniency, leniency),
        "failures": held_on_average(found.failures, known.failures_beyond_expected(shares)),
        "excess": held_on_average(found.excess, excess),
        "rank": held_on_average(found.ranks, rank),
        "score minus decider": float(np.mean((score.ci_lower <= ahead) & (ahead <= score.ci_upper))),
        "share beaten": bool(low <= np.mean(ahead < 0.0) <= high),
        "names": float(np.mean(ahead[score.listed] < 0.0)) if score.listed.any() else 1.0,
    }


def held_on_average(found, truth):
    """Share of the truths between both ends."""
    return float(np.mean((found.lower <= truth) & (truth <= found.upper)))


@cache
def gaps(makers):
    """The true gaps of decisions, of a score, and of both."""
    whole = disparity_designs.draw(TRUTH, makers, np.random.default_rng(SEED))
    below = whole.X[:, 0] < 0.5
    ways = {"human": whole.decision, "score": below, "both": below & (whole.decision == 1)}
    return {
        (who, measure): value
        for who, yes in ways.items()
        for measure, value in disparity_designs.truth(whole, yes).items()
        if (who, measure) != ("score", "outcome_weighted")
    }


def disparity(makers, cases, generator):
    """Whether the interval of each gap has the truth in it."""
    drawn = disparity_designs.draw(cases, makers, generator)
    asked = {"by": drawn.group, "score": drawn.X[:, 0], "threshold": 0.5, "reference": "A"}
    found = sl.disparity(drawn.data(), **asked, **FAST)
    return {
        f"{who} {measure}": held(found.get(who, measure, "B", "A"), value)
        for (who, measure), value in gaps(makers).items()
    }


@cache
def advice_truth(makers):
    """Every true number of the advice."""
    return advice_designs.truth(advice_designs.draw(TRUTH, makers, 1.0, np.random.default_rng(SEED)))


def advice(makers, cases, generator):
    """Whether the interval of each number has the truth in it."""
    drawn = advice_designs.draw(cases, makers, 1.0, generator)
    found = sl.advice(drawn.data(), advice=drawn.advice, shown=drawn.shown, **FAST)
    real = advice_truth(makers)
    return {
        f"{each.what}, {each.measure}": held(each.evaluation, real[each.what, each.measure])
        for each in found.estimates
    }


QUESTIONS = {"deciders": deciders, "disparity": disparity, "advice": advice}


def read(path):
    """Lines that were written."""
    return [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []


def run(path, draws, seconds):
    """Draw what is missing, all cells in turn, until the time is over."""
    done = {(each["question"], each["makers"], each["cases"], each["draw"]) for each in read(path)}
    start = time.monotonic()
    for draw in draws:
        for place, (makers, cases) in enumerate(SIZES):
            for number, (name, question) in enumerate(QUESTIONS.items()):
                if (name, makers, cases, draw) in done:
                    continue
                if time.monotonic() - start > seconds:
                    return
                seed = np.random.SeedSequence(SEED, spawn_key=(number, place, draw))
                found = question(makers, cases, np.random.default_rng(seed))
                row = {"question": name, "makers": makers, "cases": cases, "draw": draw, "held": found}
                with path.open("a") as file:
                    file.write(json.dumps(row) + "\n")


def table(path):
    """Coverage of each question and size: the mean over numbers, the least, its standard error."""
    rows = ["| question | J | n | draws | mean | least |", "| --- | --- | --- | --- | --- | --- |"]
    lines = read(path)
    for name in QUESTIONS:
        for makers, cases in SIZES:
            here = [
                each["held"]
                for each in lines
                if (each["question"], each["makers"], each["cases"]) == (name, makers, cases)
            ]
            if here:
                means = {key: float(np.mean([each[key] for each in here])) for key in here[0]}
                least = min(means, key=means.get)
                error = np.std([each[least] for each in here]) / np.sqrt(len(here))
                figures = f"{np.mean(list(means.values())):.3f} | {means[least]:.3f} ± {error:.3f} ({least})"
                rows.append(f"| {name} | {makers} | {cases:,} | {len(here)} | {figures} |")
    return "\n".join(rows)


def main():
    """Read the command line, run or print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--draws", type=int, default=200)
    parser.add_argument("--seconds", type=float, default=300.0)
    parser.add_argument("--table", action="store_true")
    given = parser.parse_args()
    if given.table:
        print(table(given.out))
        return
    nothing = mock.patch("selective_labels.evaluation.scored_rows.cautions_of", return_value={})
    with warnings.catch_warnings(), nothing, mock.patch.object(FittedRows, "doubts", return_value=[]):
        warnings.simplefilter("ignore")
        run(given.out, range(given.first, given.first + given.draws), given.seconds)


if __name__ == "__main__":
    main()
