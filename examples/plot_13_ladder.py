"""
A ladder of assumptions
=======================

How each further assumption narrows the bounds, and how a wrong one is detected.
"""

# %%
import selective_labels as sl
from selective_labels.assumptions import Informed, Instrument, Prevalence

drawn = sl.datasets.make_decision_makers(
    2000, n_classes=2, n_decision_makers=4, additive=False, mirrored=True, random_state=0
)
data = sl.SelectiveLabels.from_arrays(drawn.X, drawn.y, decision_maker=drawn.decision_maker)
rule = (drawn.X[:, 0] < -0.5).astype(int)

share = Prevalence(1, (0.48, 0.52))  # share of failures among all cases, from a register
wrong = Instrument() & Informed(0) & share  # the refused are said to be *better* risks
steps = sl.ladder(rule, data, assumptions=[share, Informed(1), wrong], nuisance="logistic", random_state=0)
print(steps)

# %%
axes = steps.plot()
