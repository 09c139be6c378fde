"""Five commands on tables of five domains whose truth is known: figures, directions and words.

``python -m tests.statistical.test_domains FOLDER [SEED ...]`` keeps every draw in a file, goes on where it
stopped, and says what was covered.
"""

import json
import re
import sys
from collections import Counter
from functools import cache
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

from selective_labels.cli.app import app
from selective_labels.evaluation.policy import MEASURES_OF
from study.coverage.domains import DOMAINS, N_POPULATION, N_ROWS, SEEDS, acting, cost_of, draw
from tests.cli.lender_run import embedded
from tests.report.test_domains import QUOTED, sentences

LEAST, MOST_MISSED = 0.93, 2
RATES = (0.25, 0.5, 0.75)
NEUTRAL = r"accept\w*|refus\w*"
LENDERS = r"loans?|lend\w*|approv\w*|declin\w*|defaulted|borrow\w*"


def commands(domain, path, page):
    """Five lines, with no option beyond roles, meaning and costs."""
    table = (path, "--label", domain.label, "--decision", domain.decision, "--strata", domain.strata)
    table += ("--decision-maker", domain.decision_maker, "--words", domain.words)
    money = [each for name, amount in domain.cost.items() for each in (f"--cost-{name}", amount)]
    money = [str(each).replace("_", "-") for each in money]
    return {
        "check": ("check", *table),
        "evaluate": ("evaluate", *table, "--predictions", "vendor_score", *money),
        "compare": ("compare", *table, "--a", "vendor_score", "--b", "human", *money),
        "policy": ("policy", *table, "--predictions", "vendor_score", *money),
        "report": ("report", *table, "--predictions", "vendor_score", *money, "--out", page),
    }


def run(line):
    found = CliRunner().invoke(app, [str(each) for each in line])
    assert found.exit_code == 0, found.output
    return found.stdout


@cache
def population(name):
    return draw(DOMAINS[name], N_POPULATION, [99, list(DOMAINS).index(name)])


def truths(domain, drawn, yes):
    """Values in the population if cases get a yes with these probabilities."""
    names, event = MEASURES_OF[domain.means], drawn.event
    inspects = domain.means == "inspect"
    return {
        names.main: np.mean(event * (1.0 - yes if inspects else yes)),
        names.rate: np.sum(event * yes) / np.sum(yes),
        "cost": cost_of(domain, yes if inspects else 1.0 - yes, event),
    }


def figures(name, documents):
    """Name, truth and interval of every figure with a known truth."""
    domain, drawn = DOMAINS[name], population(name)
    score, human = drawn.frame["vendor_score"].to_numpy(), drawn.yes.astype(float)
    as_now = acting(domain, score, human.mean())
    now, people = truths(domain, drawn, as_now), truths(domain, drawn, human)
    ways = {"human": human, "score": as_now, "both": human * as_now}
    ways["either"] = human + as_now - ways["both"]
    yield from (
        (f"evaluate {each['metric']}", now[each["metric"]], each)
        for each in documents["evaluate"]["evaluations"]
    )
    yield "compare cost", now["cost"] - people["cost"], documents["compare"]["comparison"]
    for measure, value in people.items():
        yield f"policy human {measure}", value, documents["policy"]["human"][measure]
    page = documents["report"]
    yield "page share", drawn.event.mean(), page["answers"]["event"]["result"]
    for each in page["team"]["ways"]:
        if each["way"] in ways:
            yield (
                f"page {each['way']} cost",
                truths(domain, drawn, ways[each["way"]])["cost"],
                each["values"]["cost"],
            )
    for place, points in (
        ("policy", [nested(each) for each in documents["policy"]["policies"]]),
        ("page", page["acceptance"]["models"][0]["points"]),
    ):
        for rate in RATES:
            point = min(points, key=lambda each: abs(each["rate"] - rate))
            for measure, value in truths(domain, drawn, acting(domain, score, point["rate"])).items():
                yield f"{place} {measure} at {rate}", value, point[measure]


def nested(row):
    """A row of the policy curve with the ends of each measure together, as on the page."""
    found = {"rate": row["rate"]}
    for name, value in row.items():
        measure, _, end = name.partition("_ci_") if "_ci_" in name else name.rpartition("_")
        if name != "rate":
            found.setdefault(measure, {})["ci_" * ("_ci_" in name) + end] = value
    return found


def turned(draws):
    """Comparisons whose interval says the opposite of the truth: none may."""
    return [
        (each["domain"], each["seed"])
        for each in draws
        for name, truth, low, high in each["figures"]
        if name == "compare cost" and (low > 0.0 > truth or high < 0.0 < truth)
    ]


def misspoken(name, texts):
    """Neutral words, and outside lending a lender's."""
    wrong = NEUTRAL if DOMAINS[name].words == "lending" else f"{NEUTRAL}|{LENDERS}"
    plain = [QUOTED.sub("", each) for each in texts]
    return [each for each in plain if re.search(rf"(?<![\w-])({wrong})(?![\w-])", each, re.IGNORECASE)]


def draw_of(name, seed, folder):
    """Run the five commands on one table; what was found is kept."""
    kept = folder / f"{name} {seed}.json"
    if not kept.exists():
        domain = DOMAINS[name]
        path, page = folder / f"{name} {seed}.csv", folder / f"{name} {seed}.html"
        draw(domain, N_ROWS, [seed, list(DOMAINS).index(name)]).frame.to_csv(path, index=False)
        lines = commands(domain, path, page)
        documents = {each: json.loads(run((*line, "--format", "json"))) for each, line in lines.items()}
        documents["report"] = embedded(page)
        # Texts are those of the first table.
        quick = ("check", "evaluate", "compare", "policy") if seed == SEEDS[0] else ()
        texts = [row for each in quick for row in run((*lines[each], "--verbose")).splitlines()]
        wrong = misspoken(name, [*sentences(page.read_text()), *texts])
        found = [[each, float(truth), *ends] for each, truth, *ends in spread(figures(name, documents))]
        kept.write_text(json.dumps({"domain": name, "seed": seed, "figures": found, "misspoken": wrong}))
        path.unlink()
    return json.loads(kept.read_text())


def spread(found):
    """Intervals as numbers; a figure without one is left out."""
    for name, truth, each in found:
        if each["ci_lower"] is not None:
            yield name, truth, each["ci_lower"], each["ci_upper"]


def covered(draws):
    """Of each figure of each domain, in how many draws it is covered and in how many not."""
    inside, outside = Counter(), Counter()
    for each in draws:
        for name, truth, low, high in each["figures"]:
            # Observed figures have no width at all but that of rounding.
            counts = inside if low - 1e-9 <= truth <= high + 1e-9 else outside
            counts[each["domain"], name] += 1
    return inside, outside


@pytest.mark.statistical
def test_figures_are_covered_and_words_are_those_of_the_domain(tmp_path):
    draws = [draw_of(name, seed, tmp_path) for seed in SEEDS for name in DOMAINS]
    inside, outside = covered(draws)
    assert inside.total() / (inside.total() + outside.total()) >= LEAST
    assert {name: n for name, n in outside.items() if n > MOST_MISSED} == {}
    assert turned(draws) == []
    assert [each["misspoken"] for each in draws if each["misspoken"]] == []


if __name__ == "__main__":
    out = Path(sys.argv[1])
    out.mkdir(parents=True, exist_ok=True)
    seeds = [int(each) for each in sys.argv[2:]] or SEEDS
    made = [draw_of(name, seed, out) for seed in seeds for name in DOMAINS]
    held, lost = covered(made)
    print(f"{held.total()} of {held.total() + lost.total()} covered; missed: {dict(lost)}")
    print("the wrong way round:", turned(made))
    print("misspoken:", [each["misspoken"] for each in made if each["misspoken"]])
