"""
Sensitivity: how wrong may an assumption be?
============================================

From "labels are missing at random" (a ratio of one) to the worst case: where does the conclusion change?
"""

# %%
import selective_labels as sl

drawn = sl.datasets.make_decision_makers(2000, n_classes=2, n_decision_makers=8, random_state=0)
data = sl.SelectiveLabels.from_arrays(drawn.X, drawn.y, decision_maker=drawn.decision_maker)
rule = (drawn.X[:, 0] < 0).astype(int)

curve = sl.sensitivity_curve(
    rule, data, values=[1, 1.5, 2, 3, 5], limit="none", threshold=0.6, nuisance="logistic", random_state=0
)
axes = curve.plot()

# %%
# The break-even value: from this ratio on, the rule may be right in less than 60 % of all cases.
print(f"break-even ratio: {curve.break_even:.2f}")

# %%
# Intersected with the bounds of the instrument, the curve stops widening.
cut = sl.sensitivity_curve(
    rule, data, values=[1, 2, 5], limit="instrument", nuisance="logistic", random_state=0
)
print(cut.to_frame().round(3).to_string(index=False))
