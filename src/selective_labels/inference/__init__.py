"""Inference: estimated bounds, standard errors and confidence intervals from scores."""
