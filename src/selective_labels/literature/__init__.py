"""Named methods of the literature: contraction, extrapolation, sensitivity."""

from selective_labels.literature.contraction import contraction, quintile_contraction
from selective_labels.literature.extrapolation import extrapolate
from selective_labels.literature.sensitivity import sensitivity_curve

__all__ = ["contraction", "extrapolate", "quintile_contraction", "sensitivity_curve"]
