"""SL101: whether decision-makers treat like cases differently; the check that decides relevance."""

import numpy as np

from selective_labels.diagnostics.context import Context
from selective_labels.diagnostics.results import NOT_APPLICABLE, OK, UNTESTED, WARNING, Check, Finding, need
from selective_labels.hypotheses.cells import centred
from selective_labels.hypotheses.permutation import permutation_draws, permutation_p_value
from selective_labels.models.features import standardised

# A standard deviation of four points: the most and the least lenient of eight then differ by about ten.
SMALL_STRENGTH = 0.04**2
# Directions of the features along which decision-makers may differ, beside their average leniency.
MOST_DIRECTIONS = 20


def leave_out_strength(sums: np.ndarray) -> np.ndarray:
    """Average variance of leniency over decision-makers, free of sampling noise.

    E[V(X)] = Σ_z e_z |b_z|²,   b_z = E[(D - m(X)) φ(X) | z],   φ orthonormal,

    estimated by products of different units only, so that chance differences average to zero:

    (1/n) Σ_z n_z (|Σ_u c_u|² - Σ_u |c_u|²) / (n_z² - Σ_u n_u²),   c_u = Σ_{i in u} (D_i - m(x_i)) φ(x_i).

    Parameters
    ----------
    sums : (n_decision_makers, n_directions + 3) array
        Sums over the units u of each decision-maker: of c_u, then |c_u|², rows n_u, and n_u².

    Returns
    -------
    (1,) array

    Examples
    --------
    Two decision-makers of two rows each, D - m being -.5 for all rows of one and .5 for the other's:

    >>> leave_out_strength(np.array([[-1.0, 0.5, 2.0, 2.0], [1.0, 0.5, 2.0, 2.0]]))
    array([0.25])
    """
    totals, squares, rows, squared_sizes = sums[:, :-3], sums[:, -3], sums[:, -2], sums[:, -1]
    pairs = rows**2 - squared_sizes
    several = pairs > 0.0
    products = np.sum(totals**2, axis=1) - squares
    parts = rows[several] * products[several] / pairs[several]
    return np.array([parts.sum() / max(rows[several].sum(), 1.0)])


def directions(
    X: np.ndarray, categorical: tuple[int, ...] = (), cell: np.ndarray | None = None
) -> np.ndarray:
    """A constant and at most 20 uncorrelated unit-variance combinations of the features, (n, q + 1).

    Columns of codes (`categorical`) enter as indicators. Every combination has mean zero, within each cell if
    these are given, so that the average leniency counts once, with the constant: who works in one cell only
    would else be counted along what tells the cells apart, too.

    Examples
    --------
    >>> along = directions(np.repeat([[0.0], [1.0]], [10, 30], axis=0), categorical=(0,))
    >>> (along.T @ along / 40).round(1) + 0.0
    array([[1., 0.],
           [0., 1.]])
    """
    constant = np.ones((len(X), 1))
    if not X.shape[1]:
        return constant
    values = standardised(categorical).fit_transform(X)
    # Indicators do not come centred: "all other categories" is nearly one for everybody.
    values = centred(values, np.zeros(len(X), dtype=int) if cell is None else cell)
    variances, axes = np.linalg.eigh(np.atleast_2d(np.cov(values, rowvar=False)))
    kept = np.flatnonzero(variances > 1e-8 * variances[-1])[-MOST_DIRECTIONS:]
    return np.column_stack([constant, values @ (axes[:, kept] / np.sqrt(variances[kept]))])


def _figures(strength: float) -> str:
    return f"their leniency for like cases has a standard deviation of {100 * np.sqrt(strength):.1f} points"


def _find(context: Context) -> Finding:
    rows, units = context.compared, context.units
    context.need_rejected()
    need(len(rows) > context.n_decision_makers, "hardly any decision-maker has two cases.")
    residual = context.data.decision[rows] - context.case_model.decision
    along = directions(context.data.features[rows], context.data.categorical, context.cell[rows])
    columns = centred(residual[:, None] * along, context.cell[rows])
    totals = units.total(columns)
    with_sizes = np.column_stack([totals, np.sum(totals**2, axis=1), units.size, units.size**2])
    observed, drawn = permutation_draws(
        units, with_sizes, leave_out_strength, context.n_permutations, context.generator(101)
    )
    p_value = permutation_p_value(observed[0], drawn[:, 0])
    strength = max(float(observed[0]), 0.0)
    if p_value > context.level:
        return Finding(
            WARNING,
            f"Decision-makers cannot be told apart from chance: {_figures(strength)}, as luck alone may do.",
            strength,
            p_value,
            "Bounds will be as wide as without an instrument; do not use point estimates (NUCEM).",
        )
    # Models may find differences that no linear combination of features shows.
    strength = max(strength, float(context.row_model.strength.mean()))
    if strength < SMALL_STRENGTH:
        return Finding(
            WARNING,
            f"Decision-makers hardly differ: {_figures(strength)}.",
            strength,
            p_value,
            "Expect bounds nearly as wide as without an instrument; do not use point estimates (NUCEM).",
        )
    return Finding(OK, f"Decision-makers differ: {_figures(strength)}.", strength, p_value)


def need_strength(context: Context, purpose: str) -> None:
    """Raise `NotApplicableError` unless decision-makers differ enough for a purpose."""
    result = context.result_of(CHECK)
    need(result.status != NOT_APPLICABLE, result.message.removeprefix(UNTESTED))
    need(result.status == OK, f"decision-makers differ too little (SL101) {purpose}.")


CHECK = Check("SL101", "conditional strength", "relevance", _find)
