"""Arms for panels: several decision-makers saw each case, and hardly two cases have the same ones."""

import numpy as np

from selective_labels.data import SelectiveLabels
from selective_labels.data.panels import Panels
from selective_labels.nuisance.bands import Arms, cut_evenly, inner_folds, shrunken_means, surplus_of

# No member is taken to accept everything or nothing.
LEAST_CHANCE, MOST_CHANCE = 0.02, 0.98


def panel_bands(data: SelectiveLabels, rows: np.ndarray, n_bands: int, random_state: int | None) -> Arms:
    """Put panels into bands by their chance of any acceptance, predicted from members and size.

    s = -Σ_members log(1 - p_j),   chance of any = a + b s + c log(size),   bands of equal mass of it

    with p_j the shrunken, adjusted leniency of a member. Were members independent given the case, 1 - exp(-s)
    would be the chance; they are not, and the regression says what size and leniency are worth. It only
    orders panels: any function of who is on the panel that does not depend on the case at hand is an
    instrument where the panel is one. So leniencies and regression come from other cases: those of other
    inner folds for the rows at hand, all of them for rows outside. A panel that nobody has met yet has
    members who have been met.

    Size is part of the instrument: it must have nothing to do with the label. With strata, panels are
    compared with the others of their stratum.

    Parameters
    ----------
    data : SelectiveLabels
        With panels.
    rows : (n_train,) int array
        Training rows: decisions of no other row are used.
    n_bands : int
    random_state : int, optional

    Returns
    -------
    Arms
        Numbered from the least to the most lenient band; `lookup` is by panel.
    """
    assert data.groups is not None
    chances = _Chances(data, rows)
    inner = inner_folds(data.groups[rows], random_state)
    arms = np.empty(len(rows), dtype=int)
    for fold in np.unique(inner):
        lookup = chances.bands(inner != fold, n_bands)
        arms[inner == fold] = lookup[data.decision_maker_codes[rows[inner == fold]]]
    return Arms(arms, chances.bands(np.ones(len(rows), dtype=bool), n_bands), n_bands)


class _Chances:
    """Decisions of training rows, less what the case alone would lead one to expect."""

    def __init__(self, data: SelectiveLabels, rows: np.ndarray) -> None:
        assert data.panels is not None
        assert data.own_decision_maker_codes is not None
        strata = None if data.strata is None else data.strata[rows]
        weight = None if data.sample_weight is None else data.sample_weight[rows]
        known = data.features[rows], strata, data.categorical, weight
        self.data, self.panels, self.rows = data, data.panels, rows
        self.weight = data.weights[rows]
        self.decision = data.row_decision[rows]
        self.member = data.own_decision_maker_codes[rows]
        self.panel = data.decision_maker_codes[rows]
        self.own = surplus_of(self.decision, *known)
        self.anyone = surplus_of(data.decision[rows], *known)

    def bands(self, used: np.ndarray, n_bands: int) -> np.ndarray:
        """Band of every panel, by the decisions of the rows used alone, (n_panels,)."""
        weight, panel = self.weight[used], self.panel[used]
        leniency = shrunken_means(self.own[used], self.member[used], len(self.panels.people), weight)
        accepted = leniency + np.average(self.decision[used], weights=weight)
        columns = panel_columns(self.panels, accepted)
        columns = columns - _of_strata(self.data, columns)
        value = columns @ _slopes(columns[panel], self.anyone[used], weight)
        return cut_evenly(value, np.bincount(panel, weight, self.panels.n_panels), n_bands)


def panel_columns(panels: Panels, accepted: np.ndarray) -> np.ndarray:
    """-Σ log(1 - p_j) over the members, and log size, (n_panels, 2).

    Examples
    --------
    >>> panels = Panels(np.array([0, 0, 1]), np.array([0, 1, 1]), np.array(["a", "b"]), 2)
    >>> panel_columns(panels, np.array([0.5, 0.75])).round(3)
    array([[2.079, 0.693],
           [1.386, 0.   ]])
    """
    refused = np.log1p(-np.clip(accepted, LEAST_CHANCE, MOST_CHANCE))
    return np.column_stack([-panels.total(refused), np.log(panels.size)])


def _slopes(columns: np.ndarray, values: np.ndarray, weight: np.ndarray) -> np.ndarray:
    """Weighted least squares with an intercept; a column that does not vary has slope zero."""
    share = weight / weight.sum()
    centred = columns - share @ columns
    root = np.sqrt(share)[:, None]
    return np.linalg.lstsq(root * centred, root[:, 0] * values, rcond=1e-8)[0]


def _of_strata(data: SelectiveLabels, columns: np.ndarray) -> np.ndarray:
    """Mean of the columns in the stratum (over rows, the mean) of each panel: who met whom, no decision."""
    if data.strata is None:
        return np.zeros_like(columns)
    panel, n_panels = data.decision_maker_codes, len(columns)
    cases = np.bincount(data.strata)
    rows = np.maximum(np.bincount(panel, minlength=n_panels), 1)
    means = np.empty_like(columns)
    for number, column in enumerate(columns.T):
        by_stratum = np.bincount(data.strata, column[panel]) / np.maximum(cases, 1)
        means[:, number] = np.bincount(panel, by_stratum[data.strata], n_panels) / rows
    return means


def arms_off_fold(
    data: SelectiveLabels, rows: np.ndarray, n_bands: int | None, random_state: int | None = 0
) -> np.ndarray:
    """Arm of each row, which its own case had no part in: the panel, or its band, (n_rows,)."""
    if n_bands is None:
        return data.decision_maker_codes[rows]
    return panel_bands(data, rows, n_bands, random_state).rows


def by_case(groups: np.ndarray | None, used: np.ndarray, values: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Among the rows used, the first of every case, and the mean of some columns over its rows.

    Rows of one case would pass for agreement between cases.

    Examples
    --------
    >>> by_case(np.array([7, 5, 3, 7]), np.array([True, False, True, True]), np.array([[1.0], [5.0], [2.0]]))
    (array([1, 0]), array([[5. ],
           [1.5]]))
    """
    assert groups is not None
    _, first, code = np.unique(groups[used], return_index=True, return_inverse=True)
    rows = np.bincount(code)
    return first, np.stack([np.bincount(code, column) / rows for column in values.T], axis=1)
