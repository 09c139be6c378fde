"""
Outcomes that are not known yet
===============================

A loan that is not due has no outcome, although it was approved. Defaults are known at once, repayments only
at the end. Among loans with a label, there are therefore far too many defaults.
"""

# %%
# Approved loans run for five or eight months; the table was extracted at the end of 2024.
import matplotlib.pyplot as plt
import numpy as np
import pandas as pd

import selective_labels as sl

loans = sl.datasets.make_loans(4000, random_state=3).table
generator = np.random.default_rng(3)
opened = pd.Timestamp("2023-01-01") + pd.to_timedelta(generator.integers(700, size=len(loans)), unit="D")
months = np.where(loans["income"] > loans["income"].median(), 8, 5)
loans["due"] = opened + pd.to_timedelta(30 * months, unit="D")
not_yet = (loans["due"] >= "2025-01-01") & (loans["defaulted"] == "no")
loans["known"] = loans["defaulted"].mask(not_yet)
recent = loans[(loans["due"] >= "2025-01-01") & (loans["approved"] == 1)]
print(f"{recent['known'].isna().mean():.0%} of the recent approved loans have no outcome; of the others,")
old = loans[(loans["due"] < "2025-01-01") & (loans["approved"] == 1)]
shares = [(each["known"].dropna() == "yes").mean() for each in (recent, old)]
print(f"{shares[0]:.0%} defaulted. Of the approved loans that are due, {shares[1]:.0%} did.")

# %%
# State an assumption about these outcomes, and when they are due. Labels before their date are not used.
roles = {"label": "known", "decision": "approved", "decision_maker": "officer"}
features = [each for each in loans.columns if each not in ("defaulted", "known", "due", *roles.values())]
tables = {
    "all outcomes known": sl.SelectiveLabels.from_frame(
        loans, **roles | {"label": "defaulted"}, features=features
    ),
    "at random, by date": sl.SelectiveLabels.from_frame(
        loans, **roles, features=features, pending="at-random", matured="due"
    ),
    "worst case": sl.SelectiveLabels.from_frame(loans, **roles, features=features, pending="worst-case"),
}

# %%
# The bounds on a rule, and on the share of loans that default, from the three tables.
rule = np.where(loans["debt_ratio"] > loans["debt_ratio"].median(), "yes", "no")
figure, ax = plt.subplots(figsize=(6.4, 2.4), layout="constrained")
for height, (name, data) in enumerate(tables.items()):
    ev = sl.Evaluator(data, nuisance="logistic", random_state=0)
    right, share = ev.evaluate(rule), ev.evaluate(rule, metric="share")
    ends = [f"{end:.2f}" for each in (right, share) for end in (each.lower, each.upper)]
    print(f"{name:20} right {ends[0]} to {ends[1]}, defaults {ends[2]} to {ends[3]}")
    ax.hlines(height, share.ci_lower, share.ci_upper, color="C0", linewidth=1.5)
    ax.hlines(height, share.lower, share.upper, color="C0", linewidth=6)
ax.set_yticks(range(len(tables)), list(tables))
ax.set(xlabel="share of loans that default (thick: bounds, thin: interval)")
ax.invert_yaxis()

# %%
# The checks find that labels before their date are all of one class.
for check in sl.diagnose(tables["at random, by date"], n_permutations=29, random_state=0):
    if check.family == "maturity":
        print(check.code, check.status, check.message)
