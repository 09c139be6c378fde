from selective_labels.report.markdown import render_markdown
from selective_labels.report.model_card import model_card
from selective_labels.report.pdf import render_pdf, require_browser
from selective_labels.report.render import render

__all__ = ["model_card", "render", "render_markdown", "render_pdf", "require_browser"]
