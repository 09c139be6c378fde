"""The README's Python runs as it stands."""

import re
from pathlib import Path

README = Path(__file__).parents[1] / "README.md"


def test_the_example_of_the_readme_runs(capsys):
    text = README.read_text(encoding="utf-8")
    (block,) = re.findall(r"```python\n(.*?)```", text, flags=re.DOTALL)
    (shown,) = re.findall(r"```text\n(.*?)```", text, flags=re.DOTALL)
    exec(compile(block, "README.md", "exec"), {})
    printed = capsys.readouterr().out
    assert "Assumption (instrument)" in printed, "a number never appears without its assumption"
    assert "Verdict" in printed, "a comparison says who is better, or that it is undecided"
    for line in shown.splitlines():
        assert line in printed, "the README shows what is printed"
