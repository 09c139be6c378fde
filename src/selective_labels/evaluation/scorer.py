"""A scikit-learn scorer for searches and cross-validation on selectively labeled data."""

from typing import Any

from sklearn.utils.metadata_routing import MetadataRequest

from selective_labels.data import ROLES
from selective_labels.evaluation.evaluate import evaluate


class LowerBoundScorer:
    """Estimated lower end of the accuracy on everybody, under assumption "instrument".

    With ``sklearn.set_config(enable_metadata_routing=True)`` it is given what it needs; no request has to be
    set.
    If every label is seen and no decision-maker is given, it is the plain accuracy.

    Examples
    --------
    >>> from sklearn.dummy import DummyClassifier
    >>> X, y = [[0.0], [1.0], [2.0]], [0, 1, 1]
    >>> round(lower_bound_scorer(DummyClassifier().fit(X, y), X, y), 3)
    0.667
    """

    def __call__(
        self,
        estimator: Any,
        X: Any,
        y: Any = None,
        *,
        decision_maker: Any = None,
        decision: Any = None,
        sample_weight: Any = None,
        groups: Any = None,
        strata: Any = None,
        assignment: Any = None,
    ) -> float:
        """Score a fitted classifier on rows that it has not seen."""
        result: Any = evaluate(
            estimator,
            X,
            y,
            decision_maker=decision_maker,
            decision=decision,
            sample_weight=sample_weight,
            groups=groups,
            strata=strata,
            assignment=assignment,
            nuisance="logistic",
            random_state=0,
        )
        return result.lower

    def get_metadata_routing(self) -> MetadataRequest:
        """Ask for everything that `evaluate` can use of a part of the rows."""
        request = MetadataRequest(owner=self)
        for name in ROLES:
            request.score.add_request(param=name, alias=True)
        return request

    def __repr__(self) -> str:
        return "lower_bound_scorer"


lower_bound_scorer = LowerBoundScorer()
