"""What of a sample decides how wide an interval would be in another: kept with a result, for plans."""

from dataclasses import dataclass

import numpy as np

from selective_labels.cells.cell_sample import CellSample
from selective_labels.data import SelectiveLabels
from selective_labels.identification.bounds import Array
from selective_labels.inference.ends import Functional, Ratio
from selective_labels.inference.estimates import by_row, of_rows
from selective_labels.inference.evidence import Evidence
from selective_labels.inference.leniency import leniency_spread
from selective_labels.inference.sample import ScoredSample


@dataclass(frozen=True)
class Design:
    """Moments of what a case adds to a mean E[c(Y*)], and how decision-makers differ.

    Attributes
    ----------
    n : int
    acceptance : float
    accepted_mean, accepted_square : float
        Means of c and c² among the accepted, where labels are seen.
    refused_mean, refused_square : float
        The same among the refused, at the middle of their bounds.
    relevant : float
        Share of the refused whose label matters.
    leniency_mean, leniency_spread : float
        Of acceptance rates of decision-makers; the spread without sampling noise.
    n_decision_makers : int
    """

    n: int
    acceptance: float
    accepted_mean: float
    accepted_square: float
    refused_mean: float
    refused_square: float
    relevant: float
    leniency_mean: float
    leniency_spread: float
    n_decision_makers: int


def coefficients_of(functional: Functional | None) -> Array | None:
    """Coefficients of a functional that is a mean over everybody; None of any other."""
    if isinstance(functional, Ratio) and (functional.denominator == 1.0).all():
        return functional.numerator
    return None


def design_of(
    sample: ScoredSample | CellSample, assumption: str, coefficients: Array, seen: Array | float = 0.0
) -> Design:
    """Moments of c_k(x), and of what was seen besides.

    Of cells, those whose last key is the outcome: then all rows of one were decided alike.
    """
    if isinstance(sample, CellSample):
        outcome = sample.cells.key[:, -1]
        evidence, weights = sample.evidence[0][assumption], sample.repeats[0][assumption].first
        (mean, spread), number = sample.told.leniency, sample.told.n_decision_makers
    else:
        data = sample.data
        outcome = np.where(data.decision == 1, data.y + 1, 0)
        evidence, weights = sample.repeats[0][assumption], sample.weights
        (mean, spread), number = leniency_moments(data), data.n_decision_makers
    taken = outcome > 0
    share = np.asarray(by_row(weights)) / weights.sum()
    acceptance = float(share[taken].sum())
    own = np.zeros(len(taken))
    own[taken] = coefficients[taken, outcome[taken] - 1]
    value = (own + seen)[taken]
    inside = share[taken] / max(acceptance, 1e-12)
    refused = [
        _refused(evidence, coefficients**power, own**power * taken, weights, 1.0 - acceptance)
        for power in (1, 2)
    ]
    matters = np.ptp(coefficients, axis=1) > 0.0
    return Design(
        n=sample.n_cases(np.ones(sample.size, dtype=bool)),
        acceptance=acceptance,
        accepted_mean=float(inside @ value),
        accepted_square=float(inside @ value**2),
        refused_mean=refused[0],
        refused_square=max(refused[1], refused[0] ** 2),
        relevant=float(share[~taken & matters].sum() / max(1.0 - acceptance, 1e-12)),
        leniency_mean=mean,
        leniency_spread=spread,
        n_decision_makers=number,
    )


def worth_of_labels(sample: ScoredSample, assumption: str, coefficients: Array) -> Array:
    """δ(x) (max_k c_k(x) - min_k c_k(x)) of refused cases, zero for the others, (n_samples,).

    Slack times disagreement: how much of the width a case is answerable for. Accept those at random where it
    is largest.
    """
    slack = np.maximum(sample.repeats[0][assumption].bounds.slack, 0.0)
    return np.where(sample.data.decision == 1, 0.0, slack * np.ptp(coefficients, axis=1))


def leniency_moments(data: SelectiveLabels) -> tuple[float, float]:
    """Mean acceptance rate of decision-makers, and its standard deviation without sampling noise."""
    number = np.bincount(data.decision_maker_codes, minlength=data.n_decision_makers)
    accepted = np.bincount(data.decision_maker_codes, data.decision, minlength=data.n_decision_makers)
    return leniency_spread(number, accepted)


def _refused(evidence: Evidence, values: Array, seen: Array, weights: Array, size: float) -> float:
    """Mean over the refused at the middle of its bounds, within the possible values."""
    if size <= 1e-12:
        return 0.0
    ends = []
    for side in (-1.0, 1.0):
        scores = np.einsum("nk,nk...->n...", values, evidence.extreme(side * values))
        ends.append(float(np.vdot(weights, scores - of_rows(seen, scores)) / weights.sum()) / size)
    return float(np.clip(np.mean(ends), values.min(), values.max()))
