"""Models and reports in files: whole or not at all, and no code inside."""

from selective_labels.saving.model_file import SavedModel, load_model, save_model

__all__ = ["SavedModel", "load_model", "save_model"]
