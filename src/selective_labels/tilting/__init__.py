"""How the refused differ, as far as the instrument tells: its strength, and the tilts that it supports."""
