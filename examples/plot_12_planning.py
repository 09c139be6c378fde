"""
Planning: what would settle it?
===============================

Undecided. More cases, more decision-makers, or a small lottery among the refused?
"""

# %%
import matplotlib.pyplot as plt

import selective_labels as sl

drawn = sl.datasets.make_decision_makers(1500, n_classes=2, n_decision_makers=6, random_state=0)
data = sl.SelectiveLabels.from_arrays(drawn.X, drawn.y, decision_maker=drawn.decision_maker)
rule = (drawn.X[:, 0] < 0).astype(int)
result = sl.evaluate(rule, data, nuisance="logistic", random_state=0)

# %%
# Each way, with the interval that it would leave.
ways = sl.plan(result, lottery=300)
print(ways)

# %%
# Before there is data: bounds that endless cases would leave, by the number of decision-makers.
study = sl.plan_study(width=0.3, acceptance=0.6, leniency_spread=0.15)
figure, axes = plt.subplots(figsize=(6, 2.6))
axes.plot(study["decision_makers"], study["bounds"], marker="o")
axes.set_xscale("log", base=2)
axes.set_xlabel("decision-makers")
axes.set_ylabel("width of the bounds")
figure.tight_layout()
