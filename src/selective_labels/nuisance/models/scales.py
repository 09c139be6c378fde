"""Scales of skewed numeric columns: one rule, used by every linear model that has an outcome."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.special import ndtri
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import StratifiedKFold, cross_val_predict

# Transformations are compared on at most this many rows.
SCALE_ROWS = 2_000
# Standardised values are clipped at this many standard deviations from the mean.
FARTHEST = 10.0
# A numeric outcome with more values than this is cut at its quartiles.
MOST_CLASSES = 20
SQUASHED, RAW, LOGARITHM, RANKS = "squashed", "raw", "logarithm", "ranks"
N_KNOTS = 200
# Folds by which the scale of a learner is chosen.
N_FOLDS = 5
# The logarithmic scale is linear below this quantile of the distances from zero.
SMALL = 0.05


@dataclass(frozen=True, eq=False)
class Scale:
    """A scale of a skewed column, fitted to its values.

    squashed: asinh((x - median) / distance)   logarithm: asinh(x / small)   ranks: normal scores

    Attributes
    ----------
    name : "squashed", "raw", "logarithm" or "ranks"
    centre, unit : float
    knots, scores : arrays
        Values and their normal scores, between which ranks interpolate; empty for other scales.
    """

    name: str
    centre: float
    unit: float
    knots: np.ndarray
    scores: np.ndarray

    @classmethod
    def of(cls, name: str, values: np.ndarray) -> "Scale":
        """Fit a scale to the values of a column."""
        nothing = np.empty(0)
        if name == RANKS:
            kept, first, count = np.unique(np.sort(values), return_index=True, return_counts=True)
            places = (first + (count - 1) / 2.0 + 0.5) / len(values)
            few = np.unique(np.linspace(0, len(kept) - 1, N_KNOTS).astype(int))
            return cls(name, 0.0, 1.0, kept[few], ndtri(places[few]))
        if name == LOGARITHM:
            away = np.abs(values[values != 0.0])
            return cls(name, 0.0, float(np.quantile(away, SMALL)) if len(away) else 1.0, nothing, nothing)
        if name == SQUASHED:
            centre = float(np.median(values))
            return cls(name, centre, float(np.abs(values - centre).mean()), nothing, nothing)
        return cls(name, 0.0, 1.0, nothing, nothing)

    def __call__(self, values: np.ndarray) -> np.ndarray:
        """Transform values, which may be new."""
        if self.name == RAW:
            return values
        if self.name == RANKS:
            return np.interp(values, self.knots, self.scores)
        return np.arcsinh((values - self.centre) / self.unit)


def best_scales(columns: np.ndarray, y: Any = None) -> list[Scale]:
    """Scale of each skewed column by which it alone predicts an outcome best on held-out rows.

    loss = Σ_c (1{y = c} - a_c - b_c s(x))² / p_c   on the half of the rows that a_c, b_c have not seen

    This is the χ² approximation of the log-loss of a model with one feature. It needs no fit, so that the
    comparison costs little. Another scale replaces "squashed" if its loss is smaller by more than the
    standard error of the difference. Without an outcome all columns are squashed.

    Parameters
    ----------
    columns : (n_samples, n_columns) array
    y : (n_samples,) array, optional
        Classes, or numbers, which are then cut at their quartiles.

    Examples
    --------
    >>> amount = np.exp(2.0 * np.random.default_rng(0).normal(size=(500, 1)))
    >>> likely = np.log(amount[:, 0]) > np.random.default_rng(1).normal(size=500)
    >>> best_scales(amount)[0].name, best_scales(amount, likely)[0].name
    ('squashed', 'logarithm')
    """
    squashed = [Scale.of(SQUASHED, column) for column in columns.T]
    if y is None or not len(squashed):
        return squashed
    rows = np.linspace(0, len(columns) - 1, min(len(columns), SCALE_ROWS)).astype(int)
    rows = np.random.default_rng(0).permutation(rows)
    happened = outcome_indicators(np.asarray(y))[rows]
    happened = happened / np.sqrt(np.maximum(happened.mean(axis=0), 1.0 / len(rows)))
    found = []
    for column, plain in zip(columns.T, squashed, strict=True):
        scales = [plain, *(Scale.of(name, column) for name in (RAW, LOGARITHM, RANKS))]
        losses = [_held_out_losses(scale(column[rows]), happened) for scale in scales]
        best = int(np.argmin([loss.mean() for loss in losses]))
        lead = losses[0] - losses[best]
        found.append(scales[best] if lead.mean() > lead.std() / np.sqrt(len(lead)) else plain)
    return found


def common_scale(columns: np.ndarray, skewed: np.ndarray, y: np.ndarray, seen: np.ndarray) -> list[Scale]:
    """One kind of scale for all skewed columns, by the held-out log-loss of a logistic regression.

    loss = mean of -log P(y | columns with the scale), on five folds of the rows with an outcome

    Raw columns are kept unless another kind (squashed, ranks) has a smaller loss, by more than the standard
    error of the difference.

    Parameters
    ----------
    columns : (n_samples, n_columns) array
        All numeric columns, without holes.
    skewed : (n_skewed,) int array
        Columns whose scale is chosen.
    y : (n_samples,) array
        Classes.
    seen : (n_samples,) bool array
        Rows with an outcome.

    Returns
    -------
    list of Scale
        One for each skewed column, fitted to all rows.
    """
    rows = np.flatnonzero(seen)
    rows = rows[np.linspace(0, len(rows) - 1, min(len(rows), SCALE_ROWS)).astype(int)]
    y = y[rows]
    losses, kinds = [], []
    for name in (RAW, SQUASHED, RANKS):
        scales = [Scale.of(name, columns[:, column]) for column in skewed]
        trial = columns[rows]
        for column, scale in zip(skewed, scales, strict=True):
            trial[:, column] = scale(trial[:, column])
        kinds.append(scales)
        losses.append(_log_losses(trial, y))
    best = int(np.argmin([loss.mean() for loss in losses]))
    lead = losses[0] - losses[best]
    return kinds[best if lead.mean() > lead.std() / np.sqrt(len(lead)) else 0]


def _log_losses(columns: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Held-out log-losses of a logistic regression, (n,); zero where folds cannot be made."""
    fewest = np.unique(y, return_counts=True)[1].min()
    if fewest < N_FOLDS:
        return np.zeros(len(y))
    mean, spread = columns.mean(axis=0), columns.std(axis=0)
    unit = np.clip((columns - mean) / np.where(spread > 0.0, spread, 1.0), -FARTHEST, FARTHEST)
    folds = StratifiedKFold(N_FOLDS, shuffle=True, random_state=0)
    chances = cross_val_predict(LogisticRegression(max_iter=300), unit, y, cv=folds, method="predict_proba")
    own = chances[np.arange(len(y)), np.searchsorted(np.unique(y), y)]
    return -np.log(np.maximum(own, 1e-12))


def outcome_indicators(y: np.ndarray) -> np.ndarray:
    """Indicators of the classes, or of the quarters of numbers with many values, (n, n_classes).

    Examples
    --------
    >>> outcome_indicators(np.array(["b", "a"]))
    array([[0., 1.],
           [1., 0.]])
    """
    values, codes = np.unique(y, return_inverse=True)
    if y.dtype.kind == "f" and len(values) > MOST_CLASSES:
        codes = np.searchsorted(np.quantile(y, [0.25, 0.5, 0.75]), y)
    return (codes[:, None] == np.arange(codes.max() + 1)).astype(float)


def _held_out_losses(values: np.ndarray, happened: np.ndarray) -> np.ndarray:
    """Squared errors, summed over outcomes, of a linear prediction by the other half of the rows."""
    losses = np.empty(len(values))
    first = np.arange(len(values)) % 2 == 0
    for train, test in ((first, ~first), (~first, first)):
        mean, spread = values[train].mean(), values[train].std()
        unit = np.clip((values - mean) / (spread or 1.0), -FARTHEST, FARTHEST)
        design = np.column_stack([np.ones(len(unit)), unit])
        slopes = np.linalg.lstsq(design[train], happened[train], rcond=None)[0]
        losses[test] = np.sum((happened[test] - design[test] @ slopes) ** 2, axis=1)
    return losses


def skewness(columns: np.ndarray) -> np.ndarray:
    """Absolute skewness of each column; zero for a constant column."""
    centred = columns - columns.mean(axis=0)
    spread = np.sqrt(np.mean(centred**2, axis=0))
    varies = spread > len(columns) * np.finfo(float).eps * np.abs(columns).max(axis=0, initial=0.0)
    unit = np.divide(centred, spread, out=np.zeros_like(centred), where=varies)
    return np.abs(np.mean(unit * unit * unit, axis=0))  # many times faster than unit**3
