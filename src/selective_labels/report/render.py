"""Render an assessment as one self-contained HTML page, and print the page as PDF."""

import json
import shutil
import subprocess
import tempfile
from base64 import b64encode
from collections.abc import Mapping
from functools import cache, partial
from hashlib import sha256
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING, Any

from selective_labels._errors import InputError
from selective_labels.report import figures, page, wording

if TYPE_CHECKING:
    from jinja2 import Environment


# As \uXXXX, these characters cannot end a script or open a comment; JSON decodes them unchanged.
UNSAFE = {ord(character): f"\\u{ord(character):04x}" for character in "<>&"}


def embeddable_json(value: Any) -> str:
    r"""JSON that is safe inside a script element; all non-ASCII characters are escaped.

    Examples
    --------
    >>> print(embeddable_json({"name": "</script>"}))
    {"name":"\u003c/script\u003e"}
    """
    return json.dumps(value, allow_nan=False, separators=(",", ":")).translate(UNSAFE)


SCHEMA_VERSION = 2
FILTERS = (
    wording.cut,
    wording.sentence,
    wording.percent,
    wording.number,
    wording.p_value,
    wording.count,
    wording.points,
)
FUNCTIONS = (
    page.section,
    page.is_missing,
    page.model_names,
    page.refuted,
    page.metric_figures,
    page.comparison_figure,
    page.ladder_figures,
    figures.drift_figures,
    page.feature_figures,
    page.leniency_figures,
    page.sensitivity_figure,
    page.subgroup_figures,
    page.usable_gaps,
    page.explorer_panels,
    page.human_reading,
    page.team_rows,
    page.answer_figures,
    page.comparator_rows,
    page.assumption_cards,
    page.people_figure,
)


def render(document: Mapping[str, Any]) -> str:
    """Render an assessment as one HTML page without external resources.

    Parameters
    ----------
    document : mapping
        The document that :func:`selective_labels.assess` returns.

    Returns
    -------
    str
        HTML with embedded style, script and numbers; a content security policy blocks everything else.

    Examples
    --------
    >>> page = render({"schema_version": 2, "title": "A <b>title</b>"})
    >>> "A &lt;b&gt;title" in page, "This part was not computed." in page
    (True, True)
    """
    version = document.get("schema_version")
    if version != SCHEMA_VERSION:
        raise InputError(
            f"the document has schema_version {version!r}; this version of selective-labels renders "
            f"{SCHEMA_VERSION}: make the document again.",
            "document",
        )
    style, script = (_packaged(name) for name in ("style.css", "page.js"))
    words = wording.words_of(document)
    page = (
        _environment()
        .get_template("page.html.j2")
        .render(
            document=document,
            words=words,
            say=partial(wording.say, words=words),
            style=style,
            script=script,
            policy=_policy(style, script),
            numbers=embeddable_json(document),
        )
    )
    page = wording.page_in_words(page, wording.vocabulary_of(document))
    # A lone surrogate cannot be written to a file.
    return page.encode("utf-8", "replace").decode("utf-8")


@cache
def _environment() -> "Environment":
    from jinja2 import Environment, PackageLoader, StrictUndefined

    environment = Environment(
        loader=PackageLoader(__package__),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters |= {each.__name__: each for each in FILTERS}
    environment.globals |= {each.__name__: each for each in FUNCTIONS}
    environment.globals |= {"wording": wording, "PEOPLE": wording.PEOPLE}
    return environment


def _policy(style: str, script: str) -> str:
    """Content security policy that allows this style and this script only."""
    return (
        f"default-src 'none'; style-src '{_digest(style)}'; script-src '{_digest(script)}'; "
        "base-uri 'none'; form-action 'none'"
    )


def _digest(text: str) -> str:
    return f"sha256-{b64encode(sha256(text.encode()).digest()).decode()}"


def _packaged(name: str) -> str:
    return files(__package__).joinpath(name).read_text(encoding="utf-8")


BROWSERS = (
    "chromium",
    "chromium-browser",
    "google-chrome",
    "google-chrome-stable",
    "chrome",
    "microsoft-edge",
)
# The page loads nothing, so the browser needs no network, no profile and no GPU.
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
    """Path of a browser that can print; raises an error that says what to install if there is none."""
    found = next(filter(None, map(shutil.which, BROWSERS)), None)
    if found is None:
        raise InputError(
            "a PDF is printed by Chromium, Chrome or Edge, and none was found: write an .html page and print "
            "it from any browser, or write .md.",
            "out",
        )
    return found


def render_pdf(html: str, browser: str | None = None) -> bytes:
    """Print a page made by :func:`selective_labels.report.render` as PDF.

    Parameters
    ----------
    browser : str, optional
        Path of a Chromium-based browser. Default: the first one found.
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
