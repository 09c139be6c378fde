"""
Human and score together
========================

A score rarely replaces the person. This example compares three ways to combine them with the person alone.
"""

# %%
import matplotlib.pyplot as plt

import selective_labels as sl

drawn = sl.datasets.make_decision_makers(
    2500, n_classes=2, n_decision_makers=8, additive=False, mirrored=True, random_state=8
)
data = sl.SelectiveLabels.from_arrays(drawn.X, drawn.y, decision_maker=drawn.decision_maker)
score, cost = -drawn.X[:, 0], [[0, 1], [3, 0]]

# %%
# *both*: accepted by the person and by the score. *either*: by one of them. Alone: the score decides.
teams = {
    "score alone": sl.Policy(score, acceptance=0.5),
    "both must accept": sl.Policy(score, acceptance=0.7, with_human="both"),
    "one must accept": sl.Policy(score, acceptance=0.3, with_human="either"),
}
figure, ax = plt.subplots(figsize=(6.4, 2.4), layout="constrained")
for height, (name, team) in enumerate(teams.items()):
    found = sl.compare(team, "human", data, cost=cost, nuisance="logistic", random_state=0)
    print(
        f"{name:17} cost minus that of the person: {found.lower:+.2f} to {found.upper:+.2f}: {found.verdict}"
    )
    ax.hlines(height, found.ci_lower, found.ci_upper, color="C0", linewidth=1.5)
    ax.hlines(height, found.lower, found.upper, color="C0", linewidth=6)
ax.axvline(0.0, color="0.5", linestyle="--")
ax.set_yticks(range(len(teams)), list(teams))
ax.set(xlabel="cost minus that of the person alone")
ax.invert_yaxis()

# %%
# If both must accept, every accepted case has a label, so the failures are observed without any assumption.
both = sl.evaluate(teams["both must accept"], data, metric="failures", nuisance="logistic", random_state=0)
print(f"failures among all cases: {both.lower:.3f}, interval {both.ci_lower:.3f} to {both.ci_upper:.3f}")
