"""Pure mathematics of identification: arrays in, arrays out."""
