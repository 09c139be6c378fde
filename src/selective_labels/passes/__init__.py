"""One pass over a table in partitions: models from a sample, every row scored and summed."""
