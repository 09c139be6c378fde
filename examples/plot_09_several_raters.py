"""
Several raters per case
=======================

Three people see each case. One yes reveals its label, for all three.
"""

# %%
import matplotlib.pyplot as plt
import numpy as np

import selective_labels as sl

drawn = sl.datasets.make_decision_makers(600, n_classes=2, additive=False, random_state=2)
generator = np.random.default_rng(2)
case = np.repeat(np.arange(600), 3)
rater = np.concatenate([generator.choice(12, size=3, replace=False) for _ in range(600)])
yes = generator.random(1800) < 0.15 + 0.05 * rater
X, label = drawn.X[case], np.where(yes, drawn.y_true[case], -1)

# %%
# If labels belong to the case, the same table gives narrower bounds.
rule = (X[:, 0] < 0).astype(int)
figure, ax = plt.subplots(figsize=(6.4, 2.0), layout="constrained")
for shared in (False, True):
    data = sl.SelectiveLabels.from_arrays(
        X, label, decision_maker=rater, decision=yes.astype(int), groups=case, share_labels=shared
    )
    found = sl.evaluate(rule, data, nuisance="logistic", random_state=0)
    width = found.upper - found.lower
    print(f"share_labels={shared}: {found.lower:.3f} to {found.upper:.3f}, width {width:.3f}")
    ax.hlines(shared, found.ci_lower, found.ci_upper, color="C0", linewidth=1.5)
    ax.hlines(shared, found.lower, found.upper, color="C0", linewidth=6)
ax.axvline(np.mean(rule == drawn.y_true[case]), color="C3", linestyle="--", label="truth")
ax.set_yticks([0, 1], ["labels of rows", "labels of cases"])
ax.set(xlabel="accuracy of the rule", ylim=(-0.5, 1.5))
ax.legend()
print(f"the truth: {np.mean(rule == drawn.y_true[case]):.3f}")
