"""Learn and evaluate classifiers when labels exist only where someone decided in favour."""

from selective_labels import datasets
from selective_labels.baselines import IPWClassifier, SelectedSampleClassifier
from selective_labels.data import SelectiveLabels
from selective_labels.learners import UCLClassifier

__all__ = [
    "IPWClassifier",
    "SelectedSampleClassifier",
    "SelectiveLabels",
    "UCLClassifier",
    "datasets",
]
