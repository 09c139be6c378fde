"""Evaluation of one metric under increasingly strong assumptions."""

from collections.abc import Sequence
from dataclasses import replace

from selective_labels._errors import InputError
from selective_labels._validation import the_only
from selective_labels.assumptions.base import Assumption, Part
from selective_labels.assumptions.instrument import Instrument, NoAssumption
from selective_labels.assumptions.parse import named
from selective_labels.evaluation.evaluate import evaluate_sample
from selective_labels.evaluation.fitted_table import FittedTable
from selective_labels.evaluation.ladder_results import Ladder, build
from selective_labels.evaluation.predictions import EvaluationRequest
from selective_labels.evaluation.scored_rows import ALL, chosen_assumptions


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
