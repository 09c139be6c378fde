"""Cells whose law is known: the package's designs, the paper's, and real loans with simulated decisions."""

from collections.abc import Callable
from functools import partial
from pathlib import Path

import numpy as np

from selective_labels import datasets
from study.benchmark.cases import Cases, Cell, Halves, halved

N_POPULATION = 20_000
HELOC = "heloc_fico/heloc_dataset_v1.csv.gz"
DESIGNS = {
    "additive": partial(datasets.make_decision_makers, additive=True),
    "not-additive": partial(datasets.make_decision_makers, additive=False),
    "skill-rises": partial(datasets.make_decision_makers, n_classes=2, additive=False, skill_slope=1.0),
    "skill-falls": partial(datasets.make_decision_makers, n_classes=2, additive=False, skill_slope=-1.0),
    "weak": partial(datasets.make_decision_makers, additive=False, leniency_spread=0.15),
    "paper-nucem": partial(datasets.make_paper_synthetic, selection="nucem"),
    "paper-uc": partial(datasets.make_paper_synthetic, selection="uc"),
}


def simulated_cells(folder: Path | None) -> dict[str, Cell]:
    """Designs that need no file, and those of the loans if their file is in the folder.

    Examples
    --------
    >>> sorted(simulated_cells(None))
    ['additive', 'not-additive', 'paper-nucem', 'paper-uc', 'skill-falls', 'skill-rises', 'weak']
    """
    cells = {
        name: Cell(partial(design_halves, each), mirrors=True, truth=True) for name, each in DESIGNS.items()
    }
    if folder is not None and (folder / HELOC).exists():
        for selection in ("uc", "nucem"):
            draw = partial(_draw_loans, folder / HELOC, selection)
            cells[f"heloc-{selection}"] = Cell(draw, mirrors=True, truth=True)
    return cells


def design_halves(
    design: Callable[..., datasets.SelectiveSample], mirrored: bool, seed: np.random.SeedSequence, most: int
) -> Halves:
    """Training, test and population in one call, so that they share the law and the decision-makers."""
    sample = design(2 * most + N_POPULATION, mirrored=mirrored, random_state=seed)
    cases = Cases(sample.X, sample.y, sample.decision_maker, sample.y_true)
    rows = np.arange(len(sample.y))
    return Halves(*(cases.take(each) for each in np.split(rows, [most, 2 * most])))


def _draw_loans(
    path: Path, selection: str, mirrored: bool, seed: np.random.SeedSequence, most: int
) -> Halves:
    """The released design: five decision-makers, the hidden variable a residual of boosting."""
    first, second = seed.spawn(2)
    sample = datasets.make_fico(
        path, selection, 0.5, n_decision_makers=5, hidden="released", mirrored=mirrored, random_state=first
    )
    cases = Cases(np.asarray(sample.X, dtype=float), sample.y, sample.decision_maker, sample.y_true)
    return halved(cases, second, most)
