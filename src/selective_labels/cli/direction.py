"""The question of auto mode: whether refused cases have an outcome more often."""

from dataclasses import replace
from typing import Any

import numpy as np
import typer
from click import Choice

from selective_labels._errors import InputError, shown
from selective_labels._vocabulary import Vocabulary
from selective_labels.assumptions.combination import Combination
from selective_labels.assumptions.instrument import Instrument
from selective_labels.assumptions.refused import Informed
from selective_labels.cli.inputs import Loaded, Source, somebody_answers
from selective_labels.cli.options import save_config

YES, NO, UNKNOWN = "yes", "no", "don't know"


def question(label: Any, vocabulary: Vocabulary) -> str:
    """The question in the words of the domain.

    Examples
    --------
    >>> print(question("default", Vocabulary()))
    Compare refused cases with accepted cases that have the same features: are refused cases more likely
    to be 'default'?
    """
    asked = vocabulary.say(
        "Compare refused cases with accepted cases that have the same features: "
        "are refused cases more likely to be"
    )
    return f"{asked} {shown(label)}?"


def with_direction(source: Source, loaded: Loaded, given: str | None) -> tuple[Loaded, Combination | None]:
    """Ask for the direction, unless it is given; without a terminal, or with --yes, it is not known.

    Parameters
    ----------
    given : str or None
        The class that refused cases have more often, or "don't know".

    Returns
    -------
    Loaded
        With a note where nobody was asked. An answer is kept in the settings file, if there is one.
    Combination or None
    """
    classes = loaded.classes
    if given is not None:
        return loaded, None if given == UNKNOWN else _stated(given, classes)
    label, vocabulary = classes.tolist()[-1], loaded.prepared.data.vocabulary
    if len(classes) > 2 or source.table.yes or not somebody_answers():
        note = f"{question(label, vocabulary)} Taken as: {UNKNOWN}; --refused-have CLASS says it."
        return replace(loaded, notes=(*loaded.notes, note)), None
    answers = Choice([YES, NO, UNKNOWN])
    asked = f"{question(label, vocabulary)} (no: less likely)"
    answer = typer.prompt(asked, type=answers, default=UNKNOWN, err=True)
    worse = {YES: str(label), NO: str(classes.tolist()[0]), UNKNOWN: UNKNOWN}[answer]
    if source.output.save_config is not None:
        known = {"decision_means": vocabulary.means, "refused_have": worse}
        save_config(source.context, source.output.save_config, loaded.prepared.roles.to_dict() | known)
    return with_direction(source, loaded, worse)


def _stated(text: str, classes: np.ndarray) -> Combination:
    named = [each for each in classes.tolist() if str(each) == text]
    if not named:
        words = ", ".join(shown(str(each)) for each in classes.tolist())
        raise InputError(f"--refused-have {shown(text)} is not one of {words}, or {UNKNOWN!r}.", "assumption")
    return Combination((Instrument(), Informed(named[0])))
