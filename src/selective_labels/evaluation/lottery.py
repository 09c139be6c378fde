"""Scores of the two arms of a lottery: people who saw an advice, and people who did not."""

from dataclasses import dataclass

import numpy as np

from selective_labels.data.selective_labels import SelectiveLabels
from selective_labels.diagnostics.balance import joint_f
from selective_labels.diagnostics.prediction_balance import HeldOutRidge, smooth_functions
from selective_labels.identification.advice import ALONE, WITH, arm_scores
from selective_labels.identification.bounds import Array
from selective_labels.nuisance.folds import make_folds
from selective_labels.nuisance.models.encoders import standardised
from selective_labels.nuisance.score_formulas import CLOSE, OVERLAP, seen_labels

N_FOLDS = 5


@dataclass(frozen=True, eq=False)
class LotteryScores:
    """Scores of both arms.

    Attributes
    ----------
    values, predicted : (2, n_samples, n_classes) arrays
        Scores ψ_sk of P(D(s)=1, Y=k | x), and held-out predictions of it.
    chance : (n_samples,) array
        P(S=1 | x).
    lead : float
        Another lower bound replaces the default where it is predicted to be higher by this much: two standard
        errors of the difference of two shares near one half.
    """

    values: Array
    predicted: Array
    chance: Array
    lead: float

    def envelope(
        self, kind: np.ndarray, weights: Array, other: tuple[Array, Array] | None = None
    ) -> tuple[Array, Array]:
        """Scores and predictions of the lower bounds, each by the best candidate, (n_samples, n_classes).

        φ_k = ψ_jk,   j = j_k(x) = argmax_j [m_jk(x) - lead 1{j is not the default for cases of this kind}]

        The candidates are each arm alone, and what both arms show together: `other`, such as the bound by
        decision-makers, or else their mean. The default for a kind of case is the latter, unless an arm is
        better by 1.5 standard errors, because a choice between tied arms would follow noise. A wrong choice
        makes the bound wider but not invalid.

        Parameters
        ----------
        kind : (n_samples,) int array
            Kinds of cases, such as those with the same advice.
        weights : (n_samples,) array
        other : pair of (n_samples, n_classes) arrays, optional
            Scores and predictions of another lower bound.
        """
        shares = np.stack([1.0 - self.chance, self.chance])
        if other is None:
            scores, model = (np.einsum("sn,snk->nk", shares, each) for each in (self.values, self.predicted))
        else:
            scores, model = other
        candidates = np.stack([scores, *self.values])
        expected = np.stack([model, *self.predicted])
        default = _better_arm(self.values - scores, kind, weights)
        handicap = np.where(np.arange(3)[:, None, None] == default, 0.0, self.lead)
        chosen = (expected - handicap).argmax(axis=0)[None]
        best, predicted = (np.take_along_axis(each, chosen, axis=0)[0] for each in (candidates, expected))
        return best, predicted


def _better_arm(ahead: Array, kind: np.ndarray, weights: Array) -> np.ndarray:
    """Return 1 or 2 where an arm is better for cases of this kind, else 0, (n_samples, n_classes).

    Parameters
    ----------
    ahead : (2, n_samples, n_classes) array
        Scores of each arm minus those of the bound to beat.
    """
    size, highest = np.bincount(kind, weights), np.zeros((ahead.shape[2], int(kind.max()) + 1))
    best = np.zeros(highest.shape, dtype=int)
    for arm, by_class in enumerate(ahead, 1):
        for k, values in enumerate(by_class.T):
            mean = np.bincount(kind, weights * values) / size
            error = np.sqrt(np.bincount(kind, (weights * (values - mean[kind])) ** 2)) / size
            better = (mean > CLOSE * error) & (mean > highest[k])
            best[k, better], highest[k, better] = arm, mean[better]
    return best[:, kind].T


def columns_known(data: SelectiveLabels, advice: Array) -> Array:
    """Standardised columns known before the lottery: features, and the advice, (n_samples, n_columns)."""
    columns = standardised(data.categorical).fit_transform(data.features)
    rank = (advice - advice.mean()) / max(float(advice.std()), np.finfo(float).tiny)
    return np.column_stack([columns, rank])


def lottery_scores(
    data: SelectiveLabels, arm: np.ndarray, chance: Array, known: Array, seed: int, adjust: bool
) -> LotteryScores:
    """Score both arms, with cross-fitted ridge regressions of what each shows.

    Parameters
    ----------
    data : SelectiveLabels
    arm : (n_samples,) int array
        1 where the advice was shown.
    chance : (n_samples,) array
        P(S=1 | x).
    known : (n_samples, n_columns) array
        Standardised columns known before the lottery.
    seed : int
    adjust : bool
        If False, the prediction is the mean of the arm, and so is the mean of the scores.
    """
    seen, weights, fold = seen_labels(data.y, len(data.classes)), data.weights, _folds(data, arm, seed)
    inverse = 1.0 / np.stack([1.0 - chance, chance])
    predicted, lead = np.empty((2, *seen.shape)), np.inf
    columns = known
    if adjust:
        columns = smooth_functions(known, np.random.default_rng(seed))
        lead = float(np.sqrt(np.average(inverse, axis=1, weights=weights).sum() / len(data)))
    for each in (ALONE, WITH):
        inside = weights * (arm == each)
        if adjust:
            predicted[each] = seen - HeldOutRidge(columns, fold, inside).residuals(seen)
        else:
            predicted[each] = np.average(seen, axis=0, weights=inside * inverse[each])
    return LotteryScores(arm_scores(seen, arm, chance, predicted), predicted, chance, lead)


def _folds(data: SelectiveLabels, arm: np.ndarray, seed: int) -> np.ndarray:
    """Fold of every row; both arms are spread evenly, and groups stay together."""
    fold = np.zeros(len(data), dtype=int)
    number = N_FOLDS if data.groups is None else min(N_FOLDS, len(np.unique(data.groups)))
    strata = 2 * (data.row_decision == 1) + arm
    for place, (_, test) in enumerate(make_folds(strata, number, groups=data.groups, random_state=seed)):
        fold[test] = place
    return fold


def modelled_chance(data: SelectiveLabels, arm: np.ndarray, known: Array, seed: int) -> Array:
    """P(S=1 | x) by a cross-fitted logistic regression, at least `OVERLAP` from zero and one."""
    from sklearn.linear_model import LogisticRegression

    fold, found = _folds(data, arm, seed), np.zeros(len(data))
    for number in range(int(fold.max()) + 1):
        here = fold == number
        model = LogisticRegression(max_iter=1000).fit(known[~here], arm[~here], data.weights[~here])
        found[here] = model.predict_proba(known[here])[:, 1]
    return np.clip(found, OVERLAP, 1.0 - OVERLAP)


def dependence(data: SelectiveLabels, arm: np.ndarray, chance: Array, known: Array) -> float:
    """P-value of the hypothesis that columns known before the lottery do not predict its result.

    F test of S - P(S=1) on all columns, one row for each group.
    """
    rows = np.arange(len(data)) if data.groups is None else np.unique(data.groups, return_index=True)[1]
    drawn, columns = (arm - chance)[rows], known[rows]
    return joint_f(drawn - drawn.mean(), columns - columns.mean(axis=0), 1)[1]
