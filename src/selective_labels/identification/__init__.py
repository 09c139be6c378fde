"""Pure mathematics of identification: arrays in, arrays out."""

from selective_labels.identification.bounds import Bounds, as_label_range, raw_bounds, realizable, repair
from selective_labels.identification.costs import (
    best_case_costs,
    contrast_extremes,
    gains,
    linear_extremes,
    partial_constant,
    point_costs,
    signed_partial_weight,
    signed_point_weight,
    worst_case_costs,
)
from selective_labels.identification.point import (
    Moments,
    SlopeMoments,
    numeric_moments,
    project_to_bounds,
    project_to_simplex,
    slope,
    two_fold_moments,
)
from selective_labels.identification.rules import decided, minimax_class, possible_classes, randomised_minimax

__all__ = [
    "Bounds",
    "Moments",
    "SlopeMoments",
    "as_label_range",
    "best_case_costs",
    "contrast_extremes",
    "decided",
    "gains",
    "linear_extremes",
    "minimax_class",
    "numeric_moments",
    "partial_constant",
    "point_costs",
    "possible_classes",
    "project_to_bounds",
    "project_to_simplex",
    "randomised_minimax",
    "raw_bounds",
    "realizable",
    "repair",
    "signed_partial_weight",
    "signed_point_weight",
    "slope",
    "two_fold_moments",
    "worst_case_costs",
]
