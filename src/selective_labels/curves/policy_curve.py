"""What if we accepted more, or others? A score's policies at every acceptance rate, beside the human."""

from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike
from scipy.special import betaincinv

from selective_labels.assumptions import Assumption, Combination, EventTilt, Prevalence
from selective_labels.curves.deciders import Deciders
from selective_labels.curves.policy_results import PolicyCurve
from selective_labels.data import GivenRoles, class_code, read_table
from selective_labels.evaluation.estimated import judged
from selective_labels.evaluation.judged import Ground, classes_of, ground_on
from selective_labels.identification.bounds import Array
from selective_labels.inference.sample import NO_RANGE, ScoredSample
from selective_labels.measures.asked import Asked
from selective_labels.measures.thresholds import default_thresholds
from selective_labels.nuisance.settings import FittingSettings
from selective_labels.policies.courses import Course
from selective_labels.policies.cut_offs import choose_cut_off
from selective_labels.policies.ground import RowGround
from selective_labels.policies.policy import BOTH, EITHER, Policy
from selective_labels.policies.policy_value import PolicyValue
from selective_labels.policies.stakes import COST, Stake, read_stakes
from selective_labels.support.errors import InputError
from selective_labels.support.options import the_only

N_RATES = 41
RULES = ("score", BOTH, EITHER)


def policy_curve(
    scores: Any,
    X: Any,
    y: Any = None,
    *,
    decision_maker: Any = None,
    decision: Any = None,
    pos_label: Any = None,
    rates: ArrayLike | None = None,
    rule: str = "score",
    cost: ArrayLike | None = None,
    assumption: str | Assumption = "instrument",
    confidence_level: float = 0.95,
    sample_weight: Any = None,
    groups: Any = None,
    strata: Any = None,
    assignment: Any = None,
    cluster: str | None = None,
    label_range: Any = NO_RANGE,
    instrument: str = "leniency",
    nuisance: Any = None,
    propensity: str = "auto",
    cv: Any = 5,
    n_repeats: int = 1,
    n_jobs: int | None = None,
    random_state: Any = None,
) -> PolicyCurve:
    """Bound what accepting the cases with the lowest scores would lead to, for every share of cases.

    failures(r) = E[d_r(X) η_failure(X)] in [E[d_r l], E[d_r (l + δ)]],   d_r = 1{s(X) < c_r},  E[d_r] = r

    and likewise the share of failures among the accepted, failures avoided and good cases lost among the
    refused, and costs. Beside it stand the decisions taken (their failures are seen) and every
    decision-maker's own point. Models are fitted once.

    Policies of one score are nested: ``curve.difference(0.5, 0.6)`` bounds how many more failures accepting
    60 % instead of 50 % has, through the cases in between alone, which is sharp and far narrower than the
    difference of two intervals.

    Parameters
    ----------
    scores : fitted classifier, (n_samples,) scores, or (n_samples, n_classes) probabilities
        Score of the failure: higher is riskier. Equal scores are accepted with equal chance.
    X, y, decision_maker, decision
        As in :func:`selective_labels.evaluate`; decision 1 is acceptance.
    pos_label : class label, optional
        The failure. Default: the last class.
    rates : array of numbers in [0, 1], optional
        Shares of cases with a score below the cut-off. Default: 41 from 0 to 1.
    rule : "score", "both" or "either"
        "score": the score alone. "both": accepted are the cases that the human accepts and whose score is
        below the cut-off; everything about these is seen, so the value is identified. The curve of
        :func:`selective_labels.contraction` is this one on the cases of the most lenient decision-maker.
        "either": what the human accepts or the score does; bounds concern the cases that only the score
        accepts.
    cost : (2, 2) array, optional
        C[true, predicted] over the sorted classes, where accepting is predicting that the case does not fail.
        With more classes (n_classes, 2): the cost of accepting and of refusing a case of each class. Adds
        "cost" and "profit" (what is saved compared with refusing everybody) and, for rule "score", the
        choice of a cut-off in ``curve.cut_offs``.
    assumption, confidence_level, sample_weight, groups, strata, assignment, cluster, label_range
        As in `evaluate`; one assumption.
    instrument, nuisance, propensity, cv, n_repeats, n_jobs, random_state
        As in `evaluate`.

    Returns
    -------
    PolicyCurve

    Examples
    --------
    >>> from selective_labels import SelectiveLabels
    >>> from selective_labels.datasets import make_decision_makers
    >>> sample = make_decision_makers(1000, n_classes=2, random_state=0)
    >>> data = SelectiveLabels.from_arrays(sample.X, sample.y, decision_maker=sample.decision_maker)
    >>> curve = policy_curve(-sample.X[:, 0], data, rates=[0.4, 0.6], nuisance="logistic", random_state=0)
    >>> more = curve.difference(0.5, 0.6)
    >>> 0.0 <= more.lower <= more.upper <= 0.1
    True
    """
    table = read_table(X, y, GivenRoles(decision_maker, decision, sample_weight, groups, strata, assignment))
    fitting = FittingSettings.read(nuisance, propensity, cv, n_repeats, n_jobs, random_state)
    # All that can be wrong with what was given is said before anything is fitted.
    shares = read_rates(rates)
    _check_rule(rule)
    classes = classes_of(table, [scores])
    if len(classes) > 1:
        read_stakes(None, classes, class_code(pos_label, classes), cost)
    for each in (assumption,) if isinstance(assumption, str | Assumption) else assumption:
        _refuse_shares(each)
    policy = Policy(scores)
    asked = Asked((policy,), None, assumption, cluster, fitting, label_range, instrument, pos_label, cost)
    ground = ground_on(asked, table, {"scores": policy})
    assumed = the_only(ground.sample.assumptions, "assumption", "policy_curve takes one assumption.")
    return policy_curve_of_ground(ground, scores, assumed, shares, rule, cost, confidence_level)


def _refuse_shares(assumption: str | Assumption) -> None:
    parts = assumption.parts if isinstance(assumption, Combination) else (assumption,)
    if any(part in (EventTilt(), EventTilt().name) or isinstance(part, Prevalence) for part in parts):
        name = assumption if isinstance(assumption, str) else assumption.name
        raise InputError(
            f"policy_curve does not know the assumption {name!r}: rates among the accepted are not worked "
            "out for known shares and tilts; compare single policies instead.",
            "assumption",
        )


def policy_curve_of_sample(
    sample: ScoredSample,
    scores: Any,
    assumption: str,
    pos_label: Any = None,
    rates: ArrayLike | None = None,
    rule: str = "score",
    cost: ArrayLike | None = None,
    confidence_level: float = 0.95,
) -> PolicyCurve:
    """Draw the curve on rows that are scored already: nothing is fitted."""
    ground = RowGround(sample, class_code(pos_label, sample.data.classes))
    return policy_curve_of_ground(ground, scores, assumption, read_rates(rates), rule, cost, confidence_level)


def policy_curve_of_ground(
    ground: Ground,
    scores: Any,
    assumption: str,
    rates: Array,
    rule: str = "score",
    cost: ArrayLike | None = None,
    confidence_level: float = 0.95,
) -> PolicyCurve:
    """Draw the curve on rows, or cells of rows, that are scored already."""
    _check_rule(rule)
    cases, sample = ground.cases, ground.sample
    stakes = read_stakes(None, cases.classes, ground.failure, cost)
    team = None if rule == RULES[0] else rule
    courses = [ground.course(Policy(scores, share, with_human=team)) for share in rates.tolist()]
    human = Course.human(len(cases))

    def value(stake: Stake, course: Course) -> Any:
        functional = PolicyValue.of(stake, cases, (1.0, course))
        return judged(sample, functional, stake.name, assumption, functional.limits, confidence_level)

    cut_offs = None
    if cost is not None and team is None:
        risk = courses[0].risk
        # The lowest of them accepts nobody, the highest everybody.
        thresholds = default_thresholds(risk, weights=sample.weights)
        if courses[0].between is not None:  # a bin between two values stands just below the next
            inside = np.isin(thresholds, risk[courses[0].between])
            thresholds = np.unique(np.where(inside, np.nextafter(thresholds, np.inf), thresholds))
        by_name = {stake.name: stake for stake in stakes}
        cut_offs = choose_cut_off(sample, risk, by_name[COST], assumption, thresholds, confidence_level)
    return PolicyCurve(
        rule=rule,
        pos_label=cases.classes.tolist()[ground.failure],
        rates=rates,
        evaluations={stake.name: tuple(value(stake, each) for each in courses) for stake in stakes},
        human={stake.name: value(stake, human) for stake in stakes},
        decision_makers=decision_maker_points(ground, confidence_level),
        cut_offs=cut_offs,
        ground=ground,
        scores=scores,
        stakes={stake.name: stake for stake in stakes},
    )


def decision_maker_points(ground: Ground, confidence_level: float = 0.95) -> pd.DataFrame:
    """Acceptance, failures among all and among the accepted of every decision-maker's own cases.

    Shares of what is seen, with the interval of Clopper and Pearson (at Kish's number of cases if weights
    differ). Decision-makers' points can be compared with each other where cases reach them by lot.
    """
    seen = Deciders.of(ground)
    n_makers, failed = len(seen.makers), seen.outcome == ground.failure + 1

    def total(values: Array) -> Array:
        return np.bincount(seen.codes, values, minlength=n_makers).astype(float)

    everybody, accepted = np.ones(len(seen.codes), dtype=bool), seen.outcome > 0
    columns = {"decision_maker": seen.makers, "cases": total(seen.rows).astype(int)}
    for name, above, below in (
        ("acceptance", accepted, everybody),
        ("failures", failed, everybody),
        ("failure_rate", failed, accepted),
    ):
        size, squares = total(seen.weights * below), total(seen.squares * below)
        share = np.divide(total(seen.weights * above), size, out=np.full(n_makers, np.nan), where=size > 0.0)
        number = np.divide(size**2, squares, out=np.zeros(n_makers), where=squares > 0.0)
        columns[name] = share
        columns[f"{name}_ci_lower"], columns[f"{name}_ci_upper"] = clopper_pearson(
            share, number, confidence_level
        )
    return pd.DataFrame(columns)


def clopper_pearson(share: Array, number: Array, confidence_level: float) -> tuple[Array, Array]:
    """Clopper and Pearson's interval for many shares at once; NaN where there is no case."""
    tail = (1.0 - confidence_level) / 2.0
    hits = share * number
    with np.errstate(invalid="ignore"):
        low = np.where(hits > 0.0, betaincinv(np.maximum(hits, 1e-12), number - hits + 1.0, tail), 0.0)
        left = np.maximum(number - hits, 1e-12)
        high = np.where(hits < number - 1e-9, betaincinv(hits + 1.0, left, 1.0 - tail), 1.0)
    nobody = ~(number > 0.0)
    return np.where(nobody, np.nan, low), np.where(nobody, np.nan, high)


def read_rates(rates: ArrayLike | None) -> Array:
    """Shares in order; the default ones if none are given."""
    if rates is None:
        return np.linspace(0.0, 1.0, N_RATES)
    try:
        values = np.unique(np.atleast_1d(np.asarray(rates, dtype=float)))
    except (TypeError, ValueError):
        raise InputError.about("rates", "must be numbers between 0 and 1.") from None
    if not len(values) or not ((values >= 0.0) & (values <= 1.0)).all():
        raise InputError.about("rates", "must be numbers between 0 and 1, one or more.")
    return values


def _check_rule(rule: Any) -> None:
    if not isinstance(rule, str) or rule not in RULES:
        raise InputError(f"rule={rule!r} is not one of {', '.join(map(repr, RULES))}.", "rule")
