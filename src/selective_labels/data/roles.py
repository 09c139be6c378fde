"""The roles that columns of a table can have."""

# The code of a label that was not seen.
HOLE = -1
# Every role beside features and label, as the keyword that all public entries share.
ROLES = ("decision_maker", "decision", "sample_weight", "groups", "strata", "assignment")
