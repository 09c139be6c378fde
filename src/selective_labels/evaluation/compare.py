"""Which of two is better on everybody? Sharp bounds of the difference, through cases where they differ."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from selective_labels.assumptions import Assumption
from selective_labels.data import class_code, read_data, with_instrument
from selective_labels.evaluation.estimated import estimated, undefined
from selective_labels.evaluation.evaluate import read_metrics
from selective_labels.evaluation.metrics import AnyMetric
from selective_labels.evaluation.results import Comparison
from selective_labels.evaluation.subject import Subject, read_subject
from selective_labels.identification.bounds import Array
from selective_labels.inference.ends import Functional, Ratio, outer_difference
from selective_labels.inference.estimates import Ends, Estimate, mean_estimate
from selective_labels.inference.evidence import Evidence
from selective_labels.inference.known_shares import ContradictedError
from selective_labels.inference.reported import Basis, check_interval
from selective_labels.inference.sample import NO_RANGE, ScoredSample, score_sample
from selective_labels.nuisance.settings import FittingSettings
from selective_labels.support.errors import InputError, UndefinedError

HUMAN = "human"
FAILURES = "failures"
# Share of cases on either side of the cut-off that tell how risky the marginal case is.
NEAR_CUT_OFF = 0.05


def compare(
    a: Any,
    b: Any,
    X: Any,
    y: Any = None,
    *,
    decision_maker: Any = None,
    decision: Any = None,
    metric: Any = None,
    assumption: str | Assumption = "instrument",
    interval: str = "parameter",
    confidence_level: float = 0.95,
    sample_weight: Any = None,
    groups: Any = None,
    strata: Any = None,
    assignment: Any = None,
    cluster: str | None = None,
    pos_label: Any = None,
    cost: ArrayLike | None = None,
    label_range: Any = NO_RANGE,
    instrument: str = "leniency",
    nuisance: Any = None,
    propensity: str = "auto",
    cv: Any = 5,
    n_repeats: int = 1,
    n_jobs: int | None = None,
    random_state: Any = None,
) -> Comparison:
    """Bound metric(a) - metric(b) on all cases, and say which is better if the data can tell.

    accuracy(a) - accuracy(b) in E[1{a≠b} (l_a - l_b ∓ δ)],   l_k(x) = max_z P(Y=k, D=1 | x, z)

    Where the two predict the same they cancel, whatever the unseen label is. So the interval is far narrower
    than the difference of two intervals. Sharp for every metric but "f1", whose bounds are valid, not sharp.

    Parameters
    ----------
    a : fitted classifier, array of predictions, or class label
        As in :func:`selective_labels.evaluation.evaluate.evaluate`; a class label is the constant classifier.
    b : the same, or "human"
        "human": the decisions taken, see Notes.
    X, y, decision_maker, decision
        As in `evaluate`.
    metric : str or metric object, optional
        Default: "accuracy". Leave it out against "human".
    assumption : "none", "instrument", "nucem", "unconfounded", or one of these as an object
    interval, confidence_level, sample_weight, groups, strata, assignment, cluster
        As in `evaluate`.
    pos_label, cost, label_range, instrument, nuisance, propensity, cv, n_repeats, n_jobs, random_state
        As in `evaluate`. Against "human", `pos_label` (default: the last class) is the failure.

    Returns
    -------
    Comparison
        With verdict "a" or "b" if the confidence interval lies on one side of zero, else "undecided".

    Notes
    -----
    Against "human", policies are compared at the same share of accepted cases:

        failures(human) = P(D=1, Y=failure), which is seen;
        failures(a) = E[d(X) η_failure(X)], d accepting the cases of lowest risk, with E[d(X)] = P(D=1).

    The risk is `a`'s score of the failure (a hard prediction is a score of 0 or 1; equal scores are accepted
    with equal chance). The share accepted, and so the cut-off, is estimated; the standard error knows it.
    "a" is better if it has fewer failures among as many accepted.

    Examples
    --------
    >>> from selective_labels import SelectiveLabels
    >>> from selective_labels.datasets import make_decision_makers
    >>> sample = make_decision_makers(2000, n_classes=2, additive=False, random_state=0)
    >>> data = SelectiveLabels.from_arrays(sample.X, sample.y, decision_maker=sample.decision_maker)
    >>> good, bad = (sample.X[:, 0] < 0).astype(int), (sample.X[:, 0] > 0).astype(int)
    >>> compare(good, bad, data, nuisance="logistic", random_state=0).verdict
    'a'
    """
    data = read_data(
        X,
        y,
        decision_maker=decision_maker,
        decision=decision,
        sample_weight=sample_weight,
        groups=groups,
        strata=strata,
        assignment=assignment,
    )
    fitting = FittingSettings.read(
        nuisance,
        cv=cv,
        n_repeats=n_repeats,
        n_jobs=n_jobs,
        random_state=random_state,
        propensity=propensity,
    )
    data = with_instrument(data, instrument, nuisance=nuisance)
    sample = score_sample(data, [a, b], assumption, cluster, fitting, label_range)
    if len(sample.assumptions) != 1:
        raise InputError("compare takes one assumption.", "assumption")
    first = read_subject(a, sample.data, "a")
    if isinstance(b, str) and b == HUMAN:
        if metric is not None:
            raise InputError(
                "b='human' is compared by failures among equally many accepted; leave metric out.", "metric"
            )
        contest = human_contest(sample, first, pos_label)
    else:
        second = read_subject(b, sample.data, "b")
        metrics = read_metrics("accuracy" if metric is None else metric, first, pos_label, cost)
        if len(metrics) != 1:
            raise InputError("compare takes one metric.", "metric")
        contest = paired_contest(first, second, metrics[0])
    return compare_sample(
        sample, contest, sample.assumptions[0], interval, confidence_level, names=(_name(a), _name(b))
    )


@dataclass(frozen=True, eq=False)
class Contest:
    """A difference to be bounded.

    Attributes
    ----------
    metric : str
    ends : callable of (evidence, weights)
    limits : pair of float
        Possible values of the difference.
    greater_is_better : bool
    sharp : bool
    differ : (n_samples,) array
        Probability that the two differ on each case.
    functional : Functional or None
        The difference as one functional, where it has that form.
    """

    metric: str
    ends: Callable[[Evidence, Array], Ends]
    limits: tuple[float, float]
    greater_is_better: bool
    sharp: bool
    differ: Array
    functional: Functional | None = None


def paired_contest(first: Subject, second: Subject, metric: AnyMetric) -> Contest:
    """Set two classifiers against each other on the same cases."""
    difference = metric.difference(first, second)
    if difference is None:
        ones = metric.functional(first), metric.functional(second)

        def ends(evidence: Evidence, weights: Array) -> Ends:
            one, other = (each.ends(evidence, weights) for each in ones)
            return outer_difference(one, other)
    else:
        ends = difference.ends
    low, high = metric.range(first.classes)
    return Contest(
        metric.name,
        ends,
        (low - high, high - low),
        metric.greater_is_better,
        difference is not None,
        _disagreement(first, second),
        difference,
    )


def human_contest(sample: ScoredSample, subject: Subject, pos_label: Any = None) -> Contest:
    """Set a classifier's policy against the decisions taken, at the same share of accepted cases."""
    data = sample.data
    failure = class_code(pos_label, data.classes)
    accepted = data.row_decision.astype(float)  # each row's own, also where labels are shared
    failed = accepted * (data.y == failure)
    risk = _risk(subject, failure)

    def ends(evidence: Evidence, weights: Array) -> Ends:
        policy, near = accept_lowest(risk, float(np.average(accepted, weights=weights)), weights)
        low, high = evidence.bounds.lower[:, failure], evidence.bounds.upper[:, failure]
        pair = []
        # Class probabilities sum to one: what is seen to fail is taken from every class.
        event = policy[:, None] * np.eye(len(data.classes))[failure] - failed[:, None]
        direct = Ratio(event, np.ones_like(event), signed=True).ends(evidence, weights)
        for end, marginal in zip(direct, (low, high), strict=True):
            # Accepting one share more adds the risk of the marginal case.
            at_cut_off = np.average(marginal, weights=near)
            shift = mean_estimate(accepted - policy, weights)
            influence = end.influence + at_cut_off * shift.influence
            pair.append(Estimate(end.value, influence, outside=end.outside))
        return pair[0], pair[1]

    share = float(np.average(accepted, weights=sample.weights))
    policy, _ = accept_lowest(risk, share, sample.weights)
    return Contest(FAILURES, ends, (-1.0, 1.0), False, True, np.abs(policy - accepted))


def accept_lowest(risk: Array, share: float, weights: Array) -> tuple[Array, Array]:
    """Accept the cases of lowest risk, up to a share of the weight.

    Returns
    -------
    policy : (n_samples,) array
        Probability of accepting: 1 below the cut-off, 0 above, in between for cases exactly at it.
    near : (n_samples,) array
        Weights of the cases near the cut-off.

    Examples
    --------
    >>> accept_lowest(np.array([0.3, 0.1, 0.3, 0.9]), 0.5, np.ones(4))[0]
    array([0.5, 1. , 0.5, 0. ])
    """
    _, level = np.unique(risk, return_inverse=True)
    mass = np.bincount(level, weights=weights) / weights.sum()
    reached = np.cumsum(mass)
    accepted = np.clip((share - (reached - mass)) / np.maximum(mass, np.finfo(float).tiny), 0.0, 1.0)
    near = (reached >= share - NEAR_CUT_OFF) & (reached - mass <= share + NEAR_CUT_OFF)
    return accepted[level], weights * near[level]


def compare_sample(
    sample: ScoredSample,
    contest: Contest,
    assumption: str,
    interval: str = "parameter",
    confidence_level: float = 0.95,
    names: tuple[str, str] = ("a", "b"),
) -> Comparison:
    """Bound a difference on rows that are scored already."""
    everybody = np.ones(len(sample.data), dtype=bool)
    how = assumption, everybody, interval, confidence_level
    check_interval(interval, confidence_level)
    try:
        sample.require_possible(assumption)
        basis = _basis(sample, contest, assumption, everybody)
    except ContradictedError as error:
        shared = undefined(sample, str(error), *how, contest.limits, contradicted=True)
    except UndefinedError as error:
        reason = f"metric {contest.metric!r} is not defined under assumption {assumption!r}: {error}"
        shared = undefined(sample, reason, *how, contest.limits)
    else:
        shared = estimated(sample, basis, *how)
    return Comparison(
        metric=contest.metric,
        **shared,
        verdict=_verdict(shared["ci_lower"], shared["ci_upper"], contest.greater_is_better),
        a=names[0],
        b=names[1],
        greater_is_better=contest.greater_is_better,
        disagreement=float(
            np.average(np.broadcast_to(contest.differ, len(sample.data)), weights=sample.weights)
        ),
        sharp=contest.sharp,
    )


def _basis(sample: ScoredSample, contest: Contest, assumption: str, rows: np.ndarray) -> Basis:
    if contest.functional is not None:
        return sample.basis(contest.functional, assumption, rows, contest.limits)
    ends = [contest.ends(sample.evidence(each, assumption), sample.weights) for each in sample.repeats]
    return Basis(sample.spread(ends, rows), contest.limits)


def _verdict(ci_lower: float, ci_upper: float, greater_is_better: bool) -> str:
    # Without an interval (NaN) nothing is decided.
    if ci_lower > 0.0:
        return "a" if greater_is_better else "b"
    if ci_upper < 0.0:
        return "b" if greater_is_better else "a"
    return "undecided"


def _disagreement(first: Subject, second: Subject) -> Array:
    """½ Σ_k |π_k - π'_k|: 0 or 1 for hard predictions, NaN for scores of a ranking, which predict nothing."""
    try:
        return np.abs(first.chosen - second.chosen).sum(axis=1) / 2.0
    except InputError:
        return np.array(np.nan)


def _risk(subject: Subject, failure: int) -> Array:
    """Score of the failure; predicted labels count as 0 and 1."""
    return subject.score(failure) if subject.has_scores else subject.chosen[:, failure]


def _name(given: Any) -> str:
    if hasattr(given, "predict"):
        return type(given).__name__
    return "predictions" if np.ndim(given) else repr(given)
