"""Read a table in any supported form into one validated object, and treat numbers as an instrument."""

import warnings
from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import Any

import numpy as np

from selective_labels._errors import DiagnosticWarning, InputError
from selective_labels._validation import require_choice
from selective_labels.data.partitioned import PartitionedLabels
from selective_labels.data.pending import PENDING
from selective_labels.data.roles import NO_ROLES, GivenRoles, as_series
from selective_labels.data.selective_labels import SelectiveLabels

# A validated table, with its rows in memory or in partitions.
Table = SelectiveLabels | PartitionedLabels


def read_table(X: Any, y: Any = None, roles: GivenRoles = NO_ROLES, *, need_features: bool = True) -> Table:
    """Same as :func:`read_data`, but tables in partitions are allowed and returned unchanged.

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
    """Validate a :class:`SelectiveLabels`, or make one from features, labels and roles.

    Parameters
    ----------
    X : SelectiveLabels, or features
    y : labels with missing values; None if `X` is a SelectiveLabels
    roles : GivenRoles
        Must be empty if `X` is a SelectiveLabels.
    need_features : bool
        Whether to raise if there are no features.

    Returns
    -------
    SelectiveLabels
        Its codes cover only the values that occur in its rows.

    Examples
    --------
    >>> data = read_data([[1.0], [2.0]], [1, -1], GivenRoles(["a", "b"]))
    >>> read_data(data) is data
    True
    >>> read_data(data, None, GivenRoles(["a", "b"]))
    Traceback (most recent call last):
    ...
    selective_labels._errors.InputError: decision_maker is given twice: ...
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
        # scikit-learn's estimator checks require this message.
        raise InputError(
            f"Found array with 0 feature(s) (shape={data.features.shape}) while a minimum of 1 is required.",
            "X",
        )
    return data


def read_labels(y: Any, roles: GivenRoles, method: str, uses: Iterable[str] = ()) -> SelectiveLabels:
    """Same as :func:`read_data`, for methods that need no features.

    Parameters
    ----------
    y : SelectiveLabels, or labels with missing values
    roles : GivenRoles
        As in :func:`read_data`.
    method : str
        Name of the method, for a warning if a SelectiveLabels has roles that the method does not use.
    uses : iterable of str
        Roles that the method uses in addition to decisions and decision-makers.

    Examples
    --------
    >>> read_labels([1, None], GivenRoles(["a", "b"]), "contraction").y
    array([ 0, -1])
    """
    _refuse_partitions(y)
    if not isinstance(y, SelectiveLabels):
        return _of_columns(None, y, roles)
    data = read_data(y, None, roles, need_features=False)
    refuse_pending(data, method)
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


def read_strata(X: Any, strata: Any = None) -> np.ndarray | None:
    """Strata of rows to predict, as given by users: the argument, or those of a SelectiveLabels; else None.

    Examples
    --------
    >>> data = SelectiveLabels.from_arrays([[1], [2]], [0, 1], decision_maker=[1, 2], strata=["b", "a"])
    >>> read_strata(data), read_strata(data.X) is None
    (array(['b', 'a'], dtype=object), True)
    """
    own = isinstance(X, SelectiveLabels) and X.strata is not None and X.stratum_labels is not None
    if strata is not None:
        if own:
            raise InputError("X is a SelectiveLabels with strata of its own; leave strata= out.", "strata")
        return as_series(strata, "strata", len(X)).to_numpy()
    if not own:
        return None
    return np.asarray(X.stratum_labels[X.strata])


def _refuse_partitions(given: Any) -> None:
    """Raise for tables in partitions."""
    if isinstance(given, PartitionedLabels):
        raise InputError(
            "this needs rows in memory, and the table is in partitions; give data.sample(n), some of them.",
            "X",
        )


def _refuse_doubled(y: Any, roles: GivenRoles) -> None:
    """Raise if labels or roles are given in addition to a SelectiveLabels."""
    for name, given in {"y": y, **roles._asdict()}.items():
        if given is not None:
            raise InputError.about(
                name, "is given twice: the SelectiveLabels has it already; leave the argument out."
            )


def _of_columns(X: Any, y: Any, roles: GivenRoles) -> SelectiveLabels:
    if y is None:
        raise InputError(
            "y is missing: give labels (missing where the decision was no), or one SelectiveLabels instead "
            "of X.",
            "y",
        )
    return SelectiveLabels.from_arrays(X, y, **roles._asdict())


LENIENCY, NUMERIC = "leniency", "numeric"
INSTRUMENTS = (LENIENCY, NUMERIC)
# Number of quantiles that represent a numeric instrument; with twenty, the highest is the 97.5 % quantile.
N_VALUES = 20
# Up to this many distinct numbers may be ids. The limit is higher for integers, which usually are.
MANY_FRACTIONS = 20
MANY_NUMBERS = 100
# Real decision-makers usually have more cases than this, by the median.
FEW_ROWS = 2


def with_instrument(data: SelectiveLabels, instrument: str, *, nuisance: Any = None) -> SelectiveLabels:
    """Use decision-makers as names, or as a number that is represented by twenty of its quantiles.

    values = quantiles of z at 1/40, 3/40, ..., 39/40 (by weight),   arm of a row = nearest value

    Numbers with at most twenty distinct values keep all of them. Arms are a function of z alone, not of
    decisions or labels. So they are an instrument whenever z is one, and need not be formed out of fold.

    Parameters
    ----------
    instrument : "leniency" or "numeric"
        With "leniency", ids that look like measurements raise the warning SL304.
    nuisance
        Nuisance setting of the estimator. A callable can handle every value, so all values are kept.

    Returns
    -------
    SelectiveLabels
        With "numeric", its decision-makers are these values, and ``numeric`` is true.

    Examples
    --------
    >>> data = SelectiveLabels.from_arrays(None, [0, 1] * 500, decision_maker=np.linspace(0, 1, 1000))
    >>> data.n_decision_makers, with_instrument(data, "numeric").decision_makers[:3].round(3)
    (1000, array([0.024, 0.074, 0.124]))
    """
    require_choice("instrument", instrument, INSTRUMENTS)
    if instrument == LENIENCY:
        _warn_of_measurements(data)
        return data
    if data.numeric or not data.decision_makers_given:
        return data
    if data.panels is not None:
        raise InputError(
            "instrument='numeric' needs one number for each case, and with share_labels=True panels decide; "
            "leave one of the two out.",
            "instrument",
        )
    numbers = _as_numbers(data.decision_makers)
    injected = callable(nuisance) and not hasattr(nuisance, "fit")
    values = numbers
    if len(numbers) > N_VALUES and not injected:
        values = _quantiles(numbers, np.bincount(data.decision_maker_codes, data.weights, len(numbers)))
    return _placed(data, values, nearest(numbers, values))


def nearest(numbers: np.ndarray, values: np.ndarray) -> np.ndarray:
    """Index of the nearest of some sorted values; ties go to the lower value.

    Examples
    --------
    >>> nearest(np.array([-3.0, 0.4, 0.5, 9.0]), np.array([0.0, 1.0]))
    array([0, 0, 0, 1])
    """
    return np.searchsorted((values[1:] + values[:-1]) / 2.0, numbers)


def at_values(data: SelectiveLabels, values: np.ndarray) -> SelectiveLabels:
    """Assign rows to the nearest of given values, such as those chosen on the training rows."""
    place = nearest(_as_numbers(data.decision_makers), values)
    return _placed(data, values, place)


def looks_measured(ids: np.ndarray, rows: np.ndarray) -> bool:
    """Whether ids are numbers with so many distinct values that they are measurements rather than names.

    Parameters
    ----------
    ids : (n_decision_makers,) array
        Distinct ids.
    rows : (n_decision_makers,) array
        Number of cases of each.

    Examples
    --------
    >>> looks_measured(np.linspace(0, 1, 50), np.full(50, 9)), looks_measured(np.arange(50), np.full(50, 9))
    (True, False)
    >>> looks_measured(np.arange(500), np.ones(500)), looks_measured(np.arange(500).astype(str), np.ones(500))
    (True, False)
    """
    if not (np.issubdtype(ids.dtype, np.integer) or np.issubdtype(ids.dtype, np.floating)):
        return False
    fractions = bool(np.any(ids != np.floor(ids)))
    if fractions:
        return len(ids) > MANY_FRACTIONS
    return len(ids) > MANY_NUMBERS and float(np.median(rows)) <= FEW_ROWS


def _warn_of_measurements(data: SelectiveLabels) -> None:
    rows = np.bincount(data.decision_maker_codes, minlength=data.n_decision_makers)
    if not data.numeric and looks_measured(data.decision_makers, rows):
        text = (
            f"decision_maker holds {data.n_decision_makers:,} different numbers, taken as names without an "
            "order; if they measure something, give instrument='numeric'."
        )
        warnings.warn(DiagnosticWarning("SL304", text), stacklevel=4)


def _as_numbers(ids: np.ndarray) -> np.ndarray:
    """Sorted ids as finite floats."""
    if ids.dtype.kind not in "iufb":
        raise InputError(
            "instrument='numeric' needs a decision_maker of numbers; use 'leniency' for names.",
            "decision_maker",
        )
    numbers = ids.astype(float)
    if not np.isfinite(numbers).all():
        raise InputError.about(
            "decision_maker", "is infinite in some rows, and instrument='numeric' needs finite numbers."
        )
    return numbers


def _placed(data: SelectiveLabels, values: np.ndarray, place: np.ndarray) -> SelectiveLabels:
    return replace(
        data,
        numeric=True,
        decision_makers=values,
        decision_maker_codes=place[data.decision_maker_codes],
        assignment=None if data.assignment is None else _summed(data.assignment, place, len(values)),
        assignment_function=_function(data.assignment_function, place, len(values)),
    )


def _quantiles(numbers: np.ndarray, mass: np.ndarray) -> np.ndarray:
    """Distinct weighted quantiles that occur among the numbers; the tolerance allows for rounding in sums."""
    reached = np.cumsum(mass) / mass.sum()
    wanted = (np.arange(N_VALUES) + 0.5) / N_VALUES
    return np.unique(numbers[np.minimum(np.searchsorted(reached, wanted - 1e-9), len(numbers) - 1)])


def _summed(chances: np.ndarray, place: np.ndarray, n_values: int) -> np.ndarray:
    return chances @ (place[:, None] == np.arange(n_values))


def _function(
    function: Callable[[Any], np.ndarray] | None, place: np.ndarray, n_values: int
) -> Callable[[Any], np.ndarray] | None:
    if function is None or n_values == len(place):
        return function
    return lambda X: _summed(np.asarray(function(X), dtype=float), place, n_values)


def refuse_pending(data: Any, method: str, rules: tuple[str, ...] = PENDING) -> None:
    """Raise if outcomes of the data are pending, for methods that need the label of every accepted case.

    Parameters
    ----------
    data : SelectiveLabels
    rules : tuple of str
        Values of `pending` that the method cannot work with.
    """
    if data.pending in rules and data.has_pending:
        other = [each for each in PENDING if each not in rules]
        advice = f"give pending={other[0]!r}, or " if other else ""
        raise InputError(
            f"{method} needs the label of every accepted case, and {int(data.is_pending.sum()):,} outcomes "
            f"are pending: {advice}leave out the periods in which outcomes have not matured.",
            "pending",
        )
