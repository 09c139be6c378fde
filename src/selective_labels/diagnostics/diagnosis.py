"""What `diagnose` returns: findings, a verdict, tables and plots."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pandas as pd

from selective_labels.assumptions import Assumption, Permission
from selective_labels.assumptions.findings import ALGEBRA, FAMILIES, worst
from selective_labels.diagnostics import display, plots
from selective_labels.diagnostics.results import CheckResult
from selective_labels.diagnostics.verdict import permission
from selective_labels.support.errors import require_choice


@dataclass(frozen=True, eq=False)
class Figures:
    """Numbers behind the plots; None where they could not be computed.

    Attributes
    ----------
    decision_makers : (n_decision_makers,) array
    leniency, leniency_error : (n_decision_makers,) arrays
        Acceptance rates, adjusted for strata.
    label_rate, label_rate_error : (n_decision_makers, n_classes) arrays
        Shares of classes among labeled cases.
    classes : (n_classes,) array
    strength : (n_model_rows,) array
        Conditional variance of leniency, V(x).
    balance, balance_error : (n_decision_makers,) arrays
        Mean predicted decision of the cases of each, in standard deviations.
    """

    decision_makers: np.ndarray
    classes: np.ndarray
    leniency: np.ndarray | None = None
    leniency_error: np.ndarray | None = None
    label_rate: np.ndarray | None = None
    label_rate_error: np.ndarray | None = None
    strength: np.ndarray | None = None
    balance: np.ndarray | None = None
    balance_error: np.ndarray | None = None


@dataclass(frozen=True, eq=False, repr=False)
class Diagnosis:
    """Coded checks of a sample, and what may be assumed about it.

    Iterating gives the :class:`CheckResult` of every check; printing gives a table and the verdict.

    Attributes
    ----------
    results : tuple of CheckResult
    n_samples, n_decision_makers, n_model_rows : int
        Models were fitted on `n_model_rows` of the cases; everything else uses all.
    figures : Figures
    sharing : str
        What the checks compare where labels are shared within cases; else empty.

    Examples
    --------
    >>> import selective_labels as sl
    >>> sample = sl.datasets.make_decision_makers(600, n_classes=2, random_state=0)
    >>> data = sl.SelectiveLabels.from_arrays(sample.X, sample.y, decision_maker=sample.decision_maker)
    >>> diagnosis = sl.diagnose(data, n_permutations=19, random_state=0)
    >>> next(iter(diagnosis)).code, diagnosis.status("relevance"), diagnosis.allows("unconfounded").allowed
    ('SL101', 'ok', False)
    """

    results: tuple[CheckResult, ...]
    n_samples: int
    n_decision_makers: int
    n_model_rows: int
    figures: Figures = field(repr=False)
    sharing: str = ""

    def __iter__(self) -> Iterator[CheckResult]:
        return iter(self.results)

    def __len__(self) -> int:
        return len(self.results)

    def __getitem__(self, code: str) -> CheckResult:
        """Return the result of a code, such as "SL101"."""
        for result in self.results:
            if result.code == code:
                return result
        raise KeyError(f"{code!r} is not the code of a check.")

    def status(self, family: str) -> str:
        """The worst status among the checks of a family that applied; "not applicable" if none did.

        Parameters
        ----------
        family : "relevance", "assignment", "overlap", "inequality", "monotonicity", "nucem", "crossing",
            "skill", "unconfounded" or "algebra"
        """
        require_choice("family", family, (*FAMILIES, ALGEBRA))
        return worst(result.status for result in self.results if result.family == family)

    def allows(self, assumption: str | Assumption, *, given: str = "strata") -> Permission:
        """Say whether an assumption may be used here, and why.

        Parameters
        ----------
        assumption : "instrument", "nucem", "unconfounded", or an object, combinations among them
        given : "strata" or "features"
            For "instrument": what assignment is taken as random within.

        Returns
        -------
        Permission
            True or false as a condition. The text, which is `reason`, begins with the verdict: "refuted",
            "not refuted" (with what the checks could have seen) or "cannot be checked". "unconfounded" is
            never true: a check that does not reject is not permission.
        """
        return permission(assumption, given, self.results)

    @property
    def verdict(self) -> str:
        """Which assumptions may be used, one line each."""
        return "\n".join(display.verdict_lines(self))

    def to_frame(self) -> pd.DataFrame:
        """One row for each check."""
        return pd.DataFrame([vars(result) for result in self.results])

    def plot(self, kind: str = "leniency", ax: Any = None) -> Any:
        """Draw one of four plots; returns the matplotlib axes.

        Parameters
        ----------
        kind : "leniency", "labels", "strength" or "balance"
            Leniency with intervals; leniency against the observed share of the last class; conditional
            strength; balance of cases across decision-makers.
        ax : matplotlib axes, optional
        """
        return plots.draw(self.figures, kind, ax)

    def __repr__(self) -> str:
        return display.text(self)

    def _repr_html_(self) -> str:
        return display.html(self)
