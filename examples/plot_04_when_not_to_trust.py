"""
When not to trust the instrument
================================

Three tables look alike. In the first, the instrument is valid. In the second, hard cases go to strict
officers. In the third, the officer changes the outcome. Here the checks detect the second and the third.
"""

# %%
import matplotlib.pyplot as plt
import numpy as np

import selective_labels as sl


def table(kind, n=2000, seed=0):
    """Cases of one of three kinds, as `diagnose` takes them."""
    generator = np.random.default_rng(seed)
    X, hidden = generator.standard_normal((n, 3)), generator.standard_normal(n)
    officer = generator.integers(6, size=n)
    if kind == "hard cases go to strict officers":
        officer = np.clip(np.round(2.5 - 1.2 * X[:, 0] + generator.standard_normal(n)), 0, 5).astype(int)
    accepted = generator.random(n) < 1 / (1 + np.exp(-(0.8 * (officer - 1.5) + hidden)))
    label = (X[:, 0] + hidden > 0).astype(int)
    if kind == "the officer changes the outcome":
        label = np.where(generator.random(n) < 0.8, officer % 2, label)
    return X, np.where(accepted, label, -1), officer


# %%
# The verdict on each table. The pictures show that the cases of the six officers differ only in the second
# table.
kinds = ("valid", "hard cases go to strict officers", "the officer changes the outcome")
figure, axes = plt.subplots(1, 3, figsize=(9.6, 3.2), sharey=True, layout="constrained")
for kind, ax in zip(kinds, axes, strict=True):
    X, y, officer = table(kind)
    diagnosis = sl.diagnose(X, y, decision_maker=officer, n_permutations=99, random_state=0)
    verdict = diagnosis.allows("instrument")
    print(f"{kind}: {'may be used' if verdict else 'refuted'}")
    print("   violated:", [each.code for each in diagnosis if each.status == "violated"])
    diagnosis.plot("balance", ax)
    ax.set(title=kind, xlabel="officers", ylabel="")
axes[0].set_ylabel("how acceptable their cases are")

# %%
# *Not refuted* does not mean *true*. If assignment depends on something that officers know and the features
# lack, the table looks like the first one.
