"""The questions as functions: each is one line over the :class:`selective_labels.Evaluator`."""

from collections.abc import Callable, Sequence
from typing import Any, Unpack

from numpy.typing import ArrayLike

from selective_labels.assumptions.base import Assumption
from selective_labels.evaluation.drift import Drift
from selective_labels.evaluation.evaluator import Evaluator, EvaluatorSettings
from selective_labels.evaluation.ladder_results import Ladder
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
    cost: ArrayLike | None = None,
    **settings: Unpack[EvaluatorSettings],
) -> Evaluation | Evaluations:
    """Bound a metric of a classifier on all cases, labels missing for those decided against.

    accuracy in [E[l_t], E[l_t] + E[δ]],   l_k(x) = max_z P(Y=k, D=1 | x, z),   δ = 1 - Σ_k l_k

    and likewise for every metric: the sharp ends over all class probabilities that the data and the
    assumption leave possible. The ends are means of cross-fitted scores (under "instrument" of the envelope
    score: valid whichever decision-makers a row is compared with, and sharp if the best ones are found).

    The rows must not be those that the classifier was trained on.

    Parameters
    ----------
    classifier : fitted classifier, or array
        Array of one dimension: predicted class labels (scores, for "auc"). Of shape (n_samples, n_classes),
        in the order of the sorted classes: probabilities; where a metric is about predictions, a class is
        then predicted with its probability. A fitted classifier predicts with ``predict``. A
        :class:`selective_labels.Policy` is judged by what it accepts ("failures", "cost" ...; see `compare`).
    X : SelectiveLabels, or (n_samples, n_features) array or frame
        A SelectiveLabels has labels and roles in it: then no other role is given.
    y : (n_samples,) labels with holes (-1, NaN, None, NA)
    metric : str, metric object, or list of these
        "accuracy", "error", "cost", "share", "tpr", "fpr", "ppv", "f1", "balanced_accuracy", "auc",
        "log_loss", "brier", "regret" or "calibration" (the share of `pos_label` in ten bins of its predicted
        probability); see :mod:`selective_labels.evaluation.metrics` for objects, and
        :class:`selective_labels.evaluation.metrics.Metric` to define one. The upper end of "regret" needs a
        margin condition.
    assumption : "none", "instrument", "nucem", "unconfounded", "tilt", "all", or a list of these
        "nucem" and "unconfounded" identify the value; so does "tilt", for accuracy, error, share and
        differences of accuracies, with an interval that holds however weak the instrument is, and lies within
        the instrument's. "all": all that the input allows, but "tilt". With "nucem" among them, the models
        are fitted on halves of the rows, so the other assumptions' numbers move a little.
        For a name, its object of :mod:`selective_labels.assumptions` will do.
    by : (n_samples,) array, optional
        Subgroups: one evaluation for each, and the sharp bounds of the gaps between them in ``.gaps``.
    pos_label : class label, optional
        The class of "share", "tpr", "fpr", "ppv", "f1", "auc" and "calibration". Default: the last.
    cost : (n_classes, n_classes) array, optional
        C[true, predicted] over the sorted classes, for "cost".
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
    The bounds are valid, and some 0... wider than sharp (accuracy): decision-makers who cannot be told from
    the best of a class are pooled.
    Assumption (instrument): cases alike in features (and stratum, if given) reach decision-makers as if at
    random, and who decides does not change the label. What would refute it: lower bounds that sum to more
    than one (SL401, SL402), or cases not dealt out at random.
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
    cost: ArrayLike | None = None,
    **settings: Unpack[EvaluatorSettings],
) -> Comparison:
    """Bound metric(a) - metric(b) on all cases, and say which is better if the data can tell.

    accuracy(a) - accuracy(b) in E[1{a≠b} (l_a - l_b ∓ δ)],   l_k(x) = max_z P(Y=k, D=1 | x, z)

    Where the two predict the same they cancel, whatever the unseen label is. So the interval is far narrower
    than the difference of two intervals. Sharp for every metric but "f1", whose bounds are valid, not sharp.

    Parameters
    ----------
    a : fitted classifier, array of predictions, class label, or Policy
        As in :func:`selective_labels.evaluate`; a class label is the constant classifier.
        A :class:`selective_labels.Policy` accepts by a score, alone or together with the human.
    b : the same, or "human"
        "human": the decisions taken, see Notes.
    X, y
        As in `evaluate`.
    metric : str or metric object, optional
        Default: "accuracy". Leave it out against "human". Of policies: "failures" (default), "failure_rate",
        "avoided", "good_lost", "acceptance", and with `cost` "cost" (then the default) or "profit".
    assumption : "none", "instrument", "nucem", "unconfounded", or one of these as an object
    pos_label, cost
        As in `evaluate`. Against "human", `pos_label` (default: the last class) is the failure.
    **settings
        Roles, fitting and inference, as in :class:`selective_labels.Evaluator`.

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

    Policies are compared as they are, each at its own acceptance. Their difference is sharp: where both leave
    a case to the same, or do the same with it, it cancels. Does a score help the human?
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
    **settings: Unpack[EvaluatorSettings],
) -> ThresholdCurve:
    """Bound accuracy, true and false positive rate of a score cut at many thresholds.

    t(x) = event if s(x) >= c, else the rest;   accuracy(c) = P(1{Y* = event} = 1{s(X) >= c})

    and at every c the numbers are those of `evaluate` for t. Models are fitted once for all thresholds: the
    cost is that of one `evaluate`, and O(n) for each threshold and metric. With more than two classes the
    event is set against the rest, and the bounds use all classes, which makes them narrower than those of a
    label recoded to event and rest.

    Parameters
    ----------
    classifier : fitted classifier, (n_samples,) scores, or (n_samples, n_classes) probabilities
        Of a classifier, ``decision_function`` is the score if there is one, else the event's probability.
    X, y
        As in :func:`selective_labels.evaluate`.
    pos_label : class label, optional
        The event that is flagged. Default: the last class.
    thresholds : array of numbers, optional
        Default: 41 quantiles of the score, and one above all.
    metric : "accuracy", "error", "tpr" or "fpr", or a list of these
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
    return evaluator.threshold_curve(classifier, thresholds=thresholds, metric=metric, pos_label=pos_label)


def policy_curve(
    scores: Any,
    X: Any,
    y: Any = None,
    *,
    pos_label: Any = None,
    rates: ArrayLike | None = None,
    rule: str = "score",
    cost: ArrayLike | None = None,
    assumption: str | Assumption = "instrument",
    **settings: Unpack[EvaluatorSettings],
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
    X, y
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
    assumption
        As in `evaluate`; one assumption.
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
    return evaluator.policy_curve(scores, rates=rates, rule=rule, pos_label=pos_label, cost=cost)


def ladder(
    classifier: Any,
    X: Any,
    y: Any = None,
    *,
    assumptions: Assumed = (),
    metric: Any = "accuracy",
    pos_label: Any = None,
    cost: ArrayLike | None = None,
    **settings: Unpack[EvaluatorSettings],
) -> Ladder:
    """Bound one metric under assumptions from weak to strong, and say what each of them adds.

    H(none) ⊇ H(instrument) ⊇ H(instrument & A) ⊇ H(instrument & A & B),   saved = width before - width after

    with H what is left possible. The population's intervals lie in one another; estimated ones may stick out
    by noise. Models are fitted once for all rungs, and every number is that of
    :func:`selective_labels.evaluate` with the same list of assumptions. Where the data contradict what is
    assumed, the rung has no number, nor has any later one that contains it.

    Parameters
    ----------
    classifier, X, y
        As in :func:`selective_labels.evaluate`.
    assumptions : name or object of :mod:`selective_labels.assumptions`, or a list of these
        From weak to strong, in your order; "none" and (if there are decision-makers) "instrument" come first
        in any case. A part such as ``Informed("failed")`` is added to the parts before it, and to the
        instrument; a name or a combination stands as it is.
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
    cost: ArrayLike | None = None,
    **settings: Unpack[EvaluatorSettings],
) -> Drift:
    """Follow acceptance, labels and the bounds of a metric over time.

    metric(t) in [E[low | T=t], E[high | T=t]],   low and high as in :func:`selective_labels.evaluate`

    Models are fitted once, on the cases of all periods: with a feature that tells time they know it.

    Parameters
    ----------
    classifier, X, y
        As in :func:`selective_labels.evaluate`.
    period : (n_samples,) dates, or any values that sort as time goes
        Of a table in partitions, the name of a column.
    every : "month", "quarter", "year" or None
        What dates are cut into; None: values of `period` are periods as they are.
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
    cost: ArrayLike | None = None,
    compare_to: Any = None,
    parameter: str = "gamma",
    assumption: Callable[[float], Assumption] | None = None,
    values: Any = None,
    limit: str | None = None,
    threshold: float | None = None,
    **settings: Unpack[EvaluatorSettings],
) -> SensitivityCurve:
    """Bounds of a metric as one number of an assumption is turned: the ladder with one knob.

    ``parameter`` names the knob; `assumption` may be any function from a value to an assumption instead.

    - "gamma": P(Y=k | x, D=1) / Γ <= P(Y*=k | x, D=0) <= Γ P(Y=k | x, D=1) for every class, the outcome
      bounds of Rambachan, Coston and Kennedy (2022), from Γ = 1 (no unobserved confounding) on;
    - "odds": among like cases, the refused have x times the odds of `pos_label` (Refused(scale="odds")).
      Which x an instrument supports is in ``curve.supported``: the confidence set of the event tilt;
    - "ratio", "share": the refused are `pos_label` x times as often, or with the share x;
    - "kappa": the bridge from NUCEM (0) to the instrument alone (1/4), around the slope of all of them;
      "rho": the same statement, ``Instrument() & SimilarBias(rho)``, with the sharp bounds by pairs;
    - "prevalence": of all cases, the share x is `pos_label`.

    Models are fitted once; every value is scored by them, as :func:`selective_labels.evaluate` scores it
    under this assumption. Where the data contradict what is assumed, there is no number. The break-even
    value is where the end nearest to the threshold meets it: up to there the conclusion stands.

    Parameters
    ----------
    classifier : fitted classifier, (n_samples,) labels or (n_samples, n_classes) probabilities
        Fitted to other cases. Not used by "share": None will do.
    X : SelectiveLabels, or (n_samples, n_features) array or frame
        A SelectiveLabels has labels and roles in it: then no other role is given.
    y : (n_samples,) labels with holes
    metric : str or metric object
        One, as in `evaluate`.
    pos_label : label, optional
        Whose share, whose odds; default the last class.
    cost : (n_classes, n_classes) array, optional
        C[true, predicted], for "cost".
    compare_to : like `classifier`, optional
        The curve is then of metric(classifier) - metric(compare_to), and the threshold 0 by default.
    parameter : "gamma", "odds", "ratio", "share", "kappa", "rho" or "prevalence"
    assumption : callable, optional
        From a value to an assumption; `values` are then needed, and `parameter` is the name of the axis.
    values : (n_points,) numbers, optional
        Default: 25, from 1 to 10 (gamma), 1/8 to 8 (odds), 1/4 to 4 (ratio), 0 to 1/4 (kappa, rho), 0 to 1
        (share, prevalence).
    limit : "none" or "instrument", optional
        What the curve is set against, and what "gamma", "kappa", "rho" and "prevalence" assume besides;
        default the instrument if decision-makers are given.
    threshold : float, optional
        A conclusion is drawn about the metric being above or below.
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
