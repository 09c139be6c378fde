"""Learners of the cost-sensitive problem that selective labels pose."""

from selective_labels.estimators.learners.ucl import UCLClassifier

__all__ = ["UCLClassifier"]
