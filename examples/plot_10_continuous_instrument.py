"""
An instrument that is a number
==============================

The nearer the office, the more often an application is completed and decided. Distance is an instrument with
as many values as cases.
"""

# %%
import warnings

import matplotlib.pyplot as plt
import numpy as np

import selective_labels as sl

generator = np.random.default_rng(0)
n = 2000
X, hidden, distance = generator.standard_normal((n, 3)), generator.standard_normal(n), generator.random(n)
truth = (generator.random(n) < 1 / (1 + np.exp(-(X[:, 0] + hidden)))).astype(int)
seen = generator.random(n) < 1 / (1 + np.exp(-(2.5 - 5 * distance - hidden)))
y = np.where(seen, truth, -1)
rule = (X[:, 0] > 0).astype(int)

# %%
# Read as ids, the distances are two thousand decision-makers with one case each, and a warning says so.
with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    names = sl.evaluate(rule, X, y, decision_maker=distance, nuisance="logistic", random_state=0)
number = sl.evaluate(
    rule, X, y, decision_maker=distance, instrument="numeric", nuisance="logistic", random_state=0
)
print(f"as names:  {names.lower:.2f} to {names.upper:.2f}")
print(f"as number: {number.lower:.2f} to {number.upper:.2f}")
print(f"the truth: {np.mean(rule == truth):.2f}")

# %%
# Thick: bounds. Thin: the interval.
figure, ax = plt.subplots(figsize=(6.4, 2.0), layout="constrained")
for height, found in enumerate((names, number)):
    ax.hlines(height, found.ci_lower, found.ci_upper, color="C0", linewidth=1.5)
    ax.hlines(height, found.lower, found.upper, color="C0", linewidth=6)
ax.axvline(np.mean(rule == truth), color="C3", linestyle="--", label="truth")
ax.set_yticks([0, 1], ["as names", "as a number"])
ax.set(xlabel="accuracy of the rule", ylim=(-0.5, 1.5))
ax.legend()
