"""How far an assumption may fail before a conclusion does: one number along one knob."""

import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from selective_labels.assumptions import Assumption, EventTilt, Instrument, NoAssumption, named
from selective_labels.data import GivenRoles, SelectiveLabels, class_code, read_data
from selective_labels.evaluation.compare import compare_sample, paired_contest
from selective_labels.evaluation.display import units_text
from selective_labels.evaluation.estimated import judged
from selective_labels.inference.clusters import choose_clusters, cluster_codes
from selective_labels.inference.sample import (
    NO_RANGE,
    ScoredSample,
    cross_fits,
    read_label_range,
    score_sample,
    with_classes_of,
)
from selective_labels.inference.tilted import supported_odds
from selective_labels.literature.break_even import Point, conclude
from selective_labels.literature.families import Family, read_family
from selective_labels.literature.sensitivity_result import SensitivityCurve
from selective_labels.measures.named import read_metrics
from selective_labels.measures.subject import ArraySubject, Subject, read_subject
from selective_labels.nuisance.cross_fit import CrossFit
from selective_labels.nuisance.settings import FittingSettings
from selective_labels.support.errors import InputError, require_choice
from selective_labels.support.options import the_only

LIMITS = (NoAssumption().name, Instrument().name)
# Numbers of scores that are kept at a time; beyond, values are scored in several passes over the models.
MOST_NUMBERS = 5e7


def sensitivity_curve(
    classifier: Any,
    X: Any,
    y: Any = None,
    *,
    decision_maker: Any = None,
    decision: Any = None,
    metric: Any = "accuracy",
    pos_label: Any = None,
    cost: ArrayLike | None = None,
    compare_to: Any = None,
    parameter: str = "gamma",
    assumption: Callable[[float], Assumption] | None = None,
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
    decision_maker : (n_samples,) ids, optional
        Needed for ``limit="instrument"``.
    decision : (n_samples,) of 0 and 1, optional
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

    Any function of a value:

    >>> from selective_labels.assumptions import Informed, Instrument, Prevalence
    >>> known = lambda value: Instrument() & Informed(1) & Prevalence(1, value)
    >>> curve = sensitivity_curve(prediction, data, assumption=known, values=[0.4, 0.5, 0.6],
    ...                           parameter="share of 1", nuisance="logistic", random_state=0)
    >>> curve.x_name, len(curve)
    ('share of 1', 3)
    """
    data = read_data(X, y, GivenRoles(decision_maker, decision, sample_weight, groups, strata, assignment))
    fitting = FittingSettings.read(nuisance, cv=cv, n_jobs=n_jobs, random_state=random_state)
    several = data.decision_makers_given and data.n_decision_makers > 1
    limit = ("instrument" if several else "none") if limit is None else limit
    _check_options(limit, data)
    data = with_classes_of(data, [classifier, compare_to])
    event = data.classes.tolist()[class_code(pos_label, data.classes)]
    family = read_family(parameter, assumption, event, data.classes, limit)
    grid = family.read(values)
    subjects = [_subject(each, data, metric) for each in (classifier, compare_to) if each is not None] or [
        _subject(None, data, metric)
    ]
    metrics = read_metrics(metric, subjects[0], pos_label, cost)
    one = the_only(metrics, "metric", "a sensitivity curve is of one metric.")
    if metric == "share" and compare_to is not None:
        raise InputError(
            "metric='share' is the same for every classifier; leave compare_to out.", "compare_to"
        )
    read_label_range(label_range, data)
    machine = _Machine(data, family, one, subjects, cluster, fitting, label_range, confidence_level)
    name = one.name
    if compare_to is not None:
        name, threshold = f"Difference of {name}", 0.0 if threshold is None else threshold
    everywhere = sorted({*grid.tolist(), *(each for each in family.beyond if threshold is not None)})
    solved = dict(zip(everywhere, machine.solve(everywhere), strict=True))
    points = [solved[each] for each in grid.tolist()]
    worst, supported = machine.limit(
        limit, data.classes == event if family.has_odds and limit != "none" else None
    )
    units = choose_clusters(cluster, data)
    clusters = cluster_codes(units, data)
    return SensitivityCurve(
        title=name[:1].upper() + name[1:],
        x_name=family.name,
        x=grid,
        lower=np.array([each.lower for each in points]),
        upper=np.array([each.upper for each in points]),
        ci_lower=np.array([each.ci_lower for each in points]),
        ci_upper=np.array([each.ci_upper for each in points]),
        assumption=f"{family.words}.",
        identifies=f"the smallest and the largest {name.lower()} that the data and the assumption allow.",
        n_samples=len(data),
        confidence_level=confidence_level,
        limit=limit,
        limit_lower=worst.lower,
        limit_upper=worst.upper,
        crossed=np.array([each.contradicted for each in points]),
        ends_crossed=np.array([each.crossed for each in points]),
        units=units_text(units, len(np.unique(clusters)) if clusters is not None else len(data)),
        supported=supported,
        **conclude(
            machine.solve, everywhere, list(solved.values()), family.reference, threshold, name.lower()
        ),
    )


@dataclass(eq=False)
class _Machine:
    """From values of the knob to ends with intervals; models are fitted once."""

    data: SelectiveLabels
    family: Family
    metric: Any
    subjects: Sequence[Subject]
    cluster: str | None
    fitting: FittingSettings
    label_range: Any
    confidence_level: float
    fits: list[CrossFit] | None = field(default=None, init=False)

    def solve(self, values: Sequence[float]) -> list[Point]:
        """What is found at each value."""
        assumed = {value: self.family.at(value) for value in values}
        by_name: dict[str, Assumption] = {}
        for each in assumed.values():
            if by_name.setdefault(each.name, each) != each:
                raise InputError(
                    f"two values give different assumptions of one name, {each.name!r}: name them apart, or "
                    "space the values wider.",
                    "assumption",
                )
        found: dict[str, Point] = {}
        names = list(by_name)
        size = max(int(MOST_NUMBERS // (6 * len(self.data) * len(self.data.classes))), 1)
        for start in range(0, len(names), size):
            some = names[start : start + size]
            sample = self._score([by_name[name] for name in some])
            found |= {name: self._point(sample, name) for name in some}
        return [found[assumed[value].name] for value in values]

    def limit(self, name: str, event: np.ndarray | None) -> tuple[Point, list[tuple[float, float]] | None]:
        """What is found with nothing but the limit, and which odds of an event the instrument supports."""
        if event is None or self.data.decision.all():
            return self._point(self._score([named(name)]), name), None
        sample = self._score([named(name), EventTilt()])
        clusters = cluster_codes(sample.cluster, sample.data)
        supported = supported_odds(sample.tilted[0], event, sample.weights, clusters, self.confidence_level)
        return self._point(sample, name), supported

    def _score(self, assumptions: list[Assumption]) -> ScoredSample:
        again = self.fits is not None
        if not again and not self.data.decision.all():
            self.fits = list(cross_fits(self.data, self.fitting, any(a.needs_halves for a in assumptions)))
        with warnings.catch_warnings():
            if again:  # it was said the first time
                warnings.simplefilter("ignore", UserWarning)
            return score_sample(
                self.data, [], assumptions, self.cluster, self.fitting, self.label_range, self.fits
            )

    def _point(self, sample: ScoredSample, name: str) -> Point:
        level, subject = self.confidence_level, self.subjects[0]
        if len(self.subjects) == 2:
            contest = paired_contest(subject, self.subjects[1], self.metric)
            found: Any = compare_sample(sample, contest, name, confidence_level=level)
        else:
            functional, limits = self.metric.functional(subject), self.metric.range(subject.classes)
            found = judged(sample, functional, self.metric.name, name, limits, level)
        empty = sample.repeats[0][name].empty
        return Point(
            found.lower,
            found.upper,
            found.ci_lower,
            found.ci_upper,
            bool(found.crossed),
            float(np.average(empty, weights=sample.weights)),
        )


def _subject(choice: Any, data: SelectiveLabels, metric: Any) -> Subject:
    """What is judged; the share of a class needs nobody."""
    if choice is None and metric == "share":
        return ArraySubject(np.repeat(data.classes[:1], len(data)), data.classes, "nobody")
    return read_subject(choice, data)


def _check_options(limit: str, data: SelectiveLabels) -> None:
    require_choice("limit", limit, LIMITS)
    if len(data.classes) < 2:
        raise InputError.about("y", f"shows only one class ({data.classes.tolist()[0]!r}); two are needed.")
    if limit == "instrument" and not data.decision_makers_given:
        raise InputError(
            "decision_maker is missing: limit='instrument' needs to know who decided.", "decision_maker"
        )
