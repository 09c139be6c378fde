"""The page of the study, and the tables behind it, from whatever results there are."""

import json
from collections.abc import Iterable
from pathlib import Path

from selective_labels.io.files import whole_file
from study.engine import RUN_FILE
from study.page.document import to_markdown
from study.page.front import front_page
from study.page.published import read_published
from study.page.reading import read_results, read_run, read_settings, read_times
from study.page.sections import Study, table_pages
from study.table import write_rows

TABLES = "tables"


def write_page(results: Iterable[Path], out: Path, published: Path | None = None) -> list[Path]:
    """Write the page that people read, the tables behind it, and the results on which both rest.

    Parameters
    ----------
    results : paths
        Folders of runs, or CSV files of results; those that an earlier call wrote will do. Where two hold the
        same task, the first counts.
    out : Path
        Folder of `study.md` with its pictures; its folder `tables` gets the rest.
    published : Path, optional
        Folder with the published means (synthetic.csv, fico.csv, sensitivity.csv).

    Returns
    -------
    list of Path
        The files written, figures aside.
    """
    results = list(results)
    rows, times, run = read_results(results), read_times(results), read_run(results)
    (out / TABLES).mkdir(parents=True, exist_ok=True)
    means = read_published(published)
    texts = {out / f"study-{RUN_FILE}": json.dumps(run) + "\n"}
    pages = dict(table_pages(Study(rows, times, run, means, out / TABLES)))
    for name, blocks in pages.items():
        texts[out / TABLES / f"{name}.md"] = to_markdown(blocks)
    front = front_page(Study(rows, times, run, means, out), [f"{TABLES}/{name}.md" for name in pages])
    texts[out / "study.md"] = to_markdown(front)
    for path, text in texts.items():
        with whole_file(path) as draft:
            draft.write_text(text, encoding="utf-8")
    written = list(texts)
    kept = {str(protocol): each for protocol, each in rows.groupby("protocol")}
    for name, each in {**kept, "settings": read_settings(results), "times": times}.items():
        path = out / f"study-{name}.csv"
        write_rows(each, path)
        written.append(path)
    return written
