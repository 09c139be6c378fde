"""Plots of a diagnosis; matplotlib is imported when one is drawn."""

from typing import TYPE_CHECKING, Any

import numpy as np

from selective_labels.support.drawing import new_axes
from selective_labels.support.errors import UndefinedError, require_choice

if TYPE_CHECKING:
    from selective_labels.diagnostics.diagnosis import Figures

NORMAL = 1.96
# With more decision-makers than this their names would overlap.
MOST_NAMES = 30


def draw(figures: "Figures", kind: str, ax: Any = None) -> Any:
    """Draw one kind of plot, and return the axes."""
    kinds = {"leniency": _leniency, "labels": _labels, "strength": _strength, "balance": _balance}
    require_choice("kind", kind, tuple(kinds))
    ax = new_axes() if ax is None else ax
    kinds[kind](figures, ax)
    return ax


def _leniency(figures: "Figures", ax: Any) -> None:
    _by_decision_maker(figures, figures.leniency, figures.leniency_error, ax)
    ax.set(ylabel="acceptance rate (adjusted for strata)", title="Leniency, with 95 % intervals")


def _balance(figures: "Figures", ax: Any) -> None:
    _by_decision_maker(figures, figures.balance, figures.balance_error, ax)
    ax.axhline(0.0, color="0.5", linewidth=1)
    ax.set(
        ylabel="mean predicted decision of the cases (standard deviations)",
        title="Balance: intervals should cover zero",
    )


def _labels(figures: "Figures", ax: Any) -> None:
    leniency, rate = _needed(figures.leniency), _needed(figures.label_rate)
    error = _needed(figures.label_rate_error)
    ax.errorbar(leniency, rate[:, -1], NORMAL * error[:, -1], fmt="o", elinewidth=0.8)
    ax.set(
        xlabel="acceptance rate",
        ylabel=f"share of {figures.classes.tolist()[-1]!r} among labeled cases",
        title="Leniency against observed labels",
    )


def _strength(figures: "Figures", ax: Any) -> None:
    strength = _needed(figures.strength)
    ax.hist(np.sqrt(np.maximum(strength, 0.0)), bins=40)
    ax.set(
        xlabel="standard deviation of leniency over decision-makers, given features (0: none found)",
        ylabel="cases",
        title="Conditional strength",
    )


def _by_decision_maker(
    figures: "Figures", values: np.ndarray | None, errors: np.ndarray | None, ax: Any
) -> None:
    value, error = _needed(values), _needed(errors)
    order = np.argsort(value)
    position = np.arange(len(order))
    ax.errorbar(position, value[order], NORMAL * error[order], fmt="o", elinewidth=0.8)
    if len(order) <= MOST_NAMES:
        names = [str(name) for name in figures.decision_makers[order].tolist()]
        ax.set_xticks(position, names, rotation=90)
    ax.set_xlabel("decision-makers")


def _needed(values: np.ndarray | None) -> np.ndarray:
    if values is None:
        raise UndefinedError("this could not be computed from the sample; the findings say why.", "kind")
    return values
