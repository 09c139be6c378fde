"""SL204: who decides, by a flexible model that sees steps and products; also as one quick line."""

from dataclasses import dataclass

import numpy as np

from selective_labels.data import SelectiveLabels
from selective_labels.diagnostics.assignment_forest import Dealt, HeldOut, blocks_of, held_out_score
from selective_labels.diagnostics.assignment_model import arms_of
from selective_labels.diagnostics.context import Context
from selective_labels.diagnostics.results import (
    ASSIGNMENT_LOOKS,
    OK,
    Check,
    CheckResult,
    Finding,
    need,
    status_of_test,
)
from selective_labels.models.features import standardised
from selective_labels.nuisance.settings import FittingSettings


@dataclass(frozen=True)
class Effort:
    """How much is spent on the model.

    Attributes
    ----------
    n_rows : int
        At most; more are a random part of all.
    n_blocks, n_trees : int
        Of :func:`held_out_score`.
    """

    n_rows: int
    n_blocks: int
    n_trees: int


FEWEST_UNITS = 40
THOROUGH = Effort(10_000, 4, 50)
QUICK = Effort(4_000, 1, 15)


def assignment_score(context: Context, effort: Effort = THOROUGH) -> tuple[HeldOut, bool]:
    """Score of the flexible model, and whether decision-makers were told apart by band only."""
    need(context.has_features, "there is no feature that varies.")
    generator = context.generator(204)
    rows = context.compared
    if len(rows) > effort.n_rows:
        rows = np.sort(generator.choice(rows, effort.n_rows, replace=False))
    data = context.data
    # Groups are independent of each other however they were divided; without groups, rows are.
    groups = np.arange(len(rows)) if data.groups is None else data.groups[rows]
    unit = np.unique(groups, return_inverse=True)[1]
    need(unit.max() >= FEWEST_UNITS, f"fewer than {FEWEST_UNITS} cases can be compared.")
    block = blocks_of(unit, effort.n_blocks, generator)
    # Bands follow decisions, and decisions features: those of the rows to be tested must not make them.
    lookup, banded = arms_of(data, rows[block == 0], int(generator.integers(2**31)))
    present, arm = np.unique(lookup[data.decision_maker_codes[rows]], return_inverse=True)
    need(len(present) > 1, "there is one band of decision-makers only.")
    X = standardised(data.categorical).fit_transform(context.model_features[rows])
    weight = data.weights[rows] / data.weights[rows].mean()
    dealt = Dealt(X, arm, len(present), context.cell[rows], unit, weight)
    seed = int(generator.integers(2**31 - effort.n_blocks - 1))
    score = held_out_score(dealt, block, n_trees=effort.n_trees, seed=seed)
    return score, banded


def _finding(context: Context, effort: Effort, n_looks: int) -> Finding:
    score, banded = assignment_score(context, effort)
    status = status_of_test(score.p_value, context.level, n_looks)
    who = "the leniency band of the decision-maker" if banded else "the decision-maker"
    if status != OK:
        return Finding(
            status,
            f"A flexible model tells {who} from features {context.place}: it gives whoever decided "
            f"{100 * score.gain:.1f} points more than the share of all.",
            score.statistic,
            score.p_value,
            "Give finer strata, or rely on the instrument given the features only.",
        )
    return Finding(
        status,
        f"A flexible model (steps, products) does not tell {who} from features {context.place}.",
        score.statistic,
        score.p_value,
    )


def quick_assignment(data: SelectiveLabels, seed: int | None = None, *, level: float = 0.01) -> CheckResult:
    """SL204 on 4,000 rows at most, with few trees: its message is the one line that a result needs.

    Parameters
    ----------
    data : SelectiveLabels
        With decision-makers.
    seed : int, optional
    level : float
        Smaller than that of `diagnose`: whoever evaluates did not ask, and is alarmed for nothing once in a
        hundred times.

    Returns
    -------
    CheckResult
        Of SL204; "not applicable" with the reason where nothing can be compared. It stands alone, so
        "violated" is a p-value that is not above the level.

    Examples
    --------
    >>> from selective_labels.datasets import make_decision_makers
    >>> sample = make_decision_makers(800, random_state=0)
    >>> data = SelectiveLabels.from_arrays(sample.X, sample.y, decision_maker=sample.decision_maker)
    >>> quick_assignment(data, seed=0).message
    'A flexible model (steps, products) does not tell the decision-maker from features in the sample.'
    """
    context = Context(data, FittingSettings(seed=seed), level=level)
    return Check(CHECK.code, CHECK.name, CHECK.family, lambda given: _finding(given, QUICK, 1))(context)


CHECK = Check(
    "SL204",
    "flexible model of decision-makers",
    "assignment",
    lambda context: _finding(context, THOROUGH, ASSIGNMENT_LOOKS),
)
