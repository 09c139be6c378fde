"""What a release needs agrees with what the project says of itself; texts stay in plain words."""

import json
import re
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
SETTINGS = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
PROJECT, BUILD = SETTINGS["project"], SETTINGS["build-system"]["requires"]
RECIPE = (ROOT / "conda" / "recipe.yaml").read_text(encoding="utf-8")
# Names of packages that differ between the two indexes.
ON_CONDA = {"matplotlib": "matplotlib-base"}
# Phrases of early drafts that readers had to read twice, as regular expressions without regard to case.
RETIRED = [
    r"wider than sharp",
    r"decided in favour of in",
    r"chance would have it",
    r"may go unseen",
    r"say that all is well",
    r"whoever accepts fewer",
    r"label,? with holes",
    r"what is not looked for",
    r"leaves? no room",
    r"stands for itself",
    r"play of chance",
    r"turn(ed)? the words round",
    r"dealt out",
    r"(?<![-\w])like cases",
    r"cannot be told from",
    r"what others do, beside ours",
    r"how many rows some rows are",
    r"among-like-cases",
    r"(than|among|from|of) like (approved|accepted)",
    r"floors? whose",
    r"deals? them out",
    r"lot among like",
    r"\bamong like\b",
    r"not dealt to",
    r"every row is a hole",
    r"noise or in earnest",
    r"as luck alone",
    r"reads like a hole",
]
PAGES = [
    *(path for pattern in ("*.py", "*.html", "*.j2") for path in (ROOT / "src").rglob(pattern)),
    *(path for path in (ROOT / "docs").rglob("*.md") if "generated" not in path.parts),
    *(ROOT / "examples").glob("*.py"),
    *(ROOT / name for name in ("README.md", "CHANGELOG.md", "CONTRIBUTING.md")),
]


def test_the_conda_recipe_requires_what_the_wheel_requires():
    block = re.search(r"  run:\n((?:    - .*\n)+)", RECIPE)[1]
    recipe = {tuple(line.removeprefix("    - ").split(" ")) for line in block.splitlines()}
    wheel = {tuple(re.split(r"(?=>=)", each)) for each in PROJECT["dependencies"]}
    wheel = {(ON_CONDA.get(name, name), least) for name, least in wheel}
    assert recipe == wheel | {("python", PROJECT["requires-python"])}


def test_both_builds_require_the_same_tools():
    block = re.search(r"  host:\n((?:    - .*\n)+)", RECIPE)[1]
    recipe = {line.removeprefix("    - ").replace(" ", "") for line in block.splitlines()}
    assert recipe - {"pip"} == {f"python{PROJECT['requires-python']}", *BUILD}


def test_tools_name_files_that_exist():
    tools = [ROOT / name for name in ("Makefile", ".pre-commit-config.yaml", "pyproject.toml")]
    texts = [path.read_text(encoding="utf-8") for path in tools if path.exists()]  # an archive has no hooks
    named = {path for text in texts for path in re.findall(r"tests/[\w/]+\.py|\.ci/\w+", text)}
    assert named
    assert not [path for path in named if not (ROOT / path).exists()]


def test_the_versions_agree():
    version = re.search(r'^  version: "(.+)"', RECIPE, flags=re.MULTILINE)[1]
    citation = re.search(
        r"^version: (.+)$", (ROOT / "CITATION.cff").read_text(encoding="utf-8"), re.MULTILINE
    )[1]
    newest = re.search(r"^## ([\d.]+)", (ROOT / "CHANGELOG.md").read_text(encoding="utf-8"), re.MULTILINE)[1]
    assert version == citation == newest


def test_the_descriptions_of_the_project_agree():
    archive = json.loads((ROOT / ".zenodo.json").read_text(encoding="utf-8"))
    assert archive["license"] == PROJECT["license"]
    assert set(PROJECT["keywords"]) <= set(archive["keywords"])
    assert archive["title"].lower().startswith(PROJECT["name"])


def test_the_changelog_and_the_readme_stay_short():
    assert len((ROOT / "CHANGELOG.md").read_bytes()) <= 3000, "the changelog says what a release can do"
    assert len((ROOT / "README.md").read_text(encoding="utf-8").split()) <= 900


# Where one string ends and the next begins: a sentence of a message goes on over several lines of code.
BETWEEN_STRINGS = r"""(["'])\s*\n\s*[fr]?\1"""


@pytest.fixture(scope="module")
def texts():
    read = {str(path.relative_to(ROOT)): path.read_text(encoding="utf-8") for path in PAGES}
    return {
        name: re.sub(BETWEEN_STRINGS, "", text) if name.endswith(".py") else text
        for name, text in read.items()
    }


@pytest.mark.parametrize("phrase", RETIRED)
def test_retired_phrases_stay_retired(phrase, texts):
    spaced = phrase.replace(" ", r"\s+")
    found = [
        f"{name}: {match[0]!r}"
        for name, text in texts.items()
        for match in re.finditer(spaced, text, flags=re.IGNORECASE)
    ]
    assert not found, "see the project's words: say the noun, then the verb, and use the field's term"
