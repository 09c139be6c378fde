"""A block of a page that is run when the site is built, and shown with what it printed."""

import contextlib
import io
import os
import subprocess
import sys
import tempfile
import traceback
import warnings
from pathlib import Path
from typing import Any, ClassVar

from docutils import nodes
from docutils.parsers.rst import directives
from sphinx.util.docutils import SphinxDirective

LONGEST_OUTPUT = 60


class Run(SphinxDirective):
    """Run Python (or commands, with ``:shell:``), show it, and show what it printed.

    Blocks of one page share their names and one temporary folder. A block that fails stops the build, unless
    ``:fails:`` says that this is what is shown. ``:hide:`` shows nothing, ``:silent:`` no output, and
    ``:last: 5`` its last five lines.

    ``:check:`` and ``:status:`` are for the pages of checks: the block leaves a `diagnosis`, in which that
    check must have that status; what it says is shown.
    """

    has_content = True
    option_spec: ClassVar[dict[str, Any]] = {
        "shell": directives.flag,
        "fails": directives.flag,
        "hide": directives.flag,
        "silent": directives.flag,
        "last": directives.positive_int,
        "check": directives.unchanged,
        "status": directives.unchanged,
    }

    def run(self) -> list[nodes.Node]:
        """Nodes of the code and of its output."""
        source = "\n".join(self.content)
        page = pages.setdefault(self.env.docname, Page())
        printed = page.shell(source) if "shell" in self.options else page.python(source)
        if (page.failed is not None) != ("fails" in self.options):
            raise self.error(f"This block was {'not ' if page.failed is None else ''}to fail:\n{printed}")
        if "check" in self.options:
            printed = page.finding(self.options["check"], self.options["status"])
        if "hide" in self.options:
            return []
        found: list[nodes.Node] = [block(source, "bash" if "shell" in self.options else "python")]
        if printed.strip() and "silent" not in self.options:
            kind = "terminal" if "shell" in self.options else "printed"
            found.append(block(shortened(printed, self.options.get("last")), "text", kind))
        return found


class Page:
    """Names and files that the blocks of one page share."""

    def __init__(self) -> None:
        self.names: dict[str, Any] = {"__name__": "__main__"}
        self.folder = tempfile.TemporaryDirectory()
        self.failed: str | None = None

    def python(self, source: str) -> str:
        """Run Python; what it printed, or the last line of its error."""
        output, self.failed = io.StringIO(), None
        with contextlib.redirect_stdout(output), contextlib.chdir(self.folder.name):
            try:
                # A page shows what is printed; warnings that it wants to show it prints.
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore")
                    exec(compile(source, "page", "exec"), self.names)
            except Exception:
                self.failed = traceback.format_exc()
                return self.failed.strip().splitlines()[-1].rpartition("errors.")[2]
        return output.getvalue()

    def shell(self, source: str) -> str:
        """Run commands until one fails; what they printed, their complaints included."""
        environment = os.environ | {"COLUMNS": "86", "NO_COLOR": "1", "TERM": "dumb"}
        environment["PATH"] = f"{Path(sys.executable).parent}{os.pathsep}{environment['PATH']}"
        # As a terminal would, results and remarks in the order in which they come.
        done = subprocess.run(
            ["bash", "-e", "-c", source],
            cwd=self.folder.name,
            env=environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        self.failed = done.stdout if done.returncode else None
        return done.stdout

    def finding(self, code: str, status: str) -> str:
        """What a check says in the `diagnosis` that a block left."""
        (result,) = [each for each in self.names["diagnosis"] if each.code == code][:1]
        if result.status != status:
            raise RuntimeError(f"{code} is {result.status}, and its page says {status}: {result.message}")
        p_value = "" if result.p_value is None else f", p = {result.p_value:.3g}"
        lines = [f"{result.code}  {result.name}: {result.status}{p_value}", result.message, result.advice]
        return "\n".join(line for line in lines if line)


pages: dict[str, Page] = {}


def block(text: str, language: str, kind: str = "") -> nodes.Node:
    """A block of code, or of what it printed."""
    node = nodes.literal_block(text, text, language=language)
    node["classes"] = [kind] if kind else []
    return node


def shortened(printed: str, last: int | None = None) -> str:
    """The first lines of a long text, or its last ones."""
    lines = [line.rstrip() for line in printed.rstrip().splitlines()]
    if last is not None:
        return "\n".join(["...", *lines[-last:]] if len(lines) > last else lines)
    rest = len(lines) - LONGEST_OUTPUT
    return "\n".join([*lines[:LONGEST_OUTPUT], f"... and {rest} more lines"] if rest > 0 else lines)
