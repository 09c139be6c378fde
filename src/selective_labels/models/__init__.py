"""Models of an outcome given features and an arm: pooled logistic regression, boosting, any classifier.

They know rows and codes, not what an outcome means; `nuisance` chooses among them and cross-fits.
"""
