"""Policies: who decides about which case, the score or the human, and what is then accepted."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from selective_labels.data import SelectiveLabels
from selective_labels.identification.bounds import Array
from selective_labels.measures.subject import Subject, read_subject
from selective_labels.policies.courses import Course
from selective_labels.policies.direction import warn_if_reversed
from selective_labels.support.errors import InputError

BOTH, EITHER, UNDECIDED = "both", "either", "undecided"
TEAMS = (BOTH, EITHER, UNDECIDED)
TEAM_WORDS = {
    None: "the score decides",
    BOTH: "a case is accepted if the human accepts it and its score is below the cut-off",
    EITHER: "a case is accepted if the human accepts it or its score is below the cut-off",
    UNDECIDED: "the human decides where the rule is undecided, and the score elsewhere",
}


@dataclass(frozen=True, eq=False)
class Policy:
    """Accept the cases whose score of the failure is low, alone or together with the human.

    Parameters
    ----------
    score : fitted classifier, (n_samples,) scores, or (n_samples, n_classes) probabilities
        Of a classifier, its score of the failure; higher is riskier. Predicted labels count as 0 and 1.
    acceptance : float, optional
        Share of cases whose score is below the cut-off. Default, without `threshold`: as many as were
        accepted.
    threshold : float, optional
        The cut-off itself: cases with a score below it. Not together with `acceptance`.
    with_human : None, "both", "either", "undecided" or (n_samples,) array
        What the human has to say. None: nothing. "both": accepted are the cases that the human accepts and
        whose score is below the cut-off; "either": those for which one of the two holds. An array (truth
        values, or probabilities) says which cases are deferred to the human, the score deciding the others;
        "undecided" defers those that the classifier does not call decided (its method ``decided``).

    Examples
    --------
    >>> Policy([0.1, 0.7], acceptance=0.5, with_human="both")
    Policy(acceptance=0.5, with_human='both')
    """

    score: Any
    acceptance: float | None = None
    threshold: float | None = None
    with_human: Any = None

    def __post_init__(self) -> None:
        if self.acceptance is not None and self.threshold is not None:
            raise InputError("give acceptance or threshold, not both.", "acceptance")
        if self.acceptance is not None and not 0.0 <= self.acceptance <= 1.0:
            raise InputError.about("acceptance", f"is {self.acceptance!r}; it must lie between 0 and 1.")
        if self.threshold is not None and not np.isfinite(self.threshold):
            raise InputError.about("threshold", f"is {self.threshold!r}; it must be a finite number.")
        if isinstance(self.with_human, str) and self.with_human not in TEAMS:
            words = ", ".join(map(repr, TEAMS))
            raise InputError.about(
                "with_human",
                f"is {self.with_human!r}; it must be {words}, or an array that says which cases go "
                "to the human.",
            )

    def __repr__(self) -> str:
        given = {"acceptance": self.acceptance, "threshold": self.threshold}
        shown = [f"{name}={value!r}" for name, value in given.items() if value is not None]
        if self.with_human is not None:
            team = self.with_human if isinstance(self.with_human, str) else "some"
            shown.append(f"with_human={team!r}")
        return f"Policy({', '.join(shown)})"


def read_course(policy: Policy, data: SelectiveLabels, failure: int, name: str = "score") -> Course:
    """Lay a policy out on the rows of data."""
    subject = read_subject(policy.score, data, name)
    risk = risk_of(subject, failure)
    below, above = modes(policy, len(data), _deferred(policy, data))
    return Course(below, above, risk, policy.acceptance, policy.threshold)


def given_course(policy: Policy, data: SelectiveLabels, failure: int, name: str = "score") -> Course:
    """The same for a policy that a user gave: warn if its score seems to run the wrong way."""
    course = read_course(policy, data, failure, name)
    warn_if_reversed(course.risk, data, failure)
    return course


def risk_of(subject: Subject, failure: int) -> Array:
    """Score of the failure; predicted labels count as 0 and 1."""
    return subject.score(failure) if subject.has_scores else subject.chosen[:, failure]


def modes(policy: Policy, n_samples: int, deferred: Array) -> tuple[tuple[Array, Array], tuple[Array, Array]]:
    """Who decides, and how, below the cut-off and above; `deferred` counts where some cases are."""
    zeros, ones = np.zeros(n_samples), np.ones(n_samples)
    team = policy.with_human
    if team is None:
        return (ones, zeros), (zeros, zeros)
    if isinstance(team, str) and team == BOTH:
        return (zeros, ones), (zeros, zeros)
    if isinstance(team, str) and team == EITHER:
        return (ones, zeros), (zeros, ones)
    return (1.0 - deferred, deferred), (zeros, deferred)


def deferred_by(classifier: Any, data: SelectiveLabels) -> Array:
    """1 where a classifier is undecided, 0 elsewhere."""
    if not hasattr(classifier, "decided"):
        raise InputError.about(
            "with_human",
            "'undecided' needs a classifier that has a method decided, such as UCLClassifier.",
        )
    return 1.0 - np.asarray(classifier.decided(data.X), dtype=float)


def _deferred(policy: Policy, data: SelectiveLabels) -> Array:
    """Probability that the human decides, where the policy defers some cases."""
    if policy.with_human is None or (isinstance(policy.with_human, str) and policy.with_human != UNDECIDED):
        return np.zeros(len(data))
    if isinstance(policy.with_human, str):
        return deferred_by(policy.score, data)
    try:
        given = np.asarray(policy.with_human, dtype=float)
    except (TypeError, ValueError):
        raise InputError.about("with_human", "must hold truth values or probabilities.") from None
    if given.shape != (len(data),):
        raise InputError.about(
            "with_human",
            f"has shape {given.shape}, and there are {len(data)} cases: give one value for each.",
        )
    if not ((given >= 0.0) & (given <= 1.0)).all():
        raise InputError.about("with_human", "must hold truth values or probabilities.")
    return given
