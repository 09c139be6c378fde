"""Checks of whether a sample supports the assumptions, each with a stable code."""
