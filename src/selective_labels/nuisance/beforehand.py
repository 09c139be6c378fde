"""What is said before models are fitted: how long they will take, if that is long."""

import warnings
from collections.abc import Sequence
from typing import Any

from selective_labels.data import SelectiveLabels
from selective_labels.models.expected_time import Work, sentence_beforehand
from selective_labels.models.families import Candidate
from selective_labels.nuisance.bands import MANY_DECISION_MAKERS, N_BANDS
from selective_labels.support.errors import LargeWorkWarning

# Folds of a splitter that does not say how many it makes.
USUAL_FOLDS = 5


def say_beforehand(
    data: SelectiveLabels,
    options: Sequence[Candidate],
    n_columns: int,
    cv: Any,
    *,
    n_bands: int | None = None,
    times: int = 1,
) -> None:
    """Warn if models of these data will take long.

    Parameters
    ----------
    data, cv, n_bands
        As in :func:`selective_labels.nuisance.cross_fit.cross_fit`.
    options : list of Candidate
        What is compared. Probabilities that are given take no time.
    n_columns : int
        That a linear model sees.
    times : int
        How often models are going to be cross-fitted.
    """
    families = tuple(dict.fromkeys(each.family for each in options))
    if families == ("injected",):
        return
    n_arms = data.n_decision_makers
    if n_bands is not None or n_arms > MANY_DECISION_MAKERS:
        n_arms = n_bands or N_BANDS
    folds = cv if isinstance(cv, int) else getattr(cv, "n_splits", None) or USUAL_FOLDS
    work = Work(len(data), n_columns, len(data.classes), n_arms, families, folds, times)
    said = sentence_beforehand(work)
    if said:
        warnings.warn(said, LargeWorkWarning, stacklevel=4)
