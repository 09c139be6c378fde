"""The groups of keywords that public functions share: roles of columns, and how models are fitted."""

from collections.abc import Mapping, Sequence
from difflib import get_close_matches
from typing import Any, TypedDict


class Roles(TypedDict, total=False):
    """Roles of the rows, one value for each; not given with a SelectiveLabels, which has them.

    decision_maker
        Who decided. Not needed for "none" and "unconfounded", nor if every label is seen.
    decision
        0 or 1: which labels count. Without it, the labels that are there do; with it, -1 may be a class.
    sample_weight
    groups
        Repeated rows of one case, kept together in folds.
    strata
        Cells within which assignment is random.
    assignment
        Known probabilities of decision-makers, of shape (n_samples, n_decision_makers), or a callable of X.
    """

    decision_maker: Any
    decision: Any
    sample_weight: Any
    groups: Any
    strata: Any
    assignment: Any


class ColumnRoles(TypedDict, total=False):
    """Roles of the columns of a table, by name."""

    decision: str | None
    sample_weight: str | None
    groups: str | None
    strata: str | None
    assignment: Sequence[str] | None


class Models(TypedDict, total=False):
    """The nuisance models.

    nuisance
        As for :class:`selective_labels.UCLClassifier`.
    cv : int, splitter or iterable of folds
    n_jobs : int or None
    random_state : int, RandomState or None
    """

    nuisance: Any
    cv: Any
    n_jobs: int | None
    random_state: Any


class Fitting(Models, total=False):
    """How the nuisance models are fitted: see also :class:`Models`.

    propensity : "auto", "shares" or "model"
        Unless `assignment` is known: shares of decision-makers (within strata), a model of the features, or
        ("auto") such a model if it predicts who decides significantly better than shares, on held-out rows.
        The result says so if it does.
    n_repeats : int
        Repetitions of cross-fitting; the median is reported, with an error that contains their spread.
    """

    propensity: str
    n_repeats: int


def split_keywords(function: str, given: Mapping[str, Any], *groups: type) -> tuple[dict[str, Any], ...]:
    """Divide keywords among groups; one that no group has is refused with the nearest name.

    Examples
    --------
    >>> split_keywords("evaluate", {"strata": [0], "cv": 3}, Roles, Fitting)
    ({'strata': [0]}, {'cv': 3})
    >>> split_keywords("evaluate", {"decison_maker": [0]}, Roles, Fitting)
    Traceback (most recent call last):
    ...
    TypeError: evaluate() has no keyword 'decison_maker'; did you mean 'decision_maker'?
    """
    names = [list(group.__annotations__) for group in groups]
    known = [name for group in names for name in group]
    for name in given:
        if name not in known:
            near = get_close_matches(name, known, n=1)
            hint = f"did you mean {near[0]!r}?" if near else f"it has {', '.join(map(repr, known))}."
            raise TypeError(f"{function}() has no keyword {name!r}; {hint}")
    return tuple({name: given[name] for name in group if name in given} for group in names)
