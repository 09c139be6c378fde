"""The page on paper: printed by a browser, if there is one."""

import shutil
import subprocess
import tempfile
from pathlib import Path

from selective_labels.support.errors import InputError

BROWSERS = (
    "chromium",
    "chromium-browser",
    "google-chrome",
    "google-chrome-stable",
    "chrome",
    "microsoft-edge",
)
# A page that loads nothing needs no network, no profile and no graphics card.
OPTIONS = (
    "--headless=new",
    "--disable-gpu",
    "--no-sandbox",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--no-pdf-header-footer",
)
SECONDS = 120.0


def require_browser() -> str:
    """The path of a browser that can print; refused with what to do if there is none."""
    found = next(filter(None, map(shutil.which, BROWSERS)), None)
    if found is None:
        raise InputError(
            "a PDF is printed by Chromium, Chrome or Edge, and none was found: write an .html page and print "
            "it from any browser, or write .md.",
            "out",
        )
    return found


def render_pdf(html: str, browser: str | None = None) -> bytes:
    """Print a page, as :func:`selective_labels.report.render` makes it.

    Parameters
    ----------
    html : str
    browser : str, optional
        Path of a browser of the Chromium family; found if not given.
    """
    browser = require_browser() if browser is None else browser
    with tempfile.TemporaryDirectory() as folder:
        page, printed = Path(folder, "page.html"), Path(folder, "page.pdf")
        page.write_text(html, encoding="utf-8")
        command = [
            browser,
            *OPTIONS,
            f"--user-data-dir={folder}/profile",
            f"--print-to-pdf={printed}",
            page.as_uri(),
        ]
        try:
            subprocess.run(command, check=False, capture_output=True, timeout=SECONDS)
        except (OSError, subprocess.TimeoutExpired) as error:
            raise InputError(f"{browser} could not print the page: {error}", "out") from None
        if not printed.exists():
            raise InputError(f"{browser} printed nothing; write an .html page and print it yourself.", "out")
        return printed.read_bytes()
