"""Identification: pure functions from arrays to bounds and identified values."""
