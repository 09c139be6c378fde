"""
Where the outcome test errs
===========================

Group B faces a higher bar: at every risk it is released less often. The outcome test says the opposite. The
picture shows why (inframarginality), and that the gap given the outcome has the right sign.
"""

# %%
# Risks of group B are higher on average.
import matplotlib.pyplot as plt
import numpy as np
from scipy.special import expit

import selective_labels as sl

N, JUDGES = 8000, 12
generator = np.random.default_rng(0)
second, judge = generator.integers(0, 2, N), generator.integers(0, JUDGES, N)
x, seen = generator.normal(size=(2, N))
risk = expit(-1 + 0.8 * x + 0.5 * second + 0.8 * seen)
chance = expit(1 - 0.8 * x - 0.8 * seen + np.linspace(-1.5, 1.5, JUDGES)[judge] - 0.5 * second)
failed, released = generator.random(N) < risk, generator.random(N) < chance
group = np.array(["A", "B"])[second]

data = sl.SelectiveLabels.from_arrays(
    np.column_stack([x, second]), np.where(released, failed, -1), decision_maker=judge, vocabulary="bail"
)
found = sl.disparity(data, by=group, reference="A", nuisance="logistic", random_state=0)
print(found)

# %%
# Left: the true risks of those released, which only a simulation knows. The average of B (dashed) is higher
# although its bar is higher, because more of its cases lie just below the bar. Right: the gaps. The outcome
# test compares the two dashed lines; the gap weighted by outcome compares like with like.
fig, axes = plt.subplots(1, 2, figsize=(12, 4), layout="constrained")
for number, name in enumerate(["A", "B"]):
    own = released & (second == number)
    axes[0].hist(risk[own], bins=40, density=True, histtype="step", color=f"C{number}", label=f"group {name}")
    axes[0].axvline(risk[own].mean(), color=f"C{number}", linestyle="--")
axes[0].set(xlabel="risk of those released", ylabel="density", title="Inframarginality")
axes[0].legend(frameon=False)
found.plot(axes[1])
plt.show()

# %%
# The truth of this law: how much less often B is released, among cases that end alike.
share = failed.mean()
gaps = [
    released[(second == 1) & (failed == end)].mean() - released[(second == 0) & (failed == end)].mean()
    for end in (True, False)
]
print(f"true gap weighted by outcome: {share * gaps[0] + (1 - share) * gaps[1]:.3f}")
