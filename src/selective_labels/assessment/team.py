"""Does the score help the people who decide? People, score, and both together, at the same rate."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from selective_labels.assessment.acceptance import as_risk, ends
from selective_labels.assessment.contenders import Contender
from selective_labels.assessment.sections import Part
from selective_labels.evaluation.compare import compare_sample, policy_contest
from selective_labels.evaluation.estimated import judged
from selective_labels.inference.sample import ScoredSample
from selective_labels.policies.courses import Course
from selective_labels.policies.direction import SEARCHED, people_accept_risk, turned
from selective_labels.policies.ground import RowGround
from selective_labels.policies.policy import BOTH, EITHER, Policy, read_course
from selective_labels.policies.policy_value import PolicyValue
from selective_labels.policies.stakes import ACCEPTANCE, COST, FAILURE_RATE, FAILURES, Stake, read_stakes
from selective_labels.support.errors import InputError

ALONE, DEFERRED = "score", "undecided"


def team_part(
    sample: ScoredSample, rule: Contender, decided: np.ndarray | None, event: int, assumption: str, cost: Any
) -> Part:
    """Judge ways to share the work between people and a rule's score, each against the people alone.

    The score has its cut-off where it accepts as many cases as the people did.

    Parameters
    ----------
    sample : ScoredSample
    rule : Contender
        With scores.
    decided : (n_samples,) bool array or None
        Cases for which one prediction is best whatever the missing labels are; the others may go to people.
    event : int
    assumption : str
    cost : matrix or None
    """
    data = sample.data
    if rule.scores is None:
        raise InputError("Only predicted classes are known; a team needs a score.", "predictions")
    if data.decision.all():
        raise InputError("Every case was accepted: there is nothing that a score could change.", "decision")
    money = None if len(data.classes) != 2 else cost
    stakes = {each.name: each for each in read_stakes(None, data.classes, event, money)}
    main = stakes[FAILURE_RATE if money is None else COST]
    risk = as_risk(rule.scores, data.classes)
    human = Course.human(len(data))
    ways = {"human": human}
    policies: dict[str, Any] = {ALONE: None, BOTH: BOTH, EITHER: EITHER}
    if decided is not None and 0 < decided.sum() < len(decided):
        policies[DEFERRED] = 1.0 - decided.astype(float)
    for name, team in policies.items():
        ways[name] = read_course(Policy(risk, with_human=team), data, event)
    shown = [stakes[name] for name in (ACCEPTANCE, FAILURE_RATE, FAILURES, COST) if name in stakes]
    return Part(
        {
            "model": rule.key,
            "assumption": assumption,
            "measure": main.name,
            "deferred_share": None
            if decided is None
            else float(np.average(~decided, weights=sample.weights)),
            "ways": [
                _way(sample, name, course, shown, assumption)
                | (
                    {"difference": None}
                    if course is human
                    else _against(sample, course, human, main, assumption)
                )
                for name, course in ways.items()
            ],
        }
    )


def reversed_part(sample: ScoredSample, rules: Sequence[Contender], event: int) -> Part | None:
    """In place of a table that would be the wrong way round: people accept what a rule calls risky.

    A yes to a test or a search does not say that all is well, as accepting does here.
    """
    data = sample.data
    for rule in rules:
        risk = (rule.codes == event).astype(float) if rule.scores is None else rule.scores
        if people_accept_risk(risk, data):
            sentence = (
                f"What people and score are worth together is not shown: {SEARCHED} (“{rule.name}”). If a "
                "yes is a test or a search, it does not say that all is well, and costs of people would be "
                f"the wrong way round: {turned(data, event)}."
            )
            return Part({"missing": sentence, "reversed": True})
    return None


def _way(
    sample: ScoredSample, name: str, course: Course, stakes: list[Stake], assumption: str
) -> dict[str, Any]:
    values = {}
    for stake in stakes:
        functional = PolicyValue.of(stake, sample.data, (1.0, course))
        values[stake.name] = ends(judged(sample, functional, stake.name, assumption, functional.limits))
    return {"way": name, "values": values}


def _against(
    sample: ScoredSample, course: Course, human: Course, stake: Stake, assumption: str
) -> dict[str, Any]:
    """What the way has more of than the people alone; who is better if the interval says so."""
    found = compare_sample(sample, policy_contest(RowGround(sample, 0), course, human, stake), assumption)
    return {
        "difference": ends(found) | {"verdict": {"a": "team", "b": "human"}.get(found.verdict, "undecided")}
    }
