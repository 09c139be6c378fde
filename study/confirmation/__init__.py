"""The confirmation: whether the frozen rule of tilt mode holds on draws that nobody has looked at."""
