"""Assumptions about unobserved labels: one class for each, and functions that look them up by name."""

from selective_labels.assumptions.base import Assumption, CheckVerdict, Findings, Restriction
from selective_labels.assumptions.combination import Combination, combined
from selective_labels.assumptions.instrument import (
    EventTilt,
    Instrument,
    NearNucem,
    NoAssumption,
    Nucem,
    Unconfounded,
)
from selective_labels.assumptions.parse import NAMED, known, named, names
from selective_labels.assumptions.refused import (
    Informed,
    LabelRange,
    Prevalence,
    Refused,
    RisingRisk,
    SameRanking,
    SimilarBias,
)

__all__ = [
    "NAMED",
    "Assumption",
    "CheckVerdict",
    "Combination",
    "EventTilt",
    "Findings",
    "Informed",
    "Instrument",
    "LabelRange",
    "NearNucem",
    "NoAssumption",
    "Nucem",
    "Prevalence",
    "Refused",
    "Restriction",
    "RisingRisk",
    "SameRanking",
    "SimilarBias",
    "Unconfounded",
    "combined",
    "known",
    "named",
    "names",
]
