"""Classifiers for selectively labeled data: unified cost-sensitive learning, and common baselines."""
