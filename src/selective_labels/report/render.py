"""One page that explains an assessment, in one file."""

from base64 import b64encode
from collections.abc import Mapping
from functools import cache, partial
from hashlib import sha256
from importlib.resources import files
from typing import TYPE_CHECKING, Any

from selective_labels.report import (
    cards,
    comparators,
    drift_charts,
    explorer,
    ladder_figures,
    numbers,
    opening,
    sections,
    speech,
    wording,
)
from selective_labels.report.embedding import embeddable_json
from selective_labels.support.errors import InputError

if TYPE_CHECKING:
    from jinja2 import Environment

SCHEMA_VERSION = 2
FILTERS = (
    numbers.cut,
    numbers.sentence,
    numbers.percent,
    numbers.number,
    numbers.p_value,
    numbers.count,
    numbers.points,
)
FUNCTIONS = (
    sections.section,
    sections.is_missing,
    sections.model_names,
    sections.refuted,
    sections.metric_figures,
    sections.comparison_figure,
    ladder_figures.ladder_figures,
    drift_charts.drift_figures,
    sections.feature_figures,
    sections.leniency_figures,
    sections.sensitivity_figure,
    sections.subgroup_figures,
    sections.usable_gaps,
    explorer.explorer_panels,
    explorer.human_reading,
    explorer.team_rows,
    opening.answer_figures,
    comparators.comparator_rows,
    cards.assumption_cards,
)


def render(document: Mapping[str, Any]) -> str:
    """Render an assessment as one HTML page without any link to the outside.

    Parameters
    ----------
    document : mapping
        What :func:`selective_labels.assess` returns.

    Returns
    -------
    str
        HTML with its style, script and numbers inside; a content security policy forbids everything else.

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
    words = speech.words_of(document)
    page = (
        _environment()
        .get_template("page.html.j2")
        .render(
            document=document,
            words=words,
            say=partial(speech.say, words=words),
            style=style,
            script=script,
            policy=_policy(style, script),
            numbers=embeddable_json(document),
        )
    )
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
    environment.globals["wording"] = wording
    return environment


def _policy(style: str, script: str) -> str:
    """Content security policy: this style, this script, and nothing else from anywhere."""
    return (
        f"default-src 'none'; style-src '{_digest(style)}'; script-src '{_digest(script)}'; "
        "base-uri 'none'; form-action 'none'"
    )


def _digest(text: str) -> str:
    return f"sha256-{b64encode(sha256(text.encode()).digest()).decode()}"


def _packaged(name: str) -> str:
    return files(__package__).joinpath(name).read_text(encoding="utf-8")
