"""The warning of estimators and evaluations whose assumption the data contradict."""

import warnings

from selective_labels.assumptions import Instrument
from selective_labels.data import SelectiveLabels
from selective_labels.diagnostics import conditional_strength, overidentification
from selective_labels.diagnostics.cases import panel_cases_of_fit
from selective_labels.diagnostics.context import Context
from selective_labels.diagnostics.inequality import one_sided
from selective_labels.diagnostics.results import OK
from selective_labels.nuisance.cross_fit import CrossFit
from selective_labels.nuisance.scores import cross_fit_scores
from selective_labels.nuisance.settings import FittingSettings
from selective_labels.support.errors import DiagnosticWarning

# Enough to tell a p-value from one in twenty.
FEW_PERMUTATIONS = 99


def warn_if_not_allowed(
    data: SelectiveLabels,
    fit: CrossFit,
    *,
    level: float = 0.05,
    random_state: int | None = None,
    stacklevel: int = 2,
) -> bool:
    """Warn, with the code, if a point estimate under NUCEM is not to be trusted here.

    Runs SL101 (do decision-makers differ enough?) and SL601 (is one slope enough for all?) on models that
    are fitted already: one prediction of every row under every decision-maker, 99 permutations, no fit.

    Parameters
    ----------
    data : SelectiveLabels
        The rows that `fit` was made from, with numeric features.
    fit : CrossFit
        Made with ``in_halves=True``.
    level : float
    random_state : int, optional
    stacklevel : int
        Of the warning, counted from the caller.

    Returns
    -------
    bool
        Whether NUCEM may be used.
    """
    found = doubt(data, fit, level=level, random_state=random_state)
    if found is None:
        return True
    warnings.warn(found, stacklevel=stacklevel + 1)
    return False


def instrument_refuted(
    data: SelectiveLabels, fit: CrossFit, *, level: float = 0.05
) -> DiagnosticWarning | None:
    """What SL401 says of an instrument on models that are fitted already, if it refutes it; else None.

    One prediction of every row under every decision-maker, no fit.
    """
    scores = cross_fit_scores(fit, data, [Instrument()])["instrument"]
    total, (_, p_value) = 1.0 - float(scores.slack.mean()), one_sided(-scores.slack)
    if p_value > level:
        return None
    text = (
        f"(instrumental inequality, violated): the best lower bounds of the classes sum to {total:.2f} on "
        "average, so decision-makers are not an instrument here. See diagnose() for all checks."
    )
    return DiagnosticWarning("SL401", text)


def doubt(
    data: SelectiveLabels, fit: CrossFit, *, level: float = 0.05, random_state: int | None = None
) -> DiagnosticWarning | None:
    """What :func:`warn_if_not_allowed` warns of, or None; for results that say so themselves."""
    if data.panels is not None:
        data, fit = panel_cases_of_fit(data, fit)
    fitting = FittingSettings(seed=random_state)
    context = Context(data, fitting, level=level, n_permutations=FEW_PERMUTATIONS, fit=fit)
    for check in (conditional_strength.CHECK, overidentification.CHECK):
        result = context.result_of(check)
        if result.status != OK:
            parts = (result.message, result.advice, "See diagnose() for all checks.")
            text = f"({result.name}, {result.status}): {' '.join(filter(None, parts))}"
            return DiagnosticWarning(result.code, text)
    return None
