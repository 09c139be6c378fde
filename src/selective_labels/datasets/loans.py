"""Made-up short-term loans where what the table does not hold matters, and the truth is known."""

from dataclasses import dataclass

import numpy as np
import pandas as pd
from scipy.special import expit

from selective_labels.datasets.oracle import RandomState, draw_decisions, spawn_streams

FEATURES = ("income", "debt_ratio", "years_employed", "open_accounts")
CENTRES = np.array([52.0, 38.0, 12.0, 8.0])
SCALES = np.array([11.0, 9.0, 3.0, 2.0])
# Twelve officers who ask questions, and three who approve nine in ten.
STRICT, LENIENT = np.linspace(-0.5, 1.5, 12), np.full(3, 7.3)
N_OFFICERS = len(STRICT) + len(LENIENT)
# Trouble that the table does not hold multiplies the odds of a default by exp(5.5), of approval by exp(-5).
BASE, TROUBLE, SUSPICION = -3.0, 5.5, 5.0
RISK = np.array([-0.5, 0.5, 0.0, 0.25])
OFTEN, WITH_YEARS = -0.4, -1.3


@dataclass(frozen=True, eq=False)
class Loans:
    """A made-up lender's table, and what no lender has.

    Attributes
    ----------
    table : pandas.DataFrame
        Features, region, officer, approved, defaulted ("yes", "no", or a hole where nobody approved).
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
    """Draw applications for a short-term loan that one of fifteen officers decides.

    P(Y*=1 | x, u) = σ(x b - 3 + 5.5 u),  P(D=1 | x, u, z) = σ(λ_z - x b - 5 u),  P(u=1 | x) = σ(-.4 - 1.3 x3)

    Officers are dealt out by lot. An officer who calls the employer learns of trouble (u) that the table does
    not hold, and refuses; trouble is common among those who have worked for few years (x3). The design is
    meant to show what goes wrong, for reasons and not by luck: approved applicants with few years look safe
    because those in trouble were refused, so the labeled cases say too few defaults, and a rule learned from
    them approves too many of just these. Three officers in fifteen approve nine in ten; what is seen of
    their cases bounds what is not seen of the others', and leaves some questions open. Refused applicants
    are worse risks than like approved ones, for every officer: who knows that knows more than the table.

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
    # The last word serves the code -1: no label was seen.
    seen = np.where(approved == 1, defaulted.astype(int), -1)
    table["defaulted"] = np.array(["no", "yes", None], dtype=object)[seen]
    chance = (1.0 - often) * expit(BASE + risk) + often * expit(BASE + risk + TROUBLE)
    return Loans(table, defaulted, chance)
