"""What people do today, as easy to call as our own."""

from selective_labels.estimators.baselines.doubly_robust import DoublyRobustClassifier
from selective_labels.estimators.baselines.expert_consistency import ExpertConsistencyClassifier
from selective_labels.estimators.baselines.ipw import IPWClassifier
from selective_labels.estimators.baselines.reject_inference import (
    FuzzyAugmentationClassifier,
    ParcellingClassifier,
    ReweightingClassifier,
)
from selective_labels.estimators.baselines.selected_sample import SelectedSampleClassifier
from selective_labels.estimators.baselines.selection_models import (
    BivariateProbitClassifier,
    HeckmanClassifier,
)

__all__ = [
    "BivariateProbitClassifier",
    "DoublyRobustClassifier",
    "ExpertConsistencyClassifier",
    "FuzzyAugmentationClassifier",
    "HeckmanClassifier",
    "IPWClassifier",
    "ParcellingClassifier",
    "ReweightingClassifier",
    "SelectedSampleClassifier",
]
