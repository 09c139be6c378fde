"""Cells of a folder of tidy tables: `x_*` features, `z` decision-maker, `d` decision, `y` label, `y_true`."""

from functools import lru_cache, partial
from itertools import product
from pathlib import Path

import numpy as np
import pandas as pd
from scipy.special import expit
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

from study.benchmark.cases import MOST_ROWS, Cases, Cell, Halves, halved

FILE = "tidy.csv.gz"
CASE = "case_id"
# Cases were dealt out within strata; a cell more has the same cases, and does not name them.
STRATA = "block_num"
UNNAMED = "no-strata"
# Features that the raters saw, hidden from the table step by step: the confounding is then real.
HIDDEN = {
    "human_compas_dressel_farid_2018": {
        "all": (),
        "no-priors": ("x_priors_count",),
        "no-record": ("x_priors_count", "x_juv_fel_count", "x_juv_misd_count"),
        "no-record-charge": ("x_priors_count", "x_juv_fel_count", "x_juv_misd_count", "x_charge_degree"),
        "no-record-charge-age": (
            "x_priors_count",
            "x_juv_fel_count",
            "x_juv_misd_count",
            "x_charge_degree",
            "x_age",
        ),
    }
}
# Raters did not see the score of a machine, and the number of a charge is a name.
NEVER = ("x_compas_decile_score", "x_charge_id")
# Tables with few rows for each of many decision-makers, who tell nothing in a small draw.
ROWS = {"human_compas_dressel_farid_2018": 20_000, "seattle_terry_stops": 10_000}
# Draws of a table of people are its halves, which have most rows in common: few say what many would.
DRAWS = 4
# The outcome is caused by the decision, so it is no label; one is simulated for the real decisions.
SIMULATED = ("philadelphia_bail_stevenson_2018",)
# How strongly the simulated label goes with what the decision-maker acted on.
CONFOUNDING = 3.0


def tidy_cells(folder: Path | None) -> dict[str, Cell]:
    """Every folder that has a tidy table; more than one cell where features can be hidden."""
    cells = {}
    for path in sorted(folder.glob(f"*/{FILE}")) if folder is not None else ():
        name = path.parent.name
        short = name.split("_")[0]
        columns = pd.read_csv(path, nrows=0).columns
        if name in SIMULATED:
            cells[f"{short}-simulated"] = Cell(partial(_draw_simulated, path), mirrors=True, truth=True)
            continue
        kinds = [(True, "")] + [(False, UNNAMED)] * (STRATA in columns)
        for (step, hidden), (named, word) in product(HIDDEN.get(name, {"": ()}).items(), kinds):
            cells["-".join(filter(None, (short, step, word)))] = Cell(
                partial(_draw, path, hidden, named),
                mirrors=False,
                truth="y_true" in columns,
                rows=ROWS.get(name, MOST_ROWS),
                draws=DRAWS,
            )
    return cells


@lru_cache(maxsize=1)
def read(path: Path) -> pd.DataFrame:
    """The table, once for each process."""
    return pd.read_csv(path, low_memory=False)


def cases_of(frame: pd.DataFrame, hidden: tuple[str, ...], with_strata: bool = False) -> Cases:
    """Roles of a tidy table; class codes are places among the sorted labels."""
    features = [name for name in frame.columns if name.startswith("x_") and name not in (*hidden, *NEVER)]
    known = "y_true" in frame
    classes = np.unique(frame["y"].dropna())
    seen = frame["d"].to_numpy() == 1
    y = np.full(len(frame), -1)
    y[seen] = np.searchsorted(classes, frame["y"].to_numpy()[seen])
    y_true = np.searchsorted(classes, frame["y_true"].to_numpy()) if known else None
    groups = frame[CASE].to_numpy() if CASE in frame else None
    strata = frame[STRATA].to_numpy() if with_strata and STRATA in frame else None
    return Cases(frame[features], y, frame["z"].astype(str).to_numpy(), y_true, groups, strata)


def _draw(
    path: Path,
    hidden: tuple[str, ...],
    with_strata: bool,
    mirrored: bool,
    seed: np.random.SeedSequence,
    most: int,
) -> Halves:
    return halved(cases_of(read(path), hidden, with_strata), seed, most)


def _draw_simulated(path: Path, mirrored: bool, seed: np.random.SeedSequence, most: int) -> Halves:
    """Real cases, decision-makers and decisions; labels that go with what moved the decision.

    With λ_z(x) the chance of a decision in favour, the decision is 1{v < λ_z(x)} for a v that is uniform
    whoever decides. Given the decision, v is uniform below or above λ; a label that depends on x and v is
    then confounded with the decision and has nothing to do with who decided.
    """
    first, second = (np.random.default_rng(each) for each in seed.spawn(2))
    frame = read(path)
    frame = frame.iloc[first.choice(len(frame), min(2 * most, len(frame)), replace=False)]
    cases = cases_of(frame.drop(columns="y_true"), ("x_t",))
    numbers = cases.X.select_dtypes("number").to_numpy(dtype=float)
    accepted = frame["d"].to_numpy()
    chance = _chance(numbers, cases.decision_maker, accepted)
    uniform = first.random(len(frame))
    reason = np.where(accepted == 1, uniform * chance, chance + uniform * (1.0 - chance)) - 0.5
    scaled = StandardScaler().fit_transform(numbers)
    slope = np.where(np.arange(scaled.shape[1]) % 2 == 0, 1.0, -1.0) / np.sqrt(scaled.shape[1])
    index = scaled @ slope + CONFOUNDING * (-reason if mirrored else reason)
    y_true = (second.random(len(frame)) < expit(index)).astype(int)
    y = np.where(accepted == 1, y_true, -1)
    return halved(Cases(cases.X, y, cases.decision_maker, y_true), seed.spawn(1)[0], most)


def _chance(numbers: np.ndarray, decision_maker: np.ndarray, accepted: np.ndarray) -> np.ndarray:
    """Chance of a decision in favour, by logistic regression on features and decision-maker."""
    who = OneHotEncoder(sparse_output=False).fit_transform(decision_maker[:, None])
    model = make_pipeline(StandardScaler(), LogisticRegression(max_iter=1000))
    columns = np.column_stack([numbers, who])
    return np.clip(model.fit(columns, accepted).predict_proba(columns)[:, 1], 0.01, 0.99)
