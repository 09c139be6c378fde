"""The public functions; each creates a :class:`selective_labels.Evaluator` and calls one of its methods."""

from collections.abc import Callable, Sequence
from typing import Any, Unpack

from numpy.typing import ArrayLike

from selective_labels.assumptions.base import Assumption
from selective_labels.data.named_costs import Costs
from selective_labels.evaluation.advice import Advice
from selective_labels.evaluation.deciders import Deciders
from selective_labels.evaluation.disparity import Disparity
from selective_labels.evaluation.drift import Drift
from selective_labels.evaluation.evaluator import Evaluator, EvaluatorSettings
from selective_labels.evaluation.ladder import Ladder
from selective_labels.evaluation.policy_curve import PolicyCurve
from selective_labels.evaluation.results import Comparison, Evaluation, Evaluations
from selective_labels.evaluation.scored_rows import Assumed
from selective_labels.evaluation.sensitivity import SensitivityCurve
from selective_labels.evaluation.thresholds import DEFAULT_METRICS, ThresholdCurve


def evaluate(
    classifier: Any,
    X: Any,
    y: Any = None,
    *,
    metric: Any = "accuracy",
    assumption: Assumed = "instrument",
    by: Any = None,
    pos_label: Any = None,
    cost: Costs | None = None,
    **settings: Unpack[EvaluatorSettings],
) -> Evaluation | Evaluations:
    """Bound a metric of a classifier on all cases, although refused cases have no label.

    accuracy in [E[l_t], E[l_t] + E[δ]],   l_k(x) = max_z P(Y=k, D=1 | x, z),   δ = 1 - Σ_k l_k

    and likewise for every metric: the bounds are sharp over all class probabilities that are consistent with
    the data and the assumption. They are means of cross-fitted scores. Under "instrument" these are envelope
    scores: the bounds are valid whichever decision-makers a row is compared with, and sharp if the best ones
    are found.

    Evaluate on rows that were not used to train the classifier. Predictions must not depend on who decides,
    given the features; those that do are refused, unless the assumption compares no decision-makers.

    Parameters
    ----------
    classifier : fitted classifier, array, or "human"
        "human" stands for the decisions taken: a refusal predicts `pos_label`, an acceptance that it does not
        happen, and metrics of predicted classes are bounded sharply. A one-dimensional array holds predicted
        class labels (scores, for "auc"). An array of shape (n_samples, n_classes) holds probabilities in the
        order of the sorted classes; metrics of predicted labels then treat the prediction as random with
        these probabilities. A fitted classifier predicts with ``predict``. A
        :class:`selective_labels.Policy` is evaluated by its outcomes ("failures", "cost" ...; see `compare`).
    X : SelectiveLabels, or (n_samples, n_features) array or frame
        A SelectiveLabels carries labels and roles; give no other role with it.
    y : (n_samples,) labels, missing (-1, NaN, None, NA) where not observed
    metric : str, metric object, or list of these
        "accuracy", "error", "cost", "share", "tpr", "fpr", "ppv", "f1", "balanced_accuracy", "auc",
        "log_loss", "brier", "regret" or "calibration" (the share of `pos_label` in ten bins of its predicted
        probability). See :mod:`selective_labels.evaluation.metrics` for metric objects, and
        :class:`selective_labels.evaluation.metrics.Metric` to define one. The upper bound on "regret" needs
        a margin condition.
    assumption : "none", "instrument", "nucem", "unconfounded", "tilt", "all", or a list of these
        "nucem" and "unconfounded" point-identify the value. "tilt" is for accuracy, error, share and
        differences of accuracies; its interval is valid under weak instruments and lies within the interval
        under "instrument". It gives a range, because strict and lenient decision-makers may sort cases
        differently well; ``EventTilt(skill_range=0)`` rules that out, and identifies the value. "all" runs
        every assumption that the input allows, except "tilt". If "nucem" is included, the models are fitted
        on halves of the rows, so the results under the other assumptions change slightly. Objects of
        :mod:`selective_labels.assumptions` can replace the names.
    by : (n_samples,) array, or the name of a feature or of the strata, optional
        Subgroups. The result has one evaluation per subgroup and sharp bounds on their gaps in ``.gaps``.
    pos_label : class label, optional
        The class of "share", "tpr", "fpr", "ppv", "f1", "auc" and "calibration", and the one that a refusal
        by the human predicts. Default: the last.
    cost : (n_classes, n_classes) array or dict, optional
        C[true, predicted] over the sorted classes, for "cost". With two classes also by name:
        ``{"default": 5000, "declined_good": 600}``, or where a yes inspects ``{"inspect": 400, "missed":
        3000}``. With more than two classes, that of the human has two columns: the costs of a yes and of a
        no to each class.
    **settings
        Roles, fitting and inference, as in :class:`selective_labels.Evaluator`.

    Returns
    -------
    Evaluation, or Evaluations for a list of metrics, several assumptions or `by`

    Examples
    --------
    >>> from selective_labels import SelectiveLabels
    >>> from selective_labels.datasets import make_decision_makers
    >>> sample = make_decision_makers(2000, random_state=0)
    >>> data = SelectiveLabels.from_arrays(sample.X, sample.y, decision_maker=sample.decision_maker)
    >>> guess = [0 if x > 0 else 2 for x in sample.X[:, 0]]
    >>> evaluate(guess, data, nuisance="logistic", random_state=0)
    accuracy: between 0... and 0...
    95 % interval: [0..., 0...]; it covers the value, wherever it lies between the ends, with
    probability 0.95.
    These bounds are conservative by about 0... (accuracy): decision-makers with statistically
    indistinguishable rates are pooled.
    Assumption (instrument): cases alike in features (and stratum, if given) reach decision-makers as if at
    random, and who decides does not change the label. What would refute it: lower bounds that sum to more
    than one (SL401, SL402), or cases that are not assigned at random.
    Sample: 2,000 cases, ... of them (...%) with a label, 8 decision-makers.
    """
    evaluator = Evaluator.unfitted("evaluate", X, y, assumption, settings)
    return evaluator.evaluate(classifier, metric=metric, by=by, pos_label=pos_label, cost=cost)


def compare(
    a: Any,
    b: Any,
    X: Any,
    y: Any = None,
    *,
    metric: Any = None,
    assumption: str | Assumption = "instrument",
    pos_label: Any = None,
    cost: Costs | None = None,
    **settings: Unpack[EvaluatorSettings],
) -> Comparison:
    """Bound metric(a) - metric(b) on all cases, and report which is better if the interval excludes zero.

    accuracy(a) - accuracy(b) in E[1{a≠b} (l_a - l_b ∓ δ)],   l_k(x) = max_z P(Y=k, D=1 | x, z)

    Cases with equal predictions cancel, whatever their unobserved label. The interval is therefore much
    narrower than the difference of two intervals. The bounds are sharp for every metric except "f1", and
    "balanced_accuracy" against "human", for which they are valid but not sharp.

    Parameters
    ----------
    a : fitted classifier, array of predictions, class label, or Policy
        As in :func:`selective_labels.evaluate`; a class label is the constant classifier.
        A :class:`selective_labels.Policy` accepts cases by a score, alone or together with the human.
    b : the same, or "human"
        "human": the observed decisions, see Notes.
    X, y
        As in `evaluate`.
    metric : str or metric object, optional
        Default: "accuracy"; against "human", failures at equal rates (see Notes). For policies: "failures"
        (default), "failure_rate", "avoided", "good_lost", "acceptance", and with `cost` also "cost" (then the
        default) and "profit".
    assumption : "none", "instrument", "nucem", "unconfounded", or one of these as an object
    pos_label, cost
        As in `evaluate`. Against "human", `pos_label` (default: the last class) denotes a failure.
    **settings
        Roles, fitting and inference, as in :class:`selective_labels.Evaluator`.

    Returns
    -------
    Comparison
        Its verdict is "a" or "b" if the confidence interval excludes zero, and "undecided" otherwise.

    Notes
    -----
    Against "human" without a metric, policies are compared at the same acceptance rate:

        failures(human) = P(D=1, Y=failure), which is observed;
        failures(a) = E[d(X) η_failure(X)], d accepting the cases of lowest risk, with E[d(X)] = P(D=1).

    The risk is `a`'s score of the failure (a hard prediction is a score of 0 or 1; ties are accepted with
    equal probability). The acceptance rate, and hence the threshold, is estimated; the standard error
    accounts for this. "a" is better if it has fewer failures at the same acceptance rate.

    Two policies are compared at their own acceptance rates. The bounds on their difference are sharp: cases
    that both policies treat in the same way cancel. To test whether a score helps the human, use
    ``compare(Policy(score, with_human="both"), "human", data, cost=...)``.

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
    evaluator = Evaluator.unfitted("compare", X, y, assumption, settings)
    return evaluator.compare(a, b, metric=metric, pos_label=pos_label, cost=cost)


def threshold_curve(
    classifier: Any,
    X: Any,
    y: Any = None,
    *,
    pos_label: Any = None,
    thresholds: ArrayLike | None = None,
    metric: str | Sequence[str] = DEFAULT_METRICS,
    assumption: str | Assumption = "instrument",
    simultaneous: bool = False,
    **settings: Unpack[EvaluatorSettings],
) -> ThresholdCurve:
    """Bound the accuracy and the true and false positive rates of a score at many thresholds.

    t(x) = event if s(x) >= c, else the rest;   accuracy(c) = P(1{Y* = event} = 1{s(X) >= c})

    and at every c the results equal those of `evaluate` for t. Models are fitted once for all thresholds: the
    cost is that of one `evaluate`, plus O(n) for each threshold and metric. With more than two classes, the
    event is compared with the rest. The bounds still use all classes, so they are narrower than those for a
    label recoded to event and rest.

    Parameters
    ----------
    classifier : fitted classifier, (n_samples,) scores, or (n_samples, n_classes) probabilities
        For a classifier, the score is ``decision_function`` if it exists, else the event's probability.
    X, y
        As in :func:`selective_labels.evaluate`.
    pos_label : class label, optional
        The event to flag. Default: the last class.
    thresholds : array of numbers, optional
        Default: 41 quantiles of the score, and one value above its maximum.
    metric : "accuracy", "error", "tpr" or "fpr", or a list of these
    simultaneous : bool
        Intervals of a metric that hold at all thresholds at once, so also at one that is chosen by looking at
        the curve. They are wider than those for the value at one threshold.
    assumption : "none", "instrument", "nucem", "unconfounded", "tilt" (accuracy and error), or an object
    **settings
        Roles, fitting and inference, as in :class:`selective_labels.Evaluator`.

    Returns
    -------
    ThresholdCurve

    Examples
    --------
    >>> from selective_labels import SelectiveLabels
    >>> from selective_labels.datasets import make_decision_makers
    >>> sample = make_decision_makers(1000, n_classes=2, random_state=0)
    >>> data = SelectiveLabels.from_arrays(sample.X, sample.y, decision_maker=sample.decision_maker)
    >>> curve = threshold_curve(-sample.X[:, 0], data, thresholds=[-1.0, 0.0, 1.0], nuisance="logistic",
    ...                         random_state=0)
    >>> curve.to_frame()["acceptance_lower"].round(1).tolist()
    [0.2, 0.5, 0.8]
    """
    evaluator = Evaluator.unfitted("threshold_curve", X, y, assumption, settings)
    how = {"metric": metric, "pos_label": pos_label, "simultaneous": simultaneous}
    return evaluator.threshold_curve(classifier, thresholds=thresholds, **how)


def policy_curve(
    scores: Any,
    X: Any,
    y: Any = None,
    *,
    pos_label: Any = None,
    rates: ArrayLike | None = None,
    rule: str = "score",
    cost: Costs | None = None,
    assumption: str | Assumption = "instrument",
    simultaneous: bool = False,
    **settings: Unpack[EvaluatorSettings],
) -> PolicyCurve:
    """Bound the outcomes of accepting the cases with the lowest scores, for every acceptance rate.

    failures(r) = E[d_r(X) η_failure(X)] in [E[d_r l], E[d_r (l + δ)]],   d_r = 1{s(X) < c_r},  E[d_r] = r

    and likewise the failure rate among accepted cases, failures avoided and good cases lost among refused
    cases, and costs. The result also contains the observed decisions, whose failures are observed, and one
    point per decision-maker. Models are fitted once.

    Policies of one score are nested. ``curve.difference(0.5, 0.6)`` therefore bounds the additional failures
    from accepting 60 % instead of 50 % with the cases in between alone. These bounds are sharp and much
    narrower than the difference of two intervals.

    Parameters
    ----------
    scores : fitted classifier, (n_samples,) scores, or (n_samples, n_classes) probabilities
        Score of the failure: higher is riskier. Ties are accepted with equal probability.
    X, y
        As in :func:`selective_labels.evaluate`; decision 1 means accepted.
    pos_label : class label, optional
        The failure. Default: the last class.
    rates : array of numbers in [0, 1], optional
        Shares of cases with a score below the threshold. Default: 41 from 0 to 1.
    rule : "score", "both" or "either"
        "score": the score alone decides. "both": a case is accepted if the human accepts it and its score is
        below the threshold; all these outcomes are observed, so the value is identified. The curve of
        :func:`selective_labels.contraction` is this one on the cases of the most lenient decision-maker.
        "either": a case is accepted if the human accepts it or its score is below the threshold; only cases
        that the score alone accepts need bounds.
    cost : (2, 2) array or dict, optional
        C[true, predicted] over the sorted classes, or costs by name as in `evaluate`; a yes predicts that the
        event does not happen, or that it does where a yes inspects. With more classes, an (n_classes, 2)
        array: the cost of a yes and of a no to a case of each class. Adds "cost", "profit" (savings compared
        with refusing everybody) and, for rule "score", the choice of a threshold in ``curve.cut_offs``.
    assumption
        As in `evaluate`; one assumption.
    simultaneous : bool
        Intervals of a measure that hold at all rates at once, so also at one that is chosen by looking at the
        curve. What ``curve.cut_offs`` recommends is always quoted with such limits.
    **settings
        Roles, fitting and inference, as in :class:`selective_labels.Evaluator`.

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
    evaluator = Evaluator.unfitted("policy_curve", X, y, assumption, settings)
    how = {"pos_label": pos_label, "cost": cost, "simultaneous": simultaneous}
    return evaluator.policy_curve(scores, rates=rates, rule=rule, **how)


def ladder(
    classifier: Any,
    X: Any,
    y: Any = None,
    *,
    assumptions: Assumed = (),
    metric: Any = "accuracy",
    pos_label: Any = None,
    cost: Costs | None = None,
    **settings: Unpack[EvaluatorSettings],
) -> Ladder:
    """Bound one metric under increasingly strong assumptions, and report how much each of them adds.

    H(none) ⊇ H(instrument) ⊇ H(instrument & A) ⊇ H(instrument & A & B),   saved = width before - width after

    with H the identified set. In the population the sets are nested; estimated ones may not be, because of
    sampling error. Models are fitted once for all steps, and every result equals that of
    :func:`selective_labels.evaluate` with the same list of assumptions. If the data contradict an assumption,
    its step has no value, and neither has any later step that contains it.

    Parameters
    ----------
    classifier, X, y
        As in :func:`selective_labels.evaluate`.
    assumptions : name or object of :mod:`selective_labels.assumptions`, or a list of these
        In your order, from weak to strong. "none" and, if there are decision-makers, "instrument" always
        come first. A part such as ``Informed("failed")`` is added to the instrument and to the parts before
        it. A name or a combination is used as it is; "all" stands for every named one.
    metric : str or metric object
        One, see `evaluate`.
    pos_label, cost
        As in `evaluate`.
    **settings
        Roles, fitting and inference, as in :class:`selective_labels.Evaluator`.

    Returns
    -------
    Ladder

    Examples
    --------
    >>> import selective_labels as sl
    >>> from selective_labels.assumptions import Informed, Prevalence
    >>> sample = sl.datasets.make_decision_makers(2000, n_classes=2, additive=False, mirrored=True,
    ...                                           random_state=0)
    >>> data = sl.SelectiveLabels.from_arrays(sample.X, sample.y, decision_maker=sample.decision_maker)
    >>> guess = (sample.X[:, 0] < 0).astype(int)
    >>> believed = [Informed(1), Prevalence(1, (0.4, 0.6))]
    >>> found = ladder(guess, data, assumptions=believed, nuisance="logistic", random_state=0)
    >>> [each.title for each in found]
    ['none', 'instrument', '+ informed(1)', '+ prevalence(1, 0.4 to 0.6)']
    >>> found[1].saved > found[2].saved > 0
    True
    """
    evaluator = Evaluator.unfitted("ladder", X, y, "none", settings)
    return evaluator.ladder(classifier, assumptions, metric=metric, pos_label=pos_label, cost=cost)


def drift(
    classifier: Any,
    X: Any,
    y: Any = None,
    *,
    period: Any,
    every: str | None = None,
    metric: Any = "accuracy",
    assumption: str | Assumption = "instrument",
    pos_label: Any = None,
    cost: Costs | None = None,
    **settings: Unpack[EvaluatorSettings],
) -> Drift:
    """Track the acceptance rate, the observed labels and the bounds on a metric over time.

    metric(t) in [E[low | T=t], E[high | T=t]],   low and high as in :func:`selective_labels.evaluate`

    Models are fitted once, on the cases of all periods. They vary over time if time is a feature.

    Parameters
    ----------
    classifier, X, y
        As in :func:`selective_labels.evaluate`.
    period : (n_samples,) dates, or any values that sort in time order
        For a partitioned table, the name of a column.
    every : "month", "quarter", "year" or None
        Length of a period. None: the values of `period` are the periods.
    metric, assumption, pos_label, cost
        As in `evaluate`; one metric and one assumption.
    **settings
        Roles, fitting and inference, as in :class:`selective_labels.Evaluator`.

    Returns
    -------
    Drift

    Examples
    --------
    >>> import selective_labels as sl
    >>> sample = sl.datasets.make_decision_makers(1200, n_classes=2, random_state=0)
    >>> data = sl.SelectiveLabels.from_arrays(sample.X, sample.y, decision_maker=sample.decision_maker)
    >>> import pandas as pd
    >>> days = pd.date_range("2024-01-01", periods=1200, freq="4h")
    >>> found = drift(sample.X[:, 0] < 0, data, period=days, every="quarter", nuisance="logistic",
    ...               random_state=0)
    >>> found.to_frame()["period"].tolist()
    ['2024Q1', '2024Q2', '2024Q3']
    """
    evaluator = Evaluator.unfitted("drift", X, y, assumption, settings)
    return evaluator.drift(
        classifier, period=period, every=every, metric=metric, pos_label=pos_label, cost=cost
    )


def sensitivity_curve(
    classifier: Any,
    X: Any,
    y: Any = None,
    *,
    metric: Any = "accuracy",
    pos_label: Any = None,
    cost: Costs | None = None,
    compare_to: Any = None,
    parameter: str = "gamma",
    assumption: Callable[[float], Assumption] | None = None,
    values: Any = None,
    limit: str | None = None,
    threshold: float | None = None,
    **settings: Unpack[EvaluatorSettings],
) -> SensitivityCurve:
    """Bounds on a metric as a function of one parameter of an assumption.

    ``parameter`` names the parameter. Alternatively, `assumption` can be any function from a value to an
    assumption.

    - "gamma": P(Y=k | x, D=1) / Γ <= P(Y*=k | x, D=0) <= Γ P(Y=k | x, D=1) for every class, the outcome
      bounds of Rambachan, Coston and Kennedy (2022); Γ = 1 is no unobserved confounding;
    - "odds": among cases with equal features, refused cases have x times the odds of `pos_label`
      (Refused(scale="odds")). ``curve.supported`` holds the values of x that an instrument supports: the
      confidence set of the event tilt;
    - "ratio", "share": refused cases are `pos_label` x times as often, or with probability x;
    - "kappa": from NUCEM (0) to the instrument alone (1/4), around the slope common to all decision-makers;
      "rho": the same restriction, ``Instrument() & SimilarBias(rho)``, with the sharp bounds by pairs;
    - "prevalence": the share x of all cases is `pos_label`;
    - "skill_range": the event tilt, with a log odds ratio that changes with leniency by at most x per unit.

    Models are fitted once and score every value, with the same results as :func:`selective_labels.evaluate`
    under this assumption. Where the data contradict the assumption, there is no value. The break-even value
    is where the nearer bound reaches the threshold: up to there the conclusion holds.

    Parameters
    ----------
    classifier : fitted classifier, (n_samples,) labels or (n_samples, n_classes) probabilities
        Fitted to other cases. Metric "share" does not use it; give None.
    X : SelectiveLabels, or (n_samples, n_features) array or frame
        A SelectiveLabels carries labels and roles; give no other role with it.
    y : (n_samples,) labels, missing where not observed
    metric : str or metric object
        One, as in `evaluate`.
    pos_label : label, optional
        The event of the share and of the odds. Default: the last class.
    cost : (n_classes, n_classes) array, optional
        C[true, predicted], for "cost".
    compare_to : like `classifier`, optional
        If given, the curve bounds metric(classifier) - metric(compare_to), and the threshold defaults to 0.
    parameter : "gamma", "odds", "ratio", "share", "kappa", "rho", "prevalence" or "skill_range"
    assumption : callable, optional
        Maps a value to an assumption. It needs `values`, and `parameter` then names the axis.
    values : (n_points,) numbers, optional
        Default: 25, from 1 to 10 (gamma), 1/8 to 8 (odds), 1/4 to 4 (ratio), 0 to 1/4 (kappa, rho), 0 to 1
        (share, prevalence); six from 0 to 3 (skill_range).
    limit : "none" or "instrument", optional
        Reference assumption of the curve, which "gamma", "kappa", "rho" and "prevalence" also maintain.
        Default: the instrument if decision-makers are given.
    threshold : float, optional
        The conclusion is whether the metric is above or below this value.
    **settings
        Roles, fitting and inference, as in :class:`selective_labels.Evaluator`.

    Returns
    -------
    SensitivityCurve

    Examples
    --------
    >>> import selective_labels as sl
    >>> sample = sl.datasets.make_decision_makers(1000, n_classes=2, random_state=0)
    >>> prediction = (sample.X[:, 0] < 0).astype(int)
    >>> data = sl.SelectiveLabels.from_arrays(sample.X, sample.y, decision_maker=sample.decision_maker)
    >>> curve = sensitivity_curve(prediction, data, values=[1, 2, 4], limit="none", threshold=0.5,
    ...                           nuisance="logistic", random_state=0)
    >>> (curve.upper - curve.lower).argmax().item(), 1 < curve.break_even < 9
    (2, True)

    Any function of a value:

    >>> from selective_labels.assumptions import Informed, Instrument, Prevalence
    >>> known = lambda value: Instrument() & Informed(1) & Prevalence(1, value)
    >>> curve = sensitivity_curve(prediction, data, assumption=known, values=[0.4, 0.5, 0.6],
    ...                           parameter="share of 1", nuisance="logistic", random_state=0)
    >>> curve.x_name, len(curve)
    ('share of 1', 3)
    """
    evaluator = Evaluator.unfitted("sensitivity_curve", X, y, "none", settings)
    return evaluator.sensitivity_curve(
        classifier,
        metric=metric,
        pos_label=pos_label,
        cost=cost,
        compare_to=compare_to,
        parameter=parameter,
        assumption=assumption,
        values=values,
        limit=limit,
        threshold=threshold,
    )


def advice(
    X: Any,
    y: Any = None,
    *,
    advice: Any,
    shown: Any,
    high: str | None = None,
    probability: Any = None,
    adjust: bool = True,
    by: Any = None,
    assumption: str | Assumption = "instrument",
    pos_label: Any = None,
    cost: Costs | None = None,
    **settings: Unpack[EvaluatorSettings],
) -> Advice:
    """Compare people who saw an advice, people who did not, and the advice alone.

    A lottery S decides whether people see the advice A. The label is the same in both arms, so with a yes
    that lets a case through, and Y = 1 the harm,

        false negatives, with minus without:  P(D=1, Y=1 | S=1) - P(D=1, Y=1 | S=0),
        false positives, with minus without:  P(D=0 | S=1) - P(D=0 | S=0) + the line above

    are points, whatever the cases without a label are like, and so is the difference of any loss and any
    number of classes. The advice alone says yes to cases without a label: it has bounds, from the larger of
    what both arms (and decision-makers, if named) show of comparable cases. Its difference to people is
    bounded through the cases on which they differ. Levels are bounds as well.

    Parameters
    ----------
    X : SelectiveLabels, or (n_samples, n_features) array or frame
        A SelectiveLabels carries labels and roles; give no other role with it. `decision_maker` is optional:
        without it, the lottery alone is the instrument.
    y : (n_samples,) labels, missing where not observed
    advice : (n_samples,) array, or the name of a feature
        Known for all cases, shown or not. 1 advises a yes, 0 a no. Of more values, every one is tried as the
        cut from which the advice is a yes (of more than 21, twenty quantiles are), and `high` gives the
        direction.
    shown : (n_samples,) array of 0 and 1
        1 where people saw the advice.
    high : "yes" or "no", optional
        What a high value of advice means.
    probability : float, (n_samples,) array or "features", optional
        Known probability that the advice is shown. "features": a logistic regression on features and advice.
        Default: the share of cases in which it was shown.
    adjust : bool
        Whether features and advice sharpen the numbers (cross-fitted, augmented scores). If False, people
        with minus people without advice is the difference in means.
    by : (n_samples,) array, or the name of a feature or of the strata, optional
        Subgroups; every number is given for each.
    assumption : name or Assumption
        What is assumed of decision-makers, if they are named. "none": only the lottery is used.
    pos_label : label, optional
        The event. Default: the last class.
    cost : matrix, optional
        C[true, predicted], or for more than two classes one row (cost of a yes, cost of a no) for each class.
        Default: both kinds of errors count one.
    **settings
        Roles, fitting and inference, as in :class:`selective_labels.Evaluator`.

    Returns
    -------
    Advice

    Examples
    --------
    >>> import numpy as np
    >>> import selective_labels as sl
    >>> sample = sl.datasets.make_decision_makers(900, n_classes=2, random_state=0)
    >>> data = sl.SelectiveLabels.from_arrays(sample.X, sample.y)
    >>> shown = np.random.default_rng(0).integers(0, 2, 900)
    >>> found = sl.advice(data, advice=sample.X[:, 0] < 0, shown=shown, random_state=0)
    >>> bounds = found.get("advice alone minus people alone", "loss")
    >>> bool(bounds.lower < bounds.upper)
    True
    """
    evaluator = Evaluator.unfitted("advice", X, y, assumption, settings, pos_label, cost)
    return evaluator.advice(advice, shown, high=high, probability=probability, adjust=adjust, by=by)


def disparity(
    X: Any,
    y: Any = None,
    *,
    by: Any,
    score: Any = None,
    threshold: float | None = None,
    reference: Any = None,
    assumption: str | Assumption = "instrument",
    pos_label: Any = None,
    **settings: Unpack[EvaluatorSettings],
) -> Disparity:
    """Bound differences between groups in the rate of a yes, given the outcome.

    In group g, with a_g = P(yes, Y = event | g) and b_g = P(yes, Y ≠ event | g) observed,

        P(yes | Y = event, g) = a_g / p_g,   P(yes | Y ≠ event, g) = b_g / (1 - p_g),   p_g = P(Y = event | g)

    and only p_g is bounded. Groups are different cases, so gaps take their ends at opposite ends of the
    bounds: they are sharp, under every assumption that holds within groups. The gap weighted by outcome is
    that of Arnold, Dobbie and Hull (2022), Σ_y P(Y = y) (P(yes | y, g) - P(yes | y, reference)). True and
    false positive rates of decisions are one minus, or equal to, these rates.

    Beside them stand the gap in the rate itself, the gap at similar risk, and the outcome test with its
    robust form (Gaebler and Goel 2025), each with what it assumes. The text says disparity and not
    discrimination.

    Parameters
    ----------
    X : SelectiveLabels, or (n_samples, n_features) array or frame
        A SelectiveLabels carries labels and roles; give no other role with it.
    y : (n_samples,) labels, missing where not observed
    by : (n_samples,) array, or the name of a feature or of the strata
        The groups. If the staff differs between groups, give them as a feature or as strata too.
    score : classifier or (n_samples,) array, optional
        A score of the event; a low score means yes. Adds "score" (the score alone) and "both" (a yes only if
        the score agrees), and is the risk of the gap at similar risk.
    threshold : float, optional
        Scores below it mean yes. Default: the share of yes's is that of the decisions. The threshold is taken
        as given, also where it follows from the data.
    reference : label, optional
        The group that the others are compared with. Default: the largest.
    assumption : name or Assumption
        As in `evaluate`; one assumption.
    pos_label : label, optional
        The event. Default: the last class.
    **settings
        Roles, fitting and inference, as in :class:`selective_labels.Evaluator`.

    Returns
    -------
    Disparity

    Examples
    --------
    >>> import numpy as np
    >>> import selective_labels as sl
    >>> sample = sl.datasets.make_decision_makers(1200, n_classes=2, random_state=0)
    >>> data = sl.SelectiveLabels.from_arrays(sample.X, sample.y, decision_maker=sample.decision_maker)
    >>> town = np.where(sample.X[:, 1] > 0, "a", "b")
    >>> found = sl.disparity(data, by=town, score=-sample.X[:, 0], nuisance="logistic", random_state=0)
    >>> rate = found.get("human", "rate", "a", reference="b")
    >>> bool(rate.lower == rate.upper), sorted({each.who for each in found.estimates})
    (True, ['both', 'human', 'score'])
    """
    evaluator = Evaluator.unfitted("disparity", X, y, assumption, settings, pos_label)
    return evaluator.disparity(by, score=score, threshold=threshold, reference=reference)


def deciders(
    X: Any,
    y: Any = None,
    *,
    score: Any = None,
    anonymous: bool = False,
    assumption: str | Assumption = "instrument",
    pos_label: Any = None,
    **settings: Unpack[EvaluatorSettings],
) -> Deciders:
    """Compare decision-makers with what their cases lead one to expect, and with a score at the same rate.

    For decision-maker z, with m the cross-fitted means of comparable cases over decision-makers,

        leniency r_z = mean_z (D - m_D(x)),   f_z = mean_z (D 1{Y = event} - m_F(x)),
        excess s_z = f_z - β r_z

    β is the slope of f on r across decision-makers, net of sampling error: more yes's bring more failures,
    and the excess is what leniency does not explain. All are shrunk towards the average (empirical Bayes);
    intervals cover the stated share of decision-makers whatever the distribution of their effects
    (Armstrong, Kolesár and Plagborg-Møller 2022), and ranks come with their sets and probabilities.

    With a score: failures per case if the score decided at the rate of z, minus those of z, both on the
    average case. The first has sharp bounds under the assumption.

    Parameters
    ----------
    X : SelectiveLabels, or (n_samples, n_features) array or frame
        A SelectiveLabels carries labels and roles; give no other role with it.
    y : (n_samples,) labels, missing where not observed
    score : classifier or (n_samples,) array, optional
        A score of the event; a low score means yes.
    anonymous : bool
        Number decision-makers in random order instead of naming them.
    assumption : name or Assumption
        As in `evaluate`; one assumption.
    pos_label : label, optional
        The event. Default: the last class.
    **settings
        Roles, fitting and inference, as in :class:`selective_labels.Evaluator`.

    Returns
    -------
    Deciders

    Examples
    --------
    >>> import selective_labels as sl
    >>> sample = sl.datasets.make_decision_makers(1200, n_classes=2, random_state=0)
    >>> data = sl.SelectiveLabels.from_arrays(sample.X, sample.y, decision_maker=sample.decision_maker)
    >>> found = sl.deciders(data, anonymous=True, nuisance="logistic", random_state=0)
    >>> sorted(found.names.tolist()) == list(range(1, 9)), found.against_score is None
    (True, True)
    """
    evaluator = Evaluator.unfitted("deciders", X, y, assumption, settings, pos_label)
    return evaluator.deciders(score, anonymous=anonymous)
