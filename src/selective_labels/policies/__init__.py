"""Policies on rows that are scored: who decides, what is at stake, which cut-off to take."""
