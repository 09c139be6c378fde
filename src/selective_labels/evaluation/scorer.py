"""A scikit-learn scorer for searches and cross-validation on selectively labeled data."""

from typing import Any

import numpy as np
import sklearn
from sklearn.utils.metadata_routing import MetadataRequest

from selective_labels._errors import ROUTING, InputError
from selective_labels.assumptions.parse import named
from selective_labels.data.reading import read_data
from selective_labels.data.roles import ROLES, GivenRoles
from selective_labels.data.selective_labels import SelectiveLabels
from selective_labels.evaluation.functions import evaluate
from selective_labels.evaluation.metrics import named_metrics

DEFAULT_ASSUMPTION = "instrument"


class LowerBoundScorer:
    """Estimated worst case on all cases; by default the lower bound on accuracy under "instrument".

    With ``sklearn.set_config(enable_metadata_routing=True)`` the scorer receives the roles; no request has to
    be set. Pass it as ``scoring=lower_bound_scorer``, or call it with settings of `evaluate` to make another
    scorer: ``scoring=lower_bound_scorer(metric="tpr", assumption="nucem")``. For metrics where lower is
    better (such as "cost") it returns minus the upper bound, so that greater is always better.
    If every label is observed and no decision-maker is given, it returns the plain accuracy.

    Parameters
    ----------
    settings
        Keywords of :func:`selective_labels.evaluate`, such as `metric`, `cost`, `assumption`.

    Examples
    --------
    >>> from sklearn.dummy import DummyClassifier
    >>> X, y = [[0.0], [1.0], [2.0]], [0, 1, 1]
    >>> round(lower_bound_scorer(DummyClassifier().fit(X, y), X, y), 3)
    0.667
    >>> lower_bound_scorer(metric="error")
    lower_bound_scorer(metric='error')
    >>> round(lower_bound_scorer(metric="error")(DummyClassifier().fit(X, y), X, y), 3)
    -0.333
    """

    def __init__(self, **settings: Any) -> None:
        self.settings = settings

    def __call__(
        self,
        estimator: Any = None,
        X: Any = None,
        y: Any = None,
        decision_maker: Any = None,
        **settings: Any,
    ) -> Any:
        """Score a fitted classifier on held-out rows; without a classifier, make a new scorer."""
        if estimator is None:
            return LowerBoundScorer(**(self.settings | settings))
        if X is None:
            raise InputError("X is missing: give features and labels, or one SelectiveLabels.", "X")
        given = {name: settings.pop(name) for name in ROLES if name in settings}
        data = read_data(X, y, GivenRoles(**({"decision_maker": decision_maker} | given)))
        self._require_decision_makers(data)
        defaults: dict[str, Any] = {"nuisance": "logistic", "random_state": 0}
        result: Any = evaluate(estimator, data, **(defaults | self.settings | settings))
        if not hasattr(result, "lower"):
            raise InputError("a scorer gives one number: give one metric and one assumption.", "metric")
        return result.lower if _greater_is_better(self.settings | settings, data) else -result.upper

    def _require_decision_makers(self, data: SelectiveLabels) -> None:
        if data.decision_makers_given or data.labeled.all():
            return
        assumed = self.settings.get("assumption", DEFAULT_ASSUMPTION)
        if not isinstance(assumed, list | tuple) and not named(assumed).needs_decision_makers:
            return
        routed = sklearn.get_config()["enable_metadata_routing"]
        advice = "give decision_maker=ids" if routed else f"give decision_maker=ids; in a search, {ROUTING}"
        raise InputError(
            f"lower_bound_scorer got no decision_maker, and some labels are missing: {advice}.",
            "decision_maker",
        )

    def get_metadata_routing(self) -> MetadataRequest:
        """Request every role that `evaluate` can use on a subset of the rows."""
        request = MetadataRequest(owner=self)
        for name in ROLES:
            request.score.add_request(param=name, alias=True)
        return request

    def __repr__(self) -> str:
        words = ", ".join(f"{name}={value!r}" for name, value in self.settings.items())
        return f"lower_bound_scorer({words})" if words else "lower_bound_scorer"


def _greater_is_better(settings: dict[str, Any], data: SelectiveLabels) -> bool:
    metric = settings.get("metric", "accuracy")
    if isinstance(metric, str):
        metric = named_metrics(metric, np.asarray(data.classes), None, settings.get("cost"))[0]
    return bool(metric.greater_is_better)


lower_bound_scorer = LowerBoundScorer()
