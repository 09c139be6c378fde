"""What the site makes of sources: docstrings, links to other files, and pages of checks."""

import re
from pathlib import Path

import pytest

from docs.site_parts import internal_links, links
from docs.site_parts.docstrings import as_literals
from selective_labels.diagnostics.diagnose import CHECKS

ROOT = Path(__file__).parents[1]
DOCS = ROOT / "docs"
CHECK_PAGE = ["What it sees", "An example that triggers it", "What to do"]


def test_an_indented_formula_is_left_as_it_is_written():
    assert as_literals(["So", "", "    |a_k|", "", "holds."]) == [
        "So",
        "",
        "::",
        "",
        "    |a_k|",
        "",
        "holds.",
    ]


@pytest.mark.parametrize("lines", [["x : float", "    A number."], ["- a point", "", "    and its rest"]])
def test_other_indented_lines_are_left_alone(lines):
    assert as_literals(lines) == lines


def test_links_to_files_elsewhere_lead_to_their_pages():
    text = "[a](../study/README.md#b), [c](evaluation.md), [d](../Makefile), ![e](f.png)"
    found = links.rewritten(text, DOCS, DOCS)
    assert found == "[a](/study-commands.md#b), [c](evaluation.md), d (`Makefile`), ![e](f.png)"


def test_links_of_a_file_elsewhere_are_those_of_the_page_that_holds_it():
    found = links.rewritten("[a](docs/coverage.md) ![b](c.png)", ROOT, DOCS)
    assert found == "[a](/coverage.md) ![b](../c.png)"


def test_links_that_lead_nowhere_are_found(tmp_path):
    (tmp_path / "a.html").write_text(
        '<h1 id="x"></h1><a href="b.html#y"></a><a href="c.html"></a><a href="#x"></a>'
    )
    (tmp_path / "b.html").write_text('<a href="a.html#x"></a><a href="https://elsewhere.org"></a>')
    assert internal_links.broken(tmp_path) == [
        "a.html: b.html#y has no such anchor",
        "a.html: c.html is not there",
    ]


def test_every_check_has_a_page_and_every_page_a_row_in_the_table():
    pages = {path.stem for path in (DOCS / "checks").glob("SL*.md")}
    assert {check.code for check in CHECKS} <= pages
    table = set(re.findall(r"^\| (SL\d+) \|", (DOCS / "diagnostics.md").read_text(), flags=re.MULTILINE))
    # The code of a warning, which is no check.
    assert pages - {"SL105"} == table
    listed = set(re.findall(r"^(SL\d+)$", (DOCS / "checks" / "index.md").read_text(), flags=re.MULTILINE))
    assert listed == pages


@pytest.mark.parametrize("path", sorted((DOCS / "checks").glob("SL*.md")), ids=lambda path: path.stem)
def test_a_page_of_a_check_has_its_three_parts(path):
    text = path.read_text()
    assert re.findall(r"^## (.*)$", text, flags=re.MULTILINE)[0] == "What it sees"
    assert "```{run}" in text
    assert "## What to do" in text


def test_every_correction_of_a_theorem_has_its_test():
    rows = re.findall(
        r"^\| (E\w+) \|.*\| `(test_\w+\.py)`: `(test_\w+)` \|$", (DOCS / "errata.md").read_text(), re.M
    )
    assert len(rows) >= 16
    for code, file, name in rows:
        text = (ROOT / "tests" / "identification" / file).read_text()
        body = re.search(rf"^def {name}\(.*?(?=^(?:def|@)|\Z)", text, re.M | re.S)
        assert body is not None, f"{code}: {file} has no {name}"
        assert re.search(rf"\b{code}\b", body[0]), f"{name} does not name {code}"


@pytest.mark.parametrize("path", sorted((DOCS / "checks").glob("SL*.md")), ids=lambda path: path.stem)
def test_every_page_of_a_check_says_what_it_sees_what_triggers_it_and_what_to_do(path):
    headings = re.findall(r"^## (.*)$", path.read_text(), flags=re.MULTILINE)
    assert [each for each in headings if each in CHECK_PAGE] == CHECK_PAGE
    assert "{run}" in path.read_text().partition("## An example that triggers it")[2].partition("## ")[0]
