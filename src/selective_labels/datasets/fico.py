"""The paper's semi-synthetic experiment on home loans (FICO's HELOC data, which you must bring)."""

from pathlib import Path

import numpy as np
import pandas as pd
from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestRegressor

from selective_labels.datasets.random_streams import RandomState, seed_sequence
from selective_labels.datasets.sample import SelectiveSample
from selective_labels.datasets.semi_synthetic import make_selective
from selective_labels.datasets.validation import check_choice
from selective_labels.support.errors import InputError

LABEL = "RiskPerformance"
EXTERNAL_RISK = "ExternalRiskEstimate"
SPECIAL_VALUES = (-7, -8, -9)
HIDDEN = ("boosting", "forest")


def load_heloc(path: str | Path, *, special_as_missing: bool = False) -> tuple[pd.DataFrame, np.ndarray]:
    """Read FICO's HELOC table (10,459 home loans, 23 features) from a CSV or CSV.gz file.

    The features carry three special values: -9 (no bureau record, or no investigation; 588 rows have
    nothing else), -8 (no usable trade or inquiry) and -7 (condition not met: no such inquiry or
    delinquency). They are kept, as in the paper's code, unless `special_as_missing`.

    The file is not part of this package: FICO's terms forbid passing it on.

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
    """Draw the paper's FICO experiment: real loans, simulated decision-makers.

        P(D=1 | x, u, z) = alpha expit(u) + (1 - alpha) expit((1 + z) ExternalRisk)      ("nucem"),
                         = expit(alpha u + (1 - alpha) (1 + z) ExternalRisk)             ("uc"),

    z uniform on 1..J. ExternalRisk is standardised, special values included, as in the released code: on
    its own scale of 33 to 94 the expit would be one for nearly every loan and every decision-maker.

    The paper's text and the released code disagree about u (E17):

    * "forest", the text: u = y - m(x), m a random forest regression fitted to the same rows. Its
      residuals are small (an overfitted forest), so selection on u is mild.
    * "boosting", the released code: u = 5 (y - p(x)), p a gradient boosting classifier of 200 iterations
      fitted to the same rows. The code also has five decision-makers, not ten: set `n_decision_makers=5`.

    Selection favours y=1 (repaid). A method whose gain turns into a loss when `mirrored` has learned a
    shift, not the truth: report the worse of the two.

    Parameters
    ----------
    path : str or Path
        See `load_heloc`.
    selection : {"nucem", "uc"}
    alpha : float in [0, 1]
        Share of the hidden variable in the decision.
    n_decision_makers : int
    hidden : {"forest", "boosting"}
    mirrored : bool
        Replace u by -u: selection then favours y=0.
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
    if hidden == "forest":
        residual = y - RandomForestRegressor(random_state=seed).fit(X, y).predict(X)
    else:
        boosting = HistGradientBoostingClassifier(max_iter=200, random_state=seed).fit(X, y)
        residual = 5 * (y - boosting.predict_proba(X)[:, 1])
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
