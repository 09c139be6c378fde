"""SL202: a classifier of decision-makers from features, tested on rows that it has not seen."""

import numpy as np

from selective_labels.diagnostics.context import Context
from selective_labels.diagnostics.results import ASSIGNMENT_LOOKS, OK, Check, Finding, status_of_test
from selective_labels.hypotheses.permutation import permutation_p_value, shuffles


def _find(context: Context) -> Finding:
    model = context.assignment_model
    position = np.arange(len(model.arm))

    def log_likelihood(arm: np.ndarray) -> float:
        return float(model.log_probabilities[position, arm].mean())

    observed = log_likelihood(model.arm)
    drawn = np.array(
        [
            log_likelihood(arm)
            for arm in shuffles(model.arm, model.cell, context.n_permutations, context.generator(202))
        ]
    )
    p_value = permutation_p_value(observed, drawn)
    gain = observed - float(drawn.mean())
    status = status_of_test(p_value, context.level, ASSIGNMENT_LOOKS)
    who = "the leniency band of the decision-maker" if model.banded else "the decision-maker"
    if status != OK:
        return Finding(
            status,
            f"Features predict {who} {context.place}: {gain:.3f} nats per case better than chance.",
            gain,
            p_value,
            "Give finer strata, or rely on the instrument given the features only.",
        )
    return Finding(status, f"Features do not tell {who} {context.place}.", gain, p_value)


CHECK = Check("SL202", "classifier of decision-makers", "assignment", _find)
