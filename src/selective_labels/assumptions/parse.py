"""Look up assumptions by name, and parse the command-line option --assume."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from selective_labels._errors import InputError, several, shown
from selective_labels.assumptions.base import Assumption, Part
from selective_labels.assumptions.combination import Combination, combined, whole
from selective_labels.assumptions.instrument import (
    EventTilt,
    Instrument,
    NearNucem,
    NoAssumption,
    Nucem,
    Unconfounded,
)
from selective_labels.assumptions.refused import (
    Informed,
    LabelRange,
    Prevalence,
    Refused,
    RisingRisk,
    SameRanking,
    SimilarBias,
)

# All assumptions that "all" stands for, in the order in which results show them.
NAMED: tuple[Assumption, ...] = (NoAssumption(), Instrument(), Nucem(), Unconfounded())
# Assumptions that "all" leaves out because they do not support every metric.
BY_NAME: tuple[Assumption, ...] = (EventTilt(),)


def known() -> tuple[Assumption, ...]:
    """Return NAMED at the time of the call, so that additions to it take effect everywhere.

    Examples
    --------
    >>> [each.name for each in known() if each.identifies_value]
    ['nucem', 'unconfounded']
    """
    return NAMED


def names() -> tuple[str, ...]:
    """Names of the known assumptions, in the order in which results show them.

    Examples
    --------
    >>> names()
    ('none', 'instrument', 'nucem', 'unconfounded')
    """
    return tuple(each.name for each in known())


def by_name() -> tuple[Assumption, ...]:
    """All assumptions that a name stands for: the known ones, and those that "all" leaves out.

    Examples
    --------
    >>> [each.name for each in by_name() if each.needs_decision_makers]
    ['instrument', 'nucem', 'tilt']
    """
    return (*known(), *BY_NAME)


def named(assumption: object, besides: tuple[str, ...] = ()) -> Assumption:
    """Resolve a name, an assumption or a combination to an assumption; raise for anything else.

    Parameters
    ----------
    assumption : str or Assumption
    besides : tuple of str
        Further values that the caller accepts, listed in the error message.

    Examples
    --------
    >>> named("nucem"), named(Instrument())
    (Nucem(), Instrument())
    >>> from selective_labels.assumptions.refused import Informed
    >>> named(Instrument() & Informed("failed")).name
    'instrument & informed(failed)'
    >>> named("faith", besides=("all",))
    Traceback (most recent call last):
    ...
    selective_labels._errors.InputError: assumption 'faith' is not one of 'none', 'instrument',
    'nucem', 'unconfounded', 'tilt', 'all'.
    """
    if isinstance(assumption, str | Assumption):
        for each in by_name():
            if assumption in (each.name, each):
                return each
    if isinstance(assumption, NearNucem | EventTilt):
        return assumption
    if isinstance(assumption, Part | Combination):
        return whole(assumption)
    if isinstance(assumption, type):
        raise InputError(
            f"assumption {assumption.__name__} is a class; write {assumption.__name__}(...).", "assumption"
        )
    words = ", ".join(map(repr, (*(each.name for each in by_name()), *besides)))
    raise InputError(f"assumption {assumption!r} is not one of {words}.", "assumption")


BETWEEN, ALSO, ERROR, BY = "..", "+", "error=", ",by="


@dataclass(frozen=True)
class Form:
    """Syntax of one kind of assumption, and the function that builds it.

    Attributes
    ----------
    make : callable
        Takes the class, the value and the settings, all as text.
    settings : tuple of str
        Options that may follow a comma; one that ends in "=" takes a number.
    """

    usage: str
    make: Callable[[str, str, list[str]], Assumption]
    has_class: bool = True
    has_value: bool = True
    settings: tuple[str, ...] = ()


def _informed(label: str, _: str, settings: list[str]) -> Assumption:
    given = "features" if "given-features" in settings else "decision_maker"
    return Informed(label, given=given, direction_known="direction-known" in settings)


def _refused(label: str, value: str, settings: list[str]) -> Assumption:
    if BETWEEN not in value or len(settings) > 1:
        raise ValueError
    return Refused(label, *_ends(value), scale=settings[0] if settings else "ratio")


def _prevalence(label: str, value: str, settings: list[str]) -> Assumption:
    errors = [float(each.removeprefix(ERROR)) for each in settings]
    if len(errors) > 1:
        raise ValueError
    error = errors[0] if errors else None
    if BY not in label:
        return Prevalence(label, _share(value), error)
    label, _, groups = f"{label}={value}".partition(BY)
    column, *shares = (each.strip() for each in groups.split(","))
    pairs = [each.rpartition("=") for each in shares]
    if not column or not all(group.strip() for group, _, _ in pairs):
        raise ValueError
    return Prevalence(
        label.strip(), tuple((group.strip(), _share(each)) for group, _, each in pairs), error, by=column
    )


def _label_range(_: str, value: str, settings: list[str]) -> Assumption:
    return LabelRange(*_filled(value))


FORMS = {
    "informed": Form(
        "informed:CLASS", _informed, has_value=False, settings=("direction-known", "given-features")
    ),
    "refused": Form(
        "refused:CLASS=LOW..HIGH (one of them may be left out), then ,odds or ,share if it is no ratio",
        _refused,
        settings=("ratio", "odds", "share"),
    ),
    "prevalence": Form(
        "prevalence:CLASS=SHARE, prevalence:CLASS=LOW..HIGH or "
        "prevalence:CLASS,by=COLUMN,GROUP=SHARE,GROUP=LOW..HIGH, then ,error=NUMBER if it was estimated",
        _prevalence,
        settings=(ERROR,),
    ),
    "similar-bias": Form(
        "similar-bias:NUMBER", lambda _, value, __: SimilarBias(float(value)), has_class=False
    ),
    "rising-risk": Form("rising-risk:CLASS", lambda label, _, __: RisingRisk(label), has_value=False),
    "same-ranking": Form("same-ranking", lambda *_: SameRanking(), has_class=False, has_value=False),
    "label-range": Form("label-range:LOW..HIGH", _label_range, has_class=False),
}


@dataclass(frozen=True)
class Assumed:
    """Assumptions given to a command: names, evaluated one by one, and parts, which hold together.

    The classes of the parts remain text until the table is read.

    Examples
    --------
    >>> assumed = Assumed.read(["informed:1", "prevalence:1=0.10..0.14"])
    >>> [each.name for each in assumed.listed(np.array([0, 1]))]
    ['instrument & informed(1) & prevalence(1, 0.1 to 0.14)']
    """

    names: tuple[str, ...] = ()
    texts: tuple[str, ...] = ()
    parts: tuple[Assumption, ...] = ()

    @classmethod
    def read(cls, texts: Sequence[str] | None, names: Sequence[str] = ()) -> "Assumed":
        """Parse --assume; raise for input that would be invalid with any table."""
        parts = tuple(read_part(each) for each in texts or ())
        combined(Instrument(), *parts)
        return cls(tuple(names), tuple(texts or ()), parts)

    def one_by_one(self, classes: np.ndarray) -> list[Assumption]:
        """The parts of --assume, in the order given."""
        return [_with_classes(*each, classes) for each in zip(self.parts, self.texts, strict=True)]

    def together(self, classes: np.ndarray) -> Assumption | None:
        """The parts of --assume combined with the instrument; None if there are none."""
        return combined(Instrument(), *self.one_by_one(classes)) if self.parts else None

    def listed(self, classes: np.ndarray) -> list[str | Assumption]:
        """The names, followed by the combination of the parts."""
        together = self.together(classes)
        return [*self.names, *([] if together is None else [together])]

    def require_learnable(self, mode: str) -> None:
        """Raise before the table is read for assumptions that learning does not support."""
        if not self.parts:
            return
        if mode != "partial":
            raise InputError(f"--assume goes with --mode partial, not with --mode {mode}.", "assumption")
        if any(isinstance(each, Prevalence) for each in self.parts):
            return
        for part, text in zip(self.parts, self.texts, strict=True):
            if isinstance(part, Informed) and not part.direction_known:
                raise InputError(
                    f"--assume {shown(text)}: learning needs a prevalence beside it, which could refute it, "
                    f"or your word, {shown(f'{text},direction-known')}: the data cannot tell which class is "
                    "the adverse one.",
                    "assumption",
                )


def read_part(text: str) -> Assumption:
    """Parse one assumption; its class remains text.

    Examples
    --------
    >>> read_part("refused:late=..3,odds").name, read_part("prevalence:late=0.12,error=0.01").name
    ('refused(late, odds at most 3)', 'prevalence(late, 0.12 ± 0.01)')
    >>> read_part("prevalence:late,by=region,north=0.1,south=0.2..0.3").name
    'prevalence(late by region, north: 0.1; south: 0.2 to 0.3)'
    >>> read_part("faith:late")
    Traceback (most recent call last):
    ...
    selective_labels._errors.InputError: --assume 'faith:late': 'faith' is not one of 'informed',
    'refused', 'prevalence', 'similar-bias', 'rising-risk', 'same-ranking', 'label-range'.
    """
    kind, colon, rest = text.partition(":")
    form = FORMS.get(kind.strip())
    if form is None:
        known = several(list(FORMS), len(FORMS))
        raise InputError(f"--assume {shown(text)}: {shown(kind)} is not one of {known}.")
    rest, settings = _settings(rest.strip(), form.settings)
    label, equals, value = rest.rpartition("=") if form.has_class and form.has_value else ("", "=", rest)
    if not form.has_value:
        label, value = rest, ""
    complete = bool(equals) and bool(label) == form.has_class and bool(value) == form.has_value
    try:
        if not complete or (colon and not (form.has_class or form.has_value)):
            raise ValueError
        return form.make(label.strip(), value.strip(), settings)
    except InputError as error:
        raise InputError(f"--assume {shown(text)}: {error}") from None
    except ValueError:
        raise InputError(f"--assume {shown(text)}: write {form.usage}.") from None


def _settings(text: str, known: tuple[str, ...]) -> tuple[str, list[str]]:
    """Split known settings off the end; a class may itself contain commas."""
    found: list[str] = []
    while True:
        head, comma, tail = (each.strip() for each in text.rpartition(","))
        is_known = any(tail == each or (each.endswith("=") and tail.startswith(each)) for each in known)
        if not comma or not is_known:
            return text, found
        text, found = head, [tail, *found]


def _ends(value: str) -> tuple[float | None, float | None]:
    low, between, high = value.partition(BETWEEN)
    if not between or not (low.strip() or high.strip()):
        raise ValueError
    return (float(low) if low.strip() else None), (float(high) if high.strip() else None)


def _share(value: str) -> Any:
    """A share, or a range of shares."""
    return _filled(value) if BETWEEN in value else float(value)


def _filled(value: str) -> tuple[float, float]:
    """Both ends of a range of shares; a missing end becomes 0 or 1."""
    low, high = _ends(value)
    return (0.0 if low is None else low), (1.0 if high is None else high)


def _with_classes(part: Assumption, text: str, classes: np.ndarray) -> Assumption:
    """Replace the text of a class by the class in the data, as --pos-label does."""
    field = "label" if isinstance(part, Prevalence) else "adverse"
    if not hasattr(part, field):
        return part
    return replace(part, **{field: _class(getattr(part, field), text, classes)})  # type: ignore[type-var]


def _class(name: str, text: str, classes: np.ndarray) -> Any:
    """The class with this name, or a tuple of classes if names are joined by "+"."""
    by_name = {str(each): each for each in classes.tolist()}
    if name in by_name:
        return by_name[name]
    found = [each.strip() for each in name.split(ALSO)]
    for each in found:
        if each not in by_name:
            known = several(list(by_name))
            raise InputError(f"--assume {shown(text)}: {shown(each)} is not a class; there are {known}.")
    return tuple(by_name[each] for each in found)
