"""Learn and evaluate classifiers when labels exist only where a decision was yes."""

from importlib import import_module
from importlib.metadata import version
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from selective_labels import assumptions, datasets
    from selective_labels._errors import ConstantRuleWarning, DiagnosticWarning, InputError, LargeWorkWarning
    from selective_labels._vocabulary import Vocabulary
    from selective_labels.data.selective_labels import SelectiveLabels
    from selective_labels.diagnostics.diagnose import diagnose
    from selective_labels.diagnostics.results import Diagnosis
    from selective_labels.estimators.doubly_robust import DoublyRobustClassifier
    from selective_labels.estimators.expert_consistency import ExpertConsistencyClassifier
    from selective_labels.estimators.heckman import BivariateProbitClassifier, HeckmanClassifier
    from selective_labels.estimators.ipw import IPWClassifier
    from selective_labels.estimators.learners import LinearScore
    from selective_labels.estimators.neural import NeuralScore
    from selective_labels.estimators.reject_inference import (
        FuzzyAugmentationClassifier,
        ParcellingClassifier,
        ReweightingClassifier,
    )
    from selective_labels.estimators.selected_sample import SelectedSampleClassifier
    from selective_labels.estimators.ucl import UCLClassifier
    from selective_labels.evaluation.advice import Advice
    from selective_labels.evaluation.contraction import contraction, quintile_contraction
    from selective_labels.evaluation.deciders import Deciders
    from selective_labels.evaluation.disparity import Disparity
    from selective_labels.evaluation.evaluator import Evaluator
    from selective_labels.evaluation.extrapolation import extrapolate
    from selective_labels.evaluation.functions import (
        advice,
        compare,
        deciders,
        disparity,
        drift,
        evaluate,
        ladder,
        policy_curve,
        sensitivity_curve,
        threshold_curve,
    )
    from selective_labels.evaluation.metrics import Metric, calibration_bins, conditional_rate, policy_value
    from selective_labels.evaluation.plan import Plan, plan, plan_study
    from selective_labels.evaluation.policy import Policy
    from selective_labels.evaluation.policy_curve import PolicyCurve
    from selective_labels.evaluation.results import Comparison, Evaluation, Evaluations
    from selective_labels.evaluation.scorer import lower_bound_scorer
    from selective_labels.identification.bounds import Bounds
    from selective_labels.io.model_file import load_model, save_model
    from selective_labels.report.assess import assess
    from selective_labels.report.document import TableDescription
    from selective_labels.report.model_card import model_card

__all__ = [
    "Advice",
    "BivariateProbitClassifier",
    "Bounds",
    "Comparison",
    "ConstantRuleWarning",
    "Deciders",
    "Diagnosis",
    "DiagnosticWarning",
    "Disparity",
    "DoublyRobustClassifier",
    "Evaluation",
    "Evaluations",
    "Evaluator",
    "ExpertConsistencyClassifier",
    "FuzzyAugmentationClassifier",
    "HeckmanClassifier",
    "IPWClassifier",
    "InputError",
    "LargeWorkWarning",
    "LinearScore",
    "Metric",
    "NeuralScore",
    "ParcellingClassifier",
    "Plan",
    "Policy",
    "PolicyCurve",
    "ReweightingClassifier",
    "SelectedSampleClassifier",
    "SelectiveLabels",
    "TableDescription",
    "UCLClassifier",
    "Vocabulary",
    "advice",
    "assess",
    "assumptions",
    "calibration_bins",
    "compare",
    "conditional_rate",
    "contraction",
    "datasets",
    "deciders",
    "diagnose",
    "disparity",
    "drift",
    "evaluate",
    "extrapolate",
    "ladder",
    "load_model",
    "lower_bound_scorer",
    "model_card",
    "plan",
    "plan_study",
    "policy_curve",
    "policy_value",
    "quintile_contraction",
    "save_model",
    "sensitivity_curve",
    "threshold_curve",
]
# The module of each public name. A module is imported when one of its names is first used, so that
# `import selective_labels` stays cheap.
_MODULE = {
    "Advice": "evaluation.advice",
    "BivariateProbitClassifier": "estimators.heckman",
    "Bounds": "identification.bounds",
    "Comparison": "evaluation.results",
    "Deciders": "evaluation.deciders",
    "Diagnosis": "diagnostics.results",
    "DiagnosticWarning": "_errors",
    "Disparity": "evaluation.disparity",
    "DoublyRobustClassifier": "estimators.doubly_robust",
    "Evaluation": "evaluation.results",
    "Evaluator": "evaluation.evaluator",
    "Evaluations": "evaluation.results",
    "ExpertConsistencyClassifier": "estimators.expert_consistency",
    "FuzzyAugmentationClassifier": "estimators.reject_inference",
    "HeckmanClassifier": "estimators.heckman",
    "IPWClassifier": "estimators.ipw",
    "InputError": "_errors",
    "LargeWorkWarning": "_errors",
    "LinearScore": "estimators.learners",
    "Metric": "evaluation.metrics",
    "NeuralScore": "estimators.neural",
    "ParcellingClassifier": "estimators.reject_inference",
    "Plan": "evaluation.plan",
    "Policy": "evaluation.policy",
    "PolicyCurve": "evaluation.policy_curve",
    "ReweightingClassifier": "estimators.reject_inference",
    "ConstantRuleWarning": "_errors",
    "SelectedSampleClassifier": "estimators.selected_sample",
    "SelectiveLabels": "data.selective_labels",
    "TableDescription": "report.document",
    "UCLClassifier": "estimators.ucl",
    "Vocabulary": "_vocabulary",
    "advice": "evaluation.functions",
    "assess": "report.assess",
    "calibration_bins": "evaluation.metrics",
    "compare": "evaluation.functions",
    "conditional_rate": "evaluation.metrics",
    "contraction": "evaluation.contraction",
    "deciders": "evaluation.functions",
    "diagnose": "diagnostics.diagnose",
    "disparity": "evaluation.functions",
    "drift": "evaluation.functions",
    "evaluate": "evaluation.functions",
    "extrapolate": "evaluation.extrapolation",
    "ladder": "evaluation.functions",
    "load_model": "io.model_file",
    "lower_bound_scorer": "evaluation.scorer",
    "model_card": "report.model_card",
    "plan": "evaluation.plan",
    "plan_study": "evaluation.plan",
    "policy_curve": "evaluation.functions",
    "policy_value": "evaluation.metrics",
    "quintile_contraction": "evaluation.contraction",
    "save_model": "io.model_file",
    "sensitivity_curve": "evaluation.functions",
    "threshold_curve": "evaluation.functions",
}
_ROOMS = ("assumptions", "datasets")


def __getattr__(name: str) -> Any:
    if name == "__version__":
        return version("selective-labels")
    if name in _MODULE:
        found = getattr(import_module(f"{__name__}.{_MODULE[name]}"), name)
        globals()[name] = found
        return found
    if name in _ROOMS:
        return import_module(f"{__name__}.{name}")
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)
