"""Words for a yes and a no of a decision-maker, for decisions that are not coded as 1 and 0."""

import numpy as np
import pandas as pd

IN_FAVOUR = frozenset(
    [
        "1",
        "1.0",
        "yes",
        "y",
        "true",
        "t",
        "approved",
        "approve",
        "accepted",
        "accept",
        "granted",
        "grant",
        "released",
        "release",
        "admitted",
        "admit",
        "funded",
        "issued",
        "booked",
        "tested",
        "selected",
        "hired",
        "passed",
        "pass",
    ]
)
AGAINST = frozenset(
    [
        "0",
        "0.0",
        "no",
        "n",
        "false",
        "f",
        "declined",
        "decline",
        "rejected",
        "reject",
        "denied",
        "deny",
        "refused",
        "refuse",
        "detained",
        "detain",
        "withheld",
        "unfunded",
        "dismissed",
        "untested",
        "failed",
        "fail",
    ]
) | {"not approved", "not accepted", "not granted", "not released", "not tested", "turned down"}


def decisions_in_words(column: pd.Series) -> np.ndarray | None:
    """Whether each word is a yes; None if a word is neither a common yes nor a common no.

    Examples
    --------
    >>> decisions_in_words(pd.Series(["Approved", "declined"])).tolist()
    [True, False]
    >>> decisions_in_words(pd.Series(["A", "R"])) is None
    True
    """
    words = column.map(lambda value: str(value).strip().casefold())
    known = words.isin(IN_FAVOUR | AGAINST).all()
    return words.isin(IN_FAVOUR).to_numpy(dtype=bool) if known else None
