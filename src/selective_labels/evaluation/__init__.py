"""How good is a classifier on everybody: bounds, confidence intervals, comparison."""
