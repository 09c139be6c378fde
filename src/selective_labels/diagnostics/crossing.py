"""SL701: how many estimated bounds cross."""

from selective_labels.diagnostics.context import Context
from selective_labels.diagnostics.inequality import CHECK as ON_AVERAGE
from selective_labels.diagnostics.inequality_leaves import CHECK as BY_KIND
from selective_labels.diagnostics.results import OK, VIOLATED, WARNING, Check, Finding

# Noise alone crosses some bounds; shares of rows above which it is worth a word, and serious.
SOME, MANY = 0.01, 0.05


def _find(context: Context) -> Finding:
    share = float(context.bounds[1].mean())
    if share <= SOME:
        return Finding(OK, f"Estimated bounds cross for {share:.1%} of cases.", share)
    refuted = VIOLATED in (context.result_of(ON_AVERAGE).status, context.result_of(BY_KIND).status)
    if share > MANY and refuted:
        return Finding(
            VIOLATED,
            f"Estimated bounds cross for {share:.0%} of cases, and not by chance (SL401, SL402).",
            share,
            advice="Do not use decision-makers as an instrument here.",
        )
    return Finding(
        WARNING,
        f"Estimated bounds cross for {share:.0%} of cases: noise of the models, as far as can be told.",
        share,
        advice="Merge decision-makers with few cases, or use fewer features.",
    )


CHECK = Check("SL701", "crossing bounds", "crossing", _find)
