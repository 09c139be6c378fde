"""SL402: the instrumental inequality among kinds of cases."""

import numpy as np
from sklearn.tree import DecisionTreeRegressor

from selective_labels.diagnostics.context import Context
from selective_labels.diagnostics.inequality import excess, one_sided
from selective_labels.diagnostics.results import VIOLATED, Check, Finding, need, status_of_test
from selective_labels.hypotheses.cells import holm
from selective_labels.models.features import one_hot_columns

MOST_LEAVES = 8
SMALLEST_LEAF = 200
# A score counts mostly the rows of one arm: with fewer of them in a leaf its mean is far from normal.
SMALLEST_LEAF_PER_ARM = 40


def _find(context: Context) -> Finding:
    need(context.has_features, "there is no feature that varies.")
    values = excess(context)
    per_arm = SMALLEST_LEAF_PER_ARM * context.fit.n_arms
    smallest = max(SMALLEST_LEAF, per_arm, len(values) // (4 * MOST_LEAVES))
    need(
        len(values) >= 2 * smallest,
        f"fewer than {2 * smallest:,} cases cannot be cut into kinds with {SMALLEST_LEAF_PER_ARM} cases per "
        "decision-maker (or group of them).",
    )
    # Leaves follow what the models expect, not the scores: a kind of case is not chosen for its luck.
    expected = context.scores["instrument"].plug_in.sum(axis=1)
    tree = DecisionTreeRegressor(max_leaf_nodes=MOST_LEAVES, min_samples_leaf=smallest, random_state=0)
    features = one_hot_columns(context.model_data.categorical).fit_transform(context.model_data.features)
    leaf = tree.fit(features, expected).apply(features)
    leaves = np.unique(leaf)
    tests = np.array([one_sided(values[leaf == each]) for each in leaves])
    adjusted = holm(tests[:, 1])
    worst = int(adjusted.argmin())
    statistic, p_value = float(tests[worst, 0]), float(adjusted[worst])
    status = status_of_test(p_value, context.level)
    total = 1.0 + float(values[leaf == leaves[worst]].mean())
    cases = int(np.sum(leaf == leaves[worst]))
    if status == VIOLATED:
        return Finding(
            status,
            f"Among {cases:,} cases of one kind the best lower bounds sum to {total:.2f}: no probabilities "
            "fit.",
            statistic,
            p_value,
            "Do not use decision-makers as an instrument for such cases.",
        )
    return Finding(
        status,
        f"In each of {len(leaves)} kinds of cases the lower bounds fit into one probability.",
        statistic,
        p_value,
    )


CHECK = Check("SL402", "instrumental inequality by kind of case", "inequality", _find)
