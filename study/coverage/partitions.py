"""Coverage where few rows fit the models and all rows are scored: tables in partitions, truth at an end.

The label of a case that was refused is the last class wherever the data allow it: the truth then lies on the
edge of what is identified, where coverage is hardest.
"""

import json
import tempfile
import warnings
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from scipy.stats import binom
from sklearn.metrics import roc_auc_score

import selective_labels as sl
from selective_labels.datasets import make_decision_makers
from study.coverage.run import draws, path

N_SAMPLES, N_PARTS = 200_000, 4
FEW, ALL = 20_000, N_SAMPLES
SEED = 20261119
# The share of class 1 lies at its upper end.
METRICS = ("accuracy", "tpr", "fpr", "auc", "share")
# Chance that a study in which all is right falls below the limit of a cell.
FALSE_ALARM = 1e-6
LEVEL = 0.95
DESIGNS: dict[str, dict[str, Any]] = {
    f"J={n_makers}": {"n_classes": 2, "n_decision_makers": n_makers, "additive": False, "slack_class": 1}
    for n_makers in (8, 30)
}
FEATURES = ["x_1", "x_2", "x_3", "x_4"]


class Rule:
    """What is judged: a fixed and imperfect score, and the rule that cuts it at zero."""

    classes_ = np.array([0.0, 1.0])

    def decision_function(self, X: pd.DataFrame) -> np.ndarray:
        """Score of class 1."""
        return np.asarray(-X["x_1"] - 0.5 * X["x_2"])

    def predict(self, X: pd.DataFrame) -> np.ndarray:
        """Class."""
        return (self.decision_function(X) > 0).astype(float)


def draw(design: str, number: int, fit_rows: int) -> list[list[Any]]:
    """Ends and intervals of one table: metric, lower, upper, the interval, and what is true of its rows."""
    seeds = np.random.SeedSequence(SEED, spawn_key=(list(DESIGNS).index(design), number)).spawn(2)
    sample = make_decision_makers(N_SAMPLES, random_state=np.random.default_rng(seeds[0]), **DESIGNS[design])
    frame = pd.DataFrame(sample.X, columns=FEATURES)
    frame["label"] = pd.Series(sample.y).where(sample.decision == 1)
    frame["decision"], frame["maker"] = sample.decision, sample.decision_maker
    state = int(seeds[1].generate_state(1)[0])
    with tempfile.TemporaryDirectory() as folder, warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # coverage is what is asked
        for part, rows in enumerate(np.array_split(np.arange(N_SAMPLES), N_PARTS)):
            frame.iloc[rows].to_parquet(Path(folder, f"{part}.parquet"))
        data = sl.SelectiveLabels.from_parquet(
            folder,
            label="label",
            decision="decision",
            decision_maker="maker",
            features=FEATURES,
            fit_rows=fit_rows,
            n_jobs=1,
        )
        how: dict[str, Any] = {"propensity": "shares", "n_jobs": 1, "random_state": state}
        found: Any = sl.evaluate(Rule(), data, metric=list(METRICS), **how)
    true = own_truth(frame, sample.y_true)
    return [
        [each.metric, each.lower, each.upper, each.ci_lower, each.ci_upper, true[each.metric]]
        for each in found
    ]


def own_truth(frame: pd.DataFrame, y_true: np.ndarray) -> dict[str, float]:
    """Metrics of a table by the labels of all its rows, those that nobody saw among them."""
    positive, flagged = y_true == 1, Rule().predict(frame) == 1
    return {
        "accuracy": float(np.mean(positive == flagged)),
        "tpr": float(flagged[positive].mean()),
        "fpr": float(flagged[~positive].mean()),
        "auc": float(roc_auc_score(positive, Rule().decision_function(frame))),
        "share": float(positive.mean()),
    }


def run_partitions(out: Path, n_replications: int, n_wide: int) -> None:
    """Draw what is missing: all with few rows fitted, the first also with all; an interrupted run goes on."""
    out.mkdir(parents=True, exist_ok=True)
    for design, fit_rows in product(DESIGNS, (FEW, ALL)):
        name = _name(design, fit_rows)
        done = {each["draw"] for each in draws(out, name)}
        for number in range(n_replications if fit_rows == FEW else n_wide):
            if number in done:
                continue
            found = draw(design, number, fit_rows)
            with path(out, name).open("a") as file:
                file.write(json.dumps({"draw": number, "intervals": found}) + "\n")


def table(out: Path) -> pd.DataFrame:
    """Coverage and widths: one row for each design and metric."""
    rows = []
    for design in DESIGNS:
        few, whole = (_intervals(out, _name(design, fit_rows)) for fit_rows in (FEW, ALL))
        for metric in METRICS:
            ends = np.array([each[metric] for each in few.values()])
            truth = ends[:, 4].mean()  # of so many rows that its error is a tenth of an interval's
            inside = (ends[:, 2] <= truth) & (truth <= ends[:, 3])
            pairs = [(few[draw][metric], whole[draw][metric]) for draw in whole if draw in few]
            ratio = [(one[3] - one[2]) / (other[3] - other[2]) for one, other in pairs]
            rows.append(
                {
                    "design": design,
                    "metric": metric,
                    "draws": len(ends),
                    "coverage": inside.mean(),
                    "limit": binom.ppf(FALSE_ALARM, len(ends), LEVEL) / len(ends),
                    "width": np.mean(ends[:, 3] - ends[:, 2]),
                    "of which noise": np.mean((ends[:, 3] - ends[:, 2]) - (ends[:, 1] - ends[:, 0])),
                    "over all rows fitted": np.mean(ratio) if ratio else np.nan,
                    "s.e.": np.std(ratio, ddof=1) / np.sqrt(len(ratio)) if len(ratio) > 1 else np.nan,
                    "pairs": len(ratio),
                }
            )
    return pd.DataFrame(rows)


def _name(design: str, fit_rows: int) -> str:
    return f"{design} fit {fit_rows}"


def _intervals(out: Path, name: str) -> dict[int, dict[str, list[float]]]:
    return {each["draw"]: {row[0]: row[1:] for row in each["intervals"]} for each in draws(out, name)}
