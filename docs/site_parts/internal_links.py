"""Whether every link within the built site leads somewhere; run with the folder of the site."""

import re
import sys
from html import unescape
from pathlib import Path
from urllib.parse import unquote, urlsplit

LINK = re.compile(r'(?:href|src)="([^"]+)"')
ANCHOR = re.compile(r'\b(?:id|name)="([^"]+)"')
# Pages that Sphinx writes for itself.
OWN = {"genindex.html", "search.html", "py-modindex.html"}


def broken(site: Path) -> list[str]:
    """Links to files or anchors that are not there; other hosts are not asked."""
    pages = {path: path.read_text(encoding="utf-8") for path in sorted(site.rglob("*.html"))}
    anchors = {path: set(map(unescape, ANCHOR.findall(text))) for path, text in pages.items()}
    found = []
    for page, text in pages.items():
        for link in map(unescape, LINK.findall(text)):
            parts = urlsplit(link)
            if parts.scheme or parts.netloc or page.name in OWN:
                continue
            target = (page.parent / unquote(parts.path)).resolve() if parts.path else page.resolve()
            target = target / "index.html" if target.is_dir() else target
            known = anchors.get(
                target.relative_to(site.resolve()) and site / target.relative_to(site.resolve())
            )
            if not target.exists():
                found.append(f"{page.relative_to(site)}: {link} is not there")
            elif parts.fragment and known is not None and unquote(parts.fragment) not in known:
                found.append(f"{page.relative_to(site)}: {link} has no such anchor")
    return found


if __name__ == "__main__":
    built = Path(sys.argv[1])
    problems = broken(built) if (built / "index.html").exists() else [f"{built} has no index.html"]
    print("\n".join(problems) or "Every link within the site leads somewhere; other hosts were not asked.")
    sys.exit(bool(problems))
