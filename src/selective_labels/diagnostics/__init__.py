"""Coded checks of whether a sample can answer the question."""
