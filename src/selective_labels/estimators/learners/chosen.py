"""Which learner of the cost-sensitive problem, and with which surrogate."""

from typing import Any

from sklearn.base import is_classifier
from sklearn.ensemble import HistGradientBoostingClassifier

from selective_labels.estimators.learners.identified import Identified, PlugIn
from selective_labels.estimators.learners.linear import LinearScore
from selective_labels.estimators.learners.neural import NeuralScore
from selective_labels.estimators.learners.problem import CostSensitiveProblem
from selective_labels.estimators.learners.surrogates import MARGIN_LOSSES, SCORE_LOSSES
from selective_labels.estimators.learners.weighted import fit_classifier
from selective_labels.models.features import boosting, one_hot_before
from selective_labels.support.errors import InputError

PLUG_IN = "plug-in"
# Names of learners with their usual settings.
NAMED = {"linear": LinearScore, PLUG_IN: None, "neural": NeuralScore}
ScoreLearner = LinearScore | NeuralScore


def check_surrogate(estimator: Any, surrogate: str, n_classes: int) -> None:
    """Refuse invalid pairs of estimator and surrogate with the valid ones."""
    if isinstance(estimator, str) and estimator not in NAMED:
        raise InputError(
            f"estimator={estimator!r} is not one of {', '.join(map(repr, NAMED))} or a classifier."
        )
    classifier = hasattr(estimator, "fit") and is_classifier(estimator)
    if not (estimator is None or isinstance(estimator, str | ScoreLearner) or classifier):
        raise InputError(f"estimator={estimator!r} is not a scikit-learn classifier.")
    valid: tuple[str, ...] = ()
    if score_learner(estimator) is not None:
        valid = SCORE_LOSSES + (MARGIN_LOSSES if n_classes == 2 else ())
    if surrogate not in ("auto", *valid):
        allowed = ", ".join(map(repr, ("auto", *valid)))
        known = estimator is None or isinstance(estimator, str)
        name = repr(estimator) if known else type(estimator).__name__
        raise InputError(
            f"surrogate={surrogate!r} does not go with estimator={name} and {n_classes} classes; "
            f"valid: {allowed}."
        )


def usual_surrogate(surrogate: str, *, from_labels: bool) -> str:
    """Return the surrogate to use, where none was named.

    The paper's softmax where regrets are estimates; cross-entropy where rows have labels. The softmax risk is
    nearly the share of mistakes, and of single labels that share is mostly noise: on labels of rows held out
    cross-entropy was better in ten of eleven designs, by .4 points on average.

    Examples
    --------
    >>> usual_surrogate("auto", from_labels=False), usual_surrogate("auto", from_labels=True)
    ('softmax', 'cross-entropy')
    >>> usual_surrogate("hinge", from_labels=True)
    'hinge'
    """
    if surrogate != "auto":
        return surrogate
    return "cross-entropy" if from_labels else "softmax"


def score_learner(estimator: Any) -> ScoreLearner | None:
    """Return a learner of scores, given as such or by its name; None for all others.

    Examples
    --------
    >>> score_learner("linear"), score_learner(LinearScore(ridge=1.0)), score_learner("plug-in")
    (LinearScore(), LinearScore(ridge=1.0), None)
    """
    if isinstance(estimator, ScoreLearner):
        return estimator
    make = NAMED[estimator] if isinstance(estimator, str) else None
    return None if make is None else make()


def learn_scores(
    estimator: Any, problem: CostSensitiveProblem, surrogate: str, seed: int, identified: Identified
) -> Any:
    """Train a learner; what it returns has `scores`.

    Parameters
    ----------
    estimator : as for :class:`selective_labels.UCLClassifier`
    problem : CostSensitiveProblem
    surrogate : str
        As :func:`usual_surrogate` returned it; only learners of scores have one.
    seed : int
    identified : Identified
        What "plug-in" reads its costs off.
    """
    learner = score_learner(estimator)
    if learner is not None:
        return learner.learn(problem, surrogate, seed)
    if isinstance(estimator, str):
        return PlugIn(identified)
    if estimator is None:
        boosted = HistGradientBoostingClassifier(random_state=seed)
        return fit_classifier(problem, boosting(boosted, problem.categorical))
    return fit_classifier(problem, one_hot_before(estimator, problem.categorical))
