"""
Cost and acceptance
===================

What if we accepted more, or others? Everything that is possible at each acceptance rate, beside the decisions
that were taken.
"""

# %%
import selective_labels as sl

drawn = sl.datasets.make_decision_makers(
    2500, n_classes=2, n_decision_makers=8, additive=False, mirrored=True, random_state=6
)
data = sl.SelectiveLabels.from_arrays(drawn.X, drawn.y, decision_maker=drawn.decision_maker)
score = -drawn.X[:, 0]
curve = sl.policy_curve(score, data, cost=[[0, 1], [3, 0]], nuisance="logistic", random_state=0)
axes = curve.plot()

# %%
# How many more failures at 70 % than at 50 %? Only the cases in between matter, so the bounds are narrow.
more = curve.difference(0.5, 0.7)
print(f"failures rise by {more.lower:.3f} to {more.upper:.3f} of all cases")

# %%
# Cut-offs that can be the cheapest: a set, not a point.
left = curve.cut_offs.could_be_best
print(f"{left.sum()} of {len(left)} cut-offs can still be best")
