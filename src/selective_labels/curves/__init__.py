"""One metric along a line: of assumptions from weak to strong, of acceptance rates from none to all."""

from selective_labels.curves.drift import Drift, drift
from selective_labels.curves.ladder import ladder
from selective_labels.curves.policy_curve import policy_curve
from selective_labels.curves.policy_results import PolicyCurve
from selective_labels.curves.rungs import Ladder

__all__ = ["Drift", "Ladder", "PolicyCurve", "drift", "ladder", "policy_curve"]
