"""Real features and labels, simulated decision-makers: hide labels of any fully labeled table."""

from typing import Any

import numpy as np
import pandas as pd
from scipy.special import expit
from sklearn.ensemble import HistGradientBoostingRegressor
from sklearn.model_selection import KFold, cross_val_predict

from selective_labels.datasets.random_streams import RandomState, draw_decisions, spawn_streams
from selective_labels.datasets.sample import SelectiveSample, hide_labels
from selective_labels.datasets.validation import check_choice, check_count, check_share
from selective_labels.support.errors import InputError

SELECTIONS = ("nucem", "uc")


class SemiSyntheticOracle:
    """What is known about a semi-synthetic sample: the decisions' probabilities, and no more.

    Attributes
    ----------
    decision_probabilities : array of shape (n_samples, n_decision_makers)
        P(D=1 | x, u, z) of the generated rows, decision-makers in the order of the sorted ids.

    Examples
    --------
    >>> import numpy as np
    >>> from selective_labels.datasets import make_selective
    >>> X = np.random.default_rng(0).normal(size=(60, 2))
    >>> y = (X[:, 0] > 0).astype(int)
    >>> sample = make_selective(X, y, score=X[:, 1], n_decision_makers=3, random_state=0)
    >>> sample.oracle.decision_probabilities.shape, hasattr(sample.oracle, "probabilities")
    ((60, 3), False)
    """

    def __init__(self, decision_probabilities: np.ndarray) -> None:
        self.decision_probabilities = decision_probabilities

    def __getattr__(self, name: str) -> Any:
        raise AttributeError(
            f"A semi-synthetic oracle has no {name!r}: the law of the labels is not known, "
            "only `decision_probabilities` and, in the sample, `y_true`."
        )


def make_selective(
    X: Any,
    y: Any,
    *,
    selection: str = "nucem",
    strength: float = 0.5,
    score: Any = None,
    hidden: Any = None,
    n_decision_makers: int = 10,
    mirrored: bool = False,
    random_state: RandomState = None,
) -> SelectiveSample:
    """Hide labels of a fully labeled table, as simulated decision-makers would.

    With z uniform on 1..J, a score s(x) that every decision-maker sees, and a hidden u that goes with the
    label beyond what the features tell,

        P(D=1 | x, u, z) = strength expit(u) + (1 - strength) expit((1 + z) s)      ("nucem"),
                         = expit(strength u + (1 - strength) (1 + z) s)             ("uc"),

    the paper's equation for its FICO experiment. Features and labels stay as they are.

    Parameters
    ----------
    X : frame or array of shape (n_samples, n_features)
    y : array of shape (n_samples,)
        Labels of everybody, of any type. Codes 0..K-1 follow the sorted classes.
    selection : {"nucem", "uc"}
    strength : float in [0, 1]
        Share of the hidden variable in the decision.
    score : array of shape (n_samples,) or column of X, optional
        What decision-makers follow; standardised here. None: an out-of-fold prediction of the class code
        (gradient boosting, five folds).
    hidden : array of shape (n_samples,), optional
        u, used as it is. None: class code minus its out-of-fold prediction, standardised. It favours the
        last of the sorted classes; give your own where their order means nothing.
    n_decision_makers : int
    mirrored : bool
        Replace u by -u: selection then favours the first classes. Everything but the decisions stays the
        same under the same seed.
    random_state : int, SeedSequence, Generator, RandomState or None

    Returns
    -------
    SelectiveSample
        Decision-makers are 1..J, the numbers of the formula. The oracle is a `SemiSyntheticOracle`.

    Examples
    --------
    >>> import numpy as np
    >>> from selective_labels.datasets import make_selective
    >>> X = np.random.default_rng(0).normal(size=(500, 3))
    >>> y = np.where(X[:, 0] + X[:, 1] > 0, "repaid", "failed")
    >>> sample = make_selective(X, y, score=X[:, 0], n_decision_makers=4, random_state=0)
    >>> sample.oracle.decision_probabilities.shape
    (500, 4)
    >>> bool((sample.y[sample.decision == 0] == -1).all())
    True
    """
    check_choice("selection", selection, SELECTIONS)
    check_share("strength", strength)
    check_count("n_decision_makers", n_decision_makers, 1)
    y_true = _class_codes(y, len(X))
    streams = spawn_streams(random_state)

    if score is None or hidden is None:
        predicted = _out_of_fold_prediction(X, y_true, streams.hidden)
        score = predicted if score is None else score
        hidden = standardise(y_true - predicted) if hidden is None else hidden
    score = standardise(_row_numbers("score", X[score] if isinstance(score, str) else score, len(X)))
    hidden = _row_numbers("hidden", hidden, len(X)) * (-1.0 if mirrored else 1.0)

    decision_makers = np.arange(1, n_decision_makers + 1)
    probabilities = _decision_probabilities(selection, strength, score, hidden, decision_makers)
    decision_maker = streams.assignment.choice(decision_makers, len(X))
    probability = probabilities[np.arange(len(X)), decision_maker - 1]
    decision = draw_decisions(probability, streams.decision)
    oracle = SemiSyntheticOracle(probabilities)
    return SelectiveSample(X, hide_labels(y_true, decision), decision, decision_maker, y_true, oracle)


def standardise(values: np.ndarray) -> np.ndarray:
    """Mean zero and standard deviation one; a constant becomes zero."""
    values = np.asarray(values, dtype=float)
    centred = values - values.mean()
    spread = centred.std()
    return centred / spread if spread > 0 else centred


def _decision_probabilities(
    selection: str, strength: float, score: np.ndarray, hidden: np.ndarray, decision_makers: np.ndarray
) -> np.ndarray:
    by_score = (1 + decision_makers) * score[:, None]
    by_hidden = hidden[:, None]
    if selection == "uc":
        return expit(strength * by_hidden + (1 - strength) * by_score)
    return strength * expit(by_hidden) + (1 - strength) * expit(by_score)


def _out_of_fold_prediction(X: Any, codes: np.ndarray, generator: np.random.Generator) -> np.ndarray:
    seed = int(generator.integers(2**31))
    folds = KFold(5, shuffle=True, random_state=seed)
    return cross_val_predict(HistGradientBoostingRegressor(random_state=seed), X, codes, cv=folds)


def _class_codes(y: Any, n_samples: int) -> np.ndarray:
    y = np.asarray(y)
    if y.shape != (n_samples,):
        raise InputError.about(
            "y", f"must have one label for each of the {n_samples} rows of X, got shape {y.shape}."
        )
    if pd.isna(y).any():
        raise InputError.about("y", "must be fully labeled, but it has missing labels.")
    classes, codes = np.unique(y, return_inverse=True)
    if len(classes) < 2:
        raise InputError.about("y", "must have at least two classes.")
    return codes


def _row_numbers(name: str, values: Any, n_samples: int) -> np.ndarray:
    values = np.asarray(values, dtype=float)
    if values.shape != (n_samples,) or not np.isfinite(values).all():
        raise InputError.about(name, f"must be {n_samples} finite numbers, one for each row of X.")
    return values
