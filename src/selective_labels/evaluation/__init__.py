"""How good is a classifier on everybody: bounds, confidence intervals, comparison."""

from selective_labels.evaluation.compare import compare
from selective_labels.evaluation.evaluate import evaluate, evaluate_judged
from selective_labels.evaluation.results import Comparison, Evaluation, Evaluations
from selective_labels.evaluation.scorer import lower_bound_scorer
from selective_labels.evaluation.thresholds import threshold_curve
from selective_labels.measures.metrics import Metric, calibration_bins, conditional_rate, policy_value
from selective_labels.passes.question import partition_pass
from selective_labels.policies.policy import Policy

__all__ = [
    "Comparison",
    "Evaluation",
    "Evaluations",
    "Metric",
    "Policy",
    "calibration_bins",
    "compare",
    "conditional_rate",
    "evaluate",
    "evaluate_judged",
    "lower_bound_scorer",
    "partition_pass",
    "policy_value",
    "threshold_curve",
]
