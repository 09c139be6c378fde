"""What two decision-makers together say: a bias alike, one order of leniency, a risk that rises with it."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from selective_labels.assumptions.atom import Part, as_event, event_codes, in_words
from selective_labels.identification.atoms import AnyFloor, Chord, Floor, complement
from selective_labels.support.errors import InputError


@dataclass(frozen=True)
class SimilarBias(Part):
    """Near NUCEM: what decision-makers know of the label biases any two of them alike, up to 2ρ.

    η_k in [(p_kz - p_kz' - 2ρ) / (λ_z - λ_z'), (p_kz - p_kz' + 2ρ) / (λ_z - λ_z')]   for all z, z'

    Parameters
    ----------
    rho : float
        Not negative; 0 is NUCEM.

    Examples
    --------
    >>> SimilarBias(0.02).name
    'similar bias(0.02)'
    """

    rho: float

    formula = "|p_kz - p_kz' - η_k (λ_z - λ_z')| <= 2ρ for all z, z'"
    refuted_by = "decision-makers further from one line than 2ρ (SL601), or floors without room (SL1001)."
    needs_decision_makers = True

    def __post_init__(self) -> None:
        if not (np.isfinite(self.rho) and self.rho >= 0.0):
            raise InputError(f"SimilarBias needs rho >= 0, got {self.rho}.", "assumption")

    @property
    def name(self) -> str:
        """With ρ."""
        return f"similar bias({self.rho:g})"

    @property
    def sentence(self) -> str:
        """For a head of credit risk."""
        return (
            "the share of a class that a decision-maker shows, beyond what leniency explains, differs by at "
            f"most {2 * self.rho:g} between any two of them."
        )

    def floors(self, classes: np.ndarray) -> tuple[AnyFloor, ...]:
        """A chord under every class, and one under all others."""
        codes = range(len(classes))
        events = [*((code,) for code in codes), *(complement((code,), len(classes)) for code in codes)]
        return tuple(Chord(event, self.rho) for event in dict.fromkeys(events))


@dataclass(frozen=True)
class RisingRisk(Part):
    """One order of leniency, along which the risk of the next case rises, up to those refused by all.

    η_A >= p_Az + (1 - λ_z) (p_Az - p_Az') / (λ_z - λ_z')   for λ_z > λ_z', and for λ_z' = p_Az' = 0

    Parameters
    ----------
    adverse : class label, or a tuple of them

    Examples
    --------
    >>> RisingRisk("failed").name
    'rising risk(failed)'
    """

    adverse: Any

    formula = "η_A >= p_Az + (1 - λ_z) (p_Az - p_Az') / (λ_z - λ_z')"
    refuted_by = "marginal risks that fall with leniency (SL1004), or more than one order (SL1003)."
    needs_decision_makers = True

    def __post_init__(self) -> None:
        object.__setattr__(self, "adverse", as_event(self.adverse))

    @property
    def name(self) -> str:
        """With the adverse label."""
        return f"rising risk({in_words(self.adverse)})"

    @property
    def sentence(self) -> str:
        """For a head of credit risk."""
        return (
            "a more lenient decision-maker accepts all that a stricter one does, and the further cases are "
            f"{in_words(self.adverse)} more often, those that nobody accepts most often."
        )

    def floors(self, classes: np.ndarray) -> tuple[AnyFloor, ...]:
        """Chords, and the share among accepted cases."""
        event = event_codes(self.adverse, classes)
        return Floor(event, lambda m: m, np.ones_like, pooled=True), Chord(event, beyond=True)


@dataclass(frozen=True)
class SameRanking(Part):
    """A more lenient decision-maker accepts all that a stricter one accepts.

    It leaves the bounds as they are, and can be refuted: p_kz >= p_kz' for every class if λ_z >= λ_z'.

    Examples
    --------
    >>> SameRanking().floors(np.array([0, 1]))
    ()
    """

    name = "same ranking"
    sentence = "a more lenient decision-maker accepts every case that a stricter one accepts."
    formula = "D(z) >= D(z') for all cases alike, if λ_z >= λ_z'"
    refuted_by = "a class that a stricter decision-maker shows more often (SL1003)."
    needs_decision_makers = True
