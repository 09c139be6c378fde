"""Odd inputs for property tests: columns and tables such as people have, and such as nobody should."""

from .columns import decision_makers, features, labels, weights
from .tables import Case, cases

__all__ = ["Case", "cases", "decision_makers", "features", "labels", "weights"]
