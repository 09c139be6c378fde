"""Who decides, predicted from features: fitted on half of the cases, read on the other half."""

import warnings
from dataclasses import dataclass

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression

from selective_labels.data import SelectiveLabels
from selective_labels.diagnostics.results import need
from selective_labels.hypotheses.cells import centred
from selective_labels.models.features import standardised
from selective_labels.nuisance.bands import leniency_bands

# More decision-makers than this are told apart by their group of leniency only.
MOST_CLASSES = 50
FEWEST_ROWS = 40
MAX_ITERATIONS = 200


@dataclass(frozen=True, eq=False)
class AssignmentModel:
    """Probabilities of decision-makers (or bands of them) given features, on rows that were held out.

    Attributes
    ----------
    arm : (n_test,) int array
    cell : (n_test,) int array
        Stratum.
    log_probabilities : (n_test, n_arms) array
    share : (n_arms,) array
        Share of the training rows.
    banded : bool
    """

    arm: np.ndarray
    cell: np.ndarray
    log_probabilities: np.ndarray
    share: np.ndarray
    banded: bool

    @property
    def own_log_probability(self) -> np.ndarray:
        """Of the decision-maker who did decide, (n_test,)."""
        return self.log_probabilities[np.arange(len(self.arm)), self.arm]


def assignment_model(
    data: SelectiveLabels, rows: np.ndarray, cell: np.ndarray, generator: np.random.Generator
) -> AssignmentModel:
    """Fit a multinomial logit of decision-makers on half of the rows, and predict the other half.

    One split, not cross-fitting: models of two halves share their noise with each other's test rows, and a
    test that ignores it rejects too often. Features are centred within strata.

    Parameters
    ----------
    data : SelectiveLabels
        With numeric features.
    rows : (n_rows,) int array
        The rows to use.
    cell : (n_samples,) int array
        Stratum of all rows of `data`.
    generator : Generator
    """
    need(data.features.shape[1], "there is no feature that varies.")
    need(len(rows) >= FEWEST_ROWS, f"fewer than {FEWEST_ROWS} cases can be compared.")
    X = centred(standardised(data.categorical).fit_transform(data.features[rows]), cell[rows])
    in_training = generator.permutation(len(rows)) < len(rows) // 2
    train = np.flatnonzero(in_training)
    lookup, banded = arms_of(data, rows[train], int(generator.integers(2**31)))
    arm = lookup[data.decision_maker_codes[rows]]
    present, codes = np.unique(arm[train], return_inverse=True)
    need(len(present) > 1, "the training half has one decision-maker only.")
    model = LogisticRegression(max_iter=MAX_ITERATIONS)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # its held-out predictions are what is judged
        model.fit(X[train], codes)
    test = np.flatnonzero(~in_training & np.isin(arm, present))
    need(len(test) > 1, "the two halves of the cases have no decision-maker in common.")
    return AssignmentModel(
        np.searchsorted(present, arm[test]),
        cell[rows[test]],
        model.predict_log_proba(X[test]),
        np.bincount(codes) / len(codes),
        banded,
    )


def arms_of(data: SelectiveLabels, train: np.ndarray, seed: int) -> tuple[np.ndarray, bool]:
    """Which class of the classifier each decision-maker is, (n_decision_makers,), and whether in bands."""
    if data.n_decision_makers <= MOST_CLASSES:
        return np.arange(data.n_decision_makers), False
    groups = leniency_bands(
        data.features[train],
        data.decision[train],
        data.decision_maker_codes[train],
        data.n_decision_makers,
        strata=None if data.strata is None else data.strata[train],
        categorical=data.categorical,
        random_state=seed,
    )
    return groups.lookup, True
