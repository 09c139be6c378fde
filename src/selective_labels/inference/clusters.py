"""What standard errors take as independent units."""

import numpy as np

from selective_labels.data import SelectiveLabels
from selective_labels.support.errors import InputError, require_choice

GROUPS, DECISION_MAKER, ROWS = "groups", "decision_maker", "none"


def choose_clusters(cluster: str | None, data: SelectiveLabels) -> str | None:
    """Resolve the argument `cluster`: left alone (None), groups of repeated cases cluster if there are any.

    Returns
    -------
    "groups", "decision_maker", or None if every row is a unit of its own

    Examples
    --------
    >>> data = SelectiveLabels.from_arrays([[1], [2]], [0, 1], decision_maker=["a", "b"], groups=[7, 7])
    >>> choose_clusters(None, data), choose_clusters("none", data)
    ('groups', None)
    """
    if cluster is None:
        return None if data.groups is None else GROUPS
    require_choice("cluster", cluster, (GROUPS, DECISION_MAKER, ROWS))
    if cluster == GROUPS and data.groups is None:
        raise InputError("cluster='groups' needs groups.", "cluster")
    if cluster == ROWS and data.panels is not None:
        raise InputError(
            "cluster='none' takes rows as independent, and with share_labels=True the rows of a case have "
            "one label; leave cluster out.",
            "cluster",
        )
    return None if cluster == ROWS else cluster


def cluster_codes(cluster: str | None, data: SelectiveLabels) -> np.ndarray | None:
    """Unit of each row; None if every row is one."""
    if cluster == GROUPS:
        return data.groups
    return data.decision_maker_codes if cluster == DECISION_MAKER else None
