"""Contraction: failure rates if the most lenient decision-makers had also refused the highest scores."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from selective_labels._errors import InputError
from selective_labels._validation import as_seed, read_values, require_count, require_share
from selective_labels.data.reading import read_labels
from selective_labels.data.roles import GivenRoles
from selective_labels.data.selective_labels import SelectiveLabels, class_code
from selective_labels.evaluation.display import Curve, in_words
from selective_labels.inference.exact_intervals import wilson
from selective_labels.nuisance.bands import shrunken_means
from selective_labels.nuisance.folds import make_folds

ROUNDING = 1e-12
MIN_CASES = 30  # the standard error of a rate is then at most nine percentage points
IDENTIFIES = (
    "the failure rate, per case, of accepting a case if {who} accepted it and the score is below a cut; "
    "not of the score alone, which may accept cases that they refused."
)


@dataclass(frozen=True, eq=False, kw_only=True)
class Contraction(Curve):
    """Failures per case as more cases are refused in the order of a score.

    Attributes
    ----------
    human : Curve
        Acceptance rate and failures per case of decision-makers, or of bands of them.
    decision_makers : (n,) array
        Decision-makers whose cases define the curve.
    """

    human: Curve
    decision_makers: np.ndarray

    def to_frame(self) -> pd.DataFrame:
        """Return one row per point; `human` is interpolated, NaN outside the observed range."""
        last = self.human.x[-1]
        # The last human point is the end of the curve up to rounding.
        x = np.where(np.abs(self.x - last) <= ROUNDING, last, self.x)
        human = np.interp(x, self.human.x, self.human.lower, left=np.nan, right=np.nan)
        return super().to_frame().assign(human=human)

    def versus_human(self) -> pd.DataFrame:
        """Compare the curve with each human point within its range, at the same acceptance rate."""
        within = self.human.x <= self.x[-1] + ROUNDING
        human = self.human.to_frame()[within].rename(columns={"estimate": "human"})
        here = self.at(np.minimum(self.human.x[within], self.x[-1]))
        return pd.DataFrame(
            {
                "acceptance": here.x,
                "human": human["human"].to_numpy(),
                "human_ci_lower": human["ci_lower"].to_numpy(),
                "human_ci_upper": human["ci_upper"].to_numpy(),
                "contraction": here.lower,
                "ci_lower": here.ci_lower,
                "ci_upper": here.ci_upper,
                "difference": here.lower - human["human"].to_numpy(),
            }
        )

    def sentences(self) -> list[str]:
        """Describe the assumption, the identified quantity and the sample."""
        made_from = (
            f"Made from the cases of {in_words(self.decision_makers)}; acceptance reaches {self.x[-1]:.3g}."
        )
        return [*super().sentences(), made_from]

    def plot(self, ax: Any = None, label: str | None = "contraction") -> Any:
        """Draw the curve, and the decision-makers as points."""
        ax = super().plot(ax, label)
        distance = np.abs([self.human.ci_lower, self.human.ci_upper] - self.human.lower)
        ax.errorbar(self.human.x, self.human.lower, distance, fmt="o", label="human")
        ax.legend()
        return ax


def contraction(
    score: Any,
    y: Any = None,
    *,
    decision_maker: Any = None,
    decision: Any = None,
    pos_label: Any = None,
    pool: float | None = None,
    min_cases: int = MIN_CASES,
    cv: Any = 5,
    confidence_level: float = 0.95,
    random_state: Any = None,
) -> Contraction:
    """Failure rate against acceptance rate of a score, by the contraction of Lakkaraju and others (2017).

    q = the decision-maker with the largest acceptance rate among those with at least `min_cases` cases (with
    four cases, a large rate is likely due to chance), and n_q the number of their cases. Among the cases that
    q accepted, refuse also those with the highest scores, until m remain:

        acceptance = m / n_q,   failure = #(failures among the m) / n_q

    for every m at once, by one sort and a cumulative sum. Equal scores are refused together, with a straight
    line in between: the mean over random orders. The human curve interpolates
    (acceptance_j, failures_j / n_j) of every decision-maker j.

    The assumption is that cases are assigned as if at random, so that q's cases are representative. Nothing
    is assumed about the information that q had. The curve identifies the policy "q accepts AND the score is
    below the threshold", exactly up to q's acceptance rate and not beyond it. It is *not* the failure rate of
    the score alone, for which :func:`selective_labels.evaluate` has bounds.

    Intervals are Wilson's with variance f (1 - f) / n_q. At a fixed acceptance rate, the exact variance is
    f (1 - f) - μ (1 - r)(2 f - μ r) over n_q, with μ the failure rate of the cases at the threshold. The
    interval is therefore conservative, unless these cases fail more than twice as often as the average
    accepted case. Selecting q by the same decisions overstates acceptance slightly if decision-makers have
    few cases; `pool` avoids this.

    Parameters
    ----------
    score : (n_samples,) numbers
        Higher is riskier. From a model that was fitted to other cases.
    y : SelectiveLabels, or (n_samples,) labels, missing where not observed
        A SelectiveLabels carries the roles; give no other role with it. Weights, groups and strata are not
        used.
    decision_maker : (n_samples,) ids
    decision : (n_samples,) of 0 and 1, optional
        Determines which labels count; 1 means accepted.
    pos_label : label, optional
        The failure. Default: the last class.
    pool : float, optional
        Use the cases of all decision-makers whose (shrunken) acceptance rate in the other folds lies within
        `pool` of the largest one there, instead of one decision-maker selected on the same cases. Standard
        errors are smaller, and the curve ends at a slightly lower acceptance rate.
    min_cases : int
        Decision-makers with fewer cases are not eligible as the most lenient. Only without `pool`, which
        shrinks their rates.
    cv : int, splitter or iterable of folds
        Only with `pool`.
    confidence_level : float
    random_state : int, optional
        Seed of the folds.

    Returns
    -------
    Contraction

    Examples
    --------
    >>> score, y = [0.1, 0.2, 0.8, 0.9, 0.3, 0.6], [0, 0, 1, -1, 0, -1]
    >>> makers = ["a", "a", "a", "a", "b", "b"]
    >>> curve = contraction(score, y, decision_maker=makers, min_cases=2)
    >>> curve.x, curve.lower
    (array([0.  , 0.25, 0.5 , 0.75]), array([0.  , 0.  , 0.  , 0.25]))
    >>> curve.human.x, curve.human.lower
    (array([0.5 , 0.75]), array([0.  , 0.25]))
    """
    require_share("confidence_level", confidence_level, low=0.5)
    require_count("min_cases", min_cases)
    data = read_labels(y, GivenRoles(decision_maker, decision), "contraction")
    risk, failed = _read_score(score, data, pos_label)
    codes, n_codes = data.decision_maker_codes, data.n_decision_makers
    cases = np.bincount(codes, minlength=n_codes)
    if pool is None:
        chosen = codes == _most_lenient(np.bincount(codes, data.decision, n_codes) / cases, cases, min_cases)
        name = data.decision_makers[codes[chosen][0]]
        who = f"the most lenient decision-maker with {min_cases} cases or more ({name})"
    else:
        chosen = _near_most_lenient(data, pool, cv, as_seed(random_state))
        who = f"decision-makers within {pool:g} of the largest acceptance rate"
    human = _human_curve(codes, np.ones(len(data)), data.decision, failed, confidence_level)
    weight = chosen / chosen.sum()
    return Contraction(
        **_contract(risk, data.decision, failed, weight, confidence_level),
        assumption="cases are assigned to decision-makers as if by lot.",
        identifies=IDENTIFIES.format(who=who),
        human=human,
        decision_makers=data.decision_makers[np.unique(codes[chosen])],
    )


def quintile_contraction(
    score: Any,
    y: Any = None,
    *,
    decision_maker: Any = None,
    decision: Any = None,
    strata: Any = None,
    pos_label: Any = None,
    n_bands: int = 5,
    cv: Any = 5,
    confidence_level: float = 0.95,
    random_state: Any = None,
) -> Contraction:
    """Contraction of the most lenient fifth of decision-makers, as in Kleinberg and others (2018).

    Within each stratum decision-makers are ranked by leniency (their mean excess acceptance over the strata
    they work in) and divided into `n_bands` bands of about equal size. With w_i = share of the stratum
    among all cases / number of cases of the band in the stratum, so that all bands have the same strata,

        acceptance_b = Σ_{i in b} w_i D_i,   failure_b = Σ_{i in b} w_i D_i 1{failed},

    and the curve refuses, among the cases that the most lenient band accepted, the highest scores first.
    ``result.versus_human()`` compares it with each stricter band at the acceptance rate of that band.

    The assumption is that assignment is as if at random within strata. The curve identifies the policy "the
    most lenient band accepts AND the score is below the threshold", averaged over the strata; not the score
    alone.

    Strata in which a band has no case (at least those with fewer than `n_bands` decision-makers) are dropped,
    and the result's sentences report the number of dropped cases.

    Parameters
    ----------
    score, y, decision_maker, decision, pos_label, confidence_level, random_state
        As in :func:`contraction`.
    strata : (n_samples,) of any type, optional
        Strata within which assignment is random, such as court by month. Default: one stratum.
    n_bands : int
        Number of bands of decision-makers by leniency.
    cv : int, splitter, iterable of folds or None
        Leniency is estimated on the other folds, so that no case affects its own band. None ranks by the same
        cases, as published, which moves accepted cases into the lenient bands.

    Returns
    -------
    Contraction
        Its `human` curve has one point per band.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> maker, risk = rng.integers(10, size=2000), rng.random(2000)
    >>> y = np.where(rng.random(2000) < 0.3 + 0.05 * maker, rng.random(2000) < risk, -1)
    >>> table = quintile_contraction(risk, y, decision_maker=maker, random_state=0).versus_human()
    >>> bool((table["difference"][:3] < -0.04).all())
    True
    """
    require_share("confidence_level", confidence_level, low=0.5)
    require_count("n_bands", n_bands, least=2)
    roles = GivenRoles(decision_maker, decision, strata=strata)
    data = read_labels(y, roles, "quintile_contraction", ["strata"])
    risk, failed = _read_score(score, data, pos_label)
    cells = data.cells
    band = np.empty(len(data), dtype=int)
    everyone = np.arange(len(data))
    folds = [(everyone, everyone)] if cv is None else _folds(data, cv, as_seed(random_state))
    for train, test in folds:
        leniency = _leniency(data, cells, train)
        band[test] = _band_of_pair(cells, data.decision_maker_codes, leniency, n_bands)[test]
    counts = np.bincount(cells * n_bands + band, minlength=(cells.max() + 1) * n_bands)
    counts = counts.reshape(-1, n_bands)
    usable = np.all(counts > 0, axis=1)[cells]
    if not usable.any():
        raise InputError(
            f"no stratum has cases in all {n_bands} leniency bands: every stratum needs {n_bands} "
            "decision-makers or more; use fewer bands or coarser strata.",
            "strata",
        )
    weight = usable * counts.sum(axis=1)[cells] / np.maximum(counts[cells, band], 1) / usable.sum()
    lenient = band == n_bands - 1
    human = _human_curve(
        band[usable], weight[usable], data.decision[usable], failed[usable], confidence_level
    )
    left_out = (
        f" {int((~usable).sum())} of {len(data)} cases lie in strata that are too small and are left out."
    )
    return Contraction(
        **_contract(risk, data.decision, failed, weight * lenient, confidence_level),
        assumption="cases are assigned to decision-makers as if by lot within strata.",
        identifies=IDENTIFIES.format(who=f"the most lenient of {n_bands} bands of decision-makers")
        + (left_out if not usable.all() else ""),
        human=human,
        decision_makers=data.decision_makers[np.unique(data.decision_maker_codes[lenient & usable])],
    )


def _read_score(score: Any, data: SelectiveLabels, pos_label: Any) -> tuple[np.ndarray, np.ndarray]:
    """Return the validated score, and whether a case was accepted and failed."""
    if not data.decision_makers_given:
        raise InputError("decision_maker is missing: it says whose cases are compared.", "decision_maker")
    risk = read_values("score", score)
    if len(risk) != len(data):
        raise InputError.about(
            "score", f"has {len(risk)} rows and y has {len(data)}; they must be of equal length."
        )
    return risk, (data.y == class_code(pos_label, data.classes)).astype(float)


def _contract(
    risk: np.ndarray, accepted: np.ndarray, failed: np.ndarray, weight: np.ndarray, confidence_level: float
) -> dict[str, Any]:
    """Return the fields of the curve for cases whose weights sum to one."""
    rows = (weight > 0) & (accepted == 1)
    distinct, block = np.unique(risk[rows], return_inverse=True)
    kept = np.bincount(block, weight[rows], len(distinct))
    failing = np.bincount(block, weight[rows] * failed[rows], len(distinct))
    # Rounding may push cumulative shares above one.
    acceptance = np.minimum(np.append(0.0, np.cumsum(kept)), 1.0)
    failure = np.minimum(np.append(0.0, np.cumsum(failing)), 1.0)
    ends = wilson(failure, 1.0 / np.sum(weight**2), confidence_level)
    return {
        "title": "Failure rate by contraction",
        "x_name": "acceptance",
        "x": acceptance,
        "lower": failure,
        "upper": failure,
        "ci_lower": ends[0],
        "ci_upper": ends[1],
        "n_samples": int(np.sum(weight > 0)),
        "confidence_level": confidence_level,
    }


def _human_curve(
    code: np.ndarray, weight: np.ndarray, accepted: np.ndarray, failed: np.ndarray, confidence_level: float
) -> Curve:
    """Return acceptance rate and failures per case of every code, sorted by acceptance rate."""
    total = np.bincount(code, weight)
    acceptance = np.bincount(code, weight * accepted) / total
    failure = np.bincount(code, weight * accepted * failed) / total
    ends = wilson(failure, total**2 / np.bincount(code, weight**2), confidence_level)
    order = np.argsort(acceptance, kind="stable")
    return Curve(
        title="Failure rate of decision-makers",
        x_name="acceptance",
        x=acceptance[order],
        lower=failure[order],
        upper=failure[order],
        ci_lower=ends[0][order],
        ci_upper=ends[1][order],
        assumption="cases are assigned to decision-makers as if by lot.",
        identifies="failures per case of the decisions that were taken.",
        n_samples=len(code),
        confidence_level=confidence_level,
    )


def _folds(data: SelectiveLabels, cv: Any, random_state: int | None) -> list[tuple[np.ndarray, np.ndarray]]:
    names = ("the unlabeled case", "the labeled case")
    return make_folds(data.decision, cv, groups=None, outcome_names=names, random_state=random_state)


def _most_lenient(rates: np.ndarray, cases: np.ndarray, min_cases: int) -> int:
    """Return the decision-maker with the largest rate among those with enough cases."""
    if cases.max() < min_cases:
        words = f"no decision-maker has min_cases={min_cases} cases (the most is {cases.max()}): "
        raise InputError(words + "pool the lenient ones with pool=0.1.", "min_cases")
    return int(np.where(cases >= min_cases, rates, -1.0).argmax())


def _near_most_lenient(data: SelectiveLabels, pool: float, cv: Any, random_state: int | None) -> np.ndarray:
    """Mark rows whose decision-maker is close to the most lenient one in the other folds."""
    if not 0.0 <= pool <= 1.0:
        raise InputError(f"pool={pool!r} must lie between 0 and 1, as a difference of rates.", "pool")
    codes = data.decision_maker_codes
    chosen = np.zeros(len(data), dtype=bool)
    for train, test in _folds(data, cv, random_state):
        rate = shrunken_means(data.decision[train].astype(float), codes[train], data.n_decision_makers)
        chosen[test] = (rate >= rate.max() - pool)[codes[test]]
    return chosen


def _leniency(data: SelectiveLabels, cells: np.ndarray, train: np.ndarray) -> np.ndarray:
    """Mean excess acceptance over the strata, by decision-maker, estimated on the rows `train`."""
    counts = np.bincount(cells[train], minlength=cells.max() + 1)
    rate = np.bincount(cells[train], data.decision[train], len(counts)) / np.maximum(counts, 1)
    surplus = data.decision[train] - rate[cells[train]]
    codes, n_codes = data.decision_maker_codes[train], data.n_decision_makers
    return np.bincount(codes, surplus, n_codes) / np.maximum(np.bincount(codes, minlength=n_codes), 1)


def _band_of_pair(cells: np.ndarray, codes: np.ndarray, leniency: np.ndarray, n_bands: int) -> np.ndarray:
    """Leniency band of every row, from the rank of its decision-maker within its stratum."""
    pairs, row_pair = np.unique(cells * len(leniency) + codes, return_inverse=True)
    cell, code = np.divmod(pairs, len(leniency))
    order = np.lexsort((leniency[code], cell))
    size = np.bincount(cell)
    rank = np.empty(len(pairs))
    rank[order] = np.arange(len(pairs)) - (np.cumsum(size) - size)[cell[order]]
    band = ((rank + 0.5) / size[cell] * n_bands).astype(int)
    return band[row_pair]
