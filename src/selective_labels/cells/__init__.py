"""Rows that are alike, summed: a sample of which only such sums are known, asked as rows are."""
