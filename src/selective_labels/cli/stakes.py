"""What commands are told about stakes: metrics, costs, cut-offs; checked before a table is read."""

import json
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from selective_labels.cli.options import CutOptions
from selective_labels.inference.reported import check_interval
from selective_labels.measures.named import NAMES, called_here, named_metrics
from selective_labels.policies.policy import TEAM_WORDS
from selective_labels.policies.stakes import COST, FAILURE_RATE, FAILURES, OF_COST, PLAIN, WORDS, read_stakes
from selective_labels.support.errors import InputError
from selective_labels.support.words import several, shown
from selective_labels.tables import TableError

POLICY_METRICS = (*PLAIN, *OF_COST)
# What only a policy has, and what is asked of scores and not of classes.
OF_POLICIES = tuple(name for name in POLICY_METRICS if name != COST)
OF_SCORES = ("auc", "log_loss", "brier", "calibration")
# Neither more nor less of these is better by itself.
NEUTRAL = ("share", "acceptance", "calibration")
EXAMPLE = "'[[0,1],[5,0]]'"


def read_cost(text: str | None) -> np.ndarray | None:
    """The matrix of --cost.

    Examples
    --------
    >>> read_cost("[[0, 1], [5, 0]]").tolist()
    [[0.0, 1.0], [5.0, 0.0]]
    >>> read_cost("[[0, 1], [5]]")
    Traceback (most recent call last):
    ...
    selective_labels.tables.errors.TableError: --cost '[[0, 1], [5]]' is not a matrix of numbers in JSON, ...
    """
    if text is None:
        return None
    try:
        matrix = np.asarray(json.loads(text), dtype=float)
    except (TypeError, ValueError):
        matrix = np.empty(0)
    if matrix.ndim != 2 or matrix.shape[0] < 2 or matrix.shape[1] < 2 or not np.isfinite(matrix).all():
        raise TableError(
            f"--cost {shown(text)} is not a matrix of numbers in JSON, C[true, predicted] over the sorted "
            f"classes, such as {EXAMPLE}."
        )
    return matrix


def require_cost_of(cost: np.ndarray | None, classes: np.ndarray) -> None:
    """Refuse a matrix for another number of classes."""
    if cost is not None and cost.shape != (len(classes),) * 2:
        words = several([str(each) for each in classes])
        rows, columns = cost.shape
        raise TableError(
            f"--cost has {rows} rows and {columns} columns, and the label has {len(classes)} classes "
            f"({words}): give one row and one column for each, in this order."
        )


def require_level(confidence_level: float) -> None:
    """Refuse a level before the table is read."""
    try:
        check_interval("parameter", confidence_level)
    except InputError:
        raise TableError(
            f"--confidence-level {confidence_level:g} must lie between 0.5 and 1, both excluded."
        ) from None


def require_metrics(names: Sequence[str], cost: np.ndarray | None, known: Sequence[str] = NAMES) -> None:
    """Refuse names of metrics that do not exist, or need what was not given."""
    for name in names:
        if name not in known:
            names = ", ".join(map(repr, known))
            raise TableError(f"--metric {shown(name)} is not one of {names}.{called_here(name)}")
        if name in OF_COST and cost is None:
            raise TableError(f"--metric {name} needs --cost, such as {EXAMPLE}.")
    repeated = sorted({name for name in names if list(names).count(name) > 1})
    if repeated:
        raise TableError(f"--metric {repeated[0]} is given twice.")


@dataclass(frozen=True)
class Stakes:
    """Metrics, costs and cut-offs of one command.

    Attributes
    ----------
    metrics : tuple of str
    cost : matrix or None
    cut : CutOptions
    by_policy : bool
        Whether a score accepts cases (then metrics are those of policies), or predicts classes.
    by_default : bool
        Whether the metrics were left to the command.
    """

    metrics: tuple[str, ...]
    cost: np.ndarray | None
    cut: CutOptions
    by_policy: bool
    by_default: bool = False

    @classmethod
    def read(cls, metrics: Sequence[str] | None, cut: CutOptions, human: bool = False) -> "Stakes":
        """Read and check the options.

        `human` says that the decisions taken are part of it, so that cases are accepted in any case.
        """
        cost = read_cost(cut.cost)
        require_cut(cut)
        known = tuple(dict.fromkeys((*NAMES, *POLICY_METRICS)))
        require_metrics(metrics or (), cost, known)
        given = tuple(metrics or ())
        asked = bool({*given} & {*OF_POLICIES}) if given else cut.acceptance is not None
        by_policy = human or asked
        if not given:
            given = (FAILURES, FAILURE_RATE) if by_policy else ("accuracy",)
            given += () if cost is None else (COST,)
        found = cls(given, cost, cut, by_policy, not metrics)
        found._require_one_kind()
        return found

    def for_scores(self) -> "Stakes":
        """For scores, where costs are given and nothing else: as many cases are accepted as the human did."""
        if self.by_policy or not self.by_default or self.cost is None or self.cut.threshold is not None:
            return self
        return replace(self, metrics=(FAILURES, FAILURE_RATE, COST), by_policy=True)

    def _require_one_kind(self) -> None:
        others = [name for name in self.metrics if name not in POLICY_METRICS]
        if self.by_policy and others:
            raise TableError(
                f"--metric {others[0]} is about predicted classes, and cases are accepted here: use one of "
                f"{', '.join(POLICY_METRICS)}."
            )
        if not self.by_policy and self.cut.acceptance is not None:
            raise TableError(
                f"--acceptance goes with metrics of accepted cases ({', '.join(OF_POLICIES)}); for "
                f"{self.metrics[0]} give --threshold."
            )
        of_scores = [name for name in self.metrics if name in OF_SCORES]
        if of_scores and self.cut.threshold is not None:
            raise TableError(f"--metric {of_scores[0]} is about the score itself: leave --threshold out.")

    def require_classes(self, classes: np.ndarray) -> None:
        """Refuse what the classes of the label do not allow."""
        require_cost_of(self.cost, classes)
        if self.cut.threshold is not None and not self.by_policy and len(classes) != 2:
            raise TableError(
                f"--threshold makes two classes of a score, and the label has {len(classes)}; give predicted "
                "classes, or a metric of accepted cases such as --metric failures."
            )

    def directions(self, classes: np.ndarray) -> dict[str, str]:
        """By metric, whether "higher" or "lower" is better; nothing where neither is."""
        found = {}
        for name in self.metrics:
            if name in NEUTRAL:
                continue
            what: Any = (
                read_stakes([name], classes, len(classes) - 1, self.cost)[0]
                if self.by_policy
                else named_metrics(name, classes, None, self.cost)[0]
            )
            found[name] = "higher" if what.greater_is_better else "lower"
        return found

    def sentences(self, classes: np.ndarray) -> list[str]:
        """What metrics mean, and which way is better."""
        meanings = [f"{name}: {WORDS[name]}." for name in self.metrics] if self.by_policy else []
        if self.by_policy and self.cut.threshold is None and self.cut.acceptance is None:
            meanings.append(
                "No cut-off was given: as many cases are accepted as the human accepted, lowest scores first."
            )
        ways = [f"{name}: {way} is better" for name, way in self.directions(classes).items()]
        return [*meanings, *([f"Direction: {'; '.join(ways)}."] if ways else [])]


def one_measure(stakes: Stakes) -> Stakes:
    """What two are compared by: the first metric, or cost where that was left to the command."""
    by_cost = stakes.by_default and stakes.cost is not None
    return replace(stakes, metrics=(COST,) if by_cost else stakes.metrics[:1])


def require_cut(cut: CutOptions) -> None:
    """Refuse cut-offs that no score has."""
    if cut.threshold is not None and cut.acceptance is not None:
        raise TableError("Give --threshold or --acceptance, not both.")
    if cut.threshold is not None and not np.isfinite(cut.threshold):
        raise TableError(f"--threshold {cut.threshold} must be a finite number.")
    if cut.acceptance is not None and not 0.0 <= cut.acceptance <= 1.0:
        raise TableError(f"--acceptance {cut.acceptance:g} must lie between 0 and 1: a share of the cases.")


def described(name: str, cut: CutOptions, by_policy: bool, team: str | None = None) -> str:
    """A contestant in words.

    Examples
    --------
    >>> described("score", CutOptions(acceptance=0.6), True, "both")
    'score with acceptance 0.6, and human: both'
    """
    words = name
    if cut.threshold is not None:
        words += f" below {cut.threshold:g}" if by_policy else f" cut at {cut.threshold:g}"
    if cut.acceptance is not None:
        words += f" with acceptance {cut.acceptance:g}"
    if by_policy and cut.threshold is None and cut.acceptance is None:
        words += ", as many accepted"
    return words if team is None else f"{words}, and human: {team}"


def team_sentence(team: str | None) -> list[str]:
    """How the human and the score decide together."""
    if team is None:
        return []
    words = TEAM_WORDS.get(team, f"the human decides where {shown(team)} says so, and the score elsewhere")
    return [f"With the human ({team}): {words}."]
