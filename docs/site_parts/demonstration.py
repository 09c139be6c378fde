"""The report page of the demonstration, live on the site, and the picture of it that the README shows."""

import subprocess
import sys
import tempfile
from pathlib import Path

from PIL import Image
from rich.console import Console

from selective_labels import demo

PAGE = "demo-report.html"
PICTURE = Path(__file__).parents[1] / "static" / "report.png"
WINDOW = (1100, 1000)


def write(folder: Path) -> None:
    """Write the page that `make demo` ends with, unless it is there."""
    page = folder / PAGE
    if not page.exists():
        folder.mkdir(exist_ok=True)
        demo.run(page, Console(quiet=True))


def draw(picture: Path = PICTURE) -> None:
    """Take the picture anew: ``python -m docs.site_parts.demonstration`` (needs Chromium)."""
    with tempfile.TemporaryDirectory() as folder:
        write(Path(folder))
        command = [
            "chromium",
            "--headless",
            "--no-sandbox",
            "--disable-gpu",
            "--hide-scrollbars",
            f"--user-data-dir={folder}/browser",
            f"--window-size={WINDOW[0]},{WINDOW[1]}",
            f"--screenshot={picture}",
            (Path(folder) / PAGE).as_uri(),
        ]
        subprocess.run(command, check=True, capture_output=True)
    # A page of text needs few colours.
    Image.open(picture).convert("RGB").quantize(48).save(picture, optimize=True)


if __name__ == "__main__":
    draw(Path(sys.argv[1]) if sys.argv[1:] else PICTURE)
