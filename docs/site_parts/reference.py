"""Parts of pages that come from the product itself, so that they stay true."""

import re
from pathlib import Path
from typing import ClassVar

from docutils import nodes
from sphinx.util.docutils import SphinxDirective

from selective_labels import assumptions
from selective_labels.diagnostics import maturity
from selective_labels.diagnostics.diagnose import CHECKS

TABLE = Path(__file__).parents[1] / "diagnostics.md"
ROW = re.compile(r"^\| (SL\d+) \| (.+?) \| (.+?) \| (.+) \|$", flags=re.MULTILINE)


def table_of_checks() -> dict[str, tuple[str, str, str]]:
    """Family, question and reference of each code, from the table of docs/diagnostics.md."""
    text = TABLE.read_text(encoding="utf-8").replace(r"\|", "¦")
    return {code: tuple(each.replace("¦", "|") for each in rest) for code, *rest in ROW.findall(text)}


class FromMarkdown(SphinxDirective):
    """A directive that writes Markdown."""

    required_arguments = 0
    optional_arguments = 1

    def markdown(self) -> str:
        """What is to be set."""
        raise NotImplementedError

    def run(self) -> list[nodes.Node]:
        """Its nodes."""
        return self.parse_text_to_nodes(self.markdown())


class CheckCard(FromMarkdown):
    """Family, question, null hypothesis of one code."""

    def markdown(self) -> str:
        """A short list."""
        code = self.arguments[0]
        family, question, reference = table_of_checks()[code]
        name = next((check.name for check in (*CHECKS, *maturity.CHECKS) if check.code == code), None)
        lines = [f"**Question.** {question}", f"**Family.** `{family}`"]
        if name is not None:
            lines.insert(0, f"**Name.** {name}")
        # A bar within a formula of the table has a backslash there, and none here.
        return "\n\n".join([*lines, f"**How it is tested.** {reference[0].upper()}{reference[1:]}."])


class AssumptionWords(FromMarkdown):
    """The sentence that results print for each assumption with a name."""

    option_spec: ClassVar[dict] = {}

    def markdown(self) -> str:
        """A table."""
        rows = [f"| `{each.name}` | {each.sentence} |" for each in assumptions.known()]
        return "\n".join(["| name | what results say |", "| --- | --- |", *rows])
