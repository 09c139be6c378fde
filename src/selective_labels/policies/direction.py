"""Which way a score runs, and what a yes means: told from scores, labels and decisions."""

import warnings

import numpy as np
from scipy.stats import rankdata

from selective_labels.data import SelectiveLabels
from selective_labels.identification.bounds import Array

# Standard errors from one half from which on a score is said to run the wrong way: chance does it in 3e-5.
REVERSED = 4.0
# Areas nearer to one half than this say little of what people are after, however many cases there are.
SLIGHT = 0.05
# What is said of it, wherever it is.
SEARCHED = "people accepted cases with higher scores than those they refused"


def warn_if_reversed(risk: Array, data: SelectiveLabels, failure: int) -> None:
    """Warn if a score seems to run the wrong way, or if people accept what it calls risky, beyond chance.

    Credit scores and the like are high for good cases, and the lowest scores are accepted here. Doctors and
    inspectors say yes to a test or a search where they expect to find something: then accepting is no
    prediction that all is well, and costs and failures would be counted the wrong way round.
    """
    event = data.classes.tolist()[failure]
    seen = data.y >= 0
    area, error = area_under(risk[seen], data.y[seen] == failure)
    if area < 0.5 - REVERSED * error:
        warnings.warn(
            "The score is taken as risk: cases with low scores are accepted. But among the labeled cases a "
            f"higher score goes with fewer of {event!r} (AUC {area:.2f}): if a high "
            "score means a good case, turn its sign.",
            stacklevel=3,
        )
    elif people_accept_risk(risk, data):
        warnings.warn(
            f"Accepting a case is taken as predicting that it is not {event!r}: the lowest scores are "
            f"accepted. But {SEARCHED}. If a yes is a test or a search, {turned(data, failure)}, and turn "
            "the sign of the score: else costs and comparisons with people are the wrong way round.",
            stacklevel=3,
        )


def people_accept_risk(risk: Array, data: SelectiveLabels) -> bool:
    """Whether accepted cases have higher scores of the failure than refused ones, by more than chance.

    AUC = P(score of an accepted case > score of a refused one) is .55 or more, and beyond noise.
    """
    area, error = area_under(risk, data.row_decision == 1)
    return bool(area > 0.5 + max(REVERSED * error, SLIGHT))


def turned(data: SelectiveLabels, failure: int) -> str:
    """How the words are turned round where a yes means to look closer."""
    others = [each for number, each in enumerate(data.classes.tolist()) if number != failure]
    return f"name as the event what is not looked for, {others[0]!r} (pos_label, --event)"


def area_under(score: Array, positive: np.ndarray) -> tuple[float, float]:
    """Area under the ROC curve and its standard error if there were nothing to see.

    AUC = P(score of a positive > score of another),   √((n + 1) / (12 n_positive n_others))

    Examples
    --------
    >>> area_under(np.array([1.0, 2.0, 3.0, 4.0]), np.array([False, True, False, True]))[0]
    0.75
    """
    ranks = rankdata(score)
    n_positive = int(positive.sum())
    n_others = len(positive) - n_positive
    if not n_positive or not n_others:
        return 0.5, np.inf
    area = (ranks[positive].sum() - n_positive * (n_positive + 1) / 2) / n_positive / n_others
    return float(area), float(np.sqrt((len(positive) + 1) / (12.0 * n_positive * n_others)))
