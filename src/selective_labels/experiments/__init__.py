"""The replication study: the paper's experiments as published, and as they should be.

`catalogue` lists the experiments, `engine` runs their tasks, `table` keeps the results, and `study` writes
the page. All of it goes through the public API.
What the released code did lives in `published` alone.
"""
