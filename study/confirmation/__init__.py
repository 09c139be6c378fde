"""Does the frozen rule of tilt mode hold on draws that nobody has looked at?"""
