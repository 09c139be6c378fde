"""Generators of selectively labeled data with a known truth, and loaders of data files."""

from selective_labels.datasets.decision_makers import make_decision_makers
from selective_labels.datasets.fico import SemiSyntheticOracle, load_heloc, make_fico, make_selective
from selective_labels.datasets.loans import Loans, make_loans
from selective_labels.datasets.oracle import Oracle, SelectiveSample
from selective_labels.datasets.paper import make_paper_synthetic
from selective_labels.datasets.tilted import make_tilted

__all__ = [
    "Loans",
    "Oracle",
    "SelectiveSample",
    "SemiSyntheticOracle",
    "load_heloc",
    "make_decision_makers",
    "make_fico",
    "make_loans",
    "make_paper_synthetic",
    "make_selective",
    "make_tilted",
]
