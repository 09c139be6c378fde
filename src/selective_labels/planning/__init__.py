"""What would settle it: how wide an interval gets with more cases, others who decide, or a lottery."""

from selective_labels.planning.plan import Plan, plan
from selective_labels.planning.study import plan_study

__all__ = ["Plan", "plan", "plan_study"]
