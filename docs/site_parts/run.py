"""A block of a page that is run when the site is built, and shown with what it printed."""

import contextlib
import io
import os
import shlex
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
    ``:fails:`` says that this is what is shown. ``:hide:`` shows nothing.

    ``:check:`` and ``:status:`` are for the pages of checks: the block leaves a `diagnosis`, in which that
    check must have that status; what it says is shown.
    """

    has_content = True
    option_spec: ClassVar[dict[str, Any]] = {
        "shell": directives.flag,
        "fails": directives.flag,
        "hide": directives.flag,
        "silent": directives.flag,
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
            found.append(block(shortened(printed), "text", "printed"))
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
        """Run commands one after the other; what they printed, their complaints included."""
        printed, self.failed = "", None
        environment = os.environ | {"COLUMNS": "110", "NO_COLOR": "1", "TERM": "dumb"}
        environment["PATH"] = f"{Path(sys.executable).parent}{os.pathsep}{environment['PATH']}"
        for line in source.replace("\\\n", " ").splitlines():
            if not shlex.split(line, comments=True):
                continue
            done = subprocess.run(
                line, shell=True, cwd=self.folder.name, env=environment, capture_output=True, text=True
            )
            printed += done.stdout + done.stderr
            if done.returncode:
                self.failed = printed
        return printed

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


def shortened(printed: str) -> str:
    """The first lines of a long text."""
    lines = [line.rstrip() for line in printed.rstrip().splitlines()]
    rest = len(lines) - LONGEST_OUTPUT
    return "\n".join([*lines[:LONGEST_OUTPUT], f"... and {rest} more lines"] if rest > 0 else lines)
