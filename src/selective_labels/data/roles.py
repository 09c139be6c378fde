"""The roles that columns of a table can have."""

from typing import Any, NamedTuple

# The code of a label that was not seen.
HOLE = -1


class GivenRoles(NamedTuple):
    """What was given for each role beside features and label, as it was given; None where nothing was.

    All public entries have these as keywords, and hand them on in this order.

    Examples
    --------
    >>> GivenRoles(["a", "b"], strata=["x", "x"]).groups is None
    True
    """

    decision_maker: Any = None
    decision: Any = None
    sample_weight: Any = None
    groups: Any = None
    strata: Any = None
    assignment: Any = None


ROLES = GivenRoles._fields
NO_ROLES = GivenRoles()
