"""
A lender: how much do refused applications matter?
==================================================

Several methods of reject inference, evaluated on all applications. The data are made up, so the truth can be
shown with the bounds; a lender does not have it.
"""

# %%
import matplotlib.pyplot as plt
import numpy as np

import selective_labels as sl
from selective_labels.datasets import make_loans

loans = make_loans(2500)
data = sl.SelectiveLabels.from_frame(
    loans.table, label="defaulted", decision="approved", decision_maker="officer"
)
everybody = loans.defaulted.astype(int)

# %%
# Each classifier replaces the missing labels by a different assumption.
ways = {
    "labeled loans only": sl.SelectedSampleClassifier("linear"),
    "fuzzy augmentation": sl.FuzzyAugmentationClassifier("linear"),
    "parcelling, twice as bad": sl.ParcellingClassifier("linear", factor=2.0),
    "robust (partial)": sl.UCLClassifier("partial", "linear", nuisance="logistic", random_state=0),
}
rows = np.arange(len(everybody))
train, test = data.take(rows[::2]), data.take(rows[1::2])
found = {}
for name, model in ways.items():
    model.fit(train)
    bounds = sl.evaluate(model, test, nuisance="logistic", random_state=0)
    right = (model.predict(test) == data.classes[everybody[1::2]]).mean()
    found[name] = bounds, right

# %%
# The bounds overlap, so this table alone does not show which model is best. The truth lies within each.
figure, axes = plt.subplots(figsize=(6.5, 2.6))
for place, (_name, (bounds, right)) in enumerate(found.items()):
    axes.plot([bounds.ci_lower, bounds.ci_upper], [place, place], color="lightgrey", linewidth=6)
    axes.plot([bounds.lower, bounds.upper], [place, place], color="tab:blue", linewidth=6)
    axes.plot(right, place, "k|", markersize=16)
axes.set_yticks(range(len(found)), list(found))
axes.set_xlabel("share of all applications that are predicted right (black: the truth)")
figure.tight_layout()
