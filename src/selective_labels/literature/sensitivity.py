"""How far an assumption may fail before a conclusion does."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from selective_labels.assumptions import Instrument, NoAssumption, Nucem, Unconfounded, named
from selective_labels.data import SelectiveLabels
from selective_labels.evaluation.curves import Curve, in_words
from selective_labels.evaluation.subject import read_subject, with_classes_of
from selective_labels.features.coding import coded_features
from selective_labels.identification.bounds import Bounds
from selective_labels.identification.functionals import class_coefficients, cost_coefficients
from selective_labels.inference.estimates import covariance, mean_estimate
from selective_labels.inference.intervals import few_clusters_factor, parameter_interval
from selective_labels.literature.break_even import LARGEST_GAMMA, conclude
from selective_labels.nuisance.confounding import (
    LARGEST_KAPPA,
    ScoredBox,
    linear_scores,
    outcome_box,
    slope_box,
    slope_leverage,
    with_lower_bounds,
)
from selective_labels.nuisance.cross_fit import cross_fit
from selective_labels.nuisance.score_formulas import Scores
from selective_labels.nuisance.scores import cross_fit_scores, selector_groups

METRICS = ("accuracy", "error", "cost", "share")
PARAMETERS = ("gamma", "kappa")
LIMITS = (NoAssumption().name, Instrument().name)
CLUSTERS = ("groups", "decision_maker", None)
# Largest gamma of a default curve.
SHOWN_GAMMA = 10.0
N_POINTS = 25

ASSUMPTIONS = {
    "gamma": "given the features, each class is at most gamma times more, and at most gamma times less, "
    "frequent among unlabeled than among labeled cases; gamma = 1 is no unobserved confounding",
    "kappa": "what decision-makers see besides the features moves all of them alike, up to a difference of "
    "kappa in the covariance of their decisions with a class; kappa = 0 is NUCEM",
}
INSTRUMENT = "; cases are assigned to decision-makers as if at random given the features"


@dataclass(frozen=True, eq=False, kw_only=True)
class SensitivityCurve(Curve):
    """Ends of a metric as an assumption is relaxed, and where a conclusion flips.

    Attributes
    ----------
    limit : "none" or "instrument"
        What is still assumed at the far end of the curve.
    limit_lower, limit_upper : float
        Estimated ends there.
    crossed : (n_points,) array
        Share of cases in which the models find the assumption in contradiction to the instrument.
    threshold : float or None
    conclusion : str or None
        What the first point of the curve says about the threshold.
    break_even : float or None
        The value up to which the estimate supports the conclusion; infinite if it always does.
    break_even_ci : float or None
        The value up to which the confidence interval does; None if it never does.
    """

    limit: str
    limit_lower: float
    limit_upper: float
    crossed: np.ndarray
    threshold: float | None = None
    conclusion: str | None = None
    break_even: float | None = None
    break_even_ci: float | None = None

    def to_frame(self) -> pd.DataFrame:
        """One row per value, with the share of contradictions where there is an instrument."""
        frame = super().to_frame()
        return frame.assign(crossed=self.crossed) if self.limit == "instrument" else frame

    def sentences(self) -> list[str]:
        """Say what the numbers assume and are, of which sample, and where the conclusion flips."""
        sentences = super().sentences()
        name = "the instrument alone" if self.limit == "instrument" else "no assumption at all"
        sentences.append(f"With {name}: [{self.limit_lower:.4g}, {self.limit_upper:.4g}].")
        if self.limit == "instrument":
            sentences.append(
                f"In {self.crossed[0]:.0%} of the cases at the start, and {self.crossed[-1]:.0%} at the end, "
                "the models find the assumption in contradiction to the instrument, by noise or in earnest; "
                "the instrument is set aside there."
            )
        if self.conclusion is not None:
            sentences.append(f"Conclusion: {self.conclusion}. {self._break_even_sentence()}")
        return sentences

    def plot(self, ax: Any = None, label: str | None = None) -> Any:
        """Draw the curve, its limit, the threshold and the break-even value."""
        ax = super().plot(ax, label)
        for end in (self.limit_lower, self.limit_upper):
            ax.axhline(end, linestyle=":", color="gray")
        if self.threshold is not None:
            ax.axhline(self.threshold, color="black", linewidth=0.8)
        if self.break_even is not None and self.x[0] <= self.break_even <= self.x[-1]:
            ax.axvline(self.break_even, linestyle="--", color="black", linewidth=0.8)
        return ax

    def _break_even_sentence(self) -> str:
        if self.break_even is None:
            return "The estimate supports no conclusion at the start."
        if np.isinf(self.break_even):
            estimate = "The estimate supports it at every value"
        else:
            estimate = f"The estimate supports it up to {self.x_name} = {self.break_even:.4g}"
        if self.break_even_ci is None:
            return f"{estimate}; the confidence interval does not support it at all."
        if np.isinf(self.break_even_ci):
            return f"{estimate}, the confidence interval too."
        return f"{estimate}, the confidence interval up to {self.break_even_ci:.4g}."


def sensitivity_curve(
    classifier: Any,
    X: Any,
    y: Any,
    *,
    decision_maker: Any = None,
    decision: Any = None,
    metric: str = "accuracy",
    pos_label: Any = None,
    cost: Any = None,
    compare_to: Any = None,
    parameter: str = "gamma",
    values: Any = None,
    limit: str | None = None,
    threshold: float | None = None,
    sample_weight: Any = None,
    groups: Any = None,
    strata: Any = None,
    assignment: Any = None,
    nuisance: Any = None,
    cv: Any = 5,
    cluster: str | None = None,
    confidence_level: float = 0.95,
    n_jobs: int | None = None,
    random_state: int | None = None,
) -> SensitivityCurve:
    """Bounds of a metric that widen from a point assumption to the worst case.

    ``parameter="gamma"``, the outcome bounds of Rambachan, Coston and Kennedy (2022) for every class:

        P(Y=k | x, D=1) / Γ <= P(Y*=k | x, D=0) <= Γ P(Y=k | x, D=1),

    from Γ = 1 (no unobserved confounding, AIPW) towards the worst case. ``parameter="kappa"``, the bridge
    from NUCEM to the instrument alone:

        P(Y=k, D=1 | x, z) = κ_kz + P(Y*=k | x) P(D=1 | x, z),   |κ_kz - κ_k| <= ρ for all z,

    from ρ = 0 (NUCEM) to ρ = 1/4 (always true). With ``limit="instrument"`` both are intersected with the
    lower bounds max_z P(Y=k, D=1 | x, z) of the instrument. The set is a box and the simplex; the ends of a
    linear metric are linear programs, solved by pouring, and estimated by debiased scores (see
    :func:`selective_labels.nuisance.confounding.linear_scores`): valid for any nuisance model that is right
    about decisions or about labels, cross-fitted once for the whole curve.

    The break-even value is where the end nearest to the threshold meets it: up to there the conclusion
    stands.

    Parameters
    ----------
    classifier : fitted classifier, (n_samples,) labels or (n_samples, n_classes) probabilities
        Fitted to other cases. Not used by "share": None will do.
    X : (n_samples, n_features) array or frame
    y : (n_samples,) labels with holes
    decision_maker : (n_samples,) ids, optional
        Needed for ``limit="instrument"``.
    decision : (n_samples,) of 0 and 1, optional
    metric : "accuracy", "error", "cost" or "share"
    pos_label : label, optional
        Whose share; default the last class.
    cost : (n_classes, n_classes) array, optional
        C[true, predicted], for "cost".
    compare_to : like `classifier`, optional
        The curve is then of metric(classifier) - metric(compare_to), and the threshold 0 by default.
    parameter : "gamma" or "kappa"
    values : (n_points,) numbers, optional
        Default: 25 from 1 to 10, evenly in the logarithm, or 25 from 0 to 1/4.
    limit : "none" or "instrument", optional
        What is always assumed; default the instrument if decision-makers are given. "kappa" needs it.
    threshold : float, optional
        A conclusion is drawn about the metric being above or below.
    sample_weight, groups, strata, assignment : optional
        As in ``fit`` of the learners.
    nuisance, cv, n_jobs, random_state
        As in :class:`~selective_labels.UCLClassifier`.
    cluster : "groups", "decision_maker" or None
        Rows whose scores are summed before their spread is taken.
    confidence_level : float

    Returns
    -------
    SensitivityCurve

    Examples
    --------
    >>> import selective_labels as sl
    >>> sample = sl.datasets.make_decision_makers(1000, n_classes=2, random_state=0)
    >>> prediction = (sample.X[:, 0] < 0).astype(int)
    >>> curve = sensitivity_curve(prediction, sample.X, sample.y, values=[1, 2, 4], threshold=0.5,
    ...                           nuisance="logistic", random_state=0)
    >>> bool((np.diff(curve.upper - curve.lower) > 0).all()), 1 < curve.break_even < 9
    (True, True)
    """
    limit = ("none" if decision_maker is None else "instrument") if limit is None else limit
    _check_options(metric, parameter, limit, cluster, decision_maker, compare_to)
    features, categorical = coded_features(X)
    data = SelectiveLabels.from_arrays(
        features,
        y,
        decision_maker=np.zeros(len(features), dtype=int) if decision_maker is None else decision_maker,
        decision=decision,
        sample_weight=sample_weight,
        groups=groups,
        strata=strata,
        assignment=assignment(X) if callable(assignment) else assignment,
        categorical=categorical,
    )
    data = with_classes_of(data, [classifier, compare_to], minus_one_is_class=decision is not None)
    if cluster == "groups" and data.groups is None:
        raise ValueError("cluster='groups' needs groups.")

    def coefficients_of(choice: Any) -> np.ndarray:
        return _coefficients(choice, X, data, metric, pos_label, cost)

    coefficients = coefficients_of(classifier)
    name = metric
    if compare_to is not None:
        coefficients = coefficients - coefficients_of(compare_to)
        name, threshold = f"Difference of {metric}", 0.0 if threshold is None else threshold
    grid = _grid(parameter, values)
    boxes = _boxes(data, parameter, limit, nuisance, cv, n_jobs, random_state)
    inference = _Inference(data, coefficients, cluster, confidence_level)

    def solve(value: float) -> tuple[float, ...]:
        box, crossed = boxes.at(value)
        return *inference.ends(box), crossed.mean()

    points = np.array([solve(value) for value in grid])
    worst = inference.ends(boxes.worst)
    return SensitivityCurve(
        title=name.capitalize(),
        x_name=parameter,
        x=grid,
        lower=points[:, 0],
        upper=points[:, 1],
        ci_lower=points[:, 2],
        ci_upper=points[:, 3],
        assumption=ASSUMPTIONS[parameter] + (INSTRUMENT if limit == "instrument" else "") + ".",
        identifies=f"the smallest and the largest {name.lower()} that the data and the assumption allow.",
        n_samples=len(data),
        confidence_level=confidence_level,
        limit=limit,
        limit_lower=worst[0],
        limit_upper=worst[1],
        crossed=points[:, 4],
        **conclude(solve, parameter, threshold, name.lower()),
    )


@dataclass(frozen=True, eq=False)
class _Boxes:
    """The identified set, and where it was empty, as functions of the sensitivity parameter."""

    base: Callable[[float], ScoredBox]
    instrument: Scores | None
    worst: ScoredBox

    def at(self, value: float) -> tuple[ScoredBox, np.ndarray]:
        box = self.base(value)
        # Manski's bounds are part of every gamma; only those of the instrument add something.
        if self.instrument is None:
            return box, np.zeros(len(box.lower), dtype=bool)
        return with_lower_bounds(box, self.instrument)


def _boxes(
    data: SelectiveLabels,
    parameter: str,
    limit: str,
    nuisance: Any,
    cv: Any,
    n_jobs: int | None,
    random_state: int | None,
) -> _Boxes:
    """Fit the nuisances once; every value of the parameter is arithmetic on their scores."""
    fit = cross_fit(
        data,
        nuisance,
        cv=cv,
        in_halves=parameter == "kappa",
        n_groups=selector_groups(data) if limit == "instrument" else None,
        n_jobs=n_jobs,
        random_state=random_state,
    )
    start = [NoAssumption(), Unconfounded()] if parameter == "gamma" else [Nucem()]
    scores = cross_fit_scores(fit, data, [*start, named(limit)])
    if parameter == "gamma":

        def base(value: float) -> ScoredBox:
            return outcome_box(scores["none"], scores["unconfounded"], value)
    else:
        leverage = slope_leverage(fit, data)

        def base(value: float) -> ScoredBox:
            return slope_box(scores["nucem"], leverage, value)

    return _Boxes(base, scores["instrument"] if limit == "instrument" else None, _worst(scores[limit]))


def _worst(lower: Scores) -> ScoredBox:
    """Keep lower bounds alone; models whose lower bounds leave no room are scaled to leave none."""
    ones = np.ones_like(lower.values)
    total = np.maximum(lower.plug_in.sum(axis=1, keepdims=True), 1.0)
    return ScoredBox(lower.values, ones, Bounds(lower.plug_in / total, ones))


@dataclass(frozen=True, eq=False)
class _Inference:
    """From boxes to estimated ends with an interval."""

    data: SelectiveLabels
    coefficients: np.ndarray
    cluster: str | None
    confidence_level: float

    def ends(self, box: ScoredBox) -> tuple[float, float, float, float]:
        """Lower and upper end, and the interval for the parameter."""
        data = self.data
        clusters = {None: None, "groups": data.groups, "decision_maker": data.decision_maker_codes}[
            self.cluster
        ]
        ends = [mean_estimate(scores, data.sample_weight) for scores in linear_scores(box, self.coefficients)]
        matrix = covariance([end.influence for end in ends], clusters)
        n_clusters = len(data) if clusters is None else len(np.unique(clusters))
        error = np.sqrt(np.diag(matrix)) * few_clusters_factor(n_clusters, self.confidence_level)
        scale = max(float(np.sqrt(matrix[0, 0] * matrix[1, 1])), np.finfo(float).tiny)
        interval = parameter_interval(
            ends[0].value,
            ends[1].value,
            (float(error[0]), float(error[1])),
            float(np.clip(matrix[0, 1] / scale, -1.0, 1.0)),
            n_clusters,
            self.confidence_level,
        )
        return ends[0].value, ends[1].value, interval.lower, interval.upper


def _coefficients(
    choice: Any, X: Any, data: SelectiveLabels, metric: str, pos_label: Any, cost: Any
) -> np.ndarray:
    """Find what a case of each class contributes to the metric, (n_samples, n_classes)."""
    classes = data.classes
    if metric == "share":
        label = classes[-1] if pos_label is None else pos_label
        if label not in classes.tolist():
            raise ValueError(f"pos_label={label!r} is not among the labels {in_words(classes.tolist())}.")
        return class_coefficients(classes.tolist().index(label), len(classes))
    prediction = read_subject(choice, X, data).chosen
    if metric == "accuracy":
        return prediction
    if metric == "error":
        return 1.0 - prediction
    if np.shape(cost) != (len(classes),) * 2:
        raise ValueError(
            f"metric='cost' needs cost of shape {(len(classes),) * 2}, C[true, predicted]; "
            f"got {'none' if cost is None else f'shape {np.shape(cost)}'}."
        )
    return cost_coefficients(prediction, cost)


def _grid(parameter: str, values: Any) -> np.ndarray:
    if values is None:
        if parameter == "gamma":
            return np.geomspace(1.0, SHOWN_GAMMA, N_POINTS)
        return np.linspace(0.0, LARGEST_KAPPA, N_POINTS)
    grid = np.unique(np.atleast_1d(np.asarray(values, dtype=float)))
    least, most = (1.0, LARGEST_GAMMA) if parameter == "gamma" else (0.0, LARGEST_KAPPA)
    if not ((grid >= least) & (grid <= most)).all():
        raise ValueError(f"values of {parameter} must lie between {least:g} and {most:g}.")
    return grid


def _check_options(
    metric: str, parameter: str, limit: str, cluster: str | None, decision_maker: Any, compare_to: Any
) -> None:
    options: list[tuple[str, Any, tuple[Any, ...]]] = [
        ("metric", metric, METRICS),
        ("parameter", parameter, PARAMETERS),
        ("limit", limit, LIMITS),
        ("cluster", cluster, CLUSTERS),
    ]
    for name, value, allowed in options:
        if value not in allowed:
            raise ValueError(f"{name}={value!r} is not one of {', '.join(map(repr, allowed))}.")
    if limit == "instrument" and decision_maker is None:
        raise ValueError("decision_maker is missing: limit='instrument' needs to know who decided.")
    if parameter == "kappa" and limit != "instrument":
        raise ValueError("parameter='kappa' is about decision-makers: it needs limit='instrument'.")
    if metric == "share" and compare_to is not None:
        raise ValueError("metric='share' is the same for every classifier; leave compare_to out.")
