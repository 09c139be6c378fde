"""Semi-synthetic data: simulated decisions on a fully labeled table, and the paper's FICO experiment.

The FICO experiment needs the HELOC file, which users must provide.
"""

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from scipy.special import expit
from sklearn.ensemble import (
    HistGradientBoostingClassifier,
    HistGradientBoostingRegressor,
    RandomForestRegressor,
)
from sklearn.model_selection import KFold, cross_val_predict

from selective_labels._errors import InputError
from selective_labels.datasets.oracle import (
    RandomState,
    SelectiveSample,
    check_choice,
    check_count,
    check_share,
    draw_decisions,
    hide_labels,
    seed_sequence,
    spawn_streams,
)

SELECTIONS = ("nucem", "uc")


class SemiSyntheticOracle:
    """What is known about a semi-synthetic sample: only the probabilities of decisions.

    Attributes
    ----------
    decision_probabilities : array of shape (n_samples, n_decision_makers)
        P(D=1 | x, u, z) of the generated rows, with decision-makers in the order of the sorted ids.

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

    With z uniform on 1..J, a score s(x) that every decision-maker sees, and a hidden u that is related to the
    label given the features,

        P(D=1 | x, u, z) = strength expit(u) + (1 - strength) expit((1 + z) s)      ("nucem"),
                         = expit(strength u + (1 - strength) (1 + z) s)             ("uc"),

    the paper's equation for its FICO experiment. Features and labels are not changed.

    Parameters
    ----------
    X : frame or array of shape (n_samples, n_features)
    y : array of shape (n_samples,)
        Labels of all cases, of any type. Codes 0..K-1 follow the sorted classes.
    selection : {"nucem", "uc"}
    strength : float in [0, 1]
        Weight of the hidden variable in the decision.
    score : array of shape (n_samples,) or column of X, optional
        Score that decision-makers follow, which is standardised here. None: an out-of-fold prediction of the
        class code (gradient boosting, five folds).
    hidden : array of shape (n_samples,), optional
        u, used as given. None: class code minus its out-of-fold prediction, standardised. It favours the
        last of the sorted classes. Give your own values if the order of classes has no meaning.
    n_decision_makers : int
    mirrored : bool
        Replace u by -u. Selection then favours the first classes. With the same seed, everything except the
        decisions stays the same.
    random_state : int, SeedSequence, Generator, RandomState or None

    Returns
    -------
    SelectiveSample
        Decision-makers are 1..J, the numbers in the formula. The oracle is a `SemiSyntheticOracle`.

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
    """Scale to mean zero and standard deviation one. A constant becomes zero."""
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


LABEL = "RiskPerformance"
EXTERNAL_RISK = "ExternalRiskEstimate"
SPECIAL_VALUES = (-7, -8, -9)
HIDDEN = ("boosting", "forest", "released")


def load_heloc(path: str | Path, *, special_as_missing: bool = False) -> tuple[pd.DataFrame, np.ndarray]:
    """Read FICO's HELOC table (10,459 home loans, 23 features) from a CSV or CSV.gz file.

    The features have three special values: -9 (no bureau record, or no investigation; 588 rows have
    nothing else), -8 (no usable trade or inquiry) and -7 (condition not met: no such inquiry or
    delinquency). They are kept, as in the paper's code, unless `special_as_missing`.

    The file is not part of this package, because FICO's terms forbid redistribution.

    Parameters
    ----------
    path : str or Path
    special_as_missing : bool
        Replace the special values by NaN.

    Returns
    -------
    X : DataFrame of shape (n_samples, 23)
    y : int array of shape (n_samples,)
        1: "Good", repaid; 0: "Bad", at least once 90 days overdue.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> import pandas as pd
    >>> from selective_labels.datasets import load_heloc
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = Path(folder) / "heloc.csv"
    ...     rows = {"RiskPerformance": ["Bad", "Good"], "ExternalRiskEstimate": [55, -9]}
    ...     pd.DataFrame(rows).to_csv(file, index=False)
    ...     X, y = load_heloc(file)
    >>> X["ExternalRiskEstimate"].tolist(), y.tolist()
    ([55, -9], [0, 1])
    """
    frame = pd.read_csv(path)
    absent = [column for column in (LABEL, EXTERNAL_RISK) if column not in frame]
    if absent:
        raise InputError(
            f"{path} is not the HELOC table: it has no column {' and no column '.join(absent)}.", "path"
        )
    unknown = sorted(set(frame[LABEL].astype(str)) - {"Good", "Bad"})
    if unknown:
        raise InputError(
            f"{LABEL} must be 'Good' or 'Bad', got also {', '.join(map(repr, unknown))}.", "path"
        )
    X = frame.drop(columns=LABEL)
    if special_as_missing:
        X = X.mask(X.isin(SPECIAL_VALUES))
    return X, (frame[LABEL] == "Good").to_numpy().astype(int)


def make_fico(
    path: str | Path,
    selection: str = "nucem",
    alpha: float = 0.5,
    n_decision_makers: int = 10,
    hidden: str = "forest",
    mirrored: bool = False,
    random_state: RandomState = None,
) -> SelectiveSample:
    """Draw the paper's FICO experiment: real loans with simulated decision-makers.

        P(D=1 | x, u, z) = alpha expit(u) + (1 - alpha) expit((1 + z) ExternalRisk)      ("nucem"),
                         = expit(alpha u + (1 - alpha) (1 + z) ExternalRisk)             ("uc"),

    z uniform on 1..J. ExternalRisk is standardised, including special values, as in the released code: on its
    original scale of 33 to 94, the expit would be one for nearly every loan and every decision-maker.

    The main text, the appendix and the released code use different u (E17), each fitted to the same rows:

    * "boosting", the main text: u = y - m(x), m a regression by histogram gradient boosting.
    * "forest", the appendix: u = y - m(x), m a random forest regression. Its residuals are small (an
      overfitted forest), so selection on u is mild.
    * "released", the code: u = 5 (y - p(x)), p a gradient boosting classifier of 200 iterations. The code
      also has five decision-makers, not ten: set `n_decision_makers=5`.

    Selection favours y=1 (repaid). If the gain of a method turns into a loss when `mirrored`, the method has
    learned a shift and not the truth. Report the worse of the two.

    Parameters
    ----------
    path : str or Path
        See `load_heloc`.
    selection : {"nucem", "uc"}
    alpha : float in [0, 1]
        Weight of the hidden variable in the decision.
    n_decision_makers : int
    hidden : {"boosting", "forest", "released"}
    mirrored : bool
        Replace u by -u. Selection then favours y=0.
    random_state : int, SeedSequence, Generator, RandomState or None

    Returns
    -------
    SelectiveSample
        Decision-makers are 1..J. The oracle is a `SemiSyntheticOracle`.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> import numpy as np
    >>> import pandas as pd
    >>> risk = np.random.default_rng(0).integers(40, 90, size=200)
    >>> rows = {"RiskPerformance": np.where(risk > 65, "Good", "Bad"), "ExternalRiskEstimate": risk}
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     pd.DataFrame(rows).to_csv(Path(folder) / "heloc.csv", index=False)
    ...     sample = make_fico(Path(folder) / "heloc.csv", n_decision_makers=5, random_state=0)
    >>> sample.oracle.decision_probabilities.shape, np.unique(sample.decision_maker).tolist()
    ((200, 5), [1, 2, 3, 4, 5])
    """
    check_choice("hidden", hidden, HIDDEN)
    X, y = load_heloc(path)
    for_model, for_selection = seed_sequence(random_state).spawn(2)
    seed = int(for_model.generate_state(1)[0])
    if hidden == "released":
        boosting = HistGradientBoostingClassifier(max_iter=200, random_state=seed).fit(X, y)
        residual = 5 * (y - boosting.predict_proba(X)[:, 1])
    else:
        models = {"boosting": HistGradientBoostingRegressor, "forest": RandomForestRegressor}
        residual = y - models[hidden](random_state=seed).fit(X, y).predict(X)
    return make_selective(
        X,
        y,
        selection=selection,
        strength=alpha,
        score=EXTERNAL_RISK,
        hidden=residual,
        n_decision_makers=n_decision_makers,
        mirrored=mirrored,
        random_state=for_selection,
    )
