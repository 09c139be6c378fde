"""
Advice, deciders, and what cannot be ranked
===========================================

Thirty decision-makers of known leniency and skill decide with and without an advice, by lottery. Three
pictures show the effect of the advice, a funnel plot of raw rates, and a caterpillar plot of shrunken ones.
"""

# %%
# People see something that the table lacks, and skilled decision-makers make better use of it. In half of the
# cases they see the advice.
import matplotlib.pyplot as plt
import numpy as np

import selective_labels as sl

N, JUDGES = 6000, 30
generator = np.random.default_rng(2)
leniency, skill = generator.normal(0.3, 0.5, JUDGES), generator.normal(0.8, 0.5, JUDGES)
risk, seen = generator.normal(size=(2, N))
judge, shown = generator.integers(0, JUDGES, N), generator.integers(0, 2, N)
advice = (risk < 0.3).astype(int)
lean = leniency[judge] - 0.6 * risk - skill[judge] * seen + shown * (2 * advice - 1)
released = generator.logistic(size=N) < lean
failed = generator.logistic(size=N) < -0.6 + 0.6 * risk + seen

data = sl.SelectiveLabels.from_arrays(
    np.column_stack([risk, advice]), np.where(released, failed, -1), decision_maker=judge, vocabulary="bail"
)
evaluator = sl.Evaluator(data, nuisance="logistic", random_state=0)

# %%
# Did showing the advice help? People with it minus people alone is a point estimate; the advice alone has
# bounds.
found = evaluator.advice(advice, shown)
print(found)
found.plot()

# %%
# Who decides well? Most raw rates lie within the limits of sampling error (left). Shrunken ones have
# intervals (right), and most sets of ranks are wide: few differ from the average, so a league table would
# be noise.
people = evaluator.deciders(score=risk, anonymous=True)
print(people)
fig, axes = plt.subplots(1, 2, figsize=(11, 4), layout="constrained")
people.plot("funnel", ax=axes[0])
people.plot("caterpillar", ax=axes[1])
plt.show()
