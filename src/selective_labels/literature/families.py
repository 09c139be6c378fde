"""Assumptions with one knob: what a sensitivity curve turns, from which value to which."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from selective_labels.assumptions import (
    Assumption,
    Combination,
    Instrument,
    NoAssumption,
    Prevalence,
    Refused,
    SimilarBias,
    combined,
    named,
)
from selective_labels.assumptions.near_nucem import LARGEST, NearNucem
from selective_labels.support.errors import InputError
from selective_labels.support.options import read_values

# Beyond it nothing moves.
LARGEST_GAMMA = 1e9
N_POINTS = 25
# Further values that are tried for a break-even value beyond what is shown.
FAR_RHO = (0.025, 0.05, 0.1, 0.15, 0.2, LARGEST)
FAR_GAMMA = (15.0, 25.0, 50.0, 100.0, 1e3, 1e4, 1e6, LARGEST_GAMMA)
INSTRUMENT = "; cases are assigned to decision-makers as if at random given the features"
RHO = (
    "what decision-makers see besides the features moves all of them alike, up to a difference of {} in the "
    "covariance of their decisions with a class; {} = 0 is NUCEM"
)


@dataclass(frozen=True)
class Family:
    """What is assumed as a function of one number.

    Attributes
    ----------
    name : str
        Of the number.
    make : callable of a value
    words : str
        What is assumed, for all values.
    values : (n_points,) array
        Those of the curve, if the user gives none.
    reference : float or None
        The value from which a conclusion is drawn; None: the first that has one.
    range : pair of float
        Possible values.
    beyond : tuple of float
        Values that are not shown, in which a conclusion may still flip.
    has_odds : bool
        Whether the number is an odds ratio, of which an instrument supports some.
    """

    name: str
    make: Callable[[float], Assumption]
    words: str
    values: np.ndarray = field(default_factory=lambda: np.empty(0))
    reference: float | None = None
    range: tuple[float, float] = (-np.inf, np.inf)
    beyond: tuple[float, ...] = ()
    has_odds: bool = False

    def read(self, values: Any) -> np.ndarray:
        """The values of a curve, ascending; six digits of each count, as in names of assumptions."""
        if values is None:
            if not len(self.values):
                raise InputError.about("values", "are missing: say where to evaluate the assumption.")
            return self.values
        grid = np.unique(read_values("values", values))
        low, high = self.range
        if not ((grid >= low) & (grid <= high)).all():
            raise InputError.about("values", f"of {self.name} must lie between {low:g} and {high:g}.")
        return grid

    def at(self, value: float) -> Assumption:
        """What is assumed at a value, as a whole."""
        found = self.make(float(f"{value:.6g}"))
        if not isinstance(found, Assumption):
            raise InputError(
                f"assumption gave {found!r} for {value:g}: an assumption is needed.", "assumption"
            )
        return named(found)


def _even(low: float, high: float) -> np.ndarray:
    return np.array([float(f"{each:.6g}") for each in np.linspace(low, high, N_POINTS)])


def _ratios(low: float, high: float) -> np.ndarray:
    return np.array([float(f"{each:.6g}") for each in np.geomspace(low, high, N_POINTS)])


def read_family(parameter: Any, assumption: Any, event: Any, classes: np.ndarray, limit: str) -> Family:
    """The family of a name, or of a function of the user's.

    Parameters
    ----------
    parameter : str
        One of `PARAMETERS`; the name of the axis if `assumption` is given.
    assumption : callable or None
        From a value to an assumption.
    event : class label
        That the assumption is about.
    classes : array
    limit : "none" or "instrument"
        What is assumed besides.
    """
    base: Assumption = Instrument() if limit == "instrument" else NoAssumption()
    if assumption is not None:
        if not callable(assumption):
            raise InputError("assumption must be a function from a value to an assumption.", "assumption")
        return Family(str(parameter or "value"), assumption, "what the function given says at each value")
    if parameter not in PARAMETERS:
        words = ", ".join(map(repr, PARAMETERS))
        raise InputError(f"parameter={parameter!r} is not one of {words}.", "parameter")
    return PARAMETERS[parameter](base, event, classes)


def _gamma(base: Assumption, _: Any, classes: np.ndarray) -> Family:
    labels = classes.tolist()

    def make(value: float) -> Assumption:
        each = [Refused(label, 1.0 / value, value, given="features") for label in labels]
        return combined(base, *each)

    words = (
        "given the features, each class is at most gamma times more, and at most gamma times less, frequent "
        "among unlabeled than among labeled cases; gamma = 1 is no unobserved confounding"
    )
    return Family(
        "gamma",
        make,
        words + (INSTRUMENT if base == Instrument() else ""),
        _ratios(1.0, 10.0),
        None,
        (1.0, LARGEST_GAMMA),
        FAR_GAMMA,
    )


def _kappa(base: Assumption, _: Any, __: np.ndarray) -> Family:
    _require_instrument(base, "kappa")
    words = RHO.format("kappa", "kappa") + INSTRUMENT
    return Family("kappa", NearNucem, words, _even(0.0, LARGEST), None, (0.0, LARGEST), FAR_RHO)


def _rho(base: Assumption, _: Any, __: np.ndarray) -> Family:
    _require_instrument(base, "rho")
    words = RHO.format("rho", "rho") + INSTRUMENT
    make = lambda value: base & SimilarBias(value)  # noqa: E731
    return Family("rho", make, words, _even(0.0, LARGEST), None, (0.0, np.inf), FAR_RHO)


def _prevalence(base: Assumption, event: Any, _: np.ndarray) -> Family:
    words = f"of all cases, the share that are {event} is the value"
    words += INSTRUMENT if base == Instrument() else ""
    make = lambda value: combined(base, Prevalence(event, value))  # noqa: E731
    return Family("prevalence", make, words, _even(0.0, 1.0), None, (0.0, 1.0))


def _refused(scale: str) -> Callable[[Assumption, Any, np.ndarray], Family]:
    values = {"odds": _ratios(0.125, 8.0), "ratio": _ratios(0.25, 4.0), "share": _even(0.0, 1.0)}[scale]

    def family(_: Assumption, event: Any, __: np.ndarray) -> Family:
        # The instrument is not assumed besides: that it supports some values and not others is shown.
        words = {
            "odds": f"among like cases of one decision-maker, the refused have x times the odds of {event} "
            "that the accepted have; 1 is no unobserved confounding",
            "ratio": f"among like cases of one decision-maker, the refused are {event} x times as often as "
            "the accepted; 1 is no unobserved confounding",
            "share": f"of the refused, whatever their features, the share x is {event}",
        }[scale]
        return Family(
            scale,
            lambda value: Combination((Refused(event, value, value, scale),)),
            words,
            values,
            None if scale == "share" else 1.0,
            (0.0, 1.0 if scale == "share" else np.inf),
            has_odds=scale == "odds",
        )

    return family


PARAMETERS: dict[str, Callable[[Assumption, Any, np.ndarray], Family]] = {
    "gamma": _gamma,
    "kappa": _kappa,
    "odds": _refused("odds"),
    "ratio": _refused("ratio"),
    "share": _refused("share"),
    "rho": _rho,
    "prevalence": _prevalence,
}


def _require_instrument(base: Assumption, parameter: str) -> None:
    if base != Instrument():
        raise InputError(
            f"parameter={parameter!r} is about decision-makers: it needs limit='instrument'.", "limit"
        )
