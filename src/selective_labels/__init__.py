"""Learn and evaluate classifiers when labels exist only where someone decided in favour."""

from importlib import import_module
from importlib.metadata import version
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from selective_labels import assumptions, datasets
    from selective_labels.assessment import TableDescription, assess
    from selective_labels.curves import PolicyCurve, drift, ladder, policy_curve
    from selective_labels.data import SelectiveLabels
    from selective_labels.diagnostics import Diagnosis, diagnose
    from selective_labels.estimators.baselines import (
        BivariateProbitClassifier,
        DoublyRobustClassifier,
        ExpertConsistencyClassifier,
        FuzzyAugmentationClassifier,
        HeckmanClassifier,
        IPWClassifier,
        ParcellingClassifier,
        ReweightingClassifier,
        SelectedSampleClassifier,
    )
    from selective_labels.estimators.learners import LinearScore, NeuralScore, UCLClassifier
    from selective_labels.evaluation import (
        Comparison,
        Evaluation,
        Evaluations,
        Metric,
        Policy,
        calibration_bins,
        compare,
        conditional_rate,
        evaluate,
        lower_bound_scorer,
        policy_value,
        threshold_curve,
    )
    from selective_labels.identification import Bounds
    from selective_labels.literature import (
        contraction,
        extrapolate,
        quintile_contraction,
        sensitivity_curve,
    )
    from selective_labels.planning import Plan, plan, plan_study
    from selective_labels.report import model_card
    from selective_labels.saving import load_model, save_model
    from selective_labels.support.errors import DiagnosticWarning, InputError, LargeWorkWarning, RuleNote

__all__ = [
    "BivariateProbitClassifier",
    "Bounds",
    "Comparison",
    "Diagnosis",
    "DiagnosticWarning",
    "DoublyRobustClassifier",
    "Evaluation",
    "Evaluations",
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
    "RuleNote",
    "SelectedSampleClassifier",
    "SelectiveLabels",
    "TableDescription",
    "UCLClassifier",
    "assess",
    "assumptions",
    "calibration_bins",
    "compare",
    "conditional_rate",
    "contraction",
    "datasets",
    "diagnose",
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
# Which room has which name. A room is imported when one of its names is asked for: the first use loads what
# it needs and no more.
_ROOM = {
    "Bounds": "identification",
    "Comparison": "evaluation",
    "Diagnosis": "diagnostics",
    "DiagnosticWarning": "support.errors",
    "DoublyRobustClassifier": "estimators.baselines",
    "Evaluation": "evaluation",
    "Evaluations": "evaluation",
    "ExpertConsistencyClassifier": "estimators.baselines",
    "FuzzyAugmentationClassifier": "estimators.baselines",
    "ParcellingClassifier": "estimators.baselines",
    "ReweightingClassifier": "estimators.baselines",
    "BivariateProbitClassifier": "estimators.baselines",
    "HeckmanClassifier": "estimators.baselines",
    "IPWClassifier": "estimators.baselines",
    "InputError": "support.errors",
    "LargeWorkWarning": "support.errors",
    "LinearScore": "estimators.learners",
    "Metric": "evaluation",
    "NeuralScore": "estimators.learners",
    "Plan": "planning",
    "Policy": "evaluation",
    "PolicyCurve": "curves",
    "RuleNote": "support.errors",
    "SelectedSampleClassifier": "estimators.baselines",
    "SelectiveLabels": "data",
    "TableDescription": "assessment",
    "UCLClassifier": "estimators.learners",
    "assess": "assessment",
    "calibration_bins": "evaluation",
    "compare": "evaluation",
    "conditional_rate": "evaluation",
    "contraction": "literature",
    "diagnose": "diagnostics",
    "evaluate": "evaluation",
    "extrapolate": "literature",
    "drift": "curves",
    "ladder": "curves",
    "load_model": "saving",
    "lower_bound_scorer": "evaluation",
    "model_card": "report",
    "plan": "planning",
    "plan_study": "planning",
    "policy_curve": "curves",
    "policy_value": "evaluation",
    "quintile_contraction": "literature",
    "save_model": "saving",
    "sensitivity_curve": "literature",
    "threshold_curve": "evaluation",
}
_ROOMS = ("assumptions", "datasets", "estimators", *sorted({room.split(".")[0] for room in _ROOM.values()}))


def __getattr__(name: str) -> Any:
    if name == "__version__":
        return version("selective-labels")
    if name in _ROOM:
        found = getattr(import_module(f"{__name__}.{_ROOM[name]}"), name)
        globals()[name] = found
        return found
    if name in _ROOMS:
        return import_module(f"{__name__}.{name}")
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)
