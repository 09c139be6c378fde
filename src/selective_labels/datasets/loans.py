"""Simulated short-term loans with unobserved confounding and a known truth."""

from dataclasses import dataclass

import numpy as np
import pandas as pd
from scipy.special import expit

from selective_labels.datasets.oracle import RandomState, draw_decisions, spawn_streams

FEATURES = ("income", "debt_ratio", "years_employed", "open_accounts")
CENTRES = np.array([52.0, 38.0, 12.0, 8.0])
SCALES = np.array([11.0, 9.0, 3.0, 2.0])
# Twelve strict officers, and three who approve nine in ten applications.
STRICT, LENIENT = np.linspace(-0.5, 1.5, 12), np.full(3, 7.3)
N_OFFICERS = len(STRICT) + len(LENIENT)
# Unobserved trouble multiplies the odds of default by exp(5.5) and the odds of approval by exp(-5).
BASE, TROUBLE, SUSPICION = -3.0, 5.5, 5.0
RISK = np.array([-0.5, 0.5, 0.0, 0.25])
OFTEN, WITH_YEARS = -0.4, -1.3


@dataclass(frozen=True, eq=False)
class Loans:
    """A simulated lender's table, with the outcomes of all applications.

    Attributes
    ----------
    table : pandas.DataFrame
        Features, region, officer, approved, defaulted ("yes" or "no", missing where the loan was declined).
    defaulted : (n_samples,) bool array
        The outcome of every application, approved or not.
    chance : (n_samples,) array
        P(default | features).

    Examples
    --------
    >>> loans = make_loans(5, random_state=0)
    >>> len(loans.table) == len(loans.defaulted) == len(loans.chance)
    True
    """

    table: pd.DataFrame
    defaulted: np.ndarray
    chance: np.ndarray


def make_loans(n_samples: int = 10_000, random_state: RandomState = 0) -> Loans:
    """Draw applications for short-term loans, each decided by one of fifteen officers.

    P(Y*=1 | x, u) = σ(x b - 3 + 5.5 u),  P(D=1 | x, u, z) = σ(λ_z - x b - 5 u),  P(u=1 | x) = σ(-.4 - 1.3 x3)

    Officers are assigned at random. An officer who calls the employer learns about trouble (u), which is not
    in the table, and declines. Trouble is common among applicants with few years of employment (x3). The
    design produces known failures by construction. Approved applicants with few years look safe because those
    in trouble were declined, so the labeled cases understate defaults, and a rule learned from them approves
    too many such applicants. Three of the fifteen officers approve nine in ten applications. The outcomes of
    their cases bound the unobserved outcomes of the other officers' cases, and leave some questions open. For
    every officer, declined applicants are worse risks than similar approved ones, which is information that
    the table does not contain.

    Parameters
    ----------
    n_samples : int
    random_state : int, SeedSequence, Generator, RandomState or None

    Examples
    --------
    >>> loans = make_loans(2000, random_state=0)
    >>> loans.table["defaulted"].isna().equals(loans.table["approved"] == 0)
    True
    >>> seen = loans.table["approved"] == 1
    >>> bool(loans.defaulted[seen].mean() < loans.defaulted.mean() - 0.1)
    True
    """
    streams = spawn_streams(random_state)
    X = streams.features.standard_normal((n_samples, len(FEATURES)))
    risk, often = X @ RISK, expit(OFTEN + WITH_YEARS * X[:, 2])
    trouble = draw_decisions(often, streams.hidden)
    officer = streams.assignment.integers(0, N_OFFICERS, n_samples)
    leniency = np.append(STRICT, LENIENT)[officer]
    approved = draw_decisions(expit(leniency - risk - SUSPICION * trouble), streams.decision)
    defaulted = draw_decisions(expit(BASE + risk + TROUBLE * trouble), streams.outcome) == 1
    table = pd.DataFrame((CENTRES + SCALES * X).round(2), columns=list(FEATURES))
    table["region"] = np.where(X[:, 3] > 0, "north", "south")
    table["officer"] = [f"officer {code + 1:02d}" for code in officer]
    table["approved"] = approved
    # The code -1 of an unobserved label selects the last entry.
    seen = np.where(approved == 1, defaulted.astype(int), -1)
    table["defaulted"] = np.array(["no", "yes", None], dtype=object)[seen]
    chance = (1.0 - often) * expit(BASE + risk) + often * expit(BASE + risk + TROUBLE)
    return Loans(table, defaulted, chance)
