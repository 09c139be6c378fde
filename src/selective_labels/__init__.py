"""Learn and evaluate classifiers when labels exist only where someone decided in favour."""

from selective_labels import datasets
from selective_labels.data import SelectiveLabels
from selective_labels.learners import UCLClassifier

__all__ = ["SelectiveLabels", "UCLClassifier", "datasets"]
