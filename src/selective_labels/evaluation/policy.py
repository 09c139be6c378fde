"""Policies, the actions they imply for each case, the measures of their outcomes, and checks of scores."""

import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import ArrayLike
from scipy.stats import rankdata

from selective_labels._errors import InputError
from selective_labels._validation import is_number
from selective_labels._vocabulary import ACCEPT, INSPECT
from selective_labels.data.selective_labels import SelectiveLabels
from selective_labels.evaluation.predictions import (
    Decisions,
    Predictions,
    codes_of_decisions,
    is_human,
    read_predictions,
    rows_to_predict,
)
from selective_labels.evaluation.scored_rows import Scored, ScoredSample
from selective_labels.identification.bounds import Array
from selective_labels.inference.evidence import by_row
from selective_labels.inference.standard_errors import ROUNDING
from selective_labels.nuisance.folds import outcomes_of

# Share of cases on either side of the threshold from which the risk of the marginal case is estimated.
NEAR_CUT_OFF = 0.05
# A case that is accepted with a probability closer to 0 or 1 than this is not at the threshold.
AT_A_CASE = 1e-9


@dataclass(frozen=True, eq=False)
class PolicyActions:
    """Action for each row: accepted by rule, left to the human, or refused otherwise.

    Where a yes inspects, "accepted" stands for inspected, and the risk is minus the score, so that the lowest
    are the highest scores: see :func:`acting_order`.

    Attributes
    ----------
    below, above : pairs of (n_samples,) arrays
        Probability that the rule accepts and probability that the human decides, for scores below the
        threshold and for the others.
    risk : (n_samples,) array
        The score, in the order in which it is acted on.
    acceptance : float or None
        Share of cases below the threshold; None: the acceptance rate of the human.
    threshold : float or None
        The threshold, if it is given instead of the share.
    between : (n_samples,) bool array or None
        For cells of rows, marks cells whose risks differ and have unknown order.
    """

    below: tuple[Array, Array]
    above: tuple[Array, Array]
    risk: Array
    acceptance: float | None = None
    threshold: float | None = None
    between: np.ndarray | None = None

    @classmethod
    def human(cls, n_samples: int) -> "PolicyActions":
        """Return the observed decisions."""
        alone = np.zeros(n_samples), np.ones(n_samples)
        return cls(alone, alone, np.zeros(n_samples), threshold=0.0)

    @property
    def by_share(self) -> bool:
        """Whether the threshold is set by an acceptance rate, and therefore estimated."""
        return self.threshold is None

    @property
    def known_acceptance(self) -> float | None:
        """Acceptance rate, if it depends neither on the human's decisions nor on the sample."""
        alone = not self.below[1].any() and not self.above[1].any()
        return self.acceptance if alone and self.by_share else None

    def share_below(self, decision: Array, weights: Array) -> tuple[Array, Array]:
        """Return the probability of being below the threshold, and weights of rows near it."""
        weights = np.asarray(by_row(weights))
        if self.threshold is not None:
            return (self.risk < self.threshold).astype(float), weights
        share = self.acceptance
        if share is None:
            share = float(np.average(decision, weights=weights))
        return accept_lowest(self.risk, share, weights)

    def unordered(self, decision: Array, weights: Array) -> float:
        """Σ_b m_b p_b (1 - p_b) over cells b that contain the threshold and cases of different risk.

        m_b is the share of cases in b, and p_b the share of b below the threshold. Whichever cases these are,
        a mean of values between v and w changes by at most this times w - v.
        """
        if self.between is None or not self.by_share:
            return 0.0
        mass = np.asarray(by_row(weights))
        below, _ = self.share_below(decision, weights)
        part = self.between & (below > 0.0) & (below < 1.0)
        return float(np.sum((mass * below * (1.0 - below))[part]) / mass.sum())

    def accepted(self, decision: Array, weights: Array) -> Array:
        """Return the probability that each case is accepted, given the human's decision."""
        below, _ = self.share_below(decision, weights)
        accept, human = mixed(below, self.below, self.above)
        return accept + human * decision


def mixed(share: Array, below: tuple[Array, Array], above: tuple[Array, Array]) -> tuple[Array, Array]:
    """Average the actions below and above the threshold, with `share` the probability of being below."""
    first, second = (share * low + (1.0 - share) * high for low, high in zip(below, above, strict=True))
    return first, second


def accept_lowest(risk: Array, share: float, weights: Array) -> tuple[Array, Array]:
    """Accept the cases with the lowest risk, up to a share of the weight.

    Returns
    -------
    policy : (n_samples,) array
        Probability of accepting: 1 below the threshold, 0 above it, in between for cases exactly at it.
    near : (n_samples,) array
        Weights of the cases near the threshold.

    Examples
    --------
    >>> accept_lowest(np.array([0.3, 0.1, 0.3, 0.9]), 0.5, np.ones(4))[0]
    array([0.5, 1. , 0.5, 0. ])
    """
    _, level = np.unique(risk, return_inverse=True)
    mass = np.bincount(level, weights=weights) / weights.sum()
    reached = np.cumsum(mass)
    accepted = np.clip((share - (reached - mass)) / np.maximum(mass, np.finfo(float).tiny), 0.0, 1.0)
    # Sums over cells round otherwise than sums over rows: a share that falls between two cases stays there.
    accepted = np.where(np.abs(accepted - accepted.round()) < AT_A_CASE, accepted.round(), accepted)
    reach = NEAR_CUT_OFF + ROUNDING
    near = (reached >= share - reach) & (reached - mass <= share + reach)
    return accepted[level], weights * near[level]


def acting_as_now(risk: Array, data: SelectiveLabels, event: int) -> tuple[Array, float]:
    """Probabilities of predicting each of two classes, if a score gives as many a yes as decision-makers did.

    Cases at the cut-off are drawn. The second value is the share of a yes.
    """
    share = float(np.average(data.row_decision, weights=data.weights))
    accepted, _ = accept_lowest(acting_order(risk, data.decision_means), share, data.weights)
    chances = np.empty((len(risk), 2))
    yes, no = codes_of_decisions(event, 2, data.decision_means)
    chances[:, yes], chances[:, no] = accepted, 1.0 - accepted
    return chances, share


# A score counts as reversed if its AUC is this many standard errors below one half (probability 3e-5).
REVERSED = 4.0
# An AUC closer to one half than this says little about what people look for, however large the sample.
SLIGHT = 0.05


def warn_if_reversed(risk: Array, data: SelectiveLabels, failure: int) -> None:
    """Warn if a score seems reversed, or if people act on its other end, beyond sampling error.

    A score is high where the event is likely, but credit scores are high for good cases. Where a yes accepts,
    people accept low scores; doctors and inspectors say yes to a test or a search where they expect a
    finding. If people do the opposite of what a yes is said to mean, costs and comparisons with them have the
    wrong sign.
    """
    event, inspects = data.classes.tolist()[failure], data.decision_means == INSPECT
    seen = data.y >= 0
    area, error = area_under(risk[seen], data.y[seen] == failure)
    if area < 0.5 - REVERSED * error:
        warnings.warn(
            data.vocabulary.say(
                f"The score is taken as risk: cases with {'high' if inspects else 'low'} scores are "
                "accepted. But among the labeled cases a higher score goes with fewer of "
                f"{event!r} (AUC {area:.2f}): if a high score means a good case, turn its sign."
            ),
            stacklevel=3,
        )
    elif people_act_otherwise(risk, data):
        warnings.warn(
            f"{otherwise(data)}: else costs and comparisons with people are the wrong way round.",
            stacklevel=3,
        )


def people_act_otherwise(risk: Array, data: SelectiveLabels) -> bool:
    """Whether people act on the other end of a score than a yes is said to mean, beyond sampling error.

    Where a yes accepts, AUC = P(score of a case with a yes > score of one with a no) is at least .55 and
    significantly above one half; where it inspects, at most .45 and significantly below.
    """
    area, error = area_under(risk, data.row_decision == 1)
    ahead = 0.5 - area if data.decision_means == INSPECT else area - 0.5
    return bool(ahead > max(REVERSED * error, SLIGHT))


def otherwise(data: SelectiveLabels) -> str:
    """Say that people act on the other end of a score, and what to do if a yes means something else."""
    if data.decision_means == INSPECT:
        return data.vocabulary.say(
            "A yes is said to inspect, so the highest scores are accepted. But people accepted cases with "
            "lower scores than those they refused. If a yes lets the case go through, say "
            "decision_means='accept' (--decision-means accept)"
        )
    return data.vocabulary.say(
        "A yes is taken to accept, so the lowest scores are accepted. But people accepted cases with higher "
        "scores than those they refused. If a yes is a test or a search, say decision_means='inspect' "
        "(--decision-means inspect)"
    )


def area_under(score: Array, positive: np.ndarray) -> tuple[float, float]:
    """Area under the ROC curve, and its standard error under the hypothesis of no association.

    AUC = P(score of a positive > score of another),   √((n + 1) / (12 n_positive n_others))

    Examples
    --------
    >>> area_under(np.array([1.0, 2.0, 3.0, 4.0]), np.array([False, True, False, True]))[0]
    0.75
    """
    ranks = rankdata(score)
    n_positive = int(positive.sum())
    n_others = len(positive) - n_positive
    if not n_positive or not n_others:
        return 0.5, np.inf
    area = (ranks[positive].sum() - n_positive * (n_positive + 1) / 2) / n_positive / n_others
    return float(area), float(np.sqrt((len(positive) + 1) / (12.0 * n_positive * n_others)))


BOTH, EITHER, UNDECIDED = "both", "either", "undecided"
TEAMS = (BOTH, EITHER, UNDECIDED)
TEAM_WORDS = {
    None: "the score decides",
    BOTH: "a case is accepted if the human accepts it and its score is below the cut-off",
    EITHER: "a case is accepted if the human accepts it or its score is below the cut-off",
    UNDECIDED: "the human decides where the rule is undecided, and the score elsewhere",
}


def team_words(team: str | None, means: str) -> str:
    """How the human and the score decide together.

    Examples
    --------
    >>> team_words("both", "inspect")
    'a case is accepted if the human accepts it and its score is at or above the cut-off'
    """
    words = TEAM_WORDS[team]
    return words.replace("below the cut-off", "at or above the cut-off") if means == INSPECT else words


@dataclass(frozen=True, eq=False)
class Policy:
    """Accept the cases with a low score of the event, alone or together with the human.

    Where a yes inspects (``decision_means="inspect"``), the cases with a high score are inspected instead:
    read "inspected" for "accepted", and "from the threshold on" for "below the threshold".

    Parameters
    ----------
    score : fitted classifier, (n_samples,) scores, or (n_samples, n_classes) probabilities
        For a classifier, its score of the failure; higher is riskier. Predicted labels count as 0 and 1.
    acceptance : float, optional
        Share of cases with a score below the threshold. Default, without `threshold`: the observed
        acceptance rate.
    threshold : float, optional
        Cases with a score below it are accepted. Not together with `acceptance`.
    with_human : None, "both", "either", "undecided" or (n_samples,) array
        Role of the human. None: the score decides alone. "both": a case is accepted if the human accepts it
        and its score is below the threshold. "either": a case is accepted if one of the two holds. An array
        (booleans or probabilities) marks the cases that are deferred to the human; the score decides the
        others. "undecided" defers the cases on which the classifier is undecided (its method ``decided``).

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
        if is_human(self.score):
            raise InputError.about(
                "score", 'is "human", who gives decisions and no scores; give "human" itself to evaluate it.'
            )
        if self.acceptance is not None and self.threshold is not None:
            raise InputError("give acceptance or threshold, not both.", "acceptance")
        if self.acceptance is not None and not (is_number(self.acceptance) and 0.0 <= self.acceptance <= 1.0):
            raise InputError.about("acceptance", f"is {self.acceptance!r}; it must lie between 0 and 1.")
        if self.threshold is not None and not (is_number(self.threshold) and np.isfinite(self.threshold)):
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


def read_policy_actions(
    policy: Policy, data: SelectiveLabels, failure: int, name: str = "score"
) -> PolicyActions:
    """Return the actions of a policy on the rows of data."""
    subject = read_predictions(policy.score, data, name)
    order = acting_order(risk_of(subject, failure), data.decision_means)
    below, above = modes(policy, len(data), _deferred(policy, data))
    threshold = acting_threshold(policy.threshold, data.decision_means)
    return PolicyActions(below, above, order, policy.acceptance, threshold)


def checked_policy_actions(
    policy: Policy, data: SelectiveLabels, failure: int, name: str = "score"
) -> PolicyActions:
    """Return the actions of a policy given by a user; warn if its score seems reversed."""
    actions = read_policy_actions(policy, data, failure, name)
    warn_if_reversed(acting_order(actions.risk, data.decision_means), data, failure)
    return actions


def acting_order(score: Array, means: str) -> Array:
    """Return a score so that its lowest values are acted on first: minus the score where a yes inspects.

    Examples
    --------
    >>> acting_order(np.array([0.2, 0.7]), "inspect")
    array([-0.2, -0.7])
    """
    return -score if means == INSPECT else score


def acting_threshold(threshold: float | None, means: str) -> float | None:
    """Return the threshold of :func:`acting_order`: a score at it is inspected, and is not accepted.

    Examples
    --------
    >>> acting_threshold(0.5, "accept"), -0.5 < acting_threshold(0.5, "inspect") < -0.4999
    (0.5, True)
    """
    if threshold is None or means != INSPECT:
        return threshold
    return float(np.nextafter(-threshold, np.inf))


def risk_of(subject: Predictions, failure: int) -> Array:
    """Return the score of the failure; predicted labels count as 0 and 1."""
    return subject.score(failure) if subject.has_scores else subject.chosen[:, failure]


def modes(policy: Policy, n_samples: int, deferred: Array) -> tuple[tuple[Array, Array], tuple[Array, Array]]:
    """Return the actions below and above the threshold; `deferred` applies if the policy defers cases."""
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
    """Return 1 where a classifier is undecided, 0 elsewhere."""
    if not hasattr(classifier, "decided"):
        raise InputError.about(
            "with_human",
            "'undecided' needs a classifier that has a method decided, such as UCLClassifier.",
        )
    return 1.0 - np.asarray(classifier.decided(rows_to_predict(classifier, data)), dtype=float)


def _deferred(policy: Policy, data: SelectiveLabels) -> Array:
    """Return the probability that the human decides, for a policy that defers cases."""
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


ACCEPTANCE, FAILURES, FAILURE_RATE = "acceptance", "failures", "failure_rate"
AVOIDED, GOOD_LOST, COST, PROFIT = "avoided", "good_lost", "cost", "profit"
MISSED, HIT_RATE, FOUND, IN_VAIN = "missed", "hit_rate", "found", "in_vain"
OF_COST = (COST, PROFIT)


@dataclass(frozen=True)
class MeasureNames:
    """Names of the measures that tables with one meaning of a yes have.

    Attributes
    ----------
    main : str
        Share of all cases on which the decision was wrong in the way that matters most.
    rate : str
        Share of the event among the cases with a yes.
    seen : str
        Share of all cases with a yes and the event, which is observed for the human.
    lost : str
        Share of all cases on which the decision was wrong in the other way.
    """

    main: str
    rate: str
    seen: str
    lost: str
    plain: tuple[str, ...]


MEASURES_OF = {
    ACCEPT: MeasureNames(
        FAILURES,
        FAILURE_RATE,
        FAILURES,
        GOOD_LOST,
        (ACCEPTANCE, FAILURES, FAILURE_RATE, AVOIDED, GOOD_LOST),
    ),
    INSPECT: MeasureNames(MISSED, HIT_RATE, FOUND, IN_VAIN, (ACCEPTANCE, MISSED, HIT_RATE, FOUND, IN_VAIN)),
}
PLAIN = tuple(dict.fromkeys(name for each in MEASURES_OF.values() for name in each.plain))
WORDS = {
    MISSED: "share of all cases that are refused and have the event",
    HIT_RATE: "share of the accepted cases that have the event",
    FOUND: "share of all cases that are accepted and have the event",
    IN_VAIN: "share of all cases that are accepted and do not have the event",
    ACCEPTANCE: "share of all cases that are accepted",
    FAILURES: "share of all cases that are accepted and have the event",
    FAILURE_RATE: "share of the accepted cases that have the event",
    AVOIDED: "share of all cases that are refused and would have had the event",
    GOOD_LOST: "share of all cases that are refused and would not have had the event",
    COST: "mean cost of a case",
    PROFIT: "mean cost saved on a case, compared with refusing everybody",
}


@dataclass(frozen=True, eq=False)
class PolicyMeasure:
    """Value of a case of each class if it is accepted and if it is refused.

    E[accepted[Y*] 1{accepted} + refused[Y*] 1{refused}],   divided by P(accepted) if `per_accepted`

    Attributes
    ----------
    accepted, refused : (n_classes,) arrays
    per_accepted : bool
        Whether the measure is a rate among accepted cases; refused cases then have value zero.
    """

    name: str
    accepted: Array
    refused: Array
    per_accepted: bool = False
    greater_is_better: bool = False

    def limits(self, acceptance: float | None = None) -> tuple[float, float]:
        """Return the smallest and largest possible value, given the acceptance rate if it is known."""
        if self.per_accepted:
            return float(self.accepted.min()), float(self.accepted.max())
        if acceptance is None:
            both = np.concatenate([self.accepted, self.refused])
            return float(both.min()), float(both.max())
        ends = [
            acceptance * end(self.accepted) + (1.0 - acceptance) * end(self.refused)
            for end in (np.min, np.max)
        ]
        return float(ends[0]), float(ends[1])


def read_policy_measures(
    names: Sequence[str] | None,
    classes: np.ndarray,
    failure: int,
    cost: ArrayLike | None,
    means: str = ACCEPT,
) -> list[PolicyMeasure]:
    """Return measures by name; None returns all of them, costs only if `cost` is given.

    Parameters
    ----------
    names : list of names, or None
    classes : sorted class labels
    failure : int
        Code of the failure class.
    cost : matrix, optional
        See :func:`read_cost`.
    means : "accept" or "inspect"
        What a yes means, which decides which measures there are.

    Examples
    --------
    >>> [each.name for each in read_policy_measures(None, np.array(["good", "lost"]), 1, [[0, 1], [5, 0]])]
    ['acceptance', 'failures', 'failure_rate', 'avoided', 'good_lost', 'cost', 'profit']
    >>> [each.name for each in read_policy_measures(None, np.array(["clean", "found"]), 1, None, "inspect")]
    ['acceptance', 'missed', 'hit_rate', 'found', 'in_vain']
    """
    plain = MEASURES_OF[means].plain
    possible = (*plain, *OF_COST)
    wanted = (plain if cost is None else possible) if names is None else tuple(names)
    unknown = [name for name in wanted if name not in possible]
    if unknown or not wanted:
        given = repr(unknown[0]) if unknown else "an empty list"
        because = f" where a yes means {means}" if unknown and unknown[0] in PLAIN else ""
        known = ", ".join(map(repr, possible))
        raise InputError(f"metric {given} is not one of {known}{because}.", "metric")
    if cost is None and set(wanted) & set(OF_COST):
        raise InputError(
            f"metric {next(name for name in wanted if name in OF_COST)!r} needs cost=, a matrix "
            "C[true, predicted] over the sorted classes.",
            "cost",
        )
    failed = (np.arange(len(classes)) == failure).astype(float)
    nothing, one = np.zeros(len(classes)), np.ones(len(classes))
    policy_measures = {
        ACCEPTANCE: PolicyMeasure(ACCEPTANCE, one, nothing, greater_is_better=True),
        FAILURES: PolicyMeasure(FAILURES, failed, nothing),
        FAILURE_RATE: PolicyMeasure(FAILURE_RATE, failed, nothing, per_accepted=True),
        AVOIDED: PolicyMeasure(AVOIDED, nothing, failed, greater_is_better=True),
        GOOD_LOST: PolicyMeasure(GOOD_LOST, nothing, 1.0 - failed),
        MISSED: PolicyMeasure(MISSED, nothing, failed),
        HIT_RATE: PolicyMeasure(HIT_RATE, failed, nothing, per_accepted=True, greater_is_better=True),
        FOUND: PolicyMeasure(FOUND, failed, nothing, greater_is_better=True),
        IN_VAIN: PolicyMeasure(IN_VAIN, 1.0 - failed, nothing),
    }
    if cost is not None:
        accepted, refused = read_cost(cost, classes, failure, means)
        policy_measures[COST] = PolicyMeasure(COST, accepted, refused)
        policy_measures[PROFIT] = PolicyMeasure(PROFIT, refused - accepted, nothing, greater_is_better=True)
    return [policy_measures[name] for name in wanted]


def read_cost(cost: Any, classes: np.ndarray, failure: int, means: str = ACCEPT) -> tuple[Array, Array]:
    """Return the costs of a yes and of a no to a case of each class.

    With two classes, `cost` is C[true, predicted], and :func:`codes_of_decisions` says what a yes predicts.
    With more classes it has two columns, the costs of a yes and of a no.

    Examples
    --------
    >>> read_cost([[0, 1], [5, 0]], np.array(["good", "lost"]), failure=1)
    (array([0., 5.]), array([1., 0.]))
    >>> read_cost([[0, 400], [3000, 400]], np.array(["clean", "fraud"]), failure=1, means="inspect")
    (array([400., 400.]), array([   0., 3000.]))
    """
    try:
        matrix = np.asarray(cost, dtype=float)
    except (TypeError, ValueError):
        raise InputError.about("cost", "must hold numbers, in rows of equal length.") from None
    n_classes = len(classes)
    yes, no = codes_of_decisions(failure, 2, means) if n_classes == 2 else (0, 1)
    if matrix.shape != (n_classes, 2) or not np.isfinite(matrix).all():
        what = "C[true, predicted]" if n_classes == 2 else "with the cost of a yes and of a no to each class"
        raise InputError.about(
            "cost",
            f"has shape {matrix.shape}; a policy needs a finite matrix {what} of shape {(n_classes, 2)}.",
        )
    return matrix[:, yes], matrix[:, no]


class Cases(Decisions, Protocol):
    """Decisions and labels of cases."""

    @property
    def classes(self) -> np.ndarray:
        """Sorted classes."""

    def __len__(self) -> int: ...


@dataclass(frozen=True, eq=False)
class DeciderOutcomes:
    """Cases, or cells of cases, by decision-maker and outcome.

    Attributes
    ----------
    makers : array
        Ids of decision-makers.
    codes : (n,) int array
        Decision-maker of each case.
    outcome : (n,) int array
        0 if refused, k + 1 if accepted with label k, and one more if the outcome is pending.
    rows, weights, squares : (n,) arrays
        Number of cases, their total weight, and the sum of squared weights.
    """

    makers: np.ndarray
    codes: np.ndarray
    outcome: np.ndarray
    rows: Array
    weights: Array
    squares: Array


class AnyPolicySample(Protocol):
    """Scored rows, or cells of rows, on which policies act."""

    @property
    def sample(self) -> Scored:
        """The scored sample."""

    @property
    def failure(self) -> int:
        """Code of the failure class."""

    @property
    def cases(self) -> Cases:
        """Decisions and labels."""

    @property
    def deciders(self) -> DeciderOutcomes:
        """Outcomes by decision-maker."""

    def actions(self, policy: Policy, place: int = 0) -> PolicyActions:
        """Return the actions of the policy at this position."""


@dataclass(frozen=True, eq=False)
class PolicySample:
    """Scored rows in memory on which policies act.

    Attributes
    ----------
    failure : int
        Code of the failure class.
    names : tuple of str
        Names of the scores in messages, one for each policy.
    """

    sample: ScoredSample
    failure: int
    names: tuple[str, ...] = ("score",)

    @property
    def cases(self) -> Cases:
        """The rows."""
        return self.sample.data

    def actions(self, policy: Policy, place: int = 0) -> PolicyActions:
        """Return the actions of the policy at this position."""
        return read_policy_actions(policy, self.sample.data, self.failure, self.names[place])

    @property
    def deciders(self) -> DeciderOutcomes:
        """Outcomes by decision-maker; with shared labels, by person instead of panel."""
        data = self.sample.data
        codes, makers = data.decision_maker_codes, data.decision_makers
        if data.panels is not None and data.own_decision_maker_codes is not None:
            codes, makers = data.own_decision_maker_codes, data.panels.people
        outcome = np.where(data.row_decision == 1, outcomes_of(data), 0)
        return DeciderOutcomes(makers, codes, outcome, np.ones(len(data)), data.weights, data.weights**2)
