"""How good is a classifier on everybody: bounds, confidence intervals, comparison."""

from selective_labels.evaluation.compare import compare
from selective_labels.evaluation.evaluate import evaluate, evaluate_partitions
from selective_labels.evaluation.metrics import Metric, calibration_bins, conditional_rate, policy_value
from selective_labels.evaluation.partitioned import partition_pass
from selective_labels.evaluation.policies import Policy
from selective_labels.evaluation.results import Comparison, Evaluation, Evaluations
from selective_labels.evaluation.scorer import lower_bound_scorer
from selective_labels.evaluation.thresholds import threshold_curve

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
    "evaluate_partitions",
    "lower_bound_scorer",
    "partition_pass",
    "policy_value",
    "threshold_curve",
]
