"""
Evaluate a score that exists
============================

A vendor sold a score. How good is it on all cases? No model is trained; the score is a column.
"""

# %%
import matplotlib.pyplot as plt

import selective_labels as sl

drawn = sl.datasets.make_decision_makers(
    2000, n_classes=2, n_decision_makers=8, additive=False, mirrored=True, random_state=3
)
data = sl.SelectiveLabels.from_arrays(drawn.X, drawn.y, decision_maker=drawn.decision_maker)
score = -drawn.X[:, 0]  # larger: more likely to fail

# %%
# Ranking quality needs no threshold. Among labeled cases the AUC is a single number. Among all cases it has
# bounds, which depend on the assumption.
auc = sl.evaluate(score, data, metric="auc", assumption="all", nuisance="logistic", random_state=0)
print(
    auc.to_frame()[["assumption", "lower", "upper", "ci_lower", "ci_upper"]].round(3).to_string(index=False)
)

# %%
# Accuracy, true and false positive rate at every threshold.
curve = sl.threshold_curve(score, data, nuisance="logistic", random_state=0)
figure, axes = plt.subplots(figsize=(6, 2.8))
for name in ("tpr", "fpr"):
    lower, upper = (curve.to_frame()[f"{name}_{end}"] for end in ("lower", "upper"))
    axes.fill_between(curve.to_frame()["threshold"], lower, upper, alpha=0.5, label=name)
axes.set_xlabel("cut-off of the score")
axes.legend()
figure.tight_layout()

# %%
# Is it better than a second score? Only cases on which the two differ matter.
other = -drawn.X[:, 0] - 0.5 * drawn.X[:, 2]
flag, other_flag = (score > 0).astype(int), (other > 0).astype(int)
print(sl.compare(other_flag, flag, data, nuisance="logistic", random_state=0))
