"""A selectively labeled table: its roles named and checked once; the way in for everything."""

from selective_labels.data.classes import class_code, require_two_classes
from selective_labels.data.columns import as_series, refuse_strange_cells
from selective_labels.data.instruments import with_instrument
from selective_labels.data.reading import Table, read_data, read_labels, read_table
from selective_labels.data.roles import HOLE, ROLES, GivenRoles
from selective_labels.data.selective_labels import SelectiveLabels

__all__ = [
    "HOLE",
    "ROLES",
    "GivenRoles",
    "SelectiveLabels",
    "Table",
    "as_series",
    "class_code",
    "read_data",
    "read_labels",
    "read_table",
    "refuse_strange_cells",
    "require_two_classes",
    "with_instrument",
]
