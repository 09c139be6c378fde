"""Tests as free functions from arrays to arrays: statistics, what chance alone does, what they could see."""
