"""Learn and evaluate classifiers when labels exist only where someone decided in favour."""

from selective_labels import datasets
from selective_labels.baselines import (
    DoublyRobustClassifier,
    ExpertConsistencyClassifier,
    IPWClassifier,
    SelectedSampleClassifier,
)
from selective_labels.data import SelectiveLabels
from selective_labels.diagnostics import Diagnosis, diagnose
from selective_labels.evaluation import (
    Comparison,
    Evaluation,
    Evaluations,
    Metric,
    calibration_bins,
    compare,
    conditional_rate,
    contraction,
    evaluate,
    extrapolate,
    lower_bound_scorer,
    policy_value,
    quintile_contraction,
    sensitivity_curve,
)
from selective_labels.identification import Bounds
from selective_labels.learners import UCLClassifier

__all__ = [
    "Bounds",
    "Comparison",
    "Diagnosis",
    "DoublyRobustClassifier",
    "Evaluation",
    "Evaluations",
    "ExpertConsistencyClassifier",
    "IPWClassifier",
    "Metric",
    "SelectedSampleClassifier",
    "SelectiveLabels",
    "UCLClassifier",
    "calibration_bins",
    "compare",
    "conditional_rate",
    "contraction",
    "datasets",
    "diagnose",
    "evaluate",
    "extrapolate",
    "lower_bound_scorer",
    "policy_value",
    "quintile_contraction",
    "sensitivity_curve",
]
