"""Evaluation and comparison of classifiers and policies on all cases: bounds and confidence intervals."""
