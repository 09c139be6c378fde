"""The first line of most commands: what the data answer, by how much, and what that assumes."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from selective_labels._display import Described, decimals
from selective_labels._vocabulary import INSPECT
from selective_labels.assumptions.base import (
    ALGEBRA,
    DOUBTFUL,
    NOT_REFUTED,
    REFUTED,
    UNCHECKED,
    VIOLATED,
)
from selective_labels.assumptions.instrument import Unconfounded
from selective_labels.assumptions.parse import by_name
from selective_labels.evaluation.deciders import Deciders
from selective_labels.evaluation.drift import Drift
from selective_labels.evaluation.ladder import Ladder
from selective_labels.evaluation.plan import Plan
from selective_labels.evaluation.policy import FAILURES, MISSED, WORDS
from selective_labels.evaluation.policy_curve import PolicyCurve
from selective_labels.evaluation.results import Comparison, Evaluation, Evaluations
from selective_labels.evaluation.sensitivity import SensitivityCurve
from selective_labels.report.document import capital

# Verdicts on the instrument, the worst first.
ORDER = (REFUTED, UNCHECKED, DOUBTFUL, NOT_REFUTED)
CAN = {
    REFUTED: "No: who decided cannot be used.",
    UNCHECKED: "Not known: whether who decided can be used cannot be checked.",
    DOUBTFUL: "Doubtful.",
    NOT_REFUTED: "Yes, within bounds.",
}
COUNTED = {FAILURES: "failures", MISSED: "missed events"}


def condition(assumption: str) -> str:
    """The condition under which a number holds, as the end of a sentence.

    Examples
    --------
    >>> condition("none")
    'assuming nothing'
    >>> condition("instrument & informed('yes')")
    "if cases reach decision-makers as if at random and informed('yes') holds"
    """
    if assumption == "none":
        return "assuming nothing"
    conditions = {each.name: each.condition for each in by_name()}
    parts = assumption.split(" & ")
    return f"if {' and '.join(conditions.get(each) or f'{each} holds' for each in parts)}"


def instrument_verdict(verdicts: Sequence[Mapping[str, Any]]) -> Mapping[str, Any]:
    """The better of the verdicts on the instrument: within strata, and given the features."""
    return max(
        (each for each in verdicts if each["assumption"] == "instrument"),
        key=lambda each: ORDER.index(each["verdict"]),
    )


def check_verdict(content: Mapping[str, Any]) -> str:
    """Whether the data can answer, by the verdict on the instrument."""
    best = instrument_verdict(content["verdict"])
    said = f"Can this data answer the question? {CAN[best['verdict']]} {capital(best['plain'])}"
    broken = [
        each["code"] for each in content["checks"] if each["family"] == ALGEBRA and each["status"] == VIOLATED
    ]
    if broken:
        said += f" The data contradict what was assumed besides ({', '.join(broken)})."
    if best["verdict"] in (REFUTED, DOUBTFUL):
        said += " Bounds that assume nothing hold in any case."
    return said


def evaluation_verdict(results: Evaluations, name: str, main: str | None = None) -> str:
    """The first metric, or `main`, under the strongest assumption asked for that the data allow."""
    first = next((each for each in results if each.metric == main), results[0])
    if first.subgroup is not None:
        return _of_subgroups(results)
    about = [each for each in results if each.title == first.title]
    usable = [each for each in about if each.defined and not results.contradicts(each)]
    contradicted = [each.assumption for each in about if each.empty or results.contradicts(each)]
    if not usable:
        return f"{first.title} of {name}: no value. {first.reason or ''}".strip()
    best = _strongest(usable)
    refuted = "".join(f" The data contradict {each}." for each in contradicted)
    under = condition(best.assumption)
    return f"{_about(best, name)}: {_range(best)}, {under}.{refuted}"


def _about(result: Evaluation, name: str = "") -> str:
    """What a figure is about: a policy metric in words."""
    if result.metric in WORDS:
        return capital(WORDS[result.metric]) + (f" with {name}" if name else "")
    comma = "," if ", " in name else ""
    return capital(result.title + (f" of {name}{comma}" if name else "")) + " among all cases"


def _strongest(results: Sequence[Evaluation]) -> Evaluation:
    """The last of some results, weakest assumption first, that answers the question.

    What a check refuses does not, and neither does unconfoundedness beside others: it does not refine them.
    """
    trusted = [each for each in results if each.sample.refusal is None] or results
    return next(
        (each for each in reversed(trusted) if each.assumption != Unconfounded.name),
        trusted[-1],
    )


def _of_subgroups(results: Evaluations) -> str:
    gaps = list(results.gaps or ())
    apart = [each for each in gaps if each.ci_lower > 0.0 or each.ci_upper < 0.0]
    if not apart:
        many = "1 difference" if len(gaps) == 1 else f"{len(gaps)} differences"
        return f"No difference between subgroups is established ({many}, {_level(gaps[0])})."
    largest = max(apart, key=lambda each: min(abs(each.ci_lower), abs(each.ci_upper)))
    return (
        f"{len(apart)} of {len(gaps)} differences between subgroups are established; the clearest: "
        f"{largest.title} {_range(largest)}, {condition(largest.assumption)}."
    )


def comparison_verdict(result: Comparison) -> str:
    """Which of two is better, by how much, and under which assumption."""
    ends = f"a minus b is {signed(result.ci_lower)} to {signed(result.ci_upper)} ({_level(result)})"
    if not np.isfinite(result.ci_lower):
        return f"Verdict: none. {result.reason or 'There is no interval.'}"
    under = condition(result.assumption)
    if result.verdict == "undecided":
        return (
            f"Verdict: undecided between a ({result.a}) and b ({result.b}). {result.metric}: {ends}, "
            f"{under}. That does not make them equal."
        )
    other = "b" if result.verdict == "a" else "a"
    better = f"{result.verdict} ({getattr(result, result.verdict)})"
    return (
        f"Verdict: {better} is better than {other} ({getattr(result, other)}). {result.metric}: {ends}, "
        f"{under}."
    )


def ladder_verdict(found: Ladder) -> str:
    """The metric under the strongest assumption that the data do not contradict, and under none."""
    valued = [each for each in found if each.evaluation.defined and not each.contradicted]
    refuted = [each.adds for each in found if each.contradicted]
    contradicted = f" The data contradict {', '.join(refuted)}." if refuted else ""
    if not valued:
        return f"{found[0].evaluation.metric}: no value.{contradicted}"
    first, best = valued[0].evaluation, _strongest([each.evaluation for each in valued])
    said = f"{_about(best)}: {_range(best)}, {condition(best.assumption)}"
    if best is not first:
        said += f"; {_ends(first.lower, first.upper)} {condition(first.assumption)}"
    return f"{said}.{contradicted}"


def policy_verdict(curve: PolicyCurve) -> str:
    """The rate to accept at: by cost where costs are given, else the score against the human at her rate."""
    under = condition(curve.assumption)
    today = curve.human["acceptance"].lower
    if curve.cut_offs is not None:
        chosen = curve.cut_offs.minimax_regret
        rates = curve.cut_offs.acceptance[curve.cut_offs.could_be_best]
        rate = float(curve.cut_offs.acceptance[chosen])
        end = "highest" if curve.decision_means == INSPECT else "lowest"
        shares = {0.0: "no case", 1.0: "every case"}
        what = shares.get(round(rate, 3), f"{rate:.0%} of the cases, those with the {end} scores")
        regret = decimals(float(curve.cut_offs.worst_regret_upper[chosen]))
        return (
            f"Accept {what} (now {today:.0%} are accepted): at worst this costs {regret} a case more than "
            f"the best rate. {rates.min():.0%} to {rates.max():.0%} can still be best, {under}."
        )
    if not 0.0 < today < 1.0:
        return f"Every case, or none, was accepted ({today:.0%}): there is no rate of today to compare with."
    difference = curve.against_human()
    if not np.isfinite(difference.ci_lower):
        return f"At today's rate ({today:.0%}): {difference.reason or 'there is no interval'}"
    counted = COUNTED[curve.names.main]
    fewer, more = -difference.ci_upper, -difference.ci_lower
    if fewer > 0.0:
        what = f"better, with {100 * fewer:.1f} to {100 * more:.1f} fewer {counted}"
    elif more < 0.0:
        what = f"worse, with {-100 * more:.1f} to {-100 * fewer:.1f} more {counted}"
    else:
        what = f"undecided, with {-100 * more:.1f} to {-100 * fewer:+.1f} more {counted}"
    return (
        f"At today's rate ({today:.0%} accepted) the score is {what} in 100 cases than the decisions taken "
        f"({_level(difference)}), {under}."
    )


def drift_verdict(found: Drift) -> str:
    """Whether the metric moved, and what that assumes."""
    return " ".join([*found.moves()[::-1], f"The bounds hold {condition(found.evaluations[0].assumption)}."])


def sensitivity_verdict(curve: SensitivityCurve) -> str:
    """Where the conclusion changes, or the bounds at both ends of the curve."""
    if curve.conclusion is not None:
        return curve.sentences()[-1]
    ends = (_ends(curve.lower[place], curve.upper[place]) for place in (0, -1))
    return (
        f"{curve.title}: {' and '.join(ends)} at {curve.x_name} {curve.x[0]:.3g} and {curve.x[-1]:.3g}; give "
        "a value to compare with, and the line says where the answer changes."
    )


def plan_verdict(found: Plan) -> str:
    """What would settle the question."""
    if found.answers:
        return found.answers[0]
    best = min(found.rows, key=lambda each: each["interval"])
    return f"Narrowest of these ways: {best['way']}; the interval would be {decimals(best['interval'])} wide."


def _range(result: Evaluation) -> str:
    """Bounds, and the interval that allows for sampling error."""
    bounds = _ends(result.lower, result.upper)
    if not np.isfinite(result.ci_lower):
        return bounds
    return f"{bounds} ({_level(result)} {decimals(result.ci_lower)} to {decimals(result.ci_upper)})"


def _ends(low: float, high: float) -> str:
    lower, upper = decimals(low), decimals(high)
    return lower if lower == upper else f"{lower} to {upper}"


def _level(result: Any) -> str:
    return f"{100 * result.confidence_level:.4g}% interval"


def deciders_verdict(found: Deciders) -> str:
    """How many decision-makers stand out from what their cases lead one to expect."""
    frame, words = found.to_frame(), found.vocabulary

    def apart(name: str) -> int:
        """Rows whose interval excludes zero."""
        return int(((frame[f"{name}_lower"] > 0.0) | (frame[f"{name}_upper"] < 0.0)).sum())

    return (
        f"Of {len(found):,} {words.decision_makers}, {apart('leniency'):,} stand out in how often their "
        f"{words.cases} are {words.yes_past}, and {apart('excess'):,} in the outcomes of these, beyond what "
        f"comparable {words.cases} explain ({_level(found)}s after shrinkage)."
    )


def first_answer(found: Described) -> str:
    """The first sentence of a result that is not a caution: its answer."""
    return next(each for each in found.sentences() if not each.startswith("Caution"))


def signed(value: float) -> str:
    """The same with its sign.

    Examples
    --------
    >>> signed(0.0213), signed(-1412.3)
    ('+0.021', '-1,412')
    """
    text = decimals(value)
    return text if text.startswith("-") else f"+{text}"
