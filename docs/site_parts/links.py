"""Pages whose text is a file elsewhere in the repository, and links to such files."""

import os
import re
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[2]
# Pages of the site whose text is a file elsewhere: they hold nothing but a line that names it.
FILES = {
    "study/README.md": "study-commands",
    "study/results/study.md": "study",
    "study/benchmark/README.md": "field-commands",
    "study/benchmark/results/benchmark.md": "field",
    "study/benchmark/results/modes.md": "field-modes",
    "CHANGELOG.md": "changelog",
    "CONTRIBUTING.md": "contributing",
}
TEXT_OF = re.compile(r"^% The text of ([\w./-]+)$", flags=re.MULTILINE)
LINK = re.compile(r"(!?)\[([^\]]*)\]\((?![a-z]+:|#|/)([^)#\s]+)(#[^)]*)?\)")


def to_pages(app: Any, docname: str, source: list[str]) -> None:
    """Put in the text of other files, and turn links that leave docs/ into links to pages."""
    folder = (ROOT / "docs" / docname).parent
    text = source[0]
    for match in TEXT_OF.finditer(text):
        path = ROOT / match[1]
        text = text.replace(match[0], rewritten(path.read_text(encoding="utf-8"), path.parent, folder))
    source[0] = rewritten(text, folder, folder)


def rewritten(text: str, there: Path, here: Path) -> str:
    """A text whose links are relative to one folder, for a page in another."""

    def link(match: re.Match[str]) -> str:
        image, words, target, anchor = match.groups()
        path = Path(os.path.normpath(there / target))
        try:
            name = path.relative_to(ROOT).as_posix()
        except ValueError:
            return match[0]
        if name in FILES:
            target = f"/{FILES[name]}.md"
        elif there != here and name.startswith("docs/"):
            target = f"/{name.removeprefix('docs/')}"
        elif image:
            target = os.path.relpath(path, here)
        elif not name.startswith("docs/"):
            # A file that the site has no page of is named, not linked.
            return words if words.startswith("`") else f"{words} (`{name}`)"
        return f"{image}[{words}]({target}{anchor or ''})"

    return LINK.sub(link, text)
