"""The page "The paper, item by item": every name can be imported, every test and correction exists."""

import re
from importlib import import_module
from pathlib import Path

import pytest

import selective_labels as sl

ROOT = Path(__file__).parents[1]
PAGE = (ROOT / "docs" / "paper.md").read_text()
NAMES = sorted(
    set(
        re.findall(
            r"`((?:sl|study|identification|estimators|nuisance|assumptions|diagnostics)\.[\w.]+)`", PAGE
        )
    )
)
TESTS = sorted(
    {
        (file, test)
        for file, names in re.findall(r"`(test_\w+\.py)`: ((?:`test_\w+`(?:, )?)+)", PAGE)
        for test in re.findall(r"`(test_\w+)`", names)
    }
)
LINES = [line for line in PAGE.splitlines() if line.startswith("| ")]
ROWS = [[cell.strip() for cell in re.split(r"(?<!\\)\|", line)[1:-1]] for line in LINES]
ITEMS = " ".join(row[0] for row in ROWS)


def found(name: str) -> object:
    """The object behind a name of the page."""
    first, *rest = name.split(".")
    if first == "sl":
        thing: object = sl
    else:
        # A module, or a class within one.
        depth = 1 + next((n for n, part in enumerate(rest) if part[0].isupper()), len(rest) - 1)
        module = ".".join([first, *rest[: depth - 1]])
        thing = import_module(module if first == "study" else f"selective_labels.{module}")
        rest = rest[depth - 1 :]
    for part in rest:
        thing = getattr(thing, part)
    return thing


@pytest.mark.parametrize("name", NAMES)
def test_every_name_can_be_imported(name):
    assert found(name) is not None


def test_every_test_is_in_its_file():
    sources = {path.name: path.read_text() for path in (ROOT / "tests").rglob("test_*.py")}
    assert len(TESTS) > 40
    assert {test for _, test in TESTS} == set(re.findall(r"`(test_\w+)`", PAGE)), "each after its file"
    assert [(file, test) for file, test in TESTS if f"def {test}(" not in sources.get(file, "")] == []


def test_every_item_has_code_and_a_test():
    items = [row for row in ROWS if len(row) == 5 and row[0] not in ("item", "---")]
    assert len(items) >= 44
    assert [row[0] for row in items if not (row[2] and "`test_" in row[3])] == []


def test_every_correction_is_in_the_errata():
    errata = (ROOT / "docs" / "errata.md").read_text()
    cited = set(re.findall(r"\bE\d+b?\b", PAGE))
    assert [each for each in sorted(cited) if f"| {each} |" not in errata] == []


def test_every_numbered_item_of_the_paper_is_there():
    numbered = ["Assumption 3.1 (1)", "Assumption 3.1 (2)", "Assumption 3.2", "Lemma 4.1", "Assumption 4.2"]
    numbered += ["Theorem 4.3", "Theorem 4.4", "Assumption 5.1", "Theorem 5.2", "Theorem 5.3", "Algorithm 1"]
    numbered += [
        "Theorem 6.1",
        "Proposition 6.2",
        "Proposition A.1",
        "Theorem B.1",
        "Theorem B.2",
        "Lemma D.1",
    ]
    numbered += ["Assumptions D.2 and D.3", "Proposition D.4", "Lemmas D.5 and D.6", "Table 1"]
    numbered += ["Figure 1", "Figures 2 and 6", "Figures 3 and 7", "Figure 4", "Figure 5"]
    numbered += ["SelectedSample", "SelectedSampleIPW", "FullSample", "PointLearning", "PartialLearning"]
    assert [item for item in numbered if item not in ITEMS] == []
    # All equations of the main text, and those of the appendix that are no step of a proof.
    equations = set(re.findall(r"\d+", " ".join(re.findall(r"Equations? ([\d and]+)", ITEMS))))
    assert equations == {str(number) for number in (*range(1, 14), 42, 43, 44)}


def test_the_status_of_every_figure_is_the_verdict_of_the_study():
    study = (ROOT / "study" / "results" / "study.md").read_text()
    verdicts = dict(re.findall(r"^\| ([^|:]+): [^|]+ \| \*\*([^|*]+)\*\* \|", study, flags=re.MULTILINE))
    assert set(verdicts) == {"Figures 2 and 6", "Figures 3 and 7", "Figure 4", "Figure 5", "Table 1"}
    for figure, verdict in verdicts.items():
        line = next(line for line in PAGE.splitlines() if line.startswith(f"| {figure} |"))
        assert line.split(" | ")[3].startswith(verdict), figure
