"""The five commands of a lender, and what the truth says of their numbers."""

import json

import numpy as np

from tests.lender import COST, make_lender

ROLES = ("--label", "defaulted", "--decision", "approved", "--decision-maker", "underwriter")
STRATA = ("--strata", "branch")
MATRIX = ("--cost", json.dumps(COST))


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


def policy_figures(scores, defaults, acceptance):
    """True failures, failure rate and cost of accepting the lowest scores."""
    accepted = np.argsort(np.argsort(scores, kind="stable"), kind="stable") < acceptance * len(scores)
    good, bad = ~defaults, defaults
    return {
        "failures": np.mean(accepted & bad),
        "failure_rate": np.mean(bad[accepted]),
        "cost": np.mean(COST[1][0] * (accepted & bad) + COST[0][1] * (~accepted & good)),
    }


def run_lender(run, folder, n_cases, seed, quick=()):
    """Run all five; returns documents by name, and (what, truth, interval) of every figure with a truth."""
    lender = make_lender(n_cases, seed)
    path = folder / "loans.csv"
    lender.table.to_csv(path, index=False)
    documents = {}
    for name, line in commands(path, folder / "report.html").items():
        result = run(*line, *quick, "--format", "json")
        assert result.exit_code == 0, result.output
        documents[name] = json.loads(result.stdout)
    challenger, champion = (lender.table[f"{name}_score"].to_numpy() for name in ("challenger", "champion"))
    share = lender.accepted.mean()
    truth = policy_figures(challenger, lender.defaults, share)
    figures = [
        (f"evaluate {each['metric']}", truth[each["metric"]], (each["ci_lower"], each["ci_upper"]))
        for each in documents["evaluate"]["evaluations"]
    ]
    both = truth["cost"] - policy_figures(champion, lender.defaults, share)["cost"]
    human = np.mean(np.where(lender.accepted, COST[1][0] * lender.defaults, COST[0][1] * ~lender.defaults))
    for name, value in (("scores", both), ("human", truth["cost"] - human)):
        found = documents[name]["comparison"]
        figures.append((f"{name} {found['metric']}", value, (found["ci_lower"], found["ci_upper"])))
    return documents, figures
