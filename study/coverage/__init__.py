"""Coverage of what users call: every metric and assumption, in designs where the truth is known."""
