"""Evaluation of one metric under increasingly strong assumptions."""

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from html import escape
from typing import Any

import numpy as np
import pandas as pd

from selective_labels._display import Display, decimals, html_table, text_table
from selective_labels._errors import InputError
from selective_labels._validation import the_only
from selective_labels.assumptions.base import Assumption, Part
from selective_labels.assumptions.combination import Combination, combined
from selective_labels.assumptions.instrument import EventTilt, Instrument, NoAssumption, Nucem
from selective_labels.assumptions.parse import named
from selective_labels.evaluation.display import in_words, notes_of, sample_text
from selective_labels.evaluation.evaluate import evaluate_sample
from selective_labels.evaluation.fitted_table import FittedTable
from selective_labels.evaluation.predictions import EvaluationRequest
from selective_labels.evaluation.results import Evaluation, plain
from selective_labels.evaluation.scored_rows import ALL, chosen_assumptions
from selective_labels.inference.confidence_intervals import NAN

HEADINGS = ("", "assumption", "lower", "upper", "interval", "width", "saved")
CONTRADICTED = "contradicted"


@dataclass(frozen=True)
class LadderStep:
    """One assumption, the bounds under it, and how much it adds to a weaker one.

    Attributes
    ----------
    evaluation : Evaluation
        Bounds and interval; NaN if the data contradict the assumption.
    beyond : str or None
        Name of the strongest earlier step that assumes less and has a value.
    adds : str
        What the step assumes beyond that; its own name if there is no such step.
    sentence : str
        The added assumption in words.
    saved : float
        Reduction in width compared with `beyond`; NaN if either has no value.
    contradicted : bool
        Whether the data contradict the assumption.
    title : str
        Name of the step; "+" and the added assumption if `beyond` is the step just before.
    """

    assumption: Assumption
    evaluation: Evaluation
    beyond: str | None
    adds: str
    sentence: str
    saved: float
    contradicted: bool
    title: str

    def to_dict(self) -> dict[str, Any]:
        """Return the displayed fields as plain values."""
        found = self.evaluation
        return {
            "assumption": self.assumption.name,
            "adds": self.adds,
            "beyond": self.beyond,
            "lower": found.lower,
            "upper": found.upper,
            "ci_lower": found.ci_lower,
            "ci_upper": found.ci_upper,
            "width": found.width,
            "saved": self.saved,
            "contradicted": self.contradicted,
            "reason": found.reason,
            "sentence": self.sentence,
        }


@dataclass(frozen=True, eq=False, repr=False)
class Ladder(Display):
    """A metric of one classifier under assumptions from weak to strong, from one sample scored once.

    Iteration, indexing and `len` apply to the steps.
    """

    steps: tuple[LadderStep, ...]

    def __iter__(self) -> Iterator[LadderStep]:
        return iter(self.steps)

    def __len__(self) -> int:
        return len(self.steps)

    def __getitem__(self, position: int) -> LadderStep:
        return self.steps[position]

    def to_frame(self) -> pd.DataFrame:
        """Return a frame with one row per step."""
        return pd.DataFrame([each.to_dict() for each in self.steps])

    def to_json(self) -> str:
        """Return a JSON list of the steps; NaN becomes null."""
        rows = [{name: plain(value) for name, value in each.to_dict().items()} for each in self.steps]
        return json.dumps(rows, allow_nan=False)

    def sentences(self) -> list[str]:
        """Describe the columns, the assumption of every step, and the sample."""
        first = self.steps[0].evaluation
        lines = [
            "lower, upper: estimated ends of what the assumption leaves possible. interval: "
            f"{100 * first.confidence_level:.4g} %, for the {_target(first)}. saved: by how much the ends "
            "are closer than at the last step that assumes less."
        ]
        if any(each.saved < 0.0 for each in self.steps):
            lines.append(
                "A negative value comes from estimation (noise, or the more cautious of two ways to use a "
                "share): in the population, a further assumption never makes more possible."
            )
        notes = [_notes(each.evaluation, each.contradicted) for each in self.steps]
        shared: dict[str, list[int]] = {note: [] for found in notes for note in found}
        for number, found in enumerate(notes, start=1):
            for note in dict.fromkeys(found):
                shared[note].append(number)
        for number, (each, found) in enumerate(zip(self.steps, notes, strict=True), start=1):
            beyond = "" if each.beyond is None else f" (beyond {each.beyond})"
            lines.append(f"{number}. {each.adds}{beyond}: {each.sentence}")
            lines += [f"   {note}" for note in found if len(shared[note]) == 1]
            if _apart(each.evaluation, first):
                lines.append(
                    "   Its interval lies outside that of the first step, which assumes nothing: it does not "
                    "hold here, or its estimate is too weak to use."
                )
        lines += [
            f"Steps {in_words(steps, len(steps))}: {note}" for note, steps in shared.items() if len(steps) > 1
        ]
        return [*lines, f"Sample: {sample_text(first.sample)}"]

    def pasted(self) -> list[pd.DataFrame]:
        """Return the printed table; the note says what every step assumes."""
        return [pd.DataFrame(self.rows(), columns=["step", *HEADINGS[1:]])]

    def notes(self) -> list[str]:
        """Return the sentences below the printed table."""
        return [each.strip() for each in self.sentences()]

    def plot(self, ax: Any = None) -> Any:
        """Draw the intervals, with the weakest assumption on top.

        Parameters
        ----------
        ax : matplotlib Axes, optional

        Returns
        -------
        matplotlib Axes
        """
        if ax is None:
            from matplotlib import pyplot

            _, ax = pyplot.subplots(figsize=(6.4, 1.2 + 0.35 * len(self.steps)), layout="constrained")
        for height, step in enumerate(self.steps):
            found = step.evaluation
            if not found.defined:
                word = CONTRADICTED if step.contradicted else "no value"
                where = ax.get_yaxis_transform()  # x in axes coordinates, y in data coordinates
                ax.text(0.5, height, word, ha="center", va="center", color="C3", transform=where)
                continue
            ax.hlines(height, found.ci_lower, found.ci_upper, color="C0", linewidth=1.5)
            ax.hlines(height, found.lower, found.upper, color="C0", linewidth=6)
            ax.plot([found.lower, found.upper], [height, height], "|", color="C0", markersize=11)
        ax.set_yticks(range(len(self.steps)), [each.title for each in self.steps])
        ax.set_ylim(len(self.steps) - 0.5, -0.5)
        first = self.steps[0].evaluation
        ax.set_xlabel(f"{first.metric}\nthick: bounds; thin: {100 * first.confidence_level:.4g} % interval")
        return ax

    def text(self) -> str:
        """Return a table with one line per assumption, and sentences below it."""
        table = text_table([HEADINGS, *self.rows()])
        return "\n".join([self.steps[0].evaluation.metric, *table, *self.sentences()])

    def html(self) -> str:
        """Return the same as HTML for a notebook."""
        lines = "".join(f"<div>{escape(line)}</div>" for line in self.sentences())
        title = escape(self.steps[0].evaluation.metric)
        return f"<h4>{title}</h4>{html_table(HEADINGS, self.rows())}{lines}"

    def rows(self) -> list[tuple[str, ...]]:
        """Return the cells of the printed table, under `HEADINGS`."""
        rows: list[tuple[str, ...]] = []
        for number, step in enumerate(self.steps, start=1):
            found = step.evaluation
            ends = (_number(found.lower), _number(found.upper), _interval(found), _number(found.width))
            if step.contradicted:
                ends = (CONTRADICTED, "", "", "")
            rows.append((f"{number}", step.title, *ends, _number(step.saved)))
        return rows


def build(assumptions: list[Assumption], evaluations: list[Evaluation]) -> Ladder:
    """Compare every step with the weaker ones before it.

    A step that contains a contradicted assumption is contradicted too, even if its own estimated bounds do
    not cross by more than sampling error: its identified set is a subset of an empty set.
    """
    steps: list[LadderStep] = []
    for assumption, found in zip(assumptions, evaluations, strict=True):
        weaker = [each for each in steps if assumes_more(assumption, each.assumption)]
        refuted = [each for each in weaker if each.contradicted]
        if refuted and not found.empty:
            found = without_value(found, refuted[0].assumption.name)
        base = next((each for each in reversed(weaker) if each.evaluation.defined), None)
        adds, sentence = assumption.name, assumption.caption
        if base is not None:
            more = beyond(assumption, base.assumption)
            adds, sentence = more.name, more.caption
        steps.append(
            LadderStep(
                assumption,
                found,
                None if base is None else base.assumption.name,
                adds,
                sentence,
                NAN if base is None else base.evaluation.width - found.width,
                found.empty,
                f"+ {adds}" if adds != assumption.name and base is steps[-1] else assumption.name,
            )
        )
    return Ladder(tuple(steps))


def assumes_more(assumption: Assumption, other: Assumption) -> bool:
    """Whether the first assumption implies the other and is strictly stronger.

    Examples
    --------
    >>> from selective_labels.assumptions import Informed
    >>> both = Instrument() & Informed(1)
    >>> assumes_more(both, Instrument()), assumes_more(Nucem(), Instrument()), assumes_more(Nucem(), both)
    (True, True, False)
    """
    return assumption != other and set(_parts(other)) < set(_parts(assumption))


def beyond(assumption: Assumption, other: Assumption) -> Assumption:
    """Return what an assumption adds to a weaker one; the whole assumption if it has no parts.

    Examples
    --------
    >>> from selective_labels.assumptions import Informed
    >>> beyond(Instrument() & Informed(1), Instrument()).name
    'informed(1)'
    """
    if not isinstance(assumption, Combination):
        return assumption
    known = set(_parts(other))
    return combined(*(each for each in assumption.parts if each not in known))


def _parts(assumption: Assumption) -> tuple[Assumption, ...]:
    """Return the parts of an assumption; NUCEM and the event tilt include the instrument."""
    if isinstance(assumption, Combination):
        return assumption.parts
    if isinstance(assumption, NoAssumption):
        return ()
    return (Instrument(), assumption) if isinstance(assumption, Nucem | EventTilt) else (assumption,)


def without_value(found: Evaluation, name: str) -> Evaluation:
    """Return the evaluation without a value, because it contains a contradicted assumption."""
    return replace(
        found,
        lower=NAN,
        upper=NAN,
        ci_lower=NAN,
        ci_upper=NAN,
        crossed=True,
        basis=None,
        reason=f"contradicted: it contains {name!r}, which the data contradict.",
    )


def _apart(found: Evaluation, other: Evaluation) -> bool:
    return found.ci_lower > other.ci_upper or found.ci_upper < other.ci_lower


def _notes(found: Evaluation, contradicted: bool) -> list[str]:
    """Notes on a step; those on sharpness do not apply where the data contradict it."""
    return notes_of(found)[: len(found.sample.cautions) + 1 if contradicted else None]


def _target(found: Evaluation) -> str:
    return "value" if found.interval == "parameter" else "whole identified interval"


def _interval(found: Evaluation) -> str:
    if np.isnan(found.ci_lower):
        return "none"
    return f"[{_number(found.ci_lower)}, {_number(found.ci_upper)}]"


def _number(value: float) -> str:
    # Adding 0.0 turns minus zero into zero.
    return "" if np.isnan(value) else decimals(value)


def ladder_request(
    fitted: FittedTable, request: EvaluationRequest, interval: str, confidence_level: float
) -> Ladder:
    """Bound one metric under the assumptions of the request, from weak to strong."""
    steps = ladder_steps(request.assumption, fitted.has_instrument)
    judged = fitted.judge(replace(request, assumption=steps))
    one = the_only(judged.metrics, "metric", "a ladder is of one metric.")
    results = evaluate_sample(
        judged.sample(one), judged.subject(one), [one], None, interval, confidence_level
    )
    return build(steps, list(results))


def ladder_steps(
    assumptions: str | Assumption | Sequence[str | Assumption], has_instrument: bool
) -> list[Assumption]:
    """List the steps: no assumption, the instrument, then the given assumptions; parts accumulate.

    "all" stands for every named assumption that the input allows.

    Examples
    --------
    >>> from selective_labels.assumptions import Informed, Prevalence
    >>> given = [Informed(1), "nucem", Prevalence(1, 0.2)]
    >>> for each in ladder_steps(given, has_instrument=True):
    ...     print(each.name)
    none
    instrument
    instrument & informed(1)
    nucem
    instrument & informed(1) & prevalence(1, 0.2)
    """
    listed = [assumptions] if isinstance(assumptions, str | Assumption) else list(assumptions)
    given = [
        step
        for each in listed
        for step in (chosen_assumptions(ALL, has_instrument) if each == ALL else [each])
    ]
    base: Assumption = Instrument() if has_instrument else NoAssumption()
    assumption_steps = [NoAssumption(), base]
    for each in given:
        if isinstance(each, Part):
            base = base & each
            assumption_steps.append(named(base))
        else:
            assumption_steps.append(named(each))
    assumption_steps = list(dict.fromkeys(assumption_steps))
    names = [each.name for each in assumption_steps]
    twice = [name for name in names if names.count(name) > 1]
    if twice:
        raise InputError(
            f"two different assumptions are called {twice[0]!r}; give one of them.", "assumption"
        )
    return assumption_steps
