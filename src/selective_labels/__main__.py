"""``python -m selective_labels`` is ``selective-labels``."""

from selective_labels.cli.main import main

if __name__ == "__main__":
    main()
