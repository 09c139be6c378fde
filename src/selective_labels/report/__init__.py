from selective_labels.report.render import render

__all__ = ["render"]
