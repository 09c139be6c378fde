"""A lender's table as it comes out of a system, whose truth is known; no example uses it."""

from typing import NamedTuple

import numpy as np
import pandas as pd

N_BRANCHES = 5
UNDERWRITERS_PER_BRANCH = 5
COST = ((0.0, 1.0), (5.0, 0.0))
START = pd.Timestamp("2023-01-01")


class Lender(NamedTuple):
    """The table, and for every row what no table has: whether the loan would default."""

    table: pd.DataFrame
    defaults: np.ndarray
    accepted: np.ndarray


def make_lender(n_cases: int = 12_000, seed: int = 0) -> Lender:
    """Loans within branches, dealt to underwriters by lot, who see more than the table holds.

    Amounts are written "5,750" and "$1,200", rates "7.5%", zip codes begin with zeros, dates are ISO,
    decisions are yes and no, and two scores (of the champion and of a challenger) stand beside the features.
    """
    rng = np.random.default_rng(seed)
    branch = rng.integers(0, N_BRANCHES, n_cases)
    income = np.exp(rng.normal(10.6 + 0.1 * branch, 0.45, n_cases)).round(-2)
    amount = np.exp(rng.normal(8.7, 0.5, n_cases)).round(-1)
    years = rng.poisson(4, n_cases)
    owner = rng.random(n_cases) < 0.55
    hidden = rng.normal(size=n_cases)  # what the interview shows
    burden = np.log(amount / income) + 2.0
    risk = -1.4 + 0.9 * burden - 0.12 * years - 0.4 * owner + 0.15 * branch + 0.9 * hidden
    defaults = rng.random(n_cases) < 1 / (1 + np.exp(-risk))
    underwriter = branch * UNDERWRITERS_PER_BRANCH + rng.integers(0, UNDERWRITERS_PER_BRANCH, n_cases)
    leniency = rng.normal(0.9, 1.0, N_BRANCHES * UNDERWRITERS_PER_BRANCH)[underwriter]
    accepted = rng.random(n_cases) < 1 / (1 + np.exp(-(leniency - 0.8 * (risk + 1.0))))
    visible = risk - 0.9 * hidden
    zips = rng.integers(100, 99_000, 60)
    table = pd.DataFrame(
        {
            "application": [f"A-{100_000 + number}" for number in rng.permutation(n_cases)],
            "applied on": (START + pd.to_timedelta(rng.integers(0, 700, n_cases), "D")).strftime("%Y-%m-%d"),
            "branch": [f"Branch {code + 1}" for code in branch],
            "zip": [f"{zips[code]:05d}" for code in rng.integers(0, len(zips), n_cases)],
            "amount": [f"{value:,.0f}" for value in amount],
            "yearly income": [f"${value:,.0f}" for value in income],
            "debt ratio": [f"{value:.1f}%" for value in 100 * np.exp(burden - 2.0)],
            "years employed": years,
            "home owner": np.where(owner, "Y", "N"),
            "underwriter": [f"U{code:02d}" for code in underwriter],
            "approved": np.where(accepted, "Yes", "No"),
            "defaulted": np.where(accepted, np.where(defaults, "yes", "no"), ""),
            "champion_score": (1 / (1 + np.exp(-0.6 * visible + rng.normal(0, 0.5, n_cases)))).round(4),
            "challenger_score": (1 / (1 + np.exp(-visible - 0.2))).round(4),
        }
    )
    return Lender(table, defaults, accepted)
