"""The five commands of a lender, and what the truth says of their numbers."""

import json
import re

import numpy as np

from tests.lender import COST, make_lender

ROLES = ("--label", "defaulted", "--decision", "approved", "--decision-maker", "underwriter")
STRATA = ("--strata", "branch")
MATRIX = ("--cost", json.dumps(COST))
RATES = (0.25, 0.5, 0.9)
KINDS = {
    "applied on": "date",
    "branch": "category",
    "zip": "category",
    "amount": "number",
    "yearly income": "number",
    "debt ratio": "number",
    "years employed": "number",
    "home owner": "category",
}
READ_ALOUD = ("'Yes' (", "'zip' holds codes", "'amount' holds", "currency sign $", "percent signs")


def commands(path, page):
    """Five lines, with no option beyond roles, strata and the cost."""
    table = (path, *ROLES, *STRATA)
    return {
        "check": ("check", *table),
        "evaluate": ("evaluate", *table, "--predictions", "challenger_score", *MATRIX),
        "scores": ("compare", *table, "--a", "challenger_score", "--b", "champion_score", *MATRIX),
        "human": ("compare", *table, "--a", "challenger_score", "--b", "human", *MATRIX),
        "report": ("report", *table, "--predictions", "challenger_score", *MATRIX, "--out", page),
    }


def lowest(scores, acceptance):
    """Which cases a score accepts."""
    return np.argsort(np.argsort(scores, kind="stable"), kind="stable") < acceptance * len(scores)


def policy_figures(scores, defaults, acceptance):
    """True failures, failure rate and cost of accepting the lowest scores."""
    return accepted_figures(lowest(scores, acceptance), defaults)


def accepted_figures(accepted, defaults):
    """The same of any cases that are accepted."""
    good, bad = ~defaults, defaults
    return {
        "failures": np.mean(accepted & bad),
        "failure_rate": np.mean(bad[accepted]),
        "cost": np.mean(COST[1][0] * (accepted & bad) + COST[0][1] * (~accepted & good)),
    }


def embedded(page):
    """The document that a page carries."""
    found = re.search(r'<script type="application/json"[^>]*>(.*?)</script>', page.read_text(), re.DOTALL)
    return json.loads(found[1])


def misread(documents):
    """What a command made of the columns, where it is not what they are."""
    wrong = []
    for name in ("check", "evaluate", "scores", "human"):
        data = documents[name]["data"]
        kinds = {each["name"]: each["kind"] for each in data["features"]}
        wrong += [f"{name}: {column}" for column, kind in KINDS.items() if kinds.get(column) != kind]
        wrong += [f"{name}: {column} is a feature" for column in kinds if column not in KINDS]
        said = " ".join(data["readings"])
        wrong += [f"{name} does not say {words}" for words in READ_ALOUD if words not in said]
    return wrong


def run_lender(run, folder, n_cases, seed, quick=()):
    """Run all five; returns documents by name, and (what, truth, interval) of every figure with a truth."""
    lender = make_lender(n_cases, seed)
    path = folder / "loans.csv"
    lender.table.to_csv(path, index=False)
    documents = {}
    for name, line in commands(path, folder / "report.html").items():
        documents[name] = json.loads(run(*line, *quick, "--format", "json"))
    documents["report"] = embedded(folder / "report.html")
    challenger, champion = (lender.table[f"{name}_score"].to_numpy() for name in ("challenger", "champion"))
    share = lender.accepted.mean()
    truth = policy_figures(challenger, lender.defaults, share)
    figures = [
        (f"evaluate {each['metric']}", truth[each["metric"]], (each["ci_lower"], each["ci_upper"]))
        for each in documents["evaluate"]["evaluations"]
    ]
    both = truth["cost"] - policy_figures(champion, lender.defaults, share)["cost"]
    human = accepted_figures(lender.accepted, lender.defaults)["cost"]
    for name, value in (("scores", both), ("human", truth["cost"] - human)):
        found = documents[name]["comparison"]
        figures.append((f"{name} {found['metric']}", value, (found["ci_lower"], found["ci_upper"])))
    return documents, [*figures, *page_figures(documents["report"], lender, challenger)]


def page_figures(page, lender, scores):
    """Figures of the page whose truth is known: the event, ways to decide together, rates of the curve."""
    defaults, accepted = lender.defaults, lender.accepted
    score = lowest(scores, accepted.mean())
    ways = {"human": accepted, "score": score, "both": accepted & score, "either": accepted | score}
    found = [("page share", defaults.mean(), page["answers"]["event"]["result"])]
    found += [
        (
            f"page {each['way']} cost",
            accepted_figures(ways[each["way"]], defaults)["cost"],
            each["values"]["cost"],
        )
        for each in page["team"]["ways"]
        if each["way"] in ways
    ]
    model = next(each for each in page["acceptance"]["models"] if each["key"] == "yours")
    for rate in RATES:
        point = min(model["points"], key=lambda each: abs(each["rate"] - rate))
        truth = policy_figures(scores, defaults, point["rate"])
        found += [(f"page {name} at {rate}", value, point[name]) for name, value in truth.items()]
    return [(name, truth, (each["ci_lower"], each["ci_upper"])) for name, truth, each in found]
