"""
When not to trust the instrument
================================

Three tables that look alike and are not: one is fine, in one the hard cases go to strict officers, in one the
officer changes the outcome. The checks see the second and the third, here.
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
# What the checks say about each. The pictures show how the cases of the six officers differ: only in the
# second table do they.
kinds = ("all is well", "hard cases go to strict officers", "the officer changes the outcome")
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
# *May be used* is not *is true*. The checks can only refute. A table in which officers act on something that
# is nowhere in the features **and** goes with who gets the case looks like the first one.
