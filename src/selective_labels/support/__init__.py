"""Small helpers that know nobody: progress, seeds, drawing, weights, errors."""
