"""
Three classes, and sets of classes
==================================

With more than two classes, a case can be partly undecided: two classes may be best, and the third cannot.
"""

# %%
import matplotlib.pyplot as plt
import numpy as np

import selective_labels as sl

drawn = sl.datasets.make_decision_makers(2500, n_classes=3, n_decision_makers=6, random_state=5)
data = sl.SelectiveLabels.from_arrays(drawn.X, drawn.y, decision_maker=drawn.decision_maker)
train, test = data.split(test_size=0.4, random_state=0)
model = sl.UCLClassifier("partial", "linear", nuisance="logistic", random_state=0).fit(train)

# %%
# Lower and upper bounds of each class probability. The slack that remains may belong to any class.
bounds = model.predict_bounds(test)
for row in range(3):
    print("  ".join(f"class {k}: {bounds.lower[row, k]:.2f} to {bounds.upper[row, k]:.2f}" for k in range(3)))

# %%
# How many classes can be best?
sets = model.predict_set(test)
sizes = np.bincount(sets.sum(axis=1), minlength=4)
for size in (1, 2, 3):
    print(f"{size} of 3 classes: {sizes[size] / len(sets):.0%} of cases")
figure, ax = plt.subplots(figsize=(5.0, 3.2), layout="constrained")
ax.bar(["1", "2", "3"], sizes[1:] / len(sets), color=["C0", "C1", "0.6"])
ax.set(xlabel="classes that can still be best", ylabel="share of the cases")

# %%
# Costs decide which class is best: here class 2 must not be missed. The sets change accordingly.
costly = sl.UCLClassifier(
    "partial", "linear", cost=[[0, 1, 1], [1, 0, 1], [5, 5, 0]], nuisance="logistic", random_state=0
).fit(train)
print(
    "predicted as class 2:",
    f"{np.mean(model.predict(test) == 2):.0%}, with costs {np.mean(costly.predict(test) == 2):.0%}",
)
