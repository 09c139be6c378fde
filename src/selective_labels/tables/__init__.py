"""Tables as people have them: files, roles of columns, kinds of features, leaks."""

from selective_labels.tables.conversion import as_kind
from selective_labels.tables.errors import TableError
from selective_labels.tables.features import LeftOut
from selective_labels.tables.prepare import FeatureRules, PreparedTable, prepare_table
from selective_labels.tables.read import read_table
from selective_labels.tables.roles import Roles, find_roles

__all__ = [
    "FeatureRules",
    "LeftOut",
    "PreparedTable",
    "Roles",
    "TableError",
    "as_kind",
    "find_roles",
    "prepare_table",
    "read_table",
]
