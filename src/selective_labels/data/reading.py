"""The one reader: whichever way a table was given, a checked object comes out."""

import warnings
from collections.abc import Iterable
from typing import Any

from selective_labels.data.lazy import PartitionedLabels
from selective_labels.data.roles import NO_ROLES, GivenRoles
from selective_labels.data.selective_labels import SelectiveLabels
from selective_labels.support.errors import InputError

# A table that is checked, its rows in memory or in partitions.
Table = SelectiveLabels | PartitionedLabels


def read_table(X: Any, y: Any = None, roles: GivenRoles = NO_ROLES, *, need_features: bool = True) -> Table:
    """The same as :func:`read_data` for those who take a table in partitions too: it is returned as it is.

    Examples
    --------
    >>> read_table([[1.0], [2.0]], [1, -1], GivenRoles(["a", "b"])).y
    array([ 0, -1])
    """
    if isinstance(X, PartitionedLabels):
        _refuse_doubled(y, roles)
        return X
    return read_data(X, y, roles, need_features=need_features)


def read_data(
    X: Any, y: Any = None, roles: GivenRoles = NO_ROLES, *, need_features: bool = True
) -> SelectiveLabels:
    """One checked object of a :class:`SelectiveLabels`, or of features, labels and roles.

    Parameters
    ----------
    X : SelectiveLabels, or features
    y : labels with holes, unless the first is a SelectiveLabels
    roles : GivenRoles
        None of them, if the first is a SelectiveLabels.
    need_features : bool
        Whether features without a column are an error.

    Returns
    -------
    SelectiveLabels
        Coded by what occurs in its rows.

    Examples
    --------
    >>> data = read_data([[1.0], [2.0]], [1, -1], GivenRoles(["a", "b"]))
    >>> read_data(data) is data
    True
    >>> read_data(data, None, GivenRoles(["a", "b"]))
    Traceback (most recent call last):
    ...
    selective_labels.support.errors.InputError: decision_maker is given twice: ...
    """
    _refuse_partitions(X)
    if isinstance(X, SelectiveLabels):
        _refuse_doubled(y, roles)
        data = X.compact()
    else:
        data = _of_columns(X, y, roles)
    if need_features and data.X is None:
        raise InputError("X is None, and models need features: give a table or an array.", "X")
    if need_features and not data.features.shape[1]:
        # The words of scikit-learn, which its checks of estimators ask for.
        raise InputError(
            f"Found array with 0 feature(s) (shape={data.features.shape}) while a minimum of 1 is required.",
            "X",
        )
    return data


def read_labels(y: Any, roles: GivenRoles, method: str, uses: Iterable[str] = ()) -> SelectiveLabels:
    """One checked object for methods that need no features.

    Parameters
    ----------
    y : SelectiveLabels, or labels with holes
    roles : GivenRoles
        As in :func:`read_data`.
    method : str
        Its name, for a warning if a SelectiveLabels has roles that it does not use.
    uses : iterable of str
        The roles that it does use, besides decisions and who took them.

    Examples
    --------
    >>> read_labels([1, None], GivenRoles(["a", "b"]), "contraction").y
    array([ 0, -1])
    """
    _refuse_partitions(y)
    if not isinstance(y, SelectiveLabels):
        return _of_columns(None, y, roles)
    data = read_data(y, None, roles, need_features=False)
    if data.panels is not None:
        raise InputError(
            f"{method} follows single decision-makers and takes no data that were made with "
            "share_labels=True; make them without.",
            "share_labels",
        )
    used = {"decision_maker", "decision", *uses}
    unused = [role for role in data.roles_given if role not in used]
    if unused:
        warnings.warn(
            f"{method} does not use {' and '.join(unused)}, which the data have.", UserWarning, stacklevel=3
        )
    return data


def _refuse_partitions(given: Any) -> None:
    """What takes tables in partitions does not come here with one."""
    if isinstance(given, PartitionedLabels):
        raise InputError(
            "this needs rows in memory, and the table is in partitions; give data.sample(n), some of them.",
            "X",
        )


def _refuse_doubled(y: Any, roles: GivenRoles) -> None:
    """Refuse labels and roles beside an object that has them."""
    for name, given in {"y": y, **roles._asdict()}.items():
        if given is not None:
            raise InputError.about(
                name, "is given twice: the SelectiveLabels has it already; leave the argument out."
            )


def _of_columns(X: Any, y: Any, roles: GivenRoles) -> SelectiveLabels:
    if y is None:
        raise InputError("y is missing: give labels with holes, or one SelectiveLabels instead of X.", "y")
    return SelectiveLabels.from_arrays(X, y, **roles._asdict())
