"""How far NUCEM may fail: a bias that differs little between decision-makers, around the slope of all."""

from dataclasses import dataclass

import numpy as np

from selective_labels.assumptions.assumption import Assumption
from selective_labels.assumptions.findings import Findings
from selective_labels.assumptions.instrument import Instrument
from selective_labels.assumptions.permission import UNCHECKED, Permission, decided
from selective_labels.identification.bounds import Bounds
from selective_labels.identification.earmarks import Earmarks
from selective_labels.identification.point import two_fold_moments
from selective_labels.nuisance.bound_scores import slope_or_bound_scores
from selective_labels.nuisance.score_formulas import Rows, Scores, average_over_arms
from selective_labels.support.errors import InputError

# |Cov(P(Y=k | u), P(D=1 | u))| of two numbers in [0, 1] is never larger: a bound of this size is none.
LARGEST = 0.25


@dataclass(frozen=True)
class NearNucem(Assumption):
    """What decision-makers know of the label biases them alike, up to ρ around a common bias.

    p_kz = κ_kz + η_k λ_z,   abs(κ_kz - κ_k) <= ρ for some κ_k and all z   =>   abs(η_k - slope_k) <= ρ h(x),
    slope_k = Σ_z w_z p_kz,   w_z = e_z (λ_z - λ̄) / V,   h = Σ_z abs(w_z)

    since Σ_z w_z = 0 and Σ_z w_z λ_z = 1; within the instrument's bounds. It says what ``SimilarBias(rho)``
    says. That one has the sharp bounds, by pairs of decision-makers; this is the interval around the estimate
    of :class:`Nucem`, which it is at ρ = 0, and so less noisy where pairs show little. h is a function of x
    that no row at hand has entered, and the inequality holds for whatever weights: it needs no correction.
    Rows whose decision-makers differ too little for a slope keep the bounds of the instrument for every ρ;
    where the models say that nothing is left, the instrument is set aside.

    Parameters
    ----------
    rho : float
        From 0 (NUCEM) to 1/4 (always true).

    Examples
    --------
    >>> NearNucem(0.02).name
    'near nucem(0.02)'
    """

    rho: float

    formula = "|p_kz - κ_k - η_k λ_z| <= ρ for every z"
    refuted_by = "decision-makers further from one line than ρ (SL601)."
    needs_decision_makers = True
    identifies_value = False
    needs_halves = True

    def __post_init__(self) -> None:
        if not 0.0 <= self.rho <= LARGEST:
            raise InputError(
                f"rho={self.rho} must lie between 0 (NUCEM) and {LARGEST} (no assumption).", "assumption"
            )

    @property
    def name(self) -> str:
        """With ρ."""
        return f"near nucem({self.rho:g})"

    @property
    def sentence(self) -> str:
        """For a head of credit risk."""
        return (
            "as for an instrument, and what decision-makers see besides the features moves all of them "
            f"alike, up to a difference of {self.rho:g} in the covariance of their decisions with a class."
        )

    @property
    def title(self) -> str:
        """Heading on the report page."""
        return f"Near NUCEM ({self.rho:g})"

    @property
    def meaning(self) -> str:
        """The sentence, as it stands on the page."""
        return self.sentence[:1].upper() + self.sentence[1:]

    def score(self, rows: Rows, overlap: float) -> Scores:
        """Slopes and their reach, within the instrument's bounds."""
        slopes, instrument = slope_or_bound_scores(rows, overlap), Instrument().score(rows, overlap)
        bounded = slopes.by_bounds
        reach = np.where(bounded, 0.0, self.rho * slope_leverage(rows))[:, None]
        free = np.broadcast_to(bounded[:, None], slopes.values.shape)
        ceiling, ceiling_model = (
            np.where(free, 1.0, each + reach) for each in (slopes.values, slopes.plug_in)
        )
        # Lower bounds of a model that leave no room are scaled to leave none: a box must not be empty.
        total = np.where(bounded, np.maximum(slopes.plug_in.sum(axis=1), 1.0), 1.0)[:, None]
        lower, model = slopes.values - reach, slopes.plug_in / total - reach
        larger = instrument.plug_in > model
        larger &= ~Bounds(np.where(larger, instrument.plug_in, model), ceiling_model).crossed[:, None]
        nothing = np.zeros((len(lower), 0))
        return Scores(
            np.where(larger, instrument.values, lower),
            np.where(larger, instrument.plug_in, model),
            slopes.clipped,
            None,
            slopes.lost,
            Earmarks((), nothing, nothing, ceiling, ceiling_model),
        )

    def permission(self, findings: Findings, given: str) -> Permission:
        """Refuse it with the instrument; how large ρ is, nothing tells."""
        instrument = Instrument().permission(findings, "features")
        if not instrument:
            return instrument
        return decided(UNCHECKED, False, f"it would be refuted by {self.refuted_by}")


def slope_leverage(rows: Rows) -> np.ndarray:
    """h(x) = Σ_z e_z |λ_z - λ̄| / V of every row, (n_samples,); zero where V is not positive."""
    strength = two_fold_moments(rows.first, rows.second, rows.propensity.T).strength
    mean = average_over_arms(rows.joint, rows.propensity).sum(axis=1, keepdims=True)
    spread = (rows.propensity * np.abs(1.0 - rows.joint[:, :, 0].T - mean)).sum(axis=1)
    return np.divide(spread, strength, out=np.zeros(len(spread)), where=strength > 0.0)
