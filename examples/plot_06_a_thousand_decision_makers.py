"""
A thousand decision-makers
==========================

Each has ten cases. Single rates are mostly noise, and the largest of a thousand noisy rates is far too large.
"""

# %%
import matplotlib.pyplot as plt
import numpy as np

import selective_labels as sl

drawn = sl.datasets.make_decision_makers(10000, n_classes=2, n_decision_makers=1000, random_state=0)
data = sl.SelectiveLabels.from_arrays(drawn.X, drawn.y, decision_maker=drawn.decision_maker)

# %%
# Raw acceptance rates vary much more than decision-makers really differ.
counts = np.bincount(drawn.decision_maker, minlength=1000)
rates = np.bincount(drawn.decision_maker, weights=drawn.decision, minlength=1000) / np.maximum(counts, 1)
figure, axes = plt.subplots(figsize=(6, 2.4))
axes.hist(rates[counts > 0], bins=40)
axes.set_xlabel("acceptance rate of a decision-maker")
figure.tight_layout()

# %%
# The naive bound selects the decision-maker with the luckiest sample. Bands and shrinkage prevent this.
rule = (drawn.X[:, 0] < 0).astype(int)
found = sl.evaluate(rule, data, nuisance="logistic", random_state=0)
naive = max(np.mean((drawn.y == rule)[drawn.decision_maker == each]) for each in np.flatnonzero(counts >= 5))
print(f"share right on everybody (the truth): {np.mean(rule == drawn.y_true):.3f}")
print(f"ours: at least {found.lower:.3f}, interval from {found.ci_lower:.3f}")
print(f"the best decision-maker's own share as a 'lower bound': {naive:.3f}")
