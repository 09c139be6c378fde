"""The command line, a thin layer: tables, models, numbers and pages come from the library."""

from selective_labels.cli.main import main

__all__ = ["main"]
