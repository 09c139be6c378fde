"""
Which mode?
===========

This example fits every mode of ``UCLClassifier`` to a table whose truth is known, to show gains and risks. In
the second table the direction is reversed: unrecorded reasons to refuse now favour the case.
"""

# %%
# Decision-makers differ much in leniency, and use information that the features lack. No learner sees
# labels of refused cases. Accuracy on new cases uses their true class probabilities.
import matplotlib.pyplot as plt
import numpy as np
import pandas as pd

import selective_labels as sl
from selective_labels.assumptions import Informed, Instrument

N_TRAIN = 5000


def accuracies(mirrored):
    """Expected accuracy on new cases of the labeled rows alone, of every mode, and of all labels."""
    sample = sl.datasets.make_decision_makers(2 * N_TRAIN, additive=False, mirrored=mirrored, random_state=4)
    train, new = slice(N_TRAIN), slice(N_TRAIN, None)
    X, y, maker = sample.X[train], sample.y[train], sample.decision_maker[train]
    eta = sample.oracle.probabilities(sample.X[new])
    worse = 2 if mirrored else 0  # the class that refused cases really have more often

    def learned(mode, **settings):
        learner = sl.UCLClassifier(mode, "linear", nuisance="quadratic", random_state=0, **settings)
        return learner.fit(X, y, decision_maker=maker)

    fitted = {
        "labeled rows alone": sl.SelectedSampleClassifier("linear").fit(X, y),
        "partial": learned("partial"),
        "point": learned("point"),
        "tilt": learned("tilt"),
        "auto": learned("auto"),
        "auto, direction stated": learned("auto", assumption=Instrument() & Informed(worse)),
        "odds stated, no instrument": sl.SelectedSampleClassifier("linear", refused_odds={worse: 1.28}).fit(
            X, y
        ),
        "all labels": sl.SelectedSampleClassifier("linear").fit(X, sample.y_true[train]),
    }
    print(fitted["auto"].mode_reason_)
    print(fitted["auto, direction stated"].instrument_part_)
    rows = np.arange(len(eta))
    return {name: eta[rows, model.predict(sample.X[new])].mean() for name, model in fitted.items()}


table = pd.DataFrame({"as it is": accuracies(False), "reversed": accuracies(True)})
print(table.round(3).to_string())

# %%
# *labeled rows alone* is common practice; *all labels* is impossible in practice. A mode is worth its
# assumption if it gains in both directions. A gain in only one of them is luck.
table.plot.barh(xlabel="accuracy on new cases", xlim=(table.min().min() - 0.01, table.max().max() + 0.005))
plt.tight_layout()

# %%
# How much depends on the stated odds? Without any instrument, the curve shows the gain over the labeled rows
# alone for each odds ratio that may be true.
sample = sl.datasets.make_decision_makers(N_TRAIN, 2, additive=False, random_state=4)
stated = sl.SelectedSampleClassifier("linear", refused_odds={0: (1.0, 2.0)}).fit(sample.X, sample.y)
curve = stated.sensitivity(sample.X)
print(curve)
fig, ax = plt.subplots()
curve.plot(ax)
plt.tight_layout()
