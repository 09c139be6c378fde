"""
Which mode?
===========

One table, and what each mode of ``UCLClassifier`` makes of it. The truth is known here, so that gain and risk
show. The second table is the first with reasons turned round: what was hidden and bad is now hidden and good.
"""

# %%
# Decision-makers differ much in leniency, and refuse by more than the features tell. Labels of the refused
# are not seen by any learner; new cases are judged by their true class probabilities.
import matplotlib.pyplot as plt
import numpy as np
import pandas as pd

import selective_labels as sl

N_TRAIN = 5000
MODES = ["partial", "point", "tilt", "auto"]


def accuracies(mirrored):
    """Expected accuracy on new cases: labeled-only, every mode, and the learner that sees every label."""
    sample = sl.datasets.make_decision_makers(2 * N_TRAIN, additive=False, mirrored=mirrored, random_state=4)
    train, new = slice(N_TRAIN), slice(N_TRAIN, None)
    X, y, maker = sample.X[train], sample.y[train], sample.decision_maker[train]
    eta = sample.oracle.probabilities(sample.X[new])

    def learner(mode):
        return sl.UCLClassifier(mode, "linear", nuisance="quadratic", random_state=0)

    seen = y >= 0
    # Where every row has its label, tilt mode is the learner itself.
    fitted = {"labeled only": learner("tilt").fit(X[seen], y[seen])}
    fitted |= {mode: learner(mode).fit(X, y, decision_maker=maker) for mode in MODES}
    fitted["all labels"] = learner("tilt").fit(X, sample.y_true[train])
    rows = np.arange(len(eta))
    return {name: eta[rows, model.predict(sample.X[new])].mean() for name, model in fitted.items()}


table = pd.DataFrame({"as it is": accuracies(False), "turned round": accuracies(True)})
print(table.round(3).to_string())

# %%
# *labeled only* is what people do; *all labels* is what nobody can do. A mode is worth its assumption where
# it gains in both directions: a gain in one alone is luck.
table.plot.barh(xlabel="accuracy on new cases", xlim=(table.min().min() - 0.01, table.max().max() + 0.005))
plt.tight_layout()
