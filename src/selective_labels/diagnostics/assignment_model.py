"""Models that predict the decision-maker from features, evaluated on rows they were not fitted on."""

import warnings
from dataclasses import dataclass

import numpy as np
from scipy.special import ndtr
from sklearn.ensemble import ExtraTreesRegressor
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression

from selective_labels._validation import require_weight
from selective_labels.data.selective_labels import SelectiveLabels
from selective_labels.diagnostics.hypothesis_tests import centred, within_cells
from selective_labels.diagnostics.results import need
from selective_labels.nuisance.bands import leniency_bands
from selective_labels.nuisance.models.encoders import standardised

SMALLEST_LEAF = 5
# Trees consider up to this many columns at every split. An interaction has no effect along either variable
# alone, so a few columns drawn at random would miss it.
MOST_COLUMNS = 20


@dataclass(frozen=True, eq=False)
class RandomAssignment:
    """Cases and the decision-makers they were assigned to.

    Attributes
    ----------
    X : (n, n_columns) array
        Numeric, without missing values.
    arm : (n,) int array
        Decision-maker, or leniency band of decision-makers.
    cell : (n,) int array
        Stratum within which assignment is tested.
    unit : (n,) int array
        Rows of one unit may be dependent; units are independent.
    weight : (n,) array
    """

    X: np.ndarray
    arm: np.ndarray
    n_arms: int
    cell: np.ndarray
    unit: np.ndarray
    weight: np.ndarray

    def take(self, rows: np.ndarray) -> "RandomAssignment":
        """Select rows."""
        parts = (self.arm[rows], self.n_arms, self.cell[rows], self.unit[rows], self.weight[rows])
        return RandomAssignment(self.X[rows], *parts)


@dataclass(frozen=True)
class HeldOut:
    """Score of an assignment model on rows that it has not seen.

    Attributes
    ----------
    statistic : float
        Standard normal if assignment is independent of features within cells; large if it is not.
    gain : float
        Mean predicted probability of the arm that a case was assigned to, minus that arm's share.
    """

    statistic: float
    p_value: float
    gain: float


def block_score(predicted: np.ndarray, dealt: RandomAssignment) -> tuple[float, float]:
    """Held-out score of an assignment model, as a standard normal statistic, and its mean.

    T = Σ_u s_u / sqrt(Σ_u f_u s_u²),   s_u = Σ_{i in u} w_i d_i(z_i),

    where d_i(a) is the prediction for arm a at row i, centred twice within the cell: over arms, weighted by
    their shares, and over rows. Its mean is zero for every model if assignment is random within cells,
    whatever the shares of the arms. f = m / (m - 1), with m units in the cell, corrects for the estimated
    means.

    Parameters
    ----------
    predicted : (n, n_arms) array
        Predictions by a model that has not seen these rows.

    Examples
    --------
    >>> zeros, ones = np.zeros(8, dtype=int), np.ones(8)
    >>> arm = np.array([0, 0, 1, 1, 0, 0, 1, 1])
    >>> dealt = RandomAssignment(np.zeros((8, 1)), arm, 2, zeros, np.arange(8), ones)
    >>> right = (arm[:, None] == np.arange(2)).astype(float)
    >>> block_score(right, dealt)[0] > 2.0, block_score(np.ones((8, 2)), dealt)
    (True, (0.0, 0.0))
    """
    cell, weight = dealt.cell, dealt.weight
    indicator = (dealt.arm[:, None] == np.arange(dealt.n_arms)).astype(float)
    share = indicator - within_cells(indicator, cell, weight)
    over_arms = predicted - np.sum(share * predicted, axis=1, keepdims=True)
    residual = within_cells(over_arms, cell, weight)
    own = weight * residual[np.arange(len(cell)), dealt.arm]
    _, first, of_row = np.unique(dealt.unit, return_index=True, return_inverse=True)
    score = np.bincount(of_row, own)
    # A unit in several cells uses the factor of its first cell; only in small cells is it far from one.
    units_here = np.bincount(cell[first], minlength=int(cell.max()) + 1)[cell[first]]
    factor = units_here / np.maximum(units_here - 1, 1)
    error = float(np.sqrt(np.sum(factor * score**2)))
    if error <= np.finfo(float).eps * len(score):
        return 0.0, 0.0
    return float(score.sum() / error), float(own.sum() / weight.sum())


def held_out_score(
    dealt: RandomAssignment, block: np.ndarray, *, n_trees: int = 50, seed: int = 0
) -> HeldOut:
    """Test by extremely randomised trees that assignment is random within cells.

    Trees fitted on all earlier blocks predict who decides in the next block. The target is the indicator of
    each arm minus its share in the cell. Given the earlier blocks, a block's score is standard normal if
    assignment is random, so the scores of all blocks are independent and can be added. Scores of cross-fitted
    models are not independent, because each model shares noise with the other's test rows.

    Parameters
    ----------
    block : (n,) int array
        From :func:`blocks_of`; block 0 is used for training only.

    Examples
    --------
    >>> generator = np.random.default_rng(0)
    >>> from selective_labels.diagnostics.hypothesis_tests import blocks_of
    >>> X, unit = generator.standard_normal((600, 2)), np.arange(600)
    >>> arm = (X[:, 0] * X[:, 1] > 0).astype(int)
    >>> dealt = RandomAssignment(X, arm, 2, np.zeros(600, dtype=int), unit, np.ones(600))
    >>> held_out_score(dealt, blocks_of(unit, 2, generator)).p_value < 1e-6
    True
    """
    scores = []
    for number in range(1, int(block.max()) + 1):
        past, now = dealt.take(np.flatnonzero(block < number)), dealt.take(np.flatnonzero(block == number))
        model = _trees(past, n_trees, seed + number)
        scores.append(block_score(model.predict(now.X), now))
    statistic = sum(score for score, _ in scores) / np.sqrt(len(scores))
    return HeldOut(float(statistic), float(ndtr(-statistic)), float(np.mean([gain for _, gain in scores])))


def _trees(past: RandomAssignment, n_trees: int, seed: int) -> ExtraTreesRegressor:
    require_weight(past.weight)
    indicator = (past.arm[:, None] == np.arange(past.n_arms)).astype(float)
    target = within_cells(indicator, past.cell, past.weight)
    columns = min(past.X.shape[1], MOST_COLUMNS)
    model = ExtraTreesRegressor(
        n_trees, min_samples_leaf=SMALLEST_LEAF, max_features=columns, random_state=seed
    )
    return model.fit(past.X, target, sample_weight=past.weight)


# With more decision-makers than this, models distinguish only their leniency bands.
MOST_CLASSES = 50
FEWEST_ROWS = 40
MAX_ITERATIONS = 200


@dataclass(frozen=True, eq=False)
class AssignmentModel:
    """Probabilities of decision-makers (or leniency bands) given features, on held-out rows.

    Attributes
    ----------
    arm : (n_test,) int array
    cell : (n_test,) int array
        Stratum.
    log_probabilities : (n_test, n_arms) array
    share : (n_arms,) array
        Share of each arm in the training rows.
    banded : bool
        Whether arms are leniency bands.
    """

    arm: np.ndarray
    cell: np.ndarray
    log_probabilities: np.ndarray
    share: np.ndarray
    banded: bool

    @property
    def own_log_probability(self) -> np.ndarray:
        """Log-probability of the arm that decided, (n_test,)."""
        return self.log_probabilities[np.arange(len(self.arm)), self.arm]


def assignment_model(
    data: SelectiveLabels, rows: np.ndarray, cell: np.ndarray, generator: np.random.Generator
) -> AssignmentModel:
    """Fit a multinomial logit of the decision-maker on half of the rows, and predict the other half.

    The rows are split once rather than cross-fitted. Each of two cross-fitted models shares noise with the
    other's test rows, and a test that ignores this rejects too often. Features are centred within strata.

    Parameters
    ----------
    data : SelectiveLabels
        With numeric features.
    rows : (n_rows,) int array
        Rows to use.
    cell : (n_samples,) int array
        Stratum of every row of `data`.
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
        warnings.simplefilter("ignore", ConvergenceWarning)  # only held-out predictions matter
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
    """Arm of each decision-maker, (n_decision_makers,), and whether arms are leniency bands."""
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
