"""Everything that a report says about one table, as one document of plain values."""

from selective_labels.assessment.assess import assess
from selective_labels.assessment.description import TableDescription

__all__ = ["TableDescription", "assess"]
