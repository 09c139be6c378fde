"""
Planning: what would settle it?
===============================

The comparison is undecided. What would settle it: more cases, more decision-makers, or a small lottery?
"""

# %%
import matplotlib.pyplot as plt

import selective_labels as sl

drawn = sl.datasets.make_decision_makers(1500, n_classes=2, n_decision_makers=6, random_state=0)
data = sl.SelectiveLabels.from_arrays(drawn.X, drawn.y, decision_maker=drawn.decision_maker)
rule = (drawn.X[:, 0] < 0).astype(int)
result = sl.evaluate(rule, data, nuisance="logistic", random_state=0)

# %%
# Each option, with the predicted width of the interval.
ways = sl.plan(result, lottery=300)
print(ways)

# %%
# Before there are data: width of the bounds with unlimited cases, by the number of decision-makers.
study = sl.plan_study(width=0.3, acceptance=0.6, leniency_spread=0.15)
figure, axes = plt.subplots(figsize=(6, 2.6))
axes.plot(study["decision_makers"], study["bounds"], marker="o")
axes.set_xscale("log", base=2)
axes.set_xlabel("decision-makers")
axes.set_ylabel("width of the bounds")
figure.tight_layout()
