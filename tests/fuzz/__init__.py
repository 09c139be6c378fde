"""Odd inputs thrown at every public entry: a sentence or a valid result, never a foreign error."""
