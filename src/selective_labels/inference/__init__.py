"""From scores to estimates: ends of functionals, influences, intervals, the scored sample."""
