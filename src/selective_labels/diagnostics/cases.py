"""Where labels are shared, checks are about cases and panels: one row for each case, panels in bands."""

from dataclasses import replace

import numpy as np

from selective_labels.data import SelectiveLabels
from selective_labels.nuisance.cross_fit import CrossFit
from selective_labels.nuisance.panels import arms_off_fold
from selective_labels.nuisance.scores import selector_bands


def panel_cases(data: SelectiveLabels, seed: int | None) -> SelectiveLabels:
    """The cases of rows that share labels, before the panels, or bands of panels, that saw them.

    A case was dealt to its panel once, however many rows it has; so every case counts once, by its first row
    (and by the sum of its weights, if there are any).
    """
    n_bands = selector_bands(data)
    arms = arms_off_fold(data, np.arange(len(data)), n_bands, seed)
    if n_bands is None:
        return _cases(data, arms, data.decision_makers)
    names = [f"band {number} of {n_bands} of panels" for number in range(1, n_bands + 1)]
    return _cases(data, arms, np.array(names, dtype=object))


def panel_cases_of_fit(data: SelectiveLabels, fit: CrossFit) -> tuple[SelectiveLabels, CrossFit]:
    """The same with models fitted already: arms are those of the model that has not seen the case."""
    lookups = np.stack([fold.lookup for fold in fit.folds])
    arms = lookups[fit.held_out, data.decision_maker_codes]
    names = np.arange(fit.n_arms)
    first = _first_rows(data)
    assignment = fit.assignment
    if len(assignment.held_out):
        assignment = replace(assignment, held_out=assignment.held_out[first])
    folds = tuple(replace(fold, lookup=names) for fold in fit.folds)
    cases = replace(fit, folds=folds, held_out=fit.held_out[first], assignment=assignment)
    return _cases(data, arms, names), cases


def said_of_panels(data: SelectiveLabels) -> str:
    """What the checks compare, in words."""
    assert data.panels is not None
    n_bands = selector_bands(data)
    bands = "" if n_bands is None else f", in {n_bands} bands by leniency"
    return (
        "Labels are shared within groups: every case counts once, and is accepted if anyone accepted it; "
        f"where decision-makers are named, panels are meant ({data.n_decision_makers:,} panels of "
        f"{len(data.panels.people):,} people{bands})."
    )


def _first_rows(data: SelectiveLabels) -> np.ndarray:
    assert data.groups is not None
    return np.sort(np.unique(data.groups, return_index=True)[1])


def _cases(data: SelectiveLabels, arms: np.ndarray, names: np.ndarray) -> SelectiveLabels:
    first = _first_rows(data)
    weight = None
    if data.sample_weight is not None and data.groups is not None:
        total = np.bincount(data.groups, data.sample_weight)[data.groups[first]]
        weight = total / total.mean()
    return replace(
        data.take(first),
        complete=True,
        decision_maker=names[arms[first]],
        decision_maker_codes=arms[first],
        decision_makers=names,
        sample_weight=weight,
        given_weight=weight,
        groups=None,
        panels=None,
        own_decision=None,
        own_decision_maker_codes=None,
    )
