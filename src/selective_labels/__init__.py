"""Learn and evaluate classifiers when labels exist only where someone decided in favour."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from selective_labels import datasets
    from selective_labels.assessment import TableDescription, assess
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
        threshold_curve,
    )
    from selective_labels.identification import Bounds
    from selective_labels.learners import UCLClassifier
    from selective_labels.saving import load_model, save_model

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
    "TableDescription",
    "UCLClassifier",
    "assess",
    "calibration_bins",
    "compare",
    "conditional_rate",
    "contraction",
    "datasets",
    "diagnose",
    "evaluate",
    "extrapolate",
    "load_model",
    "lower_bound_scorer",
    "policy_value",
    "quintile_contraction",
    "save_model",
    "sensitivity_curve",
    "threshold_curve",
]
# Where names live. A part is imported when one of its names is asked for, so the command line starts fast.
_PARTS = (
    "learners",
    "evaluation",
    "diagnostics",
    "baselines",
    "data",
    "identification",
    "assessment",
    "saving",
)


def __getattr__(name: str) -> Any:
    if name == "datasets" or name in _PARTS:
        return import_module(f"{__name__}.{name}")
    if name in __all__:
        for part in _PARTS:
            found = getattr(import_module(f"{__name__}.{part}"), name, None)
            if found is not None:
                globals()[name] = found
                return found
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)
