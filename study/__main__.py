"""``python -m study`` runs experiments and writes the page."""

from selective_labels.cli.main import main

if __name__ == "__main__":
    main("study.command_line", "python -m study")
