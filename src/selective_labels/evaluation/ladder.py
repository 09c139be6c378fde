"""The ladder: how far each assumption narrows a number, from assuming nothing to all that is believed."""

from collections.abc import Sequence
from typing import Any

from numpy.typing import ArrayLike

from selective_labels._errors import InputError
from selective_labels._validation import the_only
from selective_labels.assumptions.base import Assumption, Part
from selective_labels.assumptions.instrument import Instrument, NoAssumption
from selective_labels.assumptions.parse import named
from selective_labels.data.reading import read_table
from selective_labels.data.roles import GivenRoles
from selective_labels.evaluation.dispatch import judged_on
from selective_labels.evaluation.evaluate import evaluate_sample
from selective_labels.evaluation.ladder_results import Ladder, build
from selective_labels.evaluation.requests import EvaluationRequest
from selective_labels.evaluation.scored_rows import NO_RANGE
from selective_labels.nuisance.settings import FittingSettings


def ladder(
    classifier: Any,
    X: Any,
    y: Any = None,
    *,
    decision_maker: Any = None,
    decision: Any = None,
    assumptions: str | Assumption | Sequence[str | Assumption] = (),
    metric: Any = "accuracy",
    interval: str = "parameter",
    confidence_level: float = 0.95,
    sample_weight: Any = None,
    groups: Any = None,
    strata: Any = None,
    assignment: Any = None,
    cluster: str | None = None,
    pos_label: Any = None,
    cost: ArrayLike | None = None,
    instrument: str = "leniency",
    nuisance: Any = None,
    propensity: str = "auto",
    cv: Any = 5,
    n_repeats: int = 1,
    n_jobs: int | None = None,
    random_state: Any = None,
) -> Ladder:
    """Bound one metric under assumptions from weak to strong, and say what each of them adds.

    H(none) ⊇ H(instrument) ⊇ H(instrument & A) ⊇ H(instrument & A & B),   saved = width before - width after

    with H what is left possible. The population's intervals lie in one another; estimated ones may stick out
    by noise. Models are fitted once for all rungs, and every number is that of
    :func:`selective_labels.evaluate` with the same list of assumptions. Where the data contradict what is
    assumed, the rung has no number, nor has any later one that contains it.

    Parameters
    ----------
    classifier, X, y, decision_maker, decision
        As in :func:`selective_labels.evaluate`.
    assumptions : name or object of :mod:`selective_labels.assumptions`, or a list of these
        From weak to strong, in your order; "none" and (if there are decision-makers) "instrument" come first
        in any case. A part such as ``Informed("failed")`` is added to the parts before it, and to the
        instrument; a name or a combination stands as it is.
    metric : str or metric object
        One, see `evaluate`.
    interval, confidence_level, sample_weight, groups, strata, assignment, cluster, pos_label, cost
        As in `evaluate`.
    instrument, nuisance, propensity, cv, n_repeats, n_jobs, random_state
        As in `evaluate`.

    Returns
    -------
    Ladder

    Examples
    --------
    >>> import selective_labels as sl
    >>> from selective_labels.assumptions import Informed, Prevalence
    >>> sample = sl.datasets.make_decision_makers(2000, n_classes=2, additive=False, mirrored=True,
    ...                                           random_state=0)
    >>> data = sl.SelectiveLabels.from_arrays(sample.X, sample.y, decision_maker=sample.decision_maker)
    >>> guess = (sample.X[:, 0] < 0).astype(int)
    >>> believed = [Informed(1), Prevalence(1, (0.4, 0.6))]
    >>> found = ladder(guess, data, assumptions=believed, nuisance="logistic", random_state=0)
    >>> [each.title for each in found]
    ['none', 'instrument', '+ informed(1)', '+ prevalence(1, 0.4 to 0.6)']
    >>> found[1].saved > found[2].saved > 0
    True
    """
    table = read_table(X, y, GivenRoles(decision_maker, decision, sample_weight, groups, strata, assignment))
    fitting = FittingSettings.read(nuisance, propensity, cv, n_repeats, n_jobs, random_state)
    steps = ladder_steps(assumptions, table.decision_makers_given and len(table.decision_makers) > 1)
    request = EvaluationRequest(
        (classifier,), metric, steps, cluster, fitting, NO_RANGE, instrument, pos_label, cost
    )
    judged = judged_on(request, table)
    one = the_only(judged.metrics, "metric", "a ladder is of one metric.")
    results = evaluate_sample(
        judged.sample(one), judged.subject(one), [one], None, interval, confidence_level
    )
    return build(steps, list(results))


def ladder_steps(
    assumptions: str | Assumption | Sequence[str | Assumption], has_instrument: bool
) -> list[Assumption]:
    """List the rungs: none, the instrument, then what was given, parts on top of one another.

    Examples
    --------
    >>> from selective_labels.assumptions import Informed, Prevalence
    >>> given = [Informed(1), "nucem", Prevalence(1, 0.2)]
    >>> for each in ladder_steps(given, has_instrument=True):
    ...     print(each.name)
    none
    instrument
    instrument & informed(1)
    nucem
    instrument & informed(1) & prevalence(1, 0.2)
    """
    given = [assumptions] if isinstance(assumptions, str | Assumption) else list(assumptions)
    base: Assumption = Instrument() if has_instrument else NoAssumption()
    assumption_steps = [NoAssumption(), base]
    for each in given:
        if isinstance(each, Part):
            base = base & each
            assumption_steps.append(named(base))
        else:
            assumption_steps.append(named(each))
    assumption_steps = list(dict.fromkeys(assumption_steps))
    names = [each.name for each in assumption_steps]
    twice = [name for name in names if names.count(name) > 1]
    if twice:
        raise InputError(
            f"two different assumptions are called {twice[0]!r}; give one of them.", "assumption"
        )
    return assumption_steps
