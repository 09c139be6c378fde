"""The (decision, label) model: one coherent model of P(D = 0) and P(D = 1, Y = k), cross-fitted.

Names are imported from their files: whoever needs a formula alone does not load the models.
"""
