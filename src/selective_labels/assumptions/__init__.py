"""What may be assumed about the labels that were not seen: one object for each, and the list of all."""

from selective_labels.assumptions.assumption import Assumption
from selective_labels.assumptions.atom import Atom, Part
from selective_labels.assumptions.combination import Combination, combined, whole
from selective_labels.assumptions.event_tilt import EventTilt
from selective_labels.assumptions.findings import Findings
from selective_labels.assumptions.instrument import Instrument
from selective_labels.assumptions.near_nucem import NearNucem
from selective_labels.assumptions.no_assumption import NoAssumption
from selective_labels.assumptions.nucem import Nucem
from selective_labels.assumptions.pairs import RisingRisk, SameRanking, SimilarBias
from selective_labels.assumptions.permission import Permission
from selective_labels.assumptions.prevalence import LabelRange, Prevalence
from selective_labels.assumptions.refused import Informed, Refused
from selective_labels.assumptions.unconfounded import Unconfounded
from selective_labels.support.errors import InputError

__all__ = [
    "NAMED",
    "Assumption",
    "Atom",
    "Combination",
    "EventTilt",
    "Findings",
    "Informed",
    "Instrument",
    "LabelRange",
    "NearNucem",
    "NoAssumption",
    "Nucem",
    "Permission",
    "Prevalence",
    "Refused",
    "RisingRisk",
    "SameRanking",
    "SimilarBias",
    "Unconfounded",
    "combined",
    "known",
    "named",
    "names",
]

# The one list of them, in the order in which they are shown.
NAMED: tuple[Assumption, ...] = (NoAssumption(), Instrument(), Nucem(), Unconfounded())
# Those that are used where they are asked for by name, and not by "all": they are not there for every metric.
BY_NAME: tuple[Assumption, ...] = (EventTilt(),)


def known() -> tuple[Assumption, ...]:
    """All assumptions that have a name, looked up when asked: what is added to NAMED is known everywhere.

    Examples
    --------
    >>> [each.name for each in known() if each.identifies_value]
    ['nucem', 'unconfounded']
    """
    return NAMED


def names() -> tuple[str, ...]:
    """Names of the known assumptions, in the order in which they are shown.

    Examples
    --------
    >>> names()
    ('none', 'instrument', 'nucem', 'unconfounded')
    """
    return tuple(each.name for each in known())


def named(assumption: object, besides: tuple[str, ...] = ()) -> Assumption:
    """The assumption that has this name, or is this object or combination; anything else is refused.

    Parameters
    ----------
    assumption : str or Assumption
    besides : tuple of str
        What the caller takes besides, to be listed in the refusal.

    Examples
    --------
    >>> named("nucem"), named(Instrument())
    (Nucem(), Instrument())
    >>> named(Instrument() & Informed("failed")).name
    'instrument & informed(failed)'
    >>> named("faith", besides=("all",))
    Traceback (most recent call last):
    ...
    selective_labels.support.errors.InputError: assumption 'faith' is not one of 'none', 'instrument',
    'nucem', 'unconfounded', 'tilt', 'all'.
    """
    if isinstance(assumption, str | Assumption):
        for each in (*known(), *BY_NAME):
            if assumption in (each.name, each):
                return each
    if isinstance(assumption, NearNucem):
        return assumption
    if isinstance(assumption, Part | Combination):
        return whole(assumption)
    words = ", ".join(map(repr, (*names(), *(each.name for each in BY_NAME), *besides)))
    raise InputError(f"assumption {assumption!r} is not one of {words}.", "assumption")
