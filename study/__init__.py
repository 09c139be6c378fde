"""The replication study: the paper's experiments as published, and as they should be.

`catalogue` lists the experiments, `engine` runs their tasks, `table` keeps the results, `page` writes the
page, and `results` holds what it rests on. All of it goes through the public API of the package, in whose
wheel it is not: run it from a clone with ``python -m study``.
What the released code did lives in `published` alone.
"""
