"""
Quickstart: from a table to an answer
=====================================

A made-up lender: officers approve loans, and only approved loans show whether they default.
"""

# %%
# The table has features, the officer who decided, the decision, and a label (missing if declined).
import selective_labels as sl
from selective_labels.datasets import make_loans

loans = make_loans(2000).table
print(loans.head(3).to_string(index=False))

# %%
# Name the roles of columns once. Half of the rows are for training, half for evaluation.
data = sl.SelectiveLabels.from_frame(loans, label="defaulted", decision="approved", decision_maker="officer")
train, test = data.split(test_size=0.5, random_state=0)

# %%
# *Can this data answer?* Each check has a code, and a page in the documentation.
diagnosis = sl.diagnose(train, n_permutations=99, random_state=0)
print(diagnosis.allows("instrument"))

# %%
# *How good is my model on all cases?* Bounds under each assumption.
mine = sl.SelectedSampleClassifier("linear").fit(train)
results = sl.evaluate(mine, test, assumption=["none", "instrument"], nuisance="logistic", random_state=0)
print(
    results.to_frame()[["assumption", "lower", "upper", "ci_lower", "ci_upper"]]
    .round(3)
    .to_string(index=False)
)

# %%
# Thick: bounds under the assumption. Thin: the confidence interval, which adds sampling error.
results.plot()

# %%
# *Can a better one be trained?* Perhaps. If the data cannot tell, the answer is "undecided".
robust = sl.UCLClassifier("partial", "linear", nuisance="logistic", random_state=0).fit(train)
comparison = sl.compare(robust, mine, test, nuisance="logistic", random_state=0)
print(comparison.verdict, round(comparison.ci_lower, 3), round(comparison.ci_upper, 3))
