"""Columns of features: what kind each is, how it becomes numbers, what gives a label away."""
