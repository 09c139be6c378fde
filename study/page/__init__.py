"""The page of the study, from whatever results there are."""

import json
from collections.abc import Iterable
from pathlib import Path

from selective_labels.io.files import whole_file
from study.engine import RUN_FILE
from study.page.document import to_html, to_markdown
from study.page.prose import TITLE
from study.page.published import read_published
from study.page.reading import read_results, read_run, read_settings, read_times
from study.page.sections import Study, all_sections
from study.table import write_rows


def write_page(results: Iterable[Path], out: Path, published: Path | None = None) -> list[Path]:
    """Write the study as Markdown and as one HTML page, with its figures, and the results that it rests on.

    Parameters
    ----------
    results : paths
        Folders of runs, or CSV files of results; those that an earlier call wrote will do.
    out : Path
        Folder.
    published : Path, optional
        Folder with the published means (synthetic.csv, fico.csv, sensitivity.csv).

    Returns
    -------
    list of Path
        The files written, figures aside.
    """
    results = list(results)
    rows, times, run = read_results(results), read_times(results), read_run(results)
    out.mkdir(parents=True, exist_ok=True)
    blocks = list(all_sections(Study(rows, times, run, read_published(published), out)))
    texts = {
        "study.md": to_markdown(blocks),
        "study.html": to_html(blocks, TITLE),
        f"study-{RUN_FILE}": json.dumps(run) + "\n",
    }
    written = []
    for name, text in texts.items():
        with whole_file(out / name) as draft:
            draft.write_text(text, encoding="utf-8")
        written.append(out / name)
    kept = {str(protocol): each for protocol, each in rows.groupby("protocol")}
    for name, each in {**kept, "settings": read_settings(results), "times": times}.items():
        path = out / f"study-{name}.csv"
        write_rows(each, path)
        written.append(path)
    return written
