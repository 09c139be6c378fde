"""Coded checks of whether a sample can answer the question."""

from selective_labels.assumptions import Permission
from selective_labels.diagnostics.diagnosis import Diagnosis
from selective_labels.diagnostics.flexible import quick_assignment
from selective_labels.diagnostics.results import CheckResult
from selective_labels.diagnostics.run import diagnose
from selective_labels.diagnostics.warning import doubt, instrument_refuted, warn_if_not_allowed

__all__ = [
    "CheckResult",
    "Diagnosis",
    "Permission",
    "diagnose",
    "doubt",
    "instrument_refuted",
    "quick_assignment",
    "warn_if_not_allowed",
]
