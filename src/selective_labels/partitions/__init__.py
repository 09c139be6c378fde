"""Tables larger than memory: their parts in Parquet or Dask, hashes of their rows, and work on all parts."""
