"""The README's commands run as they stand, one after the other, but for the page: `make docs` writes one."""

import re
import shlex
from pathlib import Path

from typer.testing import CliRunner

from selective_labels.cli.app import app

README = Path(__file__).parents[1] / "README.md"
# Few rows and simple models: what is tried here is the commands.
FAST = ["--nuisance", "logistic", "--folds", "2"]


def test_the_commands_of_the_readme_run(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    text = README.read_text(encoding="utf-8")
    blocks = re.findall(r"^```\w*\n(.*?)^```$", text, flags=re.DOTALL | re.MULTILINE)
    (commands,) = [block for block in blocks if "selective-labels check" in block]
    first, *others = (shlex.split(line, comments=True) for line in commands.splitlines())
    assert first[:2] == ["python", "-c"]
    exec(first[2].replace("make_loans(2000)", "make_loans(400)"), {})
    assert [command[1] for command in others] == ["check", "evaluate", "fit", "ladder", "report"]
    for program, *arguments in others[:-1]:
        assert program == "selective-labels"
        done = CliRunner().invoke(app, [*arguments, *FAST])
        assert done.exit_code == 0, done.output
    assert (tmp_path / "model.skops").exists()
