"""Learners of the cost-sensitive problem that selective labels pose."""

from selective_labels.estimators.learners.linear import LinearScore
from selective_labels.estimators.learners.neural import NeuralScore
from selective_labels.estimators.learners.ucl import UCLClassifier

__all__ = ["LinearScore", "NeuralScore", "UCLClassifier"]
