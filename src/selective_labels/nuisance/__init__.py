"""The (decision, label) model: one coherent model of P(D = 0) and P(D = 1, Y = k), cross-fitted."""

from selective_labels.nuisance.cross_fit import CrossFit, cross_fit
from selective_labels.nuisance.selection import NuisanceReport

__all__ = ["CrossFit", "NuisanceReport", "cross_fit"]
