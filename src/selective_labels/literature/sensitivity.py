"""How far an assumption may fail before a conclusion does."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from selective_labels.assumptions import Instrument, NoAssumption, Nucem, Unconfounded, named
from selective_labels.data import SelectiveLabels, class_code, read_data
from selective_labels.evaluation.display import units_text
from selective_labels.evaluation.subject import read_subject
from selective_labels.identification.bounds import Bounds
from selective_labels.identification.functionals import class_coefficients, cost_coefficients
from selective_labels.inference.clusters import choose_clusters, cluster_codes
from selective_labels.inference.estimates import mean_estimate
from selective_labels.inference.reported import report
from selective_labels.inference.sample import NO_RANGE, read_label_range, with_classes_of
from selective_labels.inference.spread import spread_of
from selective_labels.literature.break_even import LARGEST_GAMMA, conclude
from selective_labels.literature.sensitivity_result import SensitivityCurve
from selective_labels.nuisance.confounding import (
    LARGEST_KAPPA,
    ScoredBox,
    linear_scores,
    outcome_box,
    slope_box,
    slope_leverage,
    with_label_range,
    with_lower_bounds,
)
from selective_labels.nuisance.score_formulas import LabelRange, Scores
from selective_labels.nuisance.scores import cross_fit_scores, selector_bands
from selective_labels.nuisance.settings import FittingSettings
from selective_labels.support.errors import InputError, require_choice
from selective_labels.support.options import read_values

METRICS = ("accuracy", "error", "cost", "share")
PARAMETERS = ("gamma", "kappa")
LIMITS = (NoAssumption().name, Instrument().name)
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


def sensitivity_curve(
    classifier: Any,
    X: Any,
    y: Any = None,
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
    label_range: Any = NO_RANGE,
    nuisance: Any = None,
    cv: Any = 5,
    cluster: str | None = None,
    confidence_level: float = 0.95,
    n_jobs: int | None = None,
    random_state: Any = None,
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
    X : SelectiveLabels, or (n_samples, n_features) array or frame
        A SelectiveLabels has labels and roles in it: then no other role is given.
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
    label_range : pair (lowest, highest)
        As in :func:`selective_labels.evaluate`: every point of the curve lies within it.
    nuisance, cv, n_jobs, random_state
        As in :class:`~selective_labels.UCLClassifier`.
    cluster : "groups", "decision_maker", "none" or None
        As in :func:`selective_labels.evaluate`.
    confidence_level : float

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
    >>> bool((np.diff(curve.upper - curve.lower) > 0).all()), 1 < curve.break_even < 9
    (True, True)
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
    fitting = FittingSettings.read(nuisance, cv=cv, n_jobs=n_jobs, random_state=random_state)
    limit = ("instrument" if data.decision_makers_given else "none") if limit is None else limit
    _check_options(metric, parameter, limit, data, compare_to)
    data = with_classes_of(data, [classifier, compare_to])
    cluster = choose_clusters(cluster, data)
    clusters = cluster_codes(cluster, data)

    def coefficients_of(choice: Any) -> np.ndarray:
        return _coefficients(choice, data, metric, pos_label, cost)

    coefficients = coefficients_of(classifier)
    name = metric
    if compare_to is not None:
        coefficients = coefficients - coefficients_of(compare_to)
        name, threshold = f"Difference of {metric}", 0.0 if threshold is None else threshold
    grid = _grid(parameter, values)
    boxes = _boxes(data, parameter, limit, fitting, read_label_range(label_range, data))
    limits = _limits(metric, cost, compare_to is not None)
    inference = _Inference(coefficients, data.weights, clusters, confidence_level, limits)

    def solve(value: float) -> tuple[float, ...]:
        box, contradicted = boxes.at(value)
        return *inference.ends(box), np.average(contradicted, weights=data.weights)

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
        crossed=points[:, 5],
        ends_crossed=points[:, 4] == 1.0,
        units=units_text(cluster, len(np.unique(clusters)) if clusters is not None else len(data)),
        **conclude(solve, parameter, threshold, name.lower()),
    )


@dataclass(frozen=True, eq=False)
class _Boxes:
    """The identified set, and where it was empty, as functions of the sensitivity parameter."""

    base: Callable[[float], ScoredBox]
    instrument: Scores | None
    label_range: LabelRange | None
    worst: ScoredBox

    def at(self, value: float) -> tuple[ScoredBox, np.ndarray]:
        box = self.base(value)
        crossed = np.zeros(len(box.lower), dtype=bool)
        if self.label_range is not None:
            box, crossed = with_label_range(box, self.label_range)
        # Manski's bounds are part of every gamma; only those of the instrument add something.
        if self.instrument is None:
            return box, crossed
        box, contradicted = with_lower_bounds(box, self.instrument)
        return box, crossed | contradicted


def _boxes(
    data: SelectiveLabels, parameter: str, limit: str, fitting: FittingSettings, known: LabelRange | None
) -> _Boxes:
    """Fit the nuisances once; every value of the parameter is arithmetic on their scores."""
    fit = fitting.cross_fit(
        data,
        seed=fitting.seed,
        in_halves=parameter == "kappa",
        n_bands=selector_bands(data) if limit == "instrument" else None,
    )
    start = [NoAssumption(), Unconfounded()] if parameter == "gamma" else [Nucem()]
    scores = cross_fit_scores(fit, data, [*start, named(limit)])
    bounds = scores[limit]
    if known is not None:
        bounds = cross_fit_scores(fit, data, [named(limit)], label_range=known)[limit]
    if parameter == "gamma":

        def base(value: float) -> ScoredBox:
            return outcome_box(scores["none"], scores["unconfounded"], value)
    else:
        leverage = slope_leverage(fit, data)

        def base(value: float) -> ScoredBox:
            return slope_box(scores["nucem"], leverage, value)

    return _Boxes(base, bounds if limit == "instrument" else None, known, _worst(bounds, known))


def _worst(lower: Scores, known: LabelRange | None) -> ScoredBox:
    """Keep lower bounds alone; models whose lower bounds leave no room are scaled to leave none."""
    ones = np.ones_like(lower.values)
    total = np.maximum(lower.plug_in.sum(axis=1, keepdims=True), 1.0)
    box = ScoredBox(lower.values, ones, Bounds(lower.plug_in / total, ones))
    return box if known is None else with_label_range(box, known)[0]


@dataclass(frozen=True, eq=False)
class _Inference:
    """From boxes to estimated ends with an interval."""

    coefficients: np.ndarray
    weights: np.ndarray
    clusters: np.ndarray | None
    confidence_level: float
    limits: tuple[float, float]

    def ends(self, box: ScoredBox) -> tuple[float, float, float, float, bool]:
        """Lower and upper end, the interval for the parameter, and whether the ends crossed."""
        low, high = (mean_estimate(scores, self.weights) for scores in linear_scores(box, self.coefficients))
        everybody = np.ones(len(self.weights), dtype=bool)
        spread = spread_of([(low, high)], everybody, self.clusters, self.weights)
        found = report(spread, "parameter", self.confidence_level, self.limits)
        return found.lower, found.upper, *found.interval, found.crossed


def _limits(metric: str, cost: Any, difference: bool) -> tuple[float, float]:
    """Possible values of the metric, or of the difference of two."""
    low, high = (float(np.min(cost)), float(np.max(cost))) if metric == "cost" else (0.0, 1.0)
    return (low - high, high - low) if difference else (low, high)


def _coefficients(choice: Any, data: SelectiveLabels, metric: str, pos_label: Any, cost: Any) -> np.ndarray:
    """Find what a case of each class contributes to the metric, (n_samples, n_classes)."""
    classes = data.classes
    if metric == "share":
        return class_coefficients(class_code(pos_label, classes), len(classes))
    prediction = read_subject(choice, data).chosen
    if metric == "accuracy":
        return prediction
    if metric == "error":
        return 1.0 - prediction
    if np.shape(cost) != (len(classes),) * 2:
        raise InputError(
            f"metric='cost' needs cost of shape {(len(classes),) * 2}, C[true, predicted]; "
            f"got {'none' if cost is None else f'shape {np.shape(cost)}'}.",
            "cost",
        )
    return cost_coefficients(prediction, cost)


def _grid(parameter: str, values: Any) -> np.ndarray:
    if values is None:
        if parameter == "gamma":
            return np.geomspace(1.0, SHOWN_GAMMA, N_POINTS)
        return np.linspace(0.0, LARGEST_KAPPA, N_POINTS)
    grid = np.unique(read_values("values", values))
    least, most = (1.0, LARGEST_GAMMA) if parameter == "gamma" else (0.0, LARGEST_KAPPA)
    if not ((grid >= least) & (grid <= most)).all():
        raise InputError.about("values", f"of {parameter} must lie between {least:g} and {most:g}.")
    return grid


def _check_options(metric: str, parameter: str, limit: str, data: SelectiveLabels, compare_to: Any) -> None:
    require_choice("metric", metric, METRICS)
    require_choice("parameter", parameter, PARAMETERS)
    require_choice("limit", limit, LIMITS)
    if limit == "instrument" and not data.decision_makers_given:
        raise InputError(
            "decision_maker is missing: limit='instrument' needs to know who decided.", "decision_maker"
        )
    if parameter == "kappa" and limit != "instrument":
        raise InputError("parameter='kappa' is about decision-makers: it needs limit='instrument'.", "limit")
    if metric == "share" and compare_to is not None:
        raise InputError(
            "metric='share' is the same for every classifier; leave compare_to out.", "compare_to"
        )
